"""Each row within a distance of the origin."""

from __future__ import annotations

from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.body import Projection
from opendp_lite.bodies.non_negative_ball import NonNegativeBall
from opendp_lite.core import Transformation, stage
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, positive, said
from opendp_lite.spaces import Space
from opendp_lite.transformations.row_map import lifted


@stage
def clip_to_norm(
    space: Space[Rows], radius: Number, p: float = 2
) -> Transformation[Space[Rows], Space[Rows]]:
    """Shortens every row that is longer than a radius, keeping its direction.

    Takes: ``radius``, above 0; ``p``, 1 or 2, which norm. Raises ``ParameterError``.
    Gives: rows in ``Ball(radius, p)``; in ``NonNegativeBall(radius, p)`` where the rows before
        have no negative entries, as after ``clamp(0, upper)``. An infinite entry counts as 2^200
        radii; a row with a NaN becomes the zero row.
    Moves: d_in rows move d_in rows, under either row metric.
    Because: row by row. Shortening keeps signs, and two non-negative rows are never opposite: a
        sum then moves by sqrt(2) radii, not 2, when a row is replaced.

    >>> import opendp_lite as dp, numpy as np
    >>> (dp.records(columns=2) >> dp.clip_to_norm(5))(np.array([[3.0, 4.0], [30.0, 40.0]]))
    array([[3., 4.],
           [3., 4.]])
    """
    if p not in (1, 2):
        raise ParameterError(
            f"clip_to_norm: p must be 1 or 2, got {said(p)}; clamp bounds each column"
        )
    kind = NonNegativeBall if space.domain.body.non_negative() else Ball
    body = kind(positive(radius, "radius"), p).over(space.domain.columns)
    return lifted(space, Projection(body), body, space.domain.names)
