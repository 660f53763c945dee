"""Arrays of HDF5 files, read a few chunks at a time."""

from __future__ import annotations

import h5py  # type: ignore[import-not-found,import-untyped,unused-ignore]

from opendp_lite.engines.data.blocks import Blocks, by_chunks
from opendp_lite.engines.data.open_data import open_rows


@open_rows.register
def _of_array(data: h5py.Dataset) -> Blocks:
    return by_chunks(data)
