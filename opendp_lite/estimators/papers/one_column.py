"""The mean as a noisy sum over a noisy count, around 0 or around the middle of the bounds."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Final

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.combinators.adaptive_programs import make_adaptive
from opendp_lite.combinators.composing import compose
from opendp_lite.estimators.parts.budget import AnyAsk, Measured, Noisy, RowSpace, costs_budget
from opendp_lite.estimators.parts.noisy_totals import (
    Floats,
    NoisyTotals,
    RatioOfNoisySums,
    require_private_size,
    share_of,
)
from opendp_lite.estimators.parts.request import (
    BoundedColumn,
    EstimatorPlan,
    OneRoundPlan,
    Request,
    Scenario,
    bounds_come_first,
)
from opendp_lite.measures.budgets import numbers_of
from opendp_lite.numbers.exact import Number, exact
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.releases.estimates import Estimate
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import records
from opendp_lite.transformations.bounding import center
from opendp_lite.transformations.entries import simplex_augment
from opendp_lite.transformations.rows import resize
from opendp_lite.transformations.sums import count, sum


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
    require_private_size(space, step)
    if share is not None and guess is not None:
        raise ParameterError(f"{step}: a guess decides the share; give one of them")
    near, reach = column.public(guess, f"{step}: guess"), column.reach(about)
    if share is not None:
        of_sum = share_of(share, f"{step}: share")
    elif near is None:
        of_sum = whole.even_share(reach, 2 * column.half)
    else:
        of_sum = whole.best_share(reach, abs(near - about))
    plan = _SumOverCount(column, request.budget, float(space.unit), about, of_sum)
    return request.build(space, plan, f"{float(of_sum):.3g} of the budget is for the sum")


@attrs.frozen
class _SumOverCount(OneRoundPlan):
    """A share of the budget for the sum of (x - about), the rest for the number of rows."""

    about: Fraction
    share: Fraction

    def mechanism(self) -> Noisy[NoisyTotals]:
        total = sum() if self.about == 0 else center(self.about) >> sum()
        of_sum, of_count = self.budget.part(self.share), self.budget.part(1 - self.share)
        return compose(total >> of_sum.noise(), count() >> of_count.noise()) >> self.of_both

    def ratio(self) -> RatioOfNoisySums:
        of_sum, of_count = self.budget.part(self.share), self.budget.part(1 - self.share)
        scale = of_sum.scale(self.unit * float(self.column.reach(self.about)))
        errors = self.budget.errors([scale, 0.0], [0.0, of_count.scale(self.unit)])
        return RatioOfNoisySums(*self.column.floats, float(self.about), errors)


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
    require_private_size(space, "resized_mean")
    request = Request.of("resized_mean", confidence, sampling, rho, epsilon, delta)
    filling = column.public(fill, "resized_mean: fill")
    of_sum = share_of(share, "resized_mean: share")
    plan = _Resized(column, request.budget, float(space.unit), of_sum, filling)
    filled = plan.budget.part(1 - of_sum).scale(plan.unit)
    if filled > _MOST_FILLED:
        raise ParameterError(
            f"resized_mean fills up to a number of rows with a noise of about {filled:.2g}, more "
            f"than {_MOST_FILLED:g}. Give it a larger budget, or use mean(), which fills up none"
        )
    return request.build(space, plan, f"{float(of_sum):.3g} of the budget is for the sum")


@attrs.frozen
class _Resized(EstimatorPlan):
    """A count first, then the sum of that many rows."""

    share: Fraction
    fill: Fraction | None

    def mechanism(self) -> Noisy[NoisyTotals]:
        return _program(self)

    def run(self, ask: AnyAsk) -> NoisyTotals:
        """One release."""
        counted = float(ask(count() >> self.budget.part(1 - self.share).noise()))
        size = max(round(counted), 1)
        rows = resize(size, self.fill) >> center(self.column.middle) >> sum()
        total = ask(rows >> self.budget.part(self.share).noise())
        return NoisyTotals(self._ratio(), float(total[0]), float(size))

    def _scales(self) -> tuple[float, float]:
        """Of the sum, and of the number of rows."""
        of_sum = self.budget.part(self.share).scale(self.unit * 2 * float(self.column.half))
        return of_sum, self.budget.part(1 - self.share).scale(self.unit)

    def _ratio(self) -> RatioOfNoisySums:
        of_sum, of_rows = self._scales()
        left_out = float(self.column.half) * sqrt(of_rows)
        errors = self.budget.errors([of_sum, 0.0, left_out], [0.0, of_rows, 0.0])
        return RatioOfNoisySums(*self.column.floats, float(self.column.middle), errors)

    def simulate(
        self, scenario: Scenario, runs: int, generator: np.random.Generator
    ) -> NoisyTotals:
        """With a normal for the sum of the rows that are sampled."""
        ratio, (of_sum, of_rows) = self._ratio(), self._scales()
        noise = self.budget.errors([of_sum, 0.0], [0.0, of_rows])
        total, off = noise.draw(runs, generator)
        size = np.maximum(np.rint(scenario.rows + off), 1.0)
        kept = np.minimum(size, scenario.rows)
        left = kept * (scenario.rows - kept) / max(scenario.rows - 1, 1)
        sampled = np.sqrt(scenario.variance * left) * generator.standard_normal(runs)
        filled = 0.0 if self.fill is None else float(self.fill) - ratio.about
        moved = kept * (scenario.mean - ratio.about) + (size - kept) * filled
        return NoisyTotals(ratio, moved + sampled + total, size)


@mechanism
def _program(space: RowSpace, plan: _Resized) -> Measured[NoisyTotals]:
    budget = plan.budget
    made = make_adaptive(space, plan.run, budget.measure, budget.amount, "a count, then the sum")

    def privacy_map(distance: Fraction) -> Fraction:
        (amount,) = numbers_of(made.privacy_map(distance))
        return budget.together(amount)

    return attrs.evolve(made, privacy_map=privacy_map)


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
    require_private_size(space, "simplex_mean")
    request = Request.of("simplex_mean", confidence, sampling, rho, epsilon, delta)
    extra = exact(extra_count, "simplex_mean: extra_count")
    if not 0 <= extra < 1:
        raise ParameterError(
            "simplex_mean: extra_count is a share of the budget, from 0 to below 1, got "
            f"{extra_count}"
        )
    plan = _Simplex(column, request.budget, float(space.unit), extra)
    return request.build(space, plan, "both sums share one noise")


@attrs.frozen
class _Simplex(OneRoundPlan):
    """The two sums, and a count besides where ``extra`` of the budget is for one."""

    extra: Fraction

    def mechanism(self) -> Noisy[NoisyTotals]:
        sums = simplex_augment() >> sum() >> self.budget.part(1 - self.extra).noise()
        if self.extra == 0:
            return sums >> self._from_sums
        return compose(sums, count() >> self.budget.part(self.extra).noise()) >> self._with_count

    def _from_sums(self, sums: Floats) -> NoisyTotals:
        first, second = map(float, sums)
        return NoisyTotals(self.ratio(), (first - second) / 2, (first + second) / self._width)

    def _with_count(self, release: tuple[Floats, float]) -> NoisyTotals:
        found, (*_, trust) = self._from_sums(release[0]), self._scales()
        return attrs.evolve(found, rows=(1 - trust) * found.rows + trust * float(release[1]))

    @property
    def _width(self) -> float:
        return 2 * float(self.column.half)

    def _scales(self) -> tuple[float, float, float]:
        """Of the sums, of the extra count, and the weight of that; 0 where there is none."""
        of_sums = self.budget.part(1 - self.extra).scale(self.unit * self._width)
        if not self.extra:
            return of_sums, 0.0, 0.0
        extra = self.budget.part(self.extra).scale(self.unit)
        free = sqrt(2) * of_sums / self._width
        return of_sums, extra, free**2 / (free**2 + extra**2)

    def ratio(self) -> RatioOfNoisySums:
        of_sums, extra, trust = self._scales()
        each = (1 - trust) * of_sums / self._width
        errors = self.budget.errors([of_sums / 2, -of_sums / 2, 0.0], [each, each, trust * extra])
        return RatioOfNoisySums(*self.column.floats, float(self.column.middle), errors)
