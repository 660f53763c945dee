"""Each column between two bounds."""

from __future__ import annotations

from opendp_lite.bodies.body import Projection
from opendp_lite.bodies.bounds import Bounds
from opendp_lite.bodies.box import Box
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.examples import example
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import row_map_trusted


@example(records(), 0, 10)
@example(records(columns=2), [0, -1], [1, 2.5])
@stage
def clamp(
    space: Space[Rows], lower: Bounds, upper: Bounds
) -> Transformation[Space[Rows], Space[Rows]]:
    """Clips every value to the bounds of its column.

    Choose the bounds without looking at the data.

    Args:
        lower: The lower bound. A number for all columns, or one for each.
        upper: The upper bound, in the same form. It is above the lower one in every column.

    Returns:
        Rows in ``Box(lower, upper)``. An infinity goes to the bound on its side. A missing value
        (NaN) stays missing. A sum or a count leaves out its row or, where the number of rows is
        public, counts it as the middle of the bounds.

    Raises:
        ParameterError: If a lower bound is not below its upper one.
        SpaceError: If there are bounds for another number of columns.

    Stability:
        ``d_out = d_in`` under either row metric.

    Proof:
        Row by row (``row_map``).

    Example:
        >>> import opendp_lite as dp
        >>> dp.clamp(0, 10)([-5.0, 3.0, float("inf")])
        NotPrivate([ 0.,  3., 10.])
    """
    body = Box(lower, upper).over(space.domain.columns)
    return row_map_trusted(space, Projection(body), body, space.domain.names)
