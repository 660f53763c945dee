"""Files that Arrow's datasets read: Parquet and Feather, in directories, partitioned or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs
import pyarrow as arrow  # type: ignore[import-untyped]
import pyarrow.dataset as datasets  # type: ignore[import-untyped]
from pyarrow.fs import LocalFileSystem  # type: ignore[import-untyped]

from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.deferred import identity
from opendp_lite.engines.door import NUMBERS, opened_table
from opendp_lite.engines.file_column import FileError
from opendp_lite.engines.source import BLOCK_ENTRIES
from opendp_lite.engines.table import Column
from opendp_lite.errors import DataError

_GUESSED: Final = ("csv", "json")
"""Formats that do not declare the types of columns."""


@attrs.frozen(eq=False, repr=False)
class _Part:
    """A file, or anything else that gives batches of the columns that are asked for.

    Attributes:
        label: Its path, or other words for it, which are public.
        schema: Of all columns, those of its partition too.
        to_batches: Takes ``columns=`` and the settings of a scan.
        path: Where its bytes are, if it is a file of this machine.
    """

    label: str
    schema: Any
    to_batches: Callable[..., Any]
    path: Path | None = None

    @classmethod
    def of_file(cls, file: Any, schema: Any) -> _Part:
        """A file of a dataset. It is read by its own schema: that of another is not cast to."""
        if file.format.default_extname in _GUESSED:
            raise FileError(
                f"{file.path}: a CSV or JSON file declares no types, and a dataset guesses them "
                "from its rows; use dp.csv_column or dp.csv_table"
            )
        with _reading(file.path):
            own = file.physical_schema
            for name in datasets.get_partition_keys(file.partition_expression):
                if own.get_field_index(name) < 0:
                    own = own.append(schema.field(name))
        path = Path(file.path) if isinstance(file.filesystem, LocalFileSystem) else None
        return cls(file.path, own, partial(file.to_batches, schema=own), path)

    def refused(self, problem: DataError) -> FileError:
        """A refusal that names the file."""
        return FileError(f"{self.label}: {problem}")

    def batches(self, names: Sequence[str] | None, keep: Any) -> Iterator[Any]:
        """The rows, of some columns or of all, a batch at a time."""
        wanted = list(self.schema.names if names is None else names)
        with _reading(self.label):
            yield from self.to_batches(
                columns=wanted,
                filter=keep,
                batch_size=max(1, BLOCK_ENTRIES // max(1, len(wanted))),
                batch_readahead=1,
                fragment_readahead=1,
                use_threads=False,
            )


@attrs.frozen(eq=False, repr=False)
class DatasetBlocks(Blocks):
    """The rows of a dataset, of which only the columns that a pipeline picks are read.

    Attributes:
        parts: Its files.
        keep: An Arrow expression that holds for the rows to take; None for all.
        shown: Makes of a batch what is opened as a block.
    """

    parts: tuple[_Part, ...] = attrs.field(kw_only=True)
    keep: Any = attrs.field(default=None, kw_only=True)
    shown: Callable[[Any], Any] = attrs.field(default=identity, kw_only=True)

    @classmethod
    def of(
        cls, dataset: Any, names: tuple[str, ...] | None = None, keep: Any = None
    ) -> DatasetBlocks:
        """The rows of a ``pyarrow.dataset.Dataset``, those of all columns if ``names`` is None."""
        parts = tuple(_parts(dataset))
        every = partial(_rows, parts, None, None, identity)
        return cls(every, None, None, names, parts=parts, keep=keep)

    @property
    def files(self) -> tuple[Path, ...]:
        found = tuple(part.path for part in self.parts if part.path is not None)
        return found if len(found) == len(self.parts) else ()

    def require(self, columns: Sequence[Column] | None) -> None:
        for part in self.parts:
            first = self.parts[0]
            if self.names is None and part.schema.names != first.schema.names and _every(columns):
                raise part.refused(
                    DataError(
                        f"its columns are not those of {first.label}; say which to read: "
                        "columns=[...], or dp.records(columns=[...])"
                    )
                )
            try:
                table = opened_table(self.shown(self._without_rows(part)), None)
                _ = table.every(NUMBERS) if columns is None else table.rows(columns)
            except DataError as problem:
                refusal = part.refused(problem)
            else:
                continue
            raise refusal

    def only(self, columns: Sequence[Column] | None) -> Blocks:
        asked = () if columns is None else dict.fromkeys(column.name for column in columns)
        names = self.names if _every(columns) else tuple(map(str, asked))
        rows = partial(_rows, self.parts, names, self.keep, self.shown)
        return Blocks(rows, columns=None, names=self.names)

    def _without_rows(self, part: _Part) -> Any:
        table = part.schema.empty_table()
        if self.names is None:
            return table
        opened_table(table, None).require(self.names)
        return table.select(list(self.names))


def _every(columns: Sequence[Column] | None) -> bool:
    return columns is None or any(column.name is None for column in columns)


def _parts(dataset: Any) -> Iterator[_Part]:
    if not isinstance(dataset, datasets.FileSystemDataset):
        yield _Part("the dataset", dataset.schema, dataset.to_batches)
        return
    try:
        files = list(dataset.get_fragments())
    except ValueError:  # it was filtered
        yield _Part("the dataset", dataset.schema, dataset.to_batches)
    else:
        yield from (_Part.of_file(file, dataset.schema) for file in files)


def _rows(
    parts: Sequence[_Part],
    names: Sequence[str] | None,
    keep: Any,
    shown: Callable[[Any], Any],
) -> Iterator[Any]:
    for part in parts:
        yield from map(shown, part.batches(names, keep))


@contextmanager
def _reading(label: str) -> Iterator[None]:
    """Failures of pyarrow in words; its own may quote what a file holds."""
    try:
        yield
    except FileNotFoundError:
        refusal = FileError(f"{label}: the file is no longer there")
    except (arrow.ArrowException, OSError):
        refusal = FileError(f"{label}: the file is of another format, or it is damaged")
    else:
        return
    raise refusal
