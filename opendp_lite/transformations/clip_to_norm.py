"""Each row within a distance of the origin."""

from __future__ import annotations

from opendp_lite.bodies.after_clip import after_clip_to_norm
from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.body import Projection
from opendp_lite.bodies.non_negative_ball import NonNegativeBall
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, described, positive
from opendp_lite.examples import example, rows_in
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import row_map_trusted


@example(records(columns=["age", "visits"]), 5)
@example(records(columns=2, size=20, metric=ChangeOneDistance()), 0.1, p=1)
@example(records(), 3)
@example(rows_in(NonNegativeBall(1, p=1, columns=3)), 1)
@stage
def clip_to_norm(
    space: Space[Rows], radius: Number, p: float = 2
) -> Transformation[Space[Rows], Space[Rows]]:
    """Shortens every row that is longer than a radius. Its direction stays the same.

    Args:
        radius: The largest length, above 0.
        p: Which norm is the length, 1 or 2.

    Returns:
        Rows in ``Ball(radius, p)``. Where no entry was negative before, as after ``clamp(0,
        upper)``, they lie in ``NonNegativeBall(radius, p)``. An infinite entry counts as 2^150
        radii. Lengths are rounded up, by at most 2^-34 or 2^-41 times the number of columns, so a
        row of nearly the radius may become so much shorter. A missing entry stays missing, and the
        rest of its row is shortened as if it were 0. Rows of a bounded total, such as those of a
        ``Simplex``, stay in their body where that tells more than the ball.

    Raises:
        ParameterError: If the radius is not above 0, or ``p`` is neither 1 nor 2.
        SpaceError: If the rows lie in a body that makes a sum far less sensitive in l1 than the
            ball, which cuts deeper. ``p=1`` keeps both.

    Stability:
        ``d_out = d_in`` under either row metric. Replacing a row of a non-negative ball moves a sum
        by sqrt(2) radii in l2, and of a ball by 2 radii.

    Proof:
        Row by row (``row_map``). Shortening keeps signs, and keeps rows in a convex body around 0.
        Two non-negative rows have an inner product of at least 0, so the square of their distance
        is at most the sum of their squared lengths.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> (dp.records(columns=2) >> dp.clip_to_norm(5))(np.array([[3.0, 4.0], [30.0, 40.0]]))
        NotPrivate([[3., 4.],
                    [3., 4.]])
    """
    if p not in (1, 2):
        raise ParameterError(
            f"clip_to_norm: p must be 1 or 2, got {described(p)}; clamp bounds each column"
        )
    kind = NonNegativeBall if space.domain.body.non_negative() else Ball
    longest = positive(radius, "radius")
    ball = kind(longest, p).over(space.domain.columns)
    body = after_clip_to_norm(space.domain.body, ball, longest, p)
    return row_map_trusted(space, Projection(ball), body, space.domain.names)
