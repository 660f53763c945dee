"""The standard deviation of a column."""

from __future__ import annotations

from math import sqrt
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
def standard_deviation(
    lower: Number, upper: Number, *, rho: Number, confidence: None = None
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence, float]: ...
@overload
def standard_deviation(
    lower: Number, upper: Number, *, rho: Number, confidence: Number, sampling: bool = False
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence, Estimate]: ...
@overload
def standard_deviation(
    lower: Number, upper: Number, *, epsilon: Number, confidence: None = None
) -> Mechanism[Space[Rows], MaxDivergence, float]: ...
@overload
def standard_deviation(
    lower: Number,
    upper: Number,
    *,
    epsilon: Number,
    confidence: Number,
    sampling: bool = False,
) -> Mechanism[Space[Rows], MaxDivergence, Estimate]: ...
@overload
def standard_deviation(
    lower: Number, upper: Number, *, epsilon: Number, delta: Number, confidence: None = None
) -> Mechanism[Space[Rows], ApproximateDivergence, float]: ...
@overload
def standard_deviation(
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
def standard_deviation(
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
    """The standard deviation of one column, for values of any shape.

    Bounds that are far too wide cost little: the error follows the values.

    Args:
        lower: The lower bound of the values, chosen without looking at the data. Values below it
            are clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``: the probability that its bound may fail, 1e-6 say.
        confidence: 0.95, say, asks for an interval too.
        sampling: As for ``variance``: whether the interval is for the population. It then costs a
            twentieth of the budget.

    Returns:
        The root of what ``variance`` releases, between 0 and half the width of the bounds. With a
        confidence, an ``Estimate``: its interval ends at the roots of the ends. Missing values are
        left out; where the number of rows is public they count as the middle of the bounds.

    Raises:
        ParameterError: If a bound or the budget is missing or impossible.

    Privacy:
        The budget that was given, as for ``variance``.

    Proof:
        A function of the release of ``variance``.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> waits = np.random.default_rng(0).exponential(3, 10_000)
        >>> round(dp.standard_deviation(0, 1000, epsilon=1)(waits))
        3
    """
    plan = SpreadPlan.of(
        space, (lower, upper), "standard_deviation", confidence, sampling, (rho, epsilon, delta)
    )

    def shown(moments: NoisyMoments) -> float | Estimate:
        root, confidence = sqrt(moments.variance), plan.request.confidence
        if confidence is None:
            return root
        low, high = map(sqrt, moments.interval(confidence))
        least, most = map(sqrt, moments.wide_interval(confidence))
        error = moments.standard_error
        return Estimate(
            root,
            # To the first order; near 0 what the error does to the root of 0.
            min(error / (2 * root), sqrt(error)) if root else sqrt(error),
            (low, high),
            confidence,
            max(moments.rows, 0.0),
            sampling,
            clipped=True,
            wide_interval=(least, most),
        )

    return plan.measured(space, shown, "standard deviation")
