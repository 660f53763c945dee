"""Rows moved by a public vector."""

from __future__ import annotations

from operator import neg

import attrs
import numpy as np

from opendp_lite.bodies.bounds import Bounds, each, parse_bounds, to_floats
from opendp_lite.bodies.box import Box
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.fold import Floats
from opendp_lite.examples import example, rows_in
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import row_map_trusted
from opendp_lite.transformations.widths import fitting


@attrs.frozen(eq=False, repr=False)
class Moved:
    """A block function that subtracts a public row."""

    middle: Floats

    def __call__(self, block: Floats) -> Floats:
        return np.subtract(block, self.middle)

    @property
    def subtracted(self) -> Floats:
        """What it subtracts; see ``SumFold.as_they_lie``."""
        return self.middle


@example(records(), 5)
@example(records(columns=2), [5, 0.1])
@example(rows_in(Box(0, 10), size=20), 5)
@stage
def center(space: Space[Rows], middle: Bounds) -> Transformation[Space[Rows], Space[Rows]]:
    """Subtracts a public point from every row.

    A sum of centred rows has a smaller sensitivity under add/remove. For values in [L, U] and their
    midpoint it is (U - L) / 2 instead of max(abs(L), abs(U)).

    Args:
        middle: What to subtract. A number for all columns, or one for each.

    Returns:
        Rows in the body moved by ``-middle``. Missing values stay missing.

    Raises:
        SpaceError: If ``middle`` has another number of entries than the rows have columns.

    Stability:
        ``d_out = d_in`` under either row metric.

    Proof:
        Row by row (``row_map``).

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(0, 10) >> dp.center(5) >> dp.sum()).map(1).linf
        Fraction(5, 1)
    """
    point = fitting(parse_bounds(middle, "middle"), space, "center")
    body = space.domain.body.shift(each(neg, point))
    return row_map_trusted(space, Moved(to_floats(point)), body, space.domain.names)
