"""Frames and columns of narwhals, which are those of another library."""

# Its classes are generic, and no registration takes their parameters.
# mypy: disable-error-code="type-arg"

from __future__ import annotations

from typing import Any

import narwhals as nw  # type: ignore[import-not-found,unused-ignore]

from opendp_lite.engines.data.open_data import open_rows
from opendp_lite.engines.data.values import Values, open_values, values_of


@open_rows.register(nw.DataFrame)
@open_rows.register(nw.LazyFrame)
@open_rows.register(nw.Series)
def _of_frame(data: Any) -> object:
    """As the other library has it: a lazy frame is read as that library's."""
    return data.to_native()


@open_values.register(nw.Series)
def _values_of_series(column: Any) -> Values:
    return values_of(column.to_native())
