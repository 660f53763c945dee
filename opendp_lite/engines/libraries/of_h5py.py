"""Arrays of HDF5 files, read a few chunks at a time."""

from __future__ import annotations

from typing import Any

import h5py  # type: ignore[import-not-found,import-untyped,unused-ignore]

from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.chunked_array import by_chunks
from opendp_lite.engines.door import open_rows


@open_rows.register(h5py.Dataset)
def _of_array(data: Any, names: tuple[str, ...] | None = None) -> Blocks:
    return by_chunks(data)
