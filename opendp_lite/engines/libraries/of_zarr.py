"""Arrays of zarr, read a few chunks at a time."""

from __future__ import annotations

from typing import Any

import zarr  # type: ignore[import-not-found,unused-ignore]

from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.chunked_array import by_chunks
from opendp_lite.engines.door import open_rows


@open_rows.register(zarr.Array)
def _of_array(data: Any, names: tuple[str, ...] | None = None) -> Blocks:
    return by_chunks(data)
