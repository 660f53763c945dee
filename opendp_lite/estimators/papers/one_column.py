"""The mean as a noisy sum over a noisy count, around 0 or around the middle of the bounds."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.combinators.adaptive_programs import Ask, make_adaptive
from opendp_lite.combinators.composing import compose
from opendp_lite.estimators.parts.noisy_totals import (
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
from opendp_lite.pipeline.core import Measurement
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.releases.estimates import Estimate
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, example, records
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations.bounding import center
from opendp_lite.transformations.counting import count
from opendp_lite.transformations.people import resize
from opendp_lite.transformations.products import simplex_augment
from opendp_lite.transformations.sums import sum


@bounds_come_first("epsilon=1")
@mechanism(
    does="The mean of one column as a noisy sum over a noisy count: for comparison with mean.",
    changes="Values beyond the bounds are clipped to them. Missing values are left out.",
    proof=Proof(
        "A noisy sum and a noisy count, composed.",
        adding="the budget",
        replacing="-",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, section 3"],
    ),
    examples=lambda: [example(records(), 0, 10, rho=0.1, guess=4)],
)
def plug_in_mean(
    space: Space[Rows],
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
) -> Measurement[Space[Rows], Any, float | Estimate]:
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
    proof=Proof(
        "A noisy sum of x - O and a noisy count, composed.",
        adding="the budget",
        replacing="-",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, appendix C.1"],
    ),
    examples=lambda: [example(records(), 0, 10, epsilon=0.1, share=0.75)],
)
def centered_mean(
    space: Space[Rows],
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
) -> Measurement[Space[Rows], Any, float | Estimate]:
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
    space: Space[Rows],
    column: BoundedColumn,
    about: Fraction,
    request: Request,
    share: Number | None,
    guess: Number | None,
) -> Measurement[Space[Rows], Any]:
    """The estimator that subtracts ``about`` from each value before the sum."""
    require_private_size(space, request.step)
    of_sum = _share_of_sum(request, column, about, share, guess)
    plan = _SumOverCount(column, request.budget, float(space.unit), about, of_sum)
    return request.measured(space, plan, f"{float(of_sum):.3g} of the budget is for the sum")


def _share_of_sum(
    request: Request,
    column: BoundedColumn,
    about: Fraction,
    share: Number | None,
    guess: Number | None,
) -> Fraction:
    """The share as given, or the best for a guess of the mean, or as published."""
    step, family = request.step, request.whole.family
    if share is not None and guess is not None:
        raise ParameterError(f"{step}: a guess decides the share; give one of them")
    if share is not None:
        return share_of(share, f"{step}: share")
    near = column.public(guess, f"{step}: guess")
    if near is None:
        return family.even_share(_reach(column, about), 2 * column.half)
    return family.best_share(_reach(column, about), abs(near - about))


def _reach(column: BoundedColumn, about: Fraction) -> Fraction:
    """How far a value can be from what is subtracted."""
    return max(column.upper - about, about - column.lower)


@attrs.frozen
class _SumOverCount(OneRoundPlan):
    """A share of the budget for the sum of (x - about), the rest for the number of rows."""

    about: Fraction
    share: Fraction

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        total = sum() if self.about == 0 else center(self.about) >> sum()
        of_sum, of_count = self.budget.part(self.share), self.budget.part(1 - self.share)
        return compose(total >> of_sum.noise(), count() >> of_count.noise()) >> self.of_both

    def ratio(self) -> RatioOfNoisySums:
        reach = self.unit * float(_reach(self.column, self.about))
        of_sum = self.budget.part(self.share).scale(reach)
        of_count = self.budget.part(1 - self.share).scale(self.unit)
        errors = self.budget.family.errors(np.array([of_sum, 0.0]), np.array([0.0, of_count]))
        return RatioOfNoisySums(*self.column.floats, float(self.about), errors)


_MOST_FILLED: Final = 1e6


@bounds_come_first("epsilon=1")
@mechanism(
    does="The mean of rows sampled down, or filled up, to a noisy number, for comparison.",
    changes=(
        "Values beyond the bounds are clipped to them. Missing values are left out. Rows are left "
        "out or added to reach a noisy number."
    ),
    proof=Proof(
        "A noisy count, then `resize` to that number and a sum with sensitivity U - L "
        "(erratum 1.1.13), composed.",
        adding="the budget",
        replacing="-",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, appendix C.2"],
    ),
    examples=lambda: [example(records(), 0, 10, rho=0.1, fill=5)],
)
def resized_mean(
    space: Space[Rows],
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
) -> Measurement[Space[Rows], Any, float | Estimate]:
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
    return request.measured(space, plan, f"{float(of_sum):.3g} of the budget is for the sum")


@attrs.frozen
class _Resized(EstimatorPlan):
    """A count first, then the sum of that many rows."""

    share: Fraction
    fill: Fraction | None

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        return _program(self)

    def run(self, ask: Ask[Any]) -> NoisyTotals:
        """One release."""
        counted = float(ask(count() >> self.budget.part(1 - self.share).noise()))
        size = max(round(counted), 1)
        rows = resize(size, self.fill) >> center(self.column.middle) >> sum()
        total = ask(rows >> self.budget.part(self.share).noise())
        return NoisyTotals(self._ratio(), float(total[0]), float(size))

    def _ratio(self) -> RatioOfNoisySums:
        of_sum = self.budget.part(self.share).scale(self.unit * 2 * float(self.column.half))
        of_rows = self.budget.part(1 - self.share).scale(self.unit)
        left_out = float(self.column.half) * sqrt(of_rows)
        total, rows = [of_sum, 0.0, left_out], [0.0, of_rows, 0.0]
        errors = self.budget.family.errors(np.array(total), np.array(rows))
        return RatioOfNoisySums(*self.column.floats, float(self.column.middle), errors)

    def simulate(
        self, scenario: Scenario, runs: int, generator: np.random.Generator
    ) -> NoisyTotals:
        """With a normal for the sum of the rows that are sampled."""
        ratio = self._ratio()
        of_sum, of_rows = self.budget.part(self.share), self.budget.part(1 - self.share)
        width = self.unit * 2 * float(self.column.half)
        noise = self.budget.family.errors(
            np.array([of_sum.scale(width), 0.0]), np.array([0.0, of_rows.scale(self.unit)])
        )
        total, off = noise.draw(runs, generator)
        size = np.maximum(np.rint(scenario.rows + off), 1.0)
        kept = np.minimum(size, scenario.rows)
        left = kept * (scenario.rows - kept) / max(scenario.rows - 1, 1)
        sampled = np.sqrt(scenario.variance * left) * generator.standard_normal(runs)
        filled = 0.0 if self.fill is None else float(self.fill) - ratio.about
        moved = kept * (scenario.mean - ratio.about) + (size - kept) * filled
        return NoisyTotals(ratio, moved + sampled + total, size)


@mechanism
def _program(space: Space[Rows], plan: _Resized) -> Measurement[Space[Rows], Any]:
    budget = plan.budget
    made = make_adaptive(space, plan.run, budget.measure, budget.amount, "a count, then the sum")

    def privacy_map(distance: Fraction) -> Fraction:
        (amount,) = numbers_of(made.privacy_map(distance))
        return budget.family.together(amount)

    return attrs.evolve(made, privacy_map=privacy_map)


@bounds_come_first("epsilon=1")
@mechanism(
    does="The mean of one column from noisy sums of (x - lower) and (upper - x).",
    changes="Values beyond the bounds are clipped to them. Missing values are left out.",
    proof=Proof(
        "`simplex_augment`, `sum`, noise. An extra count composes.",
        adding="the budget",
        replacing="-",
        sources=[
            "Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, section 4",
            "Kulesza, Suresh, Wang 2024",
        ],
    ),
    examples=lambda: [example(records(), 0, 10, epsilon=0.1, extra_count=0.25)],
)
def simplex_mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    extra_count: Number = 0,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any, float | Estimate]:
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
    return request.measured(space, plan, "both sums share one noise")


@attrs.frozen
class _Simplex(OneRoundPlan):
    """The two sums, and a count besides where ``extra`` of the budget is for one."""

    extra: Fraction

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        sums = simplex_augment() >> sum() >> self.budget.part(1 - self.extra).noise()
        if self.extra == 0:
            return sums >> self._from_sums
        return compose(sums, count() >> self.budget.part(self.extra).noise()) >> self._with_count

    def _from_sums(self, sums: Any) -> NoisyTotals:
        first, second = map(float, sums)
        return NoisyTotals(self.ratio(), (first - second) / 2, (first + second) / self._width)

    def _with_count(self, release: Any) -> NoisyTotals:
        found = self._from_sums(release[0])
        trust = self._trust()
        return attrs.evolve(found, rows=(1 - trust) * found.rows + trust * float(release[1]))

    @property
    def _width(self) -> float:
        return 2 * float(self.column.half)

    def _scales(self) -> tuple[float, float]:
        """Of the sums, and of the extra count, infinite where there is none."""
        of_sums = self.budget.part(1 - self.extra).scale(self.unit * self._width)
        extra = self.budget.part(self.extra).scale(self.unit) if self.extra else float("inf")
        return of_sums, extra

    def _trust(self) -> float:
        """The weight of the extra count."""
        of_sums, extra = self._scales()
        free = sqrt(2) * of_sums / self._width
        return free**2 / (free**2 + extra**2)

    def ratio(self) -> RatioOfNoisySums:
        of_sums, extra = self._scales()
        trust = self._trust()
        each = (1 - trust) * of_sums / self._width
        third = trust * extra if self.extra else 0.0
        total, rows = [of_sums / 2, -of_sums / 2, 0.0], [each, each, third]
        errors = self.budget.family.errors(np.array(total), np.array(rows))
        return RatioOfNoisySums(*self.column.floats, float(self.column.middle), errors)
