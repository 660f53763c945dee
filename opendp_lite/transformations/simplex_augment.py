"""Rows with a slack column, so that one sum holds total and count."""

from __future__ import annotations

import numpy as np

from opendp_lite.bodies.body import Floats
from opendp_lite.bodies.simplex import Simplex
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.errors import SpaceError
from opendp_lite.exact import nearest
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space
from opendp_lite.transformations.row_map import lifted, plain_nan


@stage
def simplex_augment(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Adds the column of what is missing to the bound, at no cost in sensitivity.

    Takes: one column in [L, U] (after ``clamp``), or d non-negative columns of a bounded total R
        (a ``Simplex``). Raises ``SpaceError`` for other rows.
    Gives: from one column, rows (x - L, U - x); from d columns, (x_1, ..., x_d, R - sum x). The
        entries of a row are at least 0 and sum to R, so the sum of all sums is R times the count.
    Moves: d_in rows move d_in rows, under either row metric. Under add/remove the sum's l1 and l2
        sensitivity is R; under replace-one 2 R and sqrt(2) R.
    Because: Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), sections 3-4, with the
        requirement of appendix B corrected to non-negative rows with ||x||_1 <= R.

    >>> import opendp_lite as dp
    >>> (dp.clamp(0, 100) >> dp.simplex_augment())([20.0, 150.0])
    array([[ 20.,  80.],
           [100.,   0.]])
    """
    body = space.domain.body
    range_ = body.total_range()
    if range_ is None:
        raise SpaceError(
            "simplex_augment needs one column in bounds or non-negative columns of bounded total; "
            f"the rows lie in {body!r}. Put clamp(lower, upper) before it, on one column"
        )
    lower, total = range_
    low, upper, total_float = nearest(lower), nearest(lower + total), nearest(total)

    def augmented(block: Floats) -> Floats:
        out = np.empty((len(block), block.shape[1] + 1))
        np.subtract(block, low, out=out[:, :-1])
        if block.shape[1] == 1:
            np.subtract(upper, block[:, 0], out=out[:, 1])
            return out
        np.copyto(out[:, -1], total_float)
        for column in range(block.shape[1]):
            out[:, -1] -= block[:, column]
        return plain_nan(out)

    return lifted(space, augmented, Simplex(total, space.domain.columns + 1))
