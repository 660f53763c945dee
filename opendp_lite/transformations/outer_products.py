"""Rows as the products of their entries, two by two."""

from __future__ import annotations

import attrs

from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.body import Body
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.everything import Everything
from opendp_lite.bodies.products import OuterProducts, products
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.fold import Floats
from opendp_lite.examples import example, rows_in
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import plain_nan, row_map_trusted


@attrs.frozen(repr=False)
class OuterProduct:
    """A block function that multiplies the entries of each row, two by two."""

    def __call__(self, block: Floats) -> Floats:
        return plain_nan(products(block))


@example(records(columns=["age", "visits"]))
@example(rows_in(Box(-3, 2, columns=2)))
@example(rows_in(Ball(5, columns=3), size=20))
@stage
def outer_products(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Replaces each row x by the products of its entries, the upper triangle of ``x x^T``.

    A sum of them over the rows is what a covariance is made of. Put ``center`` and
    ``clip_to_norm`` before it.

    Returns:
        Rows of d (d + 1) / 2 entries for d columns: ``x[0] x[0], x[0] x[1], ..., x[1] x[1], ...``.
        Those of two different columns are times sqrt(2), so that the l2 norm of a row is the
        Frobenius norm of the matrix. After ``clip_to_norm(r)`` they lie in
        ``OuterProducts(r^2, d)``. A row with a missing entry becomes one with missing products.

    Stability:
        ``d_out = d_in`` under either row metric. A sum afterwards moves by r^2 in l2 when a row is
        added or removed, and by sqrt(2) r^2 when one is replaced.

    Proof:
        Row by row (``row_map``). The inner product of ``x x^T`` and ``y y^T`` is ``(x . y)^2``, at
        least 0. So the square of their distance is at most the sum of their squared norms.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> outer = dp.transformations.outer_products()
        >>> products = dp.records(columns=2) >> dp.clip_to_norm(5) >> outer
        >>> products(np.array([[3.0, 4.0], [1.0, -2.0]]))
        NotPrivate([[ 9.        , 16.97056275, 16.        ],
                    [ 1.        , -2.82842712,  4.        ]])
        >>> (products >> dp.sum()).map(1).l2
        25.0
    """
    return row_map_trusted(space, OuterProduct(), _multiplied(space.domain.body))


def _multiplied(body: Body) -> Body:
    radii = body.radii()
    if radii is None or radii.l2_squared is None:
        return Everything(body.columns * (body.columns + 1) // 2)
    return OuterProducts(radii.l2_squared, body.columns)
