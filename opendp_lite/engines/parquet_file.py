"""Columns of a Parquet file, a batch at a time. Needs ``opendp_lite[arrow]``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow  # type: ignore[import-untyped]
import pyarrow.parquet as parquet  # type: ignore[import-untyped]

from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.file_column import FileColumn, FileError, picked
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.source import BLOCK_ENTRIES
from opendp_lite.engines.text_cells import MISSING, TextCells, category_in


def parquet_column(source: str | Path, column: str | None = None) -> FileColumn:
    """Reads a numeric column of a Parquet file, which may be larger than memory.

    The file declares the names and types of its columns, which are public. A refusal may list the
    names, and a column of text is refused before any value is read.

    Args:
        source: A path.
        column: A name. A file with one column needs none.

    Returns:
        The column as blocks for a pipeline. A null is NaN.

    Raises:
        DataError: If the file is not Parquet, has no such column, or declares it as anything but
            numbers.
        OSError: If the file cannot be opened.
    """
    path = Path(source)
    (name,) = _names(path, [(column, float)])
    return FileColumn(
        partial(_columns, path, {name: float}, itemgetter(name)), name=name, file=path
    )


def parquet_table(source: str | Path, columns: Sequence[tuple[str | None, Any]]) -> Blocks:
    """Reads some columns of a Parquet file, as ``csv_table`` does those of a CSV file.

    A column of numbers or of truths may be read as text.

    Args:
        source: A path.
        columns: The name of each column and what it is read as, ``str`` or ``float``. The name None
            is for the only one, and its blocks have no name.

    Returns:
        The columns as blocks for a pipeline.

    Raises:
        DataError: As for ``parquet_column``. Or if a column that is read as text is anything else
            than text, numbers or truths.
        OSError: If the file cannot be opened.
    """
    path = Path(source)
    names = _names(path, columns)
    kinds = {name: kind for name, (_, kind) in zip(names, columns, strict=True)}
    bare = any(name is None for name, _ in columns)
    shown: Callable[[dict[str, Any]], object] = itemgetter(*names) if bare else dict
    return Blocks(partial(_columns, path, kinds, shown), columns=len(kinds), file=path)


def _names(path: Path, columns: Sequence[tuple[str | None, Any]]) -> list[str]:
    """The columns as the file names them, refused where their type is another."""
    with path.open("rb") as stream, _reading():
        schema = parquet.ParquetFile(stream).schema_arrow
    names = [picked(tuple(schema.names), column) for column, _ in columns]
    for name, (_, wanted) in zip(names, columns, strict=True):
        kind = schema.field(name).type
        if wanted is float and not _is_numeric(kind):
            words = "text" if "string" in str(kind) else str(kind)
            raise FileError(f"column {name!r} holds {words}, not numbers; make it numeric first")
        if wanted is str and not (_is_numeric(kind) or _is_text(kind)):
            raise FileError(f"column {name!r} holds {kind}, not text; make it text first")
    return names


def _columns(
    path: Path, kinds: dict[str, Any], shown: Callable[[dict[str, Any]], object]
) -> Iterator[Any]:
    rows = max(1, BLOCK_ENTRIES // len(kinds))
    with path.open("rb") as stream, _reading():
        file = parquet.ParquetFile(stream)
        for batch in file.iter_batches(batch_size=rows, columns=list(kinds)):
            yield shown({name: _read(batch.column(name), kind) for name, kind in kinds.items()})


def _read(column: Any, kind: Any) -> Floats | TextCells:
    if kind is str:
        cells = column.cast(arrow.string()).to_pylist()
        texts = (None if cell is None else category_in(cell, MISSING) for cell in cells)
        return TextCells.of(texts, len(cells))
    floats = column.cast(arrow.float64(), safe=False)
    return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)


def _is_text(kind: Any) -> bool:
    types = arrow.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_numeric(kind: Any) -> bool:
    types = arrow.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
        or types.is_null(kind)
    )


@contextmanager
def _reading() -> Iterator[None]:
    """Failures of pyarrow in words; its own may quote what a file holds."""
    try:
        yield
    except (arrow.ArrowException, OSError):
        raise FileError("the file is no Parquet file, or it is damaged") from None
