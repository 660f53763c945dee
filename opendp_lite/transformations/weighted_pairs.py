"""Rows of a value and a weight, as two weighted entries of a simplex."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bodies.simplex import Simplex
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.fold import Floats
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import Number, exact, nearest, positive
from opendp_lite.examples import example
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import plain_nan, row_map_trusted


@attrs.frozen(repr=False)
class TimesWeight:
    """A block function from values and weights to weighted distances from both bounds."""

    lower: float
    upper: float
    most: float

    def __call__(self, block: Floats) -> Floats:
        value = np.clip(block[:, 0], self.lower, self.upper)
        weight = np.clip(block[:, 1], 0.0, self.most)
        out = np.empty((len(block), 2))
        np.multiply(weight, value - self.lower, out=out[:, 0])
        np.multiply(weight, self.upper - value, out=out[:, 1])
        return plain_nan(out)


@example(records(columns=2), -1, 3, most=2)
@example(records(columns=2, size=20, metric=ChangeOneDistance()), 0, 10, most=2)
@stage
def weighted_pairs(
    space: Space[Rows], lower: Number, upper: Number, most: Number
) -> Transformation[Space[Rows], Space[Rows]]:
    """Turns a value x and its weight w into the row (w (x - lower), w (upper - x)).

    Args:
        lower: The lower bound of the values.
        upper: The upper bound of the values.
        most: The largest weight, above 0.

    Returns:
        Rows of two entries of at least 0. Their total over ``upper - lower`` is the weight. Values
        and weights beyond their bounds count as the bound. A row that lacks either is missing.

    Raises:
        ParameterError: If ``lower`` is not below ``upper``, or ``most`` is not above 0.
        SpaceError: If the rows have another number of columns than two.

    Stability:
        ``d_out = d_in`` under either row metric. A sum afterwards moves by most (upper - lower) in
        l1 and l2 when a row is added or removed. When a row is replaced it moves by twice that in
        l1 and sqrt(2) times that in l2. ``most`` counts only as far as the rows' own bounds allow
        it.

    Proof:
        Row by row (``row_map``). Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), appendix A,
        is corrected. Of its rows (w x, R - w x) the total over R is the number of rows, not the sum
        of the weights.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> pairs = dp.records(columns=2) >> dp.transformations.weighted_pairs(0, 10, most=2)
        >>> pairs(np.array([[4.0, 0.5], [12.0, 3.0]]))
        NotPrivate([[ 2.,  3.],
                    [20.,  0.]])
    """
    low, high = exact(lower, "weighted_pairs: lower"), exact(upper, "weighted_pairs: upper")
    heaviest = positive(most, "weighted_pairs: most")
    if low >= high:
        raise ParameterError(f"weighted_pairs: lower must be below upper, got {lower}, {upper}")
    if space.domain.columns != 2:
        raise SpaceError(
            "weighted_pairs needs two columns, values and weights; the rows have "
            f"{space.domain.columns}. Start with dp.records(columns=2), or put select() before it"
        )
    ends = space.domain.body.bounds()
    if ends is not None and ends[1][-1] > 0:
        heaviest = min(heaviest, ends[1][-1])
    weighted = TimesWeight(nearest(low), nearest(high), nearest(heaviest))
    return row_map_trusted(space, weighted, Simplex(heaviest * (high - low), 2))
