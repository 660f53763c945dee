"""The mean of a column, and the error to expect of it before any budget is spent."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, exp, floor, log10, sqrt
from typing import Any, Final, overload

import attrs
import numpy as np

from opendp_lite import estimators
from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.estimators.means.bounded_mean import joint_plan, known_size_plan, recentred_plan
from opendp_lite.estimators.parts import Measured, RowSpace
from opendp_lite.estimators.parts.budget import costs_budget
from opendp_lite.estimators.parts.noisy_totals import NoisyTotals
from opendp_lite.estimators.parts.request import (
    BoundedColumn,
    EstimatorPlan,
    Request,
    Scenario,
    bounds_come_first,
)
from opendp_lite.measures.budgets import WEAK, WEAK_DELTA, PrivacyBudget, Spent
from opendp_lite.numbers import exact
from opendp_lite.numbers.exact import Number
from opendp_lite.pipeline.core import Measurement, Private
from opendp_lite.pipeline.questions import brief
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.releases.estimate import Estimate
from opendp_lite.spaces.space import example, records, sized_rows

_LARGEST: Final = 20.0
_ROWS: Final = 1000
# For an explanation; an error that is asked for has ten times as many runs.
_FEW_RUNS, _THEIR_SEED = 2000, 4


@overload
def mean(
    lower: Number | None = None,
    upper: Number | None = None,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number = 0.95,
    sampling: bool = True,
) -> Mechanism[RowSpace, Spent, Estimate]: ...
@overload
def mean(
    lower: Number | None = None,
    upper: Number | None = None,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: None,
) -> Mechanism[RowSpace, Spent, float]: ...
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
        "`unbounded_mean`."
    ),
    examples=lambda: [
        example(records(), 0, 100, rho=0.1, confidence=None),
        example(records(), rho=0.1, confidence=None),
        example(records(), 0, 100, epsilon=1, delta=1e-6, confidence=0.9, sampling=True),
        example(sized_rows(), -1, 1, epsilon=0.1, confidence=None),
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
    confidence: Number | None = 0.95,
    sampling: bool = True,
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
        confidence: The share of samples, or of releases, whose interval holds the mean. None asks
            for a number alone.
        sampling: Whether the interval is for the mean of the population, of which the rows are a
            random sample: this takes a tenth of a rho, and 15 % of an epsilon. With False it is for
            the mean of these rows, and counts the noise alone.

    Without bounds the interval is for the mean of all values, if tails are thin: see
    ``unbounded_mean``. ``hidden_rows`` of the release says how many rows far from all others may
    not have been seen.

    Returns:
        An ``Estimate``, or without a confidence a number in the bounds. Missing values are left
        out; where the number of rows is public they count as the middle of the bounds.

    Raises:
        ParameterError: If one bound or the budget is missing or impossible, or if the public
            number of rows is too small to find bounds.

    Example:
        >>> import opendp_lite as dp
        >>> ages = [23.0, 31.0, 38.0, 45.0, 52.0, 67.0] * 1000
        >>> estimate = dp.mean(0, 100, epsilon=1)(ages)
        >>> round(float(estimate))
        43
        >>> low, high = estimate.interval  # for the population
        >>> of_noise = estimate.noise_interval  # for these rows
        >>> 0.5 < high - low < 1, 0 < of_noise[1] - of_noise[0] < 0.2
        (True, True)
    """
    if lower is upper is None:
        learned = estimators.unbounded_mean(
            rho=rho, epsilon=epsilon, delta=delta, confidence=confidence, sampling=sampling
        )
        return attrs.evolve(learned.bind(space), trace=())
    request = Request.of("mean", confidence, sampling, rho, epsilon, delta)
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
        return known_size_plan(space, column, request), why
    if request.whole.power == 1:
        why = (
            "the estimator is joint_mean: the number of rows is private\n"
            "  sum and count share one noise\n"
            "  the error is close to the least that pure privacy allows"
        )
        return joint_plan(space, column, request), why
    why = (
        "the estimator is recentred_mean: the number of rows is private\n"
        "  a tenth of the budget finds roughly where the mean lies\n"
        "  the rest is divided accordingly between sum and count\n"
        "  the error is close to the least that Gaussian noise allows"
    )
    return recentred_plan(space, column, request), why


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
        factor = f"e^{exact.digits_up(exact.rational_of_float(power), 3)}"
        if power < _LARGEST:
            factor += f" = {exact.digits_up(Fraction(exp(power)), 3)}"
        change = "adding or removing" if self.size is None else "replacing"
        plus = f", plus {float(told_at):g}" if told_at else ""
        likely = f"makes any conclusion at most {factor} times as likely{plus}"
        if power >= WEAK or told_at >= WEAK_DELTA:
            likely += "; that protects hardly at all"
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
        if self.request.sampling:
            return "each release has one, for the population that the rows are a sample of"
        return "each release has one, for these rows"


def _error(plan: EstimatorPlan, rows: int, share: int) -> float:
    mean = float(plan.column.middle + share * plan.column.half * 3 / 4)
    scenario = Scenario(rows, mean)
    return _error_of(plan.simulate(scenario, _FEW_RUNS, np.random.default_rng(_THEIR_SEED)), mean)


def _error_of(found: NoisyTotals, mean: float) -> float:
    """The root mean square error of simulated releases."""
    return sqrt(float(np.mean((found.mean - mean) ** 2)))


_RUNS: Final = 20_000
_SEED: Final = 1


def expected_error(
    estimator: Mechanism[Any, Any] | Measurement[Any, Any],
    n: int,
    guess: Number,
    spread: Number = 0,
) -> float:
    """The root mean square error to expect from the noise of a mean of one column.

    No data is read and no budget is spent: ``n``, ``guess`` and ``spread`` are public guesses.

    Args:
        estimator: Such as ``mean(0, 100, epsilon=1)``, bound to a space or not.
        n: About how many rows there may be, or the public number of them.
        guess: About where in the bounds the mean may lie.
        spread: The standard deviation of the values, for an estimator that samples rows
            (``resized_mean``).

    Returns:
        The error against the mean of the clipped values, to about 1 %. It is that of 20 000
        made-up releases with a fixed seed.

    Raises:
        ParameterError: If the guess lies outside of the bounds, n is not the public number, or the
            mean has no bounds.
        SpaceError: If the estimator is not a mean of one column.

    Proof:
        The arithmetic is that of a release, with floats for noise.

    Example:
        >>> import opendp_lite as dp
        >>> mean = dp.mean(0, 100, rho=0.03, confidence=None)
        >>> round(dp.expected_error(mean, n=1000, guess=40), 2)
        0.25
        >>> simplex = dp.estimators.simplex_mean(0, 100, rho=0.03)
        >>> round(dp.expected_error(simplex, n=1000, guess=40), 2)
        0.29
    """
    if not isinstance(estimator, Private):
        raise ParameterError(
            "expected_error takes an estimator, such as dp.mean(0, 100, epsilon=1), got "
            f"{exact.quote(estimator)}"
        )
    bound = estimator.bound
    simulate = bound.facts.simulate
    if simulate is None:
        raise SpaceError(
            "expected_error is for the means of one column: mean, recentred_mean, joint_mean, "
            f"known_size_mean, simplex_mean, centered_mean, plug_in_mean, "
            f"resized_mean. Got {brief(estimator)}. Ask pipeline.accuracy(0.95) of a pipeline that "
            "ends in noise, or give a step that takes it confidence=0.95"
        )
    mean, variance = (
        exact.nearest(exact.exact(guess, "guess")),
        exact.nearest(exact.exact(spread, "spread")) ** 2,
    )
    scenario = Scenario(exact.whole(n, "n", least=1), mean, variance)
    size = bound.input_space.domain.size
    if size is not None and size != scenario.rows:
        raise ParameterError(
            f"expected_error: the number of rows is public, n must be {size}, got {n}"
        )
    totals = simulate(scenario, _RUNS, np.random.default_rng(_SEED))
    lower, upper = totals.ratio.lower, totals.ratio.upper
    if not lower <= mean <= upper:
        raise ParameterError(
            f"expected_error: guess must lie in the bounds {lower:g} to {upper:g}, since values "
            f"are clipped to them; got {guess}"
        )
    return _error_of(totals, mean)


_LEAST: Final = -12
_MOST: Final = 12
_DIGITS: Final = 3
# Of powers of ten: far less than a step of the third digit.
_CLOSE: Final = 1e-4


def budget_for(
    make: Callable[[float], Mechanism[Any, Any] | Measurement[Any, Any]],
    error: Number,
    n: int,
    guess: Number,
    spread: Number = 0,
) -> float:
    """The least budget, to three digits, at which a mean errs by no more than allowed.

    Args:
        make: A function from a rho or an epsilon to an estimator.
        error: The root mean square error that is allowed.
        n: As for ``expected_error``.
        guess: As for ``expected_error``.
        spread: As for ``expected_error``.

    Returns:
        The argument of ``make``, such as a rho.

    Raises:
        ParameterError: If no budget from 1e-12 to 1e12 will do, or if every one does.

    Proof:
        The error falls as the budget grows; bisection finds the budget.

    Example:
        >>> import opendp_lite as dp
        >>> mean = lambda rho: dp.mean(0, 100, rho=rho, confidence=None)
        >>> dp.budget_for(mean, error=0.25, n=1000, guess=40)
        0.0289
    """
    if isinstance(make, Mechanism | Measurement):
        raise ParameterError(
            "budget_for takes a function from a budget to an estimator: write "
            f"lambda rho: dp.mean(0, 100, rho=rho). Got the estimator {brief(make)}"
        )
    allowed = exact.nearest(exact.positive(error, "error"))

    def meets(power: float) -> bool:
        return expected_error(make(_rounded_up(10.0**power)), n, guess, spread) <= allowed

    low, high = float(_LEAST), float(_MOST)
    if not meets(high):
        raise ParameterError(
            f"budget_for: no budget up to 1e{_MOST} brings the error down to {allowed:g}"
        )
    if meets(low):
        raise ParameterError(
            f"budget_for: the smallest budget already meets an error of {allowed:g}; ask for a "
            "smaller error"
        )
    while high - low > _CLOSE:
        middle = (low + high) / 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return _rounded_up(10.0**high)


def _rounded_up(budget: float) -> float:
    """Three digits, upwards."""
    place = _DIGITS - 1 - floor(log10(budget))
    return float(f"{ceil(round(budget * 10.0**place, 6))}e{-place}")
