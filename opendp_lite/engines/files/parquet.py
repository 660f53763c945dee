"""Parquet files, a directory of them, or a partitioned one. Needs ``opendp_lite[arrow]``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.open_data import with_pyarrow
from opendp_lite.spelling.suggestions import explain_names


@explain_names
def parquet(
    source: str | Path | Sequence[str | Path],
    columns: Sequence[str] | None = None,
    *,
    filters: object = None,
    partitioning: object = "hive",
    filesystem: object = None,
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
        ParameterError: If pyarrow is not installed.
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
    reader = with_pyarrow("opendp_lite.engines.files.arrow", "dp.parquet")
    found: Blocks = reader.parquet_blocks(source, columns, filters, partitioning, filesystem)
    return found
