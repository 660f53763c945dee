"""Rows with a slack column, so that one sum holds total and count."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bodies.box import Box
from opendp_lite.bodies.non_negative_ball import NonNegativeBall
from opendp_lite.bodies.simplex import Simplex
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.fold import Floats
from opendp_lite.errors import SpaceError
from opendp_lite.exact import nearest
from opendp_lite.examples import example, rows_in
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space
from opendp_lite.transformations.row_map import plain_nan, row_map_trusted


@attrs.frozen(repr=False)
class Augmented:
    """A block function that adds what is left of the total, or of the way to the upper bound."""

    lower: float
    upper: float
    total: float

    def __call__(self, block: Floats) -> Floats:
        out = np.empty((len(block), block.shape[1] + 1))
        np.subtract(block, self.lower, out=out[:, :-1])
        if block.shape[1] == 1:
            np.subtract(self.upper, block[:, 0], out=out[:, 1])
            return out
        np.copyto(out[:, -1], self.total)
        for column in range(block.shape[1]):
            out[:, -1] -= block[:, column]
        return plain_nan(out)


@example(rows_in(Box(-2, 5)))
@example(rows_in(NonNegativeBall(9, p=1, columns=3), size=20))
@stage
def simplex_augment(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Adds a column with the distance to the bound, so that one sum holds the total and the count.

    Returns:
        From one column in [L, U], rows (x - L, U - x). From d non-negative columns of a total of at
        most R, rows (x_1, ..., x_d, R - sum x). Entries are at least 0 and a row sums to R, so the
        entries of a sum add up to R times the count. A row with a missing entry lacks the new one,
        too.

    Raises:
        SpaceError: If the rows are neither one column in bounds nor in a ``Simplex``.

    Stability:
        ``d_out = d_in`` under either row metric. A sum afterwards moves by R in l1 and l2 when a
        row is added or removed. When a row is replaced it moves by 2 R in l1 and sqrt(2) R in l2.

    Proof:
        Row by row (``row_map``). Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), sections 3
        and 4. The requirement of appendix B is corrected to non-negative rows with an l1 norm of at
        most R.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(0, 100) >> dp.simplex_augment())([20.0, 150.0])
        NotPrivate([[ 20.,  80.],
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
    augmented = Augmented(nearest(lower), nearest(lower + total), nearest(total))
    return row_map_trusted(space, augmented, Simplex(total, space.domain.columns + 1))
