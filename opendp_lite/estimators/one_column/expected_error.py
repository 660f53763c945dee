"""How far off a mean will be, before anything is spent."""

from __future__ import annotations

from math import sqrt
from typing import Any, Final

import numpy as np

from opendp_lite.core import Measurement, Mechanism
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.estimators.inference.scenario import Truth
from opendp_lite.exact import Number, exact, nearest, said, whole

_RUNS: Final = 20_000
_SEED: Final = 1


def error_of(
    estimator: Mechanism[Any, Any] | Measurement[Any, Any],
    n: int,
    guess: Number,
    spread: Number = 0,
) -> float:
    """The root mean square error to expect of an estimator of one column, through its noise.

    Takes: ``estimator``, such as ``mean(0, 100, rho=0.5)``, bound to a space or not; ``n``, about
        how many rows there may be, or the public number of them; ``guess``, about where in the
        bounds the mean may lie; ``spread``, the
        standard deviation of the values, where rows are sampled (``resized_mean``). All are public
        guesses: no data is read and nothing is spent. Raises ``SpaceError`` for a pipeline that is
        not one of the means of one column as it is.
    Gives: the error against the mean of the bounded values, to about 1 %, from 20 000 made-up
        releases with a fixed seed.
    Because: it is the same arithmetic as that of a release, with floats for noise.

    >>> import opendp_lite as dp
    >>> round(dp.error_of(dp.mean(0, 100, rho=0.5), n=1000, guess=40), 3)
    0.06
    >>> round(dp.error_of(dp.simplex_mean(0, 100, rho=0.5), n=1000, guess=40), 3)
    0.072
    """
    if not isinstance(estimator, Mechanism | Measurement):
        raise ParameterError(
            f"error_of takes an estimator, such as mean(...), got {said(estimator)}"
        )
    bound = estimator.bind_front() if isinstance(estimator, Mechanism) else estimator
    if bound.forecast is None:
        raise SpaceError(
            "error_of knows the means of one column: mean, recentred_mean, core_mean, sized_mean, "
            f"simplex_mean, centered_mean, plug_in_mean, resized_mean; not {estimator!r}"
        )
    mean, variance = nearest(exact(guess, "guess")), nearest(exact(spread, "spread")) ** 2
    truth = Truth(whole(n, "n", least=1), mean, variance)
    size = bound.input_space.domain.size
    if size is not None and size != truth.rows:
        raise ParameterError(f"error_of: the number of rows is public, n must be {size}, got {n}")
    reading = bound.forecast(truth, _RUNS, np.random.default_rng(_SEED))
    lower, upper = reading.quotient.lower, reading.quotient.upper
    if not lower <= mean <= upper:
        raise ParameterError(
            f"error_of: guess must lie in the bounds {lower:g} to {upper:g}, since values beyond "
            f"count as the bound; got {guess}"
        )
    return sqrt(float(np.mean((reading.mean - mean) ** 2)))
