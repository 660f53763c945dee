"""The error to expect of a mean, before any budget is spent."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, log10, sqrt
from typing import Any, Final

import numpy as np

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.estimators.parts.request import Scenario
from opendp_lite.numbers.exact import Number, exact, nearest, positive, quote, whole
from opendp_lite.pipeline.core import Measurement, Private
from opendp_lite.pipeline.steps import Mechanism

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
        >>> round(dp.expected_error(dp.mean(0, 100, rho=0.03), n=1000, guess=40), 2)
        0.25
        >>> simplex = dp.estimators.simplex_mean(0, 100, rho=0.03)
        >>> round(dp.expected_error(simplex, n=1000, guess=40), 2)
        0.29
    """
    if not isinstance(estimator, Private):
        raise ParameterError(
            "expected_error takes an estimator, such as dp.mean(0, 100, epsilon=1), got "
            f"{quote(estimator)}"
        )
    bound = estimator.bound
    simulate = bound.facts.simulate
    if simulate is None:
        raise SpaceError(
            "expected_error is for the means of one column: mean, recentred_mean, joint_mean, "
            f"known_size_mean, simplex_mean, centered_mean, plug_in_mean, "
            f"resized_mean. Got {estimator!r}. Ask pipeline.accuracy(0.95) of a pipeline that ends "
            "in noise, or give a step that takes it confidence=0.95"
        )
    mean, variance = nearest(exact(guess, "guess")), nearest(exact(spread, "spread")) ** 2
    scenario = Scenario(whole(n, "n", least=1), mean, variance)
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
    return sqrt(float(np.mean((totals.mean - mean) ** 2)))


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
        >>> dp.budget_for(lambda rho: dp.mean(0, 100, rho=rho), error=0.25, n=1000, guess=40)
        0.0289
    """
    if isinstance(make, Mechanism | Measurement):
        raise ParameterError(
            "budget_for takes a function from a budget to an estimator: write "
            f"lambda rho: dp.mean(0, 100, rho=rho). Got the estimator {make!r}"
        )
    allowed = nearest(positive(error, "error"))

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
