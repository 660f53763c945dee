"""One numeric column of a Parquet file, a batch at a time. Needs ``opendp_lite[arrow]``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow  # type: ignore[import-untyped]
import pyarrow.parquet as parquet  # type: ignore[import-untyped]

from opendp_lite.engines.file_column import FileColumn, FileError, picked
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.source import BLOCK_ENTRIES


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
    with path.open("rb") as stream, _reading():
        schema = parquet.ParquetFile(stream).schema_arrow
    name = picked(tuple(schema.names), column)
    kind = schema.field(name).type
    if not _is_numeric(kind):
        words = "text" if "string" in str(kind) else str(kind)
        raise FileError(f"column {name!r} holds {words}, not numbers; make it numeric first")
    return FileColumn(partial(_blocks, path, name), name=name)


def _blocks(path: Path, name: str) -> Iterator[Floats]:
    with path.open("rb") as stream, _reading():
        file = parquet.ParquetFile(stream)
        for batch in file.iter_batches(batch_size=BLOCK_ENTRIES, columns=[name]):
            found = batch.column(batch.schema.get_field_index(name))
            floats = found.cast(arrow.float64(), safe=False)
            yield np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)


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
