"""The length of each row."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from operator import mul
from typing import Final

import attrs
import numpy as np

from opendp_lite.bodies.bounds import Values, each, total, unsigned
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.everything import Everything
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.entries import EntryMap
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.layout import Layout
from opendp_lite.engines.row_totals import row_totals
from opendp_lite.errors import ParameterError
from opendp_lite.exact import described, nearest, sqrt_up
from opendp_lite.examples import example
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import row_map_trusted

_BEYOND: Final = 2.0**1000


@attrs.frozen(repr=False)
class Lengths(EntryMap):
    """A block function that makes one column of the rows' norms."""

    p: float
    largest: float
    columns: int

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        totals = row_totals(entries, layout, self.p, self.columns)
        totals[totals >= _BEYOND] = inf
        lengths: Floats = np.minimum(np.sqrt(totals) if self.p == 2 else totals, self.largest)
        return lengths[:, None]


@example(records(columns=2))
@example(records(columns=2, size=20, metric=ChangeOneDistance()), p=1)
@stage
def norm(space: Space[Rows], p: float = 2) -> Transformation[Space[Rows], Space[Rows]]:
    """Replaces every row by its norm, in one column.

    Args:
        p: Which norm, 1 or 2.

    Returns:
        Rows of one number, between the smallest and the largest norm that the rows' bounds allow. A
        norm of 2^500 or more (2^1000 where ``p`` is 1) counts as the largest. A row with a missing
        entry has a missing norm. The last bits of a norm are rounded up, by at most 2^-34 of it, or
        by 2^-41 times the number of columns where that is more. One column keeps all bits.

    Raises:
        ParameterError: If ``p`` is neither 1 nor 2.

    Stability:
        ``d_out = d_in`` under either row metric.

    Proof:
        Row by row (``row_map``). The norm is the same to the last bit wherever the row stands:
        ``row_totals``.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> (dp.records(columns=2) >> dp.norm())(np.array([[3.0, 4.0], [0.0, 2.0]]))
        NotPrivate([5., 2.])
    """
    if p not in (1, 2):
        raise ParameterError(f"norm: p must be 1 or 2, got {described(p)}")
    body = space.domain.body
    ends, radii = body.bounds(), body.radii()
    largest = None if radii is None else radii.of(p)
    if ends is None or not largest:
        return row_map_trusted(space, Lengths(p, inf, body.columns), Everything(1))
    least = _shortest(unsigned(ends)[0], p, body.columns)
    return row_map_trusted(space, Lengths(p, nearest(largest), body.columns), Box(least, largest))


def _shortest(entries: Values, p: float, columns: int) -> Fraction:
    """A norm that no row of entries of at least these sizes is below."""
    repeats = columns // len(entries)
    if p == 1:
        return total(entries) * repeats
    square = total(each(mul, entries, entries)) * repeats
    return square / sqrt_up(square) if square else square
