"""Arrays of zarr, read a few chunks at a time."""

from __future__ import annotations

from typing import Any

import zarr  # type: ignore[import-not-found,unused-ignore]

from opendp_lite.engines.data.blocks import Blocks, by_chunks
from opendp_lite.engines.data.open_data import open_rows


@open_rows.register(zarr.Array)
def _of_array(data: Any) -> Blocks:
    return by_chunks(data)
