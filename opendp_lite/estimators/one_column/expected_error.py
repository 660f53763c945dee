"""The error to expect of a mean, before any budget is spent."""

from __future__ import annotations

from math import sqrt
from typing import Any, Final

import numpy as np

from opendp_lite.core import Measurement, Private
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.estimators.inference.scenario import Scenario
from opendp_lite.exact import Number, described, exact, nearest, whole
from opendp_lite.recipes import Mechanism

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
            f"{described(estimator)}"
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
