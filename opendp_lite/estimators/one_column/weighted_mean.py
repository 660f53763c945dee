"""The weighted mean of a column."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import hypot, sqrt
from typing import Any

import attrs
import numpy as np

from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.estimate import Estimate
from opendp_lite.estimators.inference.bounded_column import BoundedColumn, bounds_come_first
from opendp_lite.estimators.inference.budget import Budget
from opendp_lite.estimators.inference.noisy_totals import NoisyTotals, TotalsWithSpread
from opendp_lite.estimators.inference.parameters import moderate
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RatioOfNoisySums
from opendp_lite.estimators.inference.request import Request
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records, row_metric
from opendp_lite.transformations.impute import impute
from opendp_lite.transformations.norm import norm
from opendp_lite.transformations.square import square
from opendp_lite.transformations.sum import sum
from opendp_lite.transformations.weighted_pairs import weighted_pairs


@bounds_come_first("most=1, epsilon=1")
@example(records(columns=["age", "visits"]), 0, 10, most=2, rho=0.1)
@example(
    records(columns=["age", "visits"]), 0, 10, most=2, epsilon=1, confidence=0.9, sampling=True
)
@mechanism
def weighted_mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    most: Number,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any, float | Estimate]:
    """The mean of values with weights: the sum of w x over the sum of w.

    Args:
        lower: The lower bound of the values, in the first of two columns. Values below it are
            clipped to it.
        upper: The upper bound, likewise.
        most: The largest weight. Weights are in the second column; larger ones are clipped.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``, whose ``rows`` is the sum of
        the weights. A row with a missing value has the weight 0. Weights of a sum below ``most``
        count as ``most``. A public number of rows is of no use here.

    Raises:
        ParameterError: If a bound, ``most`` or the budget is missing or impossible.

    Privacy:
        The budget that was given, in its measure, under either row metric.

    Proof:
        Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), appendix A, with the sum of the
        weights as the denominator. The published rows (w x, R - w x) give the number of rows.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.repeat([[4.0, 1.0], [10.0, 0.5]], 5000, axis=0)
        >>> mean = dp.records(columns=2) >> dp.estimators.weighted_mean(0, 10, most=1, epsilon=1)
        >>> round(mean(rows), 1)
        6.0
    """
    column = BoundedColumn.between(lower, upper, "weighted_mean")
    heaviest = moderate(most, "weighted_mean: most")
    moderate(heaviest * 2 * column.half, "weighted_mean: most times the width of the bounds")
    request = Request.of("weighted_mean", confidence, sampling, rho, epsilon, delta)
    budget, rows = request.budget, weighted_pairs(lower, upper, heaviest)
    if row_metric(space).fixed_size:
        rows = rows >> impute(0)
    reach = budget.family.sensitivity((rows >> sum()).bind(space).output_space.unit)
    plan = _Weighted(column, budget, float(heaviest), reach)
    noisy: Mechanism[Space[Rows], Any] = rows >> sum() >> budget.noise() >> plan.read
    if request.sampling:
        part = request.for_squares.part(Fraction(1, 2))
        each, together = rows >> square() >> sum(), rows >> norm(1) >> square() >> sum()
        moved = [sums.bind(space).output_space.unit for sums in (each, together)]
        off = [part.deviation(part.family.sensitivity(unit)) for unit in moved]
        squares = compose(each >> part.noise(), together >> part.noise())
        noisy = compose(noisy, squares) >> partial(plan.sampled, *off)
    made = request.whole.with_claimed_loss((noisy >> request.as_estimate).bind(space))
    return made.explained("both weighted sums share one noise")


@attrs.frozen
class _Weighted:
    """How the two weighted sums are read; ``reach``, how far a row moves them."""

    column: BoundedColumn
    budget: Budget
    most: float
    reach: float

    def read(self, sums: Any) -> NoisyTotals:
        """(sum of w (x - middle), sum of w)."""
        first, second = map(float, sums)
        width, scale = 2 * float(self.column.half), self.budget.scale(self.reach)
        total, rows = np.array([scale / 2, -scale / 2]), np.array([scale, scale]) / width
        errors = self.budget.family.errors(total, rows)
        about = float(self.column.middle)
        ratio = RatioOfNoisySums(*self.column.floats, about, errors, least=self.most)
        return NoisyTotals(ratio, (first - second) / 2, (first + second) / width)

    def sampled(self, off_each: float, off_together: float, release: Any) -> TotalsWithSpread:
        """Adds the spread, from the sums of (w (x - lower))^2, (w (upper - x))^2, (w width)^2.

        With t the mean as a share of the half width from the middle, w^2 (x - mean)^2 is half of
        (1 - t) times the first and (1 + t) times the second, less (1 - t^2) / 4 times the third.
        One deviation up, as rows may have it.
        """
        totals, (both, squares) = release
        first, second, third = *map(float, both), float(squares[0])
        half = float(self.column.half)
        t = (float(totals.mean) - float(self.column.middle)) / half
        off = hypot(off_each * sqrt(1 + t * t) / sqrt(2), off_together * (1 - t * t) / 4)
        found = (first * (1 - t) + second * (1 + t)) / 2 - third * (1 - t * t) / 4 + off
        weights = max(float(totals.rows), totals.ratio.least)
        of_squares = max(third, (2 * half * self.most) ** 2) / (2 * half) ** 2
        return TotalsWithSpread.of(totals, found / weights, weights**2 / of_squares, self.most)
