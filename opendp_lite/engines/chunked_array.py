"""Arrays that lie on a disk in chunks, as those of HDF5 and zarr."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from opendp_lite.engines.arrays import require_numbers
from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.source import BLOCK_ENTRIES
from opendp_lite.errors import DataError


def by_chunks(array: Any) -> Blocks:
    """The rows of an array of one or two dimensions, some chunks at a time."""
    if len(array.shape) not in (1, 2):
        raise DataError(
            f"data has {len(array.shape)} dimensions; rows are an array of shape (n,) or "
            "(n, columns)"
        )
    require_numbers(array.dtype)
    columns = 1 if len(array.shape) == 1 else array.shape[1]
    chunk = array.chunks[0] if array.chunks else 1
    rows = chunk * max(1, BLOCK_ENTRIES // max(1, columns * chunk))
    return Blocks(partial(_pieces, array, rows), columns=max(1, columns))


def _pieces(array: Any, rows: int) -> Iterator[Any]:
    return (array[start : start + rows] for start in range(0, array.shape[0], rows))
