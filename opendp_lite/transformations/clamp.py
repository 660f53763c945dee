"""Each column between two bounds."""

from __future__ import annotations

from opendp_lite.bodies.after_clip import after_clamp
from opendp_lite.bodies.body import Projection
from opendp_lite.bodies.bounds import Bounds
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.non_negative_ball import NonNegativeBall
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.examples import example, rows_in
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import row_map_trusted


@example(records(), 0, 10)
@example(records(columns=2), [0, -1], [1, 2.5])
@example(rows_in(NonNegativeBall(1, p=1, columns=3)), 0, 0.75)
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
        public, counts it as the middle of the bounds. Rows of a bounded total or length, such as
        those of a ``Simplex``, stay in their body where that tells more than the box.

    Raises:
        ParameterError: If a lower bound is not below its upper one.
        SpaceError: If there are bounds for another number of columns, or if the rows lie in a body
            that makes a sum far less sensitive than the box, and would leave it.

    Stability:
        ``d_out = d_in`` under either row metric.

    Proof:
        Row by row (``row_map``). Between bounds that hold 0, entries move towards 0. A row of a
        ``Simplex``, or of a ball around 0, then stays in it.

    Example:
        >>> import opendp_lite as dp
        >>> dp.clamp(0, 10)([-5.0, 3.0, float("inf")])
        NotPrivate([ 0.,  3., 10.])
    """
    box = Box(lower, upper).over(space.domain.columns)
    body = after_clamp(space.domain.body, box)
    return row_map_trusted(space, Projection(box), body, space.domain.names)
