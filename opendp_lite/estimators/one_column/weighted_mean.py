"""The weighted mean of a column."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import hypot, sqrt
from typing import Any

import attrs
import numpy as np

from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.bounded_column import Column
from opendp_lite.estimators.inference.budget import Loss, loss_of
from opendp_lite.estimators.inference.noisy_totals import Reading
from opendp_lite.estimators.inference.parameters import moderate
from opendp_lite.estimators.inference.ratio_of_noisy_sums import Quotient
from opendp_lite.estimators.inference.uncertainty_options import Report, Sampled
from opendp_lite.exact import Number
from opendp_lite.spaces import Space
from opendp_lite.transformations.norm import norm
from opendp_lite.transformations.square import square
from opendp_lite.transformations.sum import sum
from opendp_lite.transformations.weigh import weigh


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
) -> Measurement[Space[Rows], Any]:
    """The mean of values with weights: the sum of w x over the sum of w.

    Takes: two columns, values and weights; bounds of the values; ``most``, the largest weight;
        one of ``rho``, ``epsilon``, ``epsilon`` with ``delta``; ``confidence`` and ``sampling`` as
        for ``mean``. Rows may be added or removed, or replaced, with a public number that is of
        no use here.
    Gives: a number in the bounds; an ``Estimate`` where there is a confidence, whose ``rows`` is
        the sum of the weights. Rows with a NaN have the weight 0; weights that come to less than
        ``most`` together count as ``most``.
    Costs: the loss that was given, in its measure.
    Because: Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), appendix A, with the sum of the
        weights as the denominator: the published rows (w x, R - w x) give the number of rows.

    >>> import opendp_lite as dp, numpy as np
    >>> rows = np.repeat([[4.0, 1.0], [10.0, 0.5]], 5000, axis=0)
    >>> mean = dp.records(columns=2) >> dp.weighted_mean(0, 10, most=1, rho=0.5)
    >>> round(mean(rows), 1)
    6.0
    """
    column = Column.between(lower, upper, "weighted_mean")
    heaviest = moderate(most, "weighted_mean: most")
    moderate(heaviest * 2 * column.half, "weighted_mean: most times the width of the bounds")
    whole = loss_of("weighted_mean", rho, epsilon, delta)
    report = Report.of("weighted_mean", confidence, sampling)
    loss, rows = report.for_mean(whole), weigh(lower, upper, heaviest)
    reach = loss.reach((rows >> sum()).bind(space).output_space.unit)
    plan = _Weighted(column, loss, float(heaviest), reach)
    noisy: Mechanism[Space[Rows], Any] = rows >> sum() >> loss.noise() >> plan.read
    if report.sampling:
        part = report.for_squares(whole).part(Fraction(1, 2))
        each, together = rows >> square() >> sum(), rows >> norm(1) >> square() >> sum()
        moved = [sums.bind(space).output_space.unit for sums in (each, together)]
        off = [part.deviation(part.reach(unit)) for unit in moved]
        squares = compose(each >> part.noise(), together >> part.noise())
        noisy = compose(noisy, squares) >> partial(plan.sampled, *off)
    formula = "a row's two weighted entries share one noise"
    return attrs.evolve(whole.claimed((noisy >> report.told).bind(space)), formula=formula)


@attrs.frozen
class _Weighted:
    """How the two weighted sums are read; ``reach``, how far a row moves them."""

    column: Column
    loss: Loss
    most: float
    reach: float

    def read(self, sums: Any) -> Reading:
        """(sum of w (x - middle), sum of w)."""
        first, second = map(float, sums)
        width, scale = 2 * float(self.column.half), self.loss.scale(self.reach)
        total, rows = np.array([scale / 2, -scale / 2]), np.array([scale, scale]) / width
        errors = self.loss.errors(total, rows)
        about = float(self.column.middle)
        quotient = Quotient(*self.column.floats, about, errors, least=self.most)
        return Reading(quotient, (first - second) / 2, (first + second) / width)

    def sampled(self, off_each: float, off_together: float, release: Any) -> Sampled:
        """Adds the spread, from the sums of (w (x - lower))^2, (w (upper - x))^2, (w width)^2.

        With t the mean as a share of the half width from the middle, w^2 (x - mean)^2 is half of
        (1 - t) times the first and (1 + t) times the second, less (1 - t^2) / 4 times the third.
        One deviation up, as rows may have it.
        """
        reading, (both, squares) = release
        first, second, third = *map(float, both), float(squares[0])
        half = float(self.column.half)
        t = (float(reading.mean) - float(self.column.middle)) / half
        off = hypot(off_each * sqrt(1 + t * t) / sqrt(2), off_together * (1 - t * t) / 4)
        found = (first * (1 - t) + second * (1 + t)) / 2 - third * (1 - t * t) / 4 + off
        weights = max(float(reading.rows), reading.quotient.least)
        of_squares = max(third, (2 * half * self.most) ** 2) / (2 * half) ** 2
        return Sampled.of(reading, found / weights, weights**2 / of_squares, self.most)
