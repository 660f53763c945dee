"""The mean of a column."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp
from typing import Final, overload

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.estimators import means
from opendp_lite.estimators.parts.budget import Measured, RowSpace, costs_budget
from opendp_lite.estimators.parts.request import (
    BoundedColumn,
    EstimatorPlan,
    Request,
    Scenario,
    bounds_come_first,
)
from opendp_lite.measures.budgets import PrivacyBudget, Spent
from opendp_lite.measures.divergences import MaxDivergence
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import Number, digits_up, rational_of_float
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.releases.estimates import Estimate
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import records

_LARGEST: Final = 20.0
_ROWS: Final = 1000
_RUNS: Final = 2000
_SEED: Final = 4


@overload
def mean(
    lower: Number | None = None,
    upper: Number | None = None,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: None = None,
) -> Mechanism[RowSpace, Spent, float]: ...
@overload
def mean(
    lower: Number | None = None,
    upper: Number | None = None,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number,
    sampling: bool = False,
) -> Mechanism[RowSpace, Spent, Estimate]: ...
@bounds_come_first("epsilon=1")
@mechanism(
    does="The mean of one column, by the best estimator for the setting.",
    changes=(
        "Values beyond the bounds are clipped to them; without bounds, to bounds that a part of "
        "the budget finds. Missing values are left out; where the number of rows is public they "
        "count as the middle of the bounds."
    ),
    proof=costs_budget(
        "That of the estimator which it picks: `recentred_mean`, for a pure budget "
        "`joint_mean`, for a public number of rows `known_size_mean`, without bounds "
        "`unbounded_mean`.",
    ),
    examples=lambda: [
        example(records(), 0, 100, rho=0.1),
        example(records(), rho=0.1),
        example(records(), 0, 100, epsilon=1, delta=1e-6, confidence=0.9, sampling=True),
        example(records(size=20, metric=ChangeOneDistance()), -1, 1, epsilon=0.1),
    ],
)
def mean(
    space: RowSpace,
    lower: Number | None = None,
    upper: Number | None = None,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measured[float | Estimate]:
    """The mean of one column, by the best estimator for the setting.

    ``explain()`` names the estimator, what is protected and how far off the mean may be.

    Args:
        lower: The lower bound of the values, chosen without looking at the data. Values below it
            are clipped to it. Without bounds, a part of the budget finds some.
        upper: The upper bound, likewise.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``: the probability that its bound may fail, 1e-6 say.
        confidence: 0.95, say, asks for an interval too.
        sampling: Whether the interval is for the mean of the population, of which the rows are a
            random sample. It then costs a twentieth of the budget.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``. Missing values are left out;
        where the number of rows is public they count as the middle of the bounds.

    Raises:
        ParameterError: If one bound or the budget is missing or impossible, or if the public
            number of rows is too small to find bounds.

    Example:
        >>> import opendp_lite as dp
        >>> ages = [23.0, 31.0, 38.0, 45.0, 52.0, 67.0] * 1000
        >>> round(dp.mean(0, 100, epsilon=1)(ages))
        43
        >>> estimate = dp.mean(0, 100, epsilon=1, confidence=0.95)(ages)
        >>> low, high = estimate.interval
        >>> 0 < high - low < 0.2
        True
    """
    request = Request.of("mean", confidence, sampling, rho, epsilon, delta)
    if lower is upper is None:
        return means.learned_mean(space, request)
    if lower is None or upper is None:
        missing = "lower" if lower is None else "upper"
        raise ParameterError(
            f"mean takes two bounds or none, {missing} is missing: write dp.mean(0, 100, "
            "epsilon=1), or dp.mean(epsilon=1) to find bounds in private"
        )
    column = BoundedColumn.of(space, lower, upper, "mean")
    plan, why = _choose(space, column, request)
    made = request.build(space, plan, "")
    return made.with_explanation(_Explanation(why, made, request, plan, space.domain.size))


def _choose(space: RowSpace, column: BoundedColumn, request: Request) -> tuple[EstimatorPlan, str]:
    """The best plan for the setting, and why."""
    if space.domain.size is not None:
        why = (
            "the estimator is known_size_mean: the number of rows is public\n"
            "  all of the budget is for the sum"
        )
        return means.known_size_plan(space, column, request), why
    if request.whole.measure == MaxDivergence():
        why = (
            "the estimator is joint_mean: the number of rows is private\n"
            "  sum and count share one noise\n"
            "  the error is close to the least that pure privacy allows"
        )
        return means.joint_plan(space, column, request), why
    why = (
        "the estimator is recentred_mean: the number of rows is private\n"
        "  a tenth of the budget finds roughly where the mean lies\n"
        "  the rest is divided accordingly between sum and count\n"
        "  the error is close to the least that Gaussian noise allows"
    )
    return means.recentred_plan(space, column, request), why


@attrs.frozen(eq=False, repr=False)
class _Explanation:
    """Why this estimator, what is protected, and how far off it is: simulated when shown."""

    why: str
    made: Measured[float | Estimate]
    request: Request
    plan: EstimatorPlan
    size: int | None

    def __str__(self) -> str:
        return "\n".join([self.why, self._say_protection(), *self._how_far_off()])

    def _say_protection(self) -> str:
        """The promise, as it is defined: on the probability of any conclusion."""
        told_at = self.request.whole.reporting_delta
        rows = ceil(self.made.input_space.unit)
        power = self.made.epsilon(told_at, rows)
        factor = f"e^{digits_up(rational_of_float(power), 3)}"
        if power < _LARGEST:
            factor += f" = {digits_up(Fraction(exp(power)), 3)}"
        change = "adding or removing" if self.size is None else "replacing"
        plus = f", plus {float(told_at):g}" if told_at else ""
        likely = f"makes any conclusion at most {factor} times as likely{plus}"
        if rows > 1:
            return (
                f"protected: any {rows} rows together, the most that a neighbour changes here\n"
                f"  {change} them {likely}"
            )
        return (
            f"protected: any one row\n  {change} it {likely}\n"
            "  several rows of one person are protected less: see map(2)"
        )

    def _how_far_off(self) -> list[str]:
        """Errors from releases of made-up data, and what they leave out."""
        if self.size is None:
            few, many = self._errors(_ROWS), self._errors(10 * _ROWS)
            noise = f"{few} with {_ROWS} rows, {many} with {10 * _ROWS}"
        else:
            noise = f"{self._errors(self.size)}"
        return [
            f"how far off: the noise moves the mean by about {noise}",
            "  a range depends on where the mean lies between the bounds",
            "  values beyond the bounds are clipped; no interval shows the effect of that",
            f"interval: {self._interval()}",
        ]

    def _errors(self, rows: int) -> str:
        errors = sorted(_error(self.plan, rows, share) for share in (0, 1))
        return " to ".join(dict.fromkeys(f"{error:.2g}" for error in errors))

    def _interval(self) -> str:
        if self.request.confidence is None:
            return "add confidence=0.95 to get one with each release"
        covers = "noise and sampling" if self.request.sampling else "the noise alone"
        return f"each release has one, which covers {covers}"


def _error(plan: EstimatorPlan, rows: int, share: int) -> float:
    mean = float(plan.column.middle + share * plan.column.half * 3 / 4)
    found = plan.simulate(Scenario(rows, mean), _RUNS, np.random.default_rng(_SEED)).mean
    return float(np.sqrt(np.mean((found - mean) ** 2)))
