"""The mean as a noisy sum over a noisy count, around 0 or around the middle of the bounds."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.combinators.composing import compose
from opendp_lite.estimators.means.ratios import run_with_noise
from opendp_lite.estimators.parts import AnyAsk, Floats, Measured, RowSpace, noisy_totals
from opendp_lite.estimators.parts.budget import Budget, costs_budget
from opendp_lite.estimators.parts.request import (
    BoundedColumn,
    EstimatorPlan,
    Request,
    Scenario,
    bounds_come_first,
    sum_and_rows,
)
from opendp_lite.numbers.exact import Number, exact
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.releases.estimate import Estimate
from opendp_lite.spaces.space import example, records
from opendp_lite.transformations import center, count, resize, simplex_augment, sum


@bounds_come_first("epsilon=1")
@mechanism(
    does="The mean of one column as a noisy sum over a noisy count: for comparison with mean.",
    changes="Values beyond the bounds are clipped to them. Missing values are left out.",
    proof=costs_budget(
        "A noisy sum and a noisy count, composed.",
        replacing="-",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, section 3"],
    ),
    examples=lambda: [example(records(), 0, 10, rho=0.1, guess=4)],
)
def plug_in_mean(
    space: RowSpace,
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    share: Number | None = None,
    guess: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measured[float | Estimate]:
    """The mean of one column as a noisy sum over a noisy count: for comparison with ``mean``.

    Args:
        lower: The lower bound of the values. Values below it are clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        share: The share of the budget for the sum. By default the published one, at which the
            sum's variance is that of the count times the square of the width.
        guess: In place of ``share``: a public guess of the mean, for which the share is best.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``. Missing values are left out;
        less than one row counts as one.

    Raises:
        ParameterError: If both a share and a guess are given.
        SpaceError: If the number of rows is public.

    Example:
        >>> import opendp_lite as dp
        >>> dp.estimators.plug_in_mean(0, 10, rho=0.03).map(1)
        0.03
        >>> round(dp.estimators.plug_in_mean(0, 10, epsilon=1)([3.0] * 10_000), 1)
        3.0
    """
    column = BoundedColumn.of(space, lower, upper, "plug_in_mean")
    request = Request.of("plug_in_mean", confidence, sampling, rho, epsilon, delta)
    return _sum_over_count(space, column, Fraction(0), request, share, guess)


@bounds_come_first("epsilon=1")
@mechanism(
    does="The middle of the bounds plus a noisy sum of the differences from it over a noisy count.",
    changes="Values beyond the bounds are clipped to them. Missing values are left out.",
    proof=costs_budget(
        "A noisy sum of x - O and a noisy count, composed.",
        replacing="-",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, appendix C.1"],
    ),
    examples=lambda: [example(records(), 0, 10, epsilon=0.1, share=0.75)],
)
def centered_mean(
    space: RowSpace,
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    share: Number | None = None,
    guess: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measured[float | Estimate]:
    """The middle of the bounds plus a noisy sum of the differences from it over a noisy count.

    Args:
        lower: The lower bound of the values. Values below it are clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        share: The share of the budget for the sum. By default the published one, at which the
            sum's variance is that of the count times the square of the width.
        guess: In place of ``share``: a public guess of the mean, for which the share is best.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``. Missing values are left out;
        less than one row counts as one.

    Raises:
        ParameterError: If both a share and a guess are given.
        SpaceError: If the number of rows is public.

    Example:
        >>> import opendp_lite as dp
        >>> dp.estimators.centered_mean(0, 10, rho=0.03).map(1)
        0.03
        >>> round(dp.estimators.centered_mean(0, 10, epsilon=1)([3.0] * 10_000), 1)
        3.0
    """
    column = BoundedColumn.of(space, lower, upper, "centered_mean")
    request = Request.of("centered_mean", confidence, sampling, rho, epsilon, delta)
    return _sum_over_count(space, column, column.middle, request, share, guess)


def _sum_over_count(
    space: RowSpace,
    column: BoundedColumn,
    about: Fraction,
    request: Request,
    share: Number | None,
    guess: Number | None,
) -> Measured[float | Estimate]:
    """The estimator that subtracts ``about`` from each value before the sum.

    The share of the sum is as given, or the best for a guess of the mean, or as published.
    """
    step, whole = request.step, request.whole
    noisy_totals.require_private_size(space, step)
    if share is not None and guess is not None:
        raise ParameterError(f"{step}: a guess decides the share; give one of them")
    near, reach = column.public(guess, f"{step}: guess"), column.reach(about)
    if share is not None:
        of_sum = noisy_totals.share_of(share, f"{step}: share")
    elif near is None:
        of_sum = whole.even_share(reach, 2 * column.half)
    else:
        of_sum = whole.best_share(reach, abs(near - about))
    budget, total = request.budget, sum() if about == 0 else center(about) >> sum()
    for_sum, for_count = budget.part(of_sum), budget.part(1 - of_sum)
    unit = float(space.unit)
    scales = for_sum.scale(unit * float(reach)), for_count.scale(unit)
    errors = budget.errors([scales[0], 0.0], [0.0, scales[1]])
    ratio = noisy_totals.RatioOfNoisySums(*column.floats, float(about), errors)
    released = compose(total >> for_sum.noise(), count() >> for_count.noise())
    plan = EstimatorPlan.of_one_round(column, released, ratio, sum_and_rows)
    return request.build(space, plan, f"{float(of_sum):.3g} of the budget is for the sum")


_MOST_FILLED: Final = 1e6


@bounds_come_first("epsilon=1")
@mechanism(
    does="The mean of rows sampled down, or filled up, to a noisy number, for comparison.",
    changes=(
        "Values beyond the bounds are clipped to them. Missing values are left out. Rows are left "
        "out or added to reach a noisy number."
    ),
    proof=costs_budget(
        "A noisy count, then `resize` to that number and a sum with sensitivity U - L "
        "(erratum 1.1.13), composed.",
        replacing="-",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, appendix C.2"],
    ),
    examples=lambda: [example(records(), 0, 10, rho=0.1, fill=5)],
)
def resized_mean(
    space: RowSpace,
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    share: Number = Fraction(1, 2),
    fill: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measured[float | Estimate]:
    """The mean of rows sampled down, or filled up, to a noisy number: for comparison with ``mean``.

    Args:
        lower: The lower bound of the values. Values below it are clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        share: The share of the budget for the sum. The rest is for the number of rows.
        fill: The value that fills up. By default values are spread evenly over the bounds.
        confidence: As for ``mean``. The interval is wider than it need be.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``. Missing values are left out;
        less than one row counts as one. All rows are held in memory.

    Raises:
        ParameterError: If the noise of the number of rows is too large to fill up.
        SpaceError: If the number of rows is public.

    Example:
        >>> import opendp_lite as dp
        >>> dp.estimators.resized_mean(0, 10, rho=0.03).map(1)
        0.03
        >>> round(dp.estimators.resized_mean(0, 10, epsilon=1)([3.0] * 10_000), 1)
        3.0
    """
    column = BoundedColumn.of(space, lower, upper, "resized_mean")
    noisy_totals.require_private_size(space, "resized_mean")
    request = Request.of("resized_mean", confidence, sampling, rho, epsilon, delta)
    filling = column.public(fill, "resized_mean: fill")
    of_sum = noisy_totals.share_of(share, "resized_mean: share")
    resized = _Resized(column, request.budget, float(space.unit), of_sum, filling)
    filled = resized.scales[1]
    if filled > _MOST_FILLED:
        raise ParameterError(
            f"resized_mean fills up to a number of rows with a noise of about {filled:.2g}, more "
            f"than {_MOST_FILLED:g}. Give it a larger budget, or use mean(), which fills up none"
        )
    plan = EstimatorPlan(column, _program(resized), resized.simulate)
    return request.build(space, plan, f"{float(of_sum):.3g} of the budget is for the sum")


@attrs.frozen
class _Resized:
    """A count first, then the sum of that many rows."""

    column: BoundedColumn
    budget: Budget
    unit: float
    share: Fraction
    fill: Fraction | None

    def run(self, ask: AnyAsk) -> noisy_totals.NoisyTotals:
        """One release."""
        counted = float(ask(count() >> self.budget.part(1 - self.share).noise()))
        size = max(round(counted), 1)
        rows = resize(size, self.fill) >> center(self.column.middle) >> sum()
        total = ask(rows >> self.budget.part(self.share).noise())
        return noisy_totals.NoisyTotals(self.ratio, float(total[0]), float(size))

    @property
    def scales(self) -> tuple[float, float]:
        """Of the sum, and of the number of rows."""
        of_sum = self.budget.part(self.share).scale(self.unit * 2 * float(self.column.half))
        return of_sum, self.budget.part(1 - self.share).scale(self.unit)

    @property
    def ratio(self) -> noisy_totals.RatioOfNoisySums:
        """How a release errs; the rows that are left out count as noise."""
        of_sum, of_rows = self.scales
        left_out = float(self.column.half) * sqrt(of_rows)
        errors = self.budget.errors([of_sum, 0.0, left_out], [0.0, of_rows, 0.0])
        return noisy_totals.RatioOfNoisySums(*self.column.floats, float(self.column.middle), errors)

    def simulate(
        self, scenario: Scenario, runs: int, generator: np.random.Generator
    ) -> noisy_totals.NoisyTotals:
        """With a normal for the sum of the rows that are sampled."""
        ratio, (of_sum, of_rows) = self.ratio, self.scales
        noise = self.budget.errors([of_sum, 0.0], [0.0, of_rows])
        total, off = noise.draw(runs, generator)
        size = np.maximum(np.rint(scenario.rows + off), 1.0)
        kept = np.minimum(size, scenario.rows)
        left = kept * (scenario.rows - kept) / max(scenario.rows - 1, 1)
        sampled = np.sqrt(scenario.variance * left) * generator.standard_normal(runs)
        filled = 0.0 if self.fill is None else float(self.fill) - ratio.about
        moved = kept * (scenario.mean - ratio.about) + (size - kept) * filled
        return noisy_totals.NoisyTotals(ratio, moved + sampled + total, size)


@mechanism
def _program(space: RowSpace, plan: _Resized) -> Measured[noisy_totals.NoisyTotals]:
    return run_with_noise(space, plan.run, plan.budget, "a count, then the sum")


@bounds_come_first("epsilon=1")
@mechanism(
    does="The mean of one column from noisy sums of (x - lower) and (upper - x).",
    changes="Values beyond the bounds are clipped to them. Missing values are left out.",
    proof=costs_budget(
        "`simplex_augment`, `sum`, noise. An extra count composes.",
        replacing="-",
        sources=[
            "Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, section 4",
            "Kulesza, Suresh, Wang 2024",
        ],
    ),
    examples=lambda: [example(records(), 0, 10, epsilon=0.1, extra_count=0.25)],
)
def simplex_mean(
    space: RowSpace,
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    extra_count: Number = 0,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measured[float | Estimate]:
    """The mean of one column from noisy sums of (x - lower) and (upper - x).

    Args:
        lower: The lower bound of the values. Values below it are clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        extra_count: The share of the budget for a count besides. It is averaged with the count
            from the sums by inverse variances.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``. Missing values are left out;
        less than one row counts as one.

    Raises:
        SpaceError: If the number of rows is public.

    Example:
        >>> import opendp_lite as dp
        >>> dp.estimators.simplex_mean(0, 10, epsilon=1).map(1)
        1.0
        >>> round(dp.estimators.simplex_mean(0, 10, epsilon=1)([3.0] * 10_000), 1)
        3.0
    """
    column = BoundedColumn.of(space, lower, upper, "simplex_mean")
    noisy_totals.require_private_size(space, "simplex_mean")
    request = Request.of("simplex_mean", confidence, sampling, rho, epsilon, delta)
    extra = exact(extra_count, "simplex_mean: extra_count")
    if not 0 <= extra < 1:
        raise ParameterError(
            "simplex_mean: extra_count is a share of the budget, from 0 to below 1, got "
            f"{extra_count}"
        )
    budget, unit, width = request.budget, float(space.unit), 2 * float(column.half)
    for_sums, for_count = budget.part(1 - extra), budget.part(extra)
    of_sums = for_sums.scale(unit * width)
    # The weight of the extra count, by inverse variances.
    off, trust = 0.0, 0.0
    if extra:
        off, free = for_count.scale(unit), sqrt(2) * of_sums / width
        trust = free**2 / (free**2 + off**2)
    each = (1 - trust) * of_sums / width
    errors = budget.errors([of_sums / 2, -of_sums / 2, 0.0], [each, each, trust * off])
    ratio = noisy_totals.RatioOfNoisySums(*column.floats, float(column.middle), errors)

    def read(release: tuple[Floats, float] | Floats) -> tuple[float, float]:
        sums, counted = release if extra else (release, 0.0)
        first, second = map(float, sums)
        return (first - second) / 2, (1 - trust) * ((first + second) / width) + trust * float(
            counted
        )

    released: Any = simplex_augment() >> sum() >> for_sums.noise()
    if extra:
        released = compose(released, count() >> for_count.noise())
    plan = EstimatorPlan.of_one_round(column, released, ratio, read)
    return request.build(space, plan, "both sums share one noise")
