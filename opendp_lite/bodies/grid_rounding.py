"""The dyadic grid that rows of a body are rounded to, and the rounding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, Final

from numpy.typing import NDArray

from opendp_lite.bodies.clipped_column import ClippedColumn
from opendp_lite.engines.entries import Whole
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.layout import Layout
from opendp_lite.errors import ParameterError
from opendp_lite.exact import floor_log2

GRID_BITS: Final = 40
"""A body's grid is about 2^-40 of its radius: one row's rounding is invisible to 10^9 rows."""
_MOST_BITS: Final = 50
_NARROW_BITS: Final = 20
_EXTREME: Final = 900


def grid_exponent(
    name: str, largest: Fraction, narrowest: Fraction, narrow_bits: int = _NARROW_BITS
) -> int:
    """The exponent of the dyadic grid for a body, from its public geometry alone."""
    reach = floor_log2(largest)
    if abs(reach) > _EXTREME:
        raise ParameterError(
            f"{name}: bounds beyond 2^{_EXTREME} or below 2^-{_EXTREME} cannot be summed; "
            "scale() the rows before"
        )
    fine = min(reach - GRID_BITS, floor_log2(narrowest) - narrow_bits)
    return max(fine, reach - _MOST_BITS)


class GridRounding(ABC):
    """Rounds blocks of rows to a body's grid, in integers, and never outside the body.

    The image of a row depends on that row alone (elementwise operations in a fixed order), whatever
    the row holds.
    """

    origin: int
    """What the bits of 0 on the grid are."""

    @property
    def spares(self) -> bool:
        """Whether ``into`` needs a second buffer."""
        return False

    @property
    def by_column(self) -> bool:
        """Whether buffers may have any layout, and column after column is fastest."""
        return False

    @property
    def any_type(self) -> bool:
        """Whether ``unless_missing`` takes blocks of any type of number and any strides."""
        return False

    def column(self) -> ClippedColumn | None:
        """The same for rows of one column that are clipped entry by entry; else None."""
        return None

    def unless_missing(self, block: NDArray[Any], out: Floats, spare: Floats) -> bool:
        """As ``into``; False where an entry is NaN, and then ``out`` holds nothing."""
        raise NotImplementedError

    @abstractmethod
    def into(self, block: Floats, out: Floats, spare: Floats) -> None:
        """Fills the float buffer ``out``, whose bits are then to be read as int64.

        Each entry minus ``origin`` is the coordinate in grid units. ``spare`` is scratch of the
        same shape; where not ``spares``, it may be ``out``. Buffers are C-ordered.
        """

    def steps(self, entries: Floats, layout: Layout) -> Whole:
        """The coordinates of entries, in grid units; only asked where the body keeps zeros."""
        raise NotImplementedError
