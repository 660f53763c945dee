"""Gaussian noise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast, overload

from opendp_lite.core import Measurement
from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, open_probability, positive, sqrt_up
from opendp_lite.examples import example
from opendp_lite.measurements.noise import (
    Aggregate,
    Interval,
    added_noise,
    exactly_one,
    require_sensitivity,
)
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.curve import gaussian_pair, gaussian_rho
from opendp_lite.measures.gaussian_divergence import GaussianDivergence
from opendp_lite.measures.profile import gaussian_ratio
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import L2Distance, NormDistance
from opendp_lite.norms import Norms
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.samplers.law import grid_for
from opendp_lite.samplers.rounded_gaussian import RoundedGaussian
from opendp_lite.spaces import scalar, vector


@overload
def gaussian(
    *, scale: Number, confidence: None = None
) -> Mechanism[Aggregate, ZeroConcentratedDivergence]: ...
@overload
def gaussian(
    *, scale: Number, confidence: Number
) -> Mechanism[Aggregate, ZeroConcentratedDivergence, Interval]: ...
@overload
def gaussian(
    *, rho: Number, confidence: None = None
) -> Mechanism[Aggregate, ZeroConcentratedDivergence]: ...
@overload
def gaussian(
    *, rho: Number, confidence: Number
) -> Mechanism[Aggregate, ZeroConcentratedDivergence, Interval]: ...
@overload
def gaussian(
    *, mu: Number, confidence: None = None
) -> Mechanism[Aggregate, GaussianDivergence]: ...
@overload
def gaussian(
    *, mu: Number, confidence: Number
) -> Mechanism[Aggregate, GaussianDivergence, Interval]: ...
@overload
def gaussian(
    *, epsilon: Number, delta: Number, confidence: None = None
) -> Mechanism[Aggregate, ApproximateDivergence]: ...
@overload
def gaussian(
    *, epsilon: Number, delta: Number, confidence: Number
) -> Mechanism[Aggregate, ApproximateDivergence, Interval]: ...
@example(vector(2), scale=0.1)
@example(vector(2, metric=L2Distance()), rho=2)
@example(scalar(), epsilon=1, delta=1e-6)
@example(vector(3, metric=NormDistance(), unit=Norms(l1=2, linf=1)), rho=1)
@example(vector(3), epsilon=1, delta=1e-6, confidence=0.9)
@example(scalar(), rho=1, confidence=0.95)
@example(vector(2), mu=0.5)
@example(scalar(), mu=1, confidence=0.9)
@mechanism
def gaussian(
    space: Aggregate,
    *,
    scale: Number | None = None,
    rho: Number | None = None,
    mu: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
) -> Measurement[Aggregate, Any]:
    """Adds Gaussian noise, for zero-concentrated, Gaussian or approximate differential privacy.

    It goes after a vector or a number with a bounded l2 distance, such as ``sum()`` or
    ``count()``. Give ``scale``, ``rho``, ``mu``, or ``epsilon`` with ``delta``. A loss is met
    exactly for one unit at the front of the pipeline.

    Args:
        scale: The standard deviation sigma, in units of the data.
        rho: The zCDP loss.
        mu: The loss of Gaussian differential privacy.
        epsilon: The loss epsilon at ``delta``.
        delta: Between 0 and 1; goes with ``epsilon``.
        confidence: 0.95, say, asks for an interval with each entry: see ``docs/intervals.md``.

    Returns:
        The value with independent noise on every entry, on a public grid of about sigma / 2^16.
        The noise is an exact sample, not a float's approximation of one.
        With a confidence, a ``dp.Estimate`` of one number and ``dp.releases.Estimates`` of several.
        The value is the same. An interval of what is never negative, such as a count, starts at 0
        or above.

    Raises:
        ParameterError: If none or several are given, or one is not above 0 and finite.
        ParameterError: If ``confidence`` is not between 0 and 1.

    Privacy:
        rho = l2^2 / (2 sigma^2) under ``ZeroConcentratedDivergence``. With mu, it is l2 / sigma
        under ``GaussianDivergence``. With epsilon and delta, the exact curve of the Gaussian at
        delta, under ``ApproximateDivergence``. In each case ``epsilon(delta=...)`` and
        ``delta(epsilon=...)`` read the exact curve.

    Proof:
        Bun and Steinke 2016, proposition 1.6; Dong, Roth, Su 2022, theorem 1; Balle and Wang 2018,
        theorem 8. The result is
        rounded after the noise was added, so both hold in any dimension.

    Example:
        >>> import opendp_lite as dp
        >>> pipeline = dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(rho=0.03)
        >>> pipeline.map(1), pipeline.map(2)
        (0.03, 0.12)
        >>> (dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(epsilon=1, delta=1e-6)).map(1)
        (1.0, 1e-06)
    """
    unit = space.unit.over(space.domain.dimension)
    if all(given is None for given in (rho, scale, mu, epsilon, delta)):
        raise ParameterError("gaussian takes one of rho=, scale=, mu=, or epsilon= with delta=")
    if delta is not None or epsilon is not None:
        either = delta if epsilon is None else epsilon
        exactly_one("gaussian", rho=rho, scale=scale, mu=mu, epsilon=either)
        if delta is None or epsilon is None:
            missing = "delta" if delta is None else "epsilon"
            raise ParameterError(
                f"gaussian: epsilon and delta go together, {missing} is missing; "
                "for pure privacy use laplace(epsilon=...)"
            )
        return _approximate(
            space, require_sensitivity(unit, "gaussian"), epsilon, delta, confidence
        )
    given = exactly_one("gaussian", scale=scale, rho=rho, mu=mu)
    if given == "scale":
        sigma = positive(scale, "scale")
        variance = sigma * sigma
    else:
        require_sensitivity(unit, "gaussian")
        ratio = 2 * positive(rho, "rho") if given == "rho" else positive(mu, "mu") ** 2
        variance = cast(Fraction, unit.l2_squared) / ratio
        sigma = sqrt_up(variance)
    if given == "mu":
        return added_noise(
            space,
            RoundedGaussian(*grid_for(sigma)),
            GaussianDivergence(),
            lambda norms: _ratio(norms, variance),
            f"mu = l2 / sigma, sigma = {float(sigma):.6g}",
            confidence,
        )
    return added_noise(
        space,
        RoundedGaussian(*grid_for(sigma)),
        ZeroConcentratedDivergence(),
        lambda norms: gaussian_rho(_ratio(norms, variance)),
        f"rho = l2^2 / (2 sigma^2), sigma = {float(sigma):.6g}",
        confidence,
    )


def _ratio(distance: Norms, variance: Fraction) -> Fraction:
    return cast(Fraction, distance.l2_squared) / variance


def _approximate(
    space: Aggregate, unit: Norms, epsilon: Number, delta: Number, confidence: Number | None
) -> Measurement[Aggregate, ApproximateDivergence]:
    level, spill = positive(epsilon, "epsilon"), open_probability(delta, "delta")
    variance = cast(Fraction, unit.l2_squared) / gaussian_ratio(level, spill)
    return added_noise(
        space,
        RoundedGaussian(*grid_for(sqrt_up(variance))),
        ApproximateDivergence(),
        lambda norms: gaussian_pair(_ratio(norms, variance), level, spill),
        f"exact Gaussian curve at delta, sigma = {float(sqrt_up(variance)):.6g}",
        confidence,
    )
