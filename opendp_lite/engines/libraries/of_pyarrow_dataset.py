"""Arrow's datasets and scanners."""

from __future__ import annotations

from typing import Any

import pyarrow.dataset as datasets  # type: ignore[import-untyped]

from opendp_lite.engines.arrow_dataset import parts_of
from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.column_blocks import ColumnBlocks
from opendp_lite.engines.door import open_rows


@open_rows.register(datasets.Dataset)
def _of_dataset(data: Any, names: tuple[str, ...] | None = None) -> Blocks:
    return ColumnBlocks.of(parts_of(data), names)


@open_rows.register(datasets.Scanner)
def _of_scanner(data: Any, names: tuple[str, ...] | None = None) -> Blocks:
    """A scanner has its columns already."""
    columns = max(1, len(names or data.projected_schema.names))
    return Blocks(data.to_batches, columns=columns, names=names)
