"""The variance of a column."""

from __future__ import annotations

from typing import Any, overload

from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.estimate import Estimate
from opendp_lite.estimators.inference.bounded_column import bounds_come_first
from opendp_lite.estimators.inference.noisy_moments import NoisyMoments
from opendp_lite.estimators.one_column._spread import SpreadPlan
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records


@overload
def variance(
    lower: Number, upper: Number, *, rho: Number, confidence: None = None
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence, float]: ...
@overload
def variance(
    lower: Number, upper: Number, *, rho: Number, confidence: Number, sampling: bool = False
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence, Estimate]: ...
@overload
def variance(
    lower: Number, upper: Number, *, epsilon: Number, confidence: None = None
) -> Mechanism[Space[Rows], MaxDivergence, float]: ...
@overload
def variance(
    lower: Number,
    upper: Number,
    *,
    epsilon: Number,
    confidence: Number,
    sampling: bool = False,
) -> Mechanism[Space[Rows], MaxDivergence, Estimate]: ...
@overload
def variance(
    lower: Number, upper: Number, *, epsilon: Number, delta: Number, confidence: None = None
) -> Mechanism[Space[Rows], ApproximateDivergence, float]: ...
@overload
def variance(
    lower: Number,
    upper: Number,
    *,
    epsilon: Number,
    delta: Number,
    confidence: Number,
    sampling: bool = False,
) -> Mechanism[Space[Rows], ApproximateDivergence, Estimate]: ...
@bounds_come_first("epsilon=1")
@example(records(), 0, 100, rho=0.1)
@example(records(), 0, 100, epsilon=1, delta=1e-6, confidence=0.9)
@example(records(size=20, metric=ChangeOneDistance()), -1, 1, epsilon=0.1, confidence=0.95)
@mechanism
def variance(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any, float | Estimate]:
    """The variance of one column, for values of any shape.

    Bounds that are far too wide cost little: the error follows the values.

    Args:
        lower: The lower bound of the values, chosen without looking at the data. Values below it
            are clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``: the probability that its bound may fail, 1e-6 say.
        confidence: 0.95, say, asks for an interval too.
        sampling: Whether the interval is for the variance of the population, of which the rows
            are a random sample. It then costs a twentieth of the budget.

    Returns:
        The mean squared distance from the mean: divided by n, as ``numpy.var`` with ``ddof=0``. It
        lies between 0 and a quarter of the squared width of the bounds. With a confidence, an
        ``Estimate``. It is the variance of the clipped values. Beside the bounds, values are
        clipped to limits that a part of the budget finds. The interval does not show what that
        moves: with ``sampling`` it is for the population clipped at the same limits. Its
        ``wide_interval`` shows it, if each ring beyond a limit holds at most two fifths of the rows
        of the ring before it, which is sqrt(2) times nearer. Where no spread is found both
        go from 0 to what may lie unseen within the bounds.
        Missing values are left out; where the number of rows is public they count as the middle of
        the bounds.

    Raises:
        ParameterError: If a bound or the budget is missing or impossible.

    Privacy:
        The budget that was given, under ``ZeroConcentratedDivergence`` (rho), ``MaxDivergence``
        (epsilon) or ``ApproximateDivergence`` (epsilon and delta).

    Proof:
        A program (``adaptive``) of three releases: a median, the number of rows in geometric rings
        around it, of which a row is in one, and the sums of clipped values, of their squares and of
        ones. Where the second shows no spread it is made once more. With ``sampling`` the last is
        the sum of ((value - mean)^2 - variance)^2, for the released mean and variance. Epsilon with
        delta is met by the zCDP loss of all of them
        (Canonne, Kamath, Steinke 2020, proposition 12).

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> waits = np.random.default_rng(0).exponential(3, 100_000)
        >>> round(dp.variance(0, 1000, epsilon=1)(waits))
        9
        >>> estimate = dp.variance(0, 1000, epsilon=1, confidence=0.95)(waits)
        >>> low, high = estimate.interval
        >>> 0 < high - low < 0.5
        True
    """
    plan = SpreadPlan.of(
        space, (lower, upper), "variance", confidence, sampling, (rho, epsilon, delta)
    )

    def shown(moments: NoisyMoments) -> float | Estimate:
        confidence = plan.request.confidence
        if confidence is None:
            return moments.variance
        return Estimate(
            moments.variance,
            moments.standard_error,
            moments.interval(confidence),
            confidence,
            max(moments.rows, 0.0),
            sampling,
            clipped=True,
            wide_interval=moments.wide_interval(confidence),
        )

    return plan.measured(space, shown, "variance")
