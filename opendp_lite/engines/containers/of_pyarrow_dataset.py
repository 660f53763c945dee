"""Files that Arrow's datasets read: Parquet and Feather, in directories, partitioned or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import pyarrow as arrow  # type: ignore[import-untyped]
import pyarrow.dataset as datasets  # type: ignore[import-untyped]
from pyarrow.fs import FileType, LocalFileSystem  # type: ignore[import-untyped]

from opendp_lite.engines.columns import ColumnBlocks, StoredPart
from opendp_lite.engines.containers.of_pyarrow import batches_of
from opendp_lite.engines.data import fold, open_data, source
from opendp_lite.engines.data.blocks import Blocks, FileError, FileState, require_state, state_of

# Formats that do not declare the types of columns.
_GUESSED: Final = ("csv", "json")


@attrs.frozen(eq=False, repr=False)
class ArrowPart(StoredPart):
    """A file of a dataset, or a dataset as a whole.

    Attributes:
        label: Its path.
        schema: Of all columns, those of its partition too.
        to_batches: Takes ``columns=`` and the settings of a scan.
        path: Of a file of this machine.
        look: Tells the state of the file, from which one that was written anew since it was opened
            is known.
        state: What it told then.
        keep: An Arrow expression that holds for the rows to take; None for all.
        prunes: Whether Arrow may leave out groups of rows by what the file says of each group.
        shown: Makes of a batch what is opened as a block.
    """

    label: str
    schema: arrow.Schema
    to_batches: Callable[..., Iterator[arrow.RecordBatch]]
    path: Path | None = None
    look: Callable[[], FileState | None] = lambda: None
    state: FileState | None = None
    keep: datasets.Expression | None = None
    prunes: bool = True
    shown: Callable[[arrow.Table], object] = fold.identity

    @classmethod
    def of_file(cls, file: datasets.Fragment, schema: arrow.Schema) -> ArrowPart:
        """A file of a dataset. It is read by its own schema: that of another is not cast to."""
        if file.format.default_extname in _GUESSED:
            raise FileError(
                f"{file.path}: a CSV or JSON file declares no types, and a dataset guesses them "
                "from its rows; use dp.csv_column or dp.csv_table"
            )
        path = Path(file.path) if isinstance(file.filesystem, LocalFileSystem) else None
        look = partial(_state, file)
        state, own = _attempt(file.path, lambda: (look(), file.physical_schema))
        for name in datasets.get_partition_keys(file.partition_expression):
            if own.get_field_index(name) < 0:
                own = own.append(schema.field(name))
        scan = {}
        if file.format.default_extname == "parquet":
            # Read as it is needed: buffered ahead, 2e8 rows take twice the memory.
            lean = datasets.ParquetFragmentScanOptions(pre_buffer=False)
            scan = {"fragment_scan_options": lean}
        return cls(file.path, own, partial(file.to_batches, schema=own, **scan), path, look, state)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def empty(self) -> object:
        return self.shown(self.schema.empty_table())

    def batches(self, names: Sequence[str], rows: int) -> Iterator[object]:
        self._require_state()
        scanned = _attempt(self.label, lambda: map(self.shown, self._scan_kept(names, rows)))
        while (batch := _attempt(self.label, partial(next, scanned, None))) is not None:
            yield batch
        self._require_state()

    def _require_state(self) -> None:
        require_state(_attempt(self.label, self.look), self.state, f"{self.label}: ")

    def _scan_kept(self, names: Sequence[str], rows: int) -> Iterator[arrow.RecordBatch]:
        if self.keep is None or self.prunes:
            return self._scan(rows, columns=list(names), filter=self.keep)
        picked = [(name, datasets.field(name)) for name in names]
        unused = "_".join(("kept", *names))
        scanned = self._scan(rows, columns=dict([*picked, (unused, self.keep)]))
        return (batch.filter(batch[unused]).select(list(names)) for batch in scanned)

    def _scan(self, rows: int, **wanted: object) -> Iterator[arrow.RecordBatch]:
        return self.to_batches(
            **wanted, batch_size=rows, batch_readahead=1, fragment_readahead=1, use_threads=False
        )


def _state(file: datasets.Fragment) -> FileState:
    """Arrow would read a file that was written anew by what it was before."""
    if isinstance(file.filesystem, LocalFileSystem):
        return state_of(Path(file.path).stat())
    found = file.filesystem.get_file_info(file.path)
    if found.type != FileType.File:
        raise FileNotFoundError
    # Some stores keep no times: then a file that was written anew with the same size is not known.
    return 0, found.size, found.mtime_ns or 0


def parts_of(dataset: datasets.Dataset) -> tuple[ArrowPart, ...]:
    """The files of a ``pyarrow.dataset.Dataset``; the whole where it is filtered or in memory."""
    if isinstance(dataset, datasets.FileSystemDataset):
        try:
            files = list(dataset.get_fragments())
        except ValueError:  # it was filtered
            pass
        else:
            return tuple(ArrowPart.of_file(file, dataset.schema) for file in files)
    return (ArrowPart("the dataset", dataset.schema, dataset.to_batches),)


def _attempt(label: str, work: Callable[[], source.Result]) -> source.Result:
    """What pyarrow gives; its failure in words that carry nothing of it: it may quote the file."""
    try:
        return work()
    except FileNotFoundError:
        refusal = FileError(f"{label}: the file is no longer there")
    except PermissionError:
        refusal = FileError(f"{label}: you may not read the file; ask its owner for the right to")
    except (arrow.ArrowException, OSError):
        refusal = FileError(f"{label}: the file is of another format, or it is damaged")
    raise refusal


@open_data.open_rows.register
def _of_dataset(data: datasets.Dataset) -> Blocks:
    return ColumnBlocks.of(parts_of(data))


@open_data.open_rows.register
def _of_scanner(data: datasets.Scanner) -> Blocks:
    """A scanner has its columns already."""
    return Blocks(
        lambda: batches_of(data.to_reader()), columns=max(1, len(data.projected_schema.names))
    )
