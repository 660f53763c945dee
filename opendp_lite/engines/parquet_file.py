"""Parquet files, a directory of them, or a partitioned one. Needs ``opendp_lite[arrow]``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pyarrow as arrow  # type: ignore[import-untyped]
import pyarrow.dataset as datasets  # type: ignore[import-untyped]
from pyarrow.parquet import filters_to_expression  # type: ignore[import-untyped]

from opendp_lite.engines.arrow_dataset import parts_of
from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.column_blocks import ColumnBlocks
from opendp_lite.engines.file_column import FileError, picked
from opendp_lite.engines.file_names import files_named
from opendp_lite.engines.libraries.of_pyarrow import require_numeric
from opendp_lite.engines.text_cells import MISSING, TextCells, category_in
from opendp_lite.errors import DataError

Paths = str | Path | Sequence[str | Path]


def parquet(
    source: Paths,
    columns: Sequence[str] | None = None,
    *,
    filters: Any = None,
    partitioning: Any = "hive",
    filesystem: Any = None,
) -> Blocks:
    """Opens Parquet files, which may be larger than memory.

    A pipeline reads the columns that it needs, a batch at a time. The files declare the names and
    types of their columns, which are public. Each file is checked for the columns that you ask for
    before any row is read.

    Args:
        source: A path, a pattern such as ``data/*.parquet``, a directory, or several files.
        columns: The names of the columns to take; None for all.
        filters: Conditions such as ``[("year", "==", 2024)]``, or an Arrow expression. Only the
            rows for which they hold are data. Files and groups of rows that have none are not
            read. Choose them without looking at the data.
        partitioning: How names of directories are read as columns, as in ``pyarrow.dataset``:
            "hive" for "year=2024".
        filesystem: An Arrow filesystem, for an object store. Patterns are for local files.

    Returns:
        The rows as blocks for a pipeline. A null is NaN.

    Raises:
        DataError: If no file is there or one cannot be opened. When the rows are read, if a file
            lacks a column, declares it as anything but what a pipeline needs, or is damaged. The
            error names the file.

    Example:
        >>> import opendp_lite as dp
        >>> import pyarrow, pyarrow.parquet, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> for year, ages in {2023: [31.0, 45.0], 2024: [52.0, None]}.items():
        ...     table = pyarrow.table({"age": ages, "name": ["Ann", "Bob"]})
        ...     pyarrow.parquet.write_table(table, f"{folder.name}/{year}.parquet")
        >>> people = dp.parquet(f"{folder.name}/*.parquet", columns=["age"])
        >>> (dp.clamp(0, 100) >> dp.sum())(people)
        NotPrivate([128.])
        >>> folder.cleanup()
    """
    names = None if columns is None else tuple(columns)
    keep = None if filters is None else filters_to_expression(filters)
    files = parts_of(_dataset(source, "parquet", partitioning, filesystem))
    return ColumnBlocks.of([attrs.evolve(file, keep=keep) for file in files], names)


def declared_columns(
    source: str, columns: Sequence[tuple[str | None, Any]], kind: str
) -> ColumnBlocks:
    """Some columns of files that declare their types, as ``csv_table`` reads those of a CSV file.

    Args:
        source: As for ``parquet``.
        columns: The name of each column and what it is read as, ``str`` or ``float``. The name None
            is for the only one. A column of numbers or of truths may be read as text.
        kind: "parquet" or "feather".

    Returns:
        The columns as blocks for a pipeline. Its ``names`` are those in the files.

    Raises:
        DataError: As for ``parquet``.
        OSError: If there is no such file.
    """
    files = parts_of(_dataset(source, kind, "hive", None))
    names = tuple(picked(files[0].names, column) for column, _ in columns)
    asked = zip(names, columns, strict=True)
    shown = partial(_with_texts, frozenset(name for name, (_, wanted) in asked if wanted is str))
    return ColumnBlocks.of([attrs.evolve(file, shown=shown) for file in files], names)


def _dataset(source: Paths, kind: str, partitioning: Any, filesystem: Any) -> Any:
    """The files as a dataset; an error of the one whose columns are looked at first names it."""
    paths = _paths(source, filesystem)
    opened = partial(
        datasets.dataset, paths, format=kind, partitioning=partitioning, filesystem=filesystem
    )
    try:
        found = opened()
        if found.files:
            return found
    except FileNotFoundError:
        raise
    except (arrow.ArrowException, OSError, ValueError, TypeError):
        parts_of(opened(schema=arrow.schema([]), partitioning=None))
        raise FileError("the files cannot be opened as one dataset") from None
    raise FileError(f"there is no file in {str(source)!r}")


def _paths(source: Paths, filesystem: Any) -> str | list[str]:
    if not isinstance(source, str | Path):
        return [str(each) for each in source]
    whole = filesystem is not None or Path(source).is_dir()
    found = None if whole else files_named(source)
    return str(source) if found is None else [str(path) for path in found]


def _with_texts(texts: frozenset[str], table: Any) -> dict[str, Any]:
    return {
        name: _text_of(column) if name in texts else column
        for name, column in zip(table.schema.names, table.columns, strict=True)
    }


def _text_of(column: Any) -> TextCells:
    if not _is_text(column.type):
        try:
            require_numeric(column.type)
        except DataError:
            raise DataError(f"it holds {column.type}, not text; make it text first") from None
    cells = column.cast(arrow.string()).to_pylist()
    texts = (None if cell is None else category_in(cell, MISSING) for cell in cells)
    return TextCells.of(texts, len(cells))


def _is_text(kind: Any) -> bool:
    types = arrow.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))
