"""Each column between two bounds."""

from __future__ import annotations

from opendp_lite.bodies.body import Bounds, Projection
from opendp_lite.bodies.box import Box
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space
from opendp_lite.transformations.row_map import lifted


@stage
def clamp(
    space: Space[Rows], lower: Bounds, upper: Bounds
) -> Transformation[Space[Rows], Space[Rows]]:
    """Brings every value into its column's bounds.

    Takes: ``lower``, ``upper``: a number for all columns or one for each. Raises
        ``ParameterError`` unless each lower bound is below its upper.
    Gives: rows in ``Box(lower, upper)``. An infinity goes to the bound on its side. A NaN goes
        where IEEE 754's totalOrder puts it: with a clear sign bit (numpy.nan, a missing cell) to
        the upper bound, with the sign bit set to the lower; put ``impute`` or ``drop_nan`` before
        where that is not wanted.
    Moves: d_in rows move d_in rows, under either row metric.
    Because: row by row. Choose the bounds without looking at the data.

    >>> import opendp_lite as dp
    >>> dp.clamp(0, 10)([-5.0, 3.0, float("inf")])
    array([ 0.,  3., 10.])
    """
    body = Box(lower, upper).over(space.domain.columns)
    return lifted(space, Projection(body), body, space.domain.names)
