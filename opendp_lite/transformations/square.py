"""Rows with every entry squared."""

from __future__ import annotations

from fractions import Fraction
from operator import mul
from typing import cast

import attrs
import numpy as np

from opendp_lite.bodies.body import Body
from opendp_lite.bodies.bounds import each, unsigned
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.everything import Everything
from opendp_lite.bodies.non_negative_ball import NonNegativeBall
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.entries import EntryMap
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.layout import Layout
from opendp_lite.examples import example, rows_in
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import plain_nan, row_map_trusted


@attrs.frozen(repr=False)
class Squared(EntryMap):
    """A block function that squares every entry."""

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        return plain_nan(np.square(entries))


@example(records())
@example(rows_in(Box(-3, 2)))
@example(rows_in(Box(5, 10), size=20))
@stage
def square(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Squares every entry, for example for a variance.

    Returns:
        Non-negative rows. They lie in the box of the squared bounds of each column, or in a ball of
        the squared largest l2 norm where a sum then moves less. Missing values stay missing.

    Stability:
        ``d_out = d_in`` under either row metric.

    Proof:
        Row by row (``row_map``). The squares of a row add up to the square of its l2 norm.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(-3, 2) >> dp.square())([-5.0, 1.0])
        NotPrivate([9., 1.])
    """
    domain = space.domain
    return row_map_trusted(space, Squared(), _squared(domain.body), domain.names)


def _squared(body: Body) -> Body:
    ends, radii = body.bounds(), body.radii()
    if ends is None or radii is None:
        return Everything(body.columns)
    lower, upper = (each(mul, end, end) for end in unsigned(ends))
    box, together = Box(lower, upper, body.columns), radii.l2_squared
    if together is not None and together * together < cast(Fraction, box.radii().l2_squared):
        return NonNegativeBall(together, p=1, columns=body.columns)
    return box
