"""Gaussian noise."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, cast, overload

from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, open_probability, positive, sqrt_up
from opendp_lite.measurements.noise import (
    Aggregate,
    moving,
    one_of,
    releasing,
)
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.profile import GaussianProfile, gaussian_ratio
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.norms import Norms
from opendp_lite.samplers.law import grid_for
from opendp_lite.samplers.rounded_gaussian import RoundedGaussian

_ratio_for = lru_cache(maxsize=256)(gaussian_ratio)


@mechanism
def _gaussian(
    space: Aggregate,
    *,
    scale: Number | None = None,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> Measurement[Aggregate, Any]:
    """Adds Gaussian noise, for zero-concentrated or approximate differential privacy.

    Takes: a vector or a number with a bounded l2 distance; one of ``scale``, the standard
        deviation sigma; ``rho``; or ``epsilon`` with ``delta``. What is given as privacy is
        solved for one unit at the front of the pipeline. Raises ``ParameterError`` unless they are
        above 0 and finite, delta below 1.
    Gives: the value with independent noise on every entry, rounded to a public grid of about
        sigma / 2^16. Samples are exact: the law is the claimed one, not a float's idea of it.
    Costs: rho = l2^2 / (2 sigma^2) under ``ZeroConcentratedDivergence``; with epsilon and delta,
        under ``ApproximateDivergence``, the exact curve of the Gaussian at delta. Either way
        ``epsilon(delta=...)`` and ``delta(epsilon=...)`` read the exact curve.
    Because: Bun and Steinke 2016, proposition 1.6; Balle and Wang 2018, theorem 8. Rounding comes
        after the noise, so both hold in any dimension.

    >>> import opendp_lite as dp
    >>> pipeline = dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(rho=0.1)
    >>> pipeline.map(1), pipeline.map(2)
    (0.1, 0.4)
    >>> (dp.clamp(0, 4) >> dp.sum() >> dp.gaussian(epsilon=1, delta=1e-6)).map(1)
    (1.0, 1e-06)
    """
    dimension = space.domain.dimension
    unit = space.unit.over(dimension)
    if rho is None and scale is None and epsilon is None and delta is None:
        raise ParameterError("gaussian takes one of rho=, scale=, or epsilon= with delta=")
    if delta is not None or epsilon is not None:
        one_of("gaussian", rho=rho, scale=scale, epsilon=delta if epsilon is None else epsilon)
        if delta is None or epsilon is None:
            missing = "delta" if delta is None else "epsilon"
            raise ParameterError(
                f"gaussian: epsilon and delta go together, {missing} is missing; "
                "for pure privacy use laplace(epsilon=...)"
            )
        return _approximate(space, moving(unit, "gaussian"), epsilon, delta)
    if one_of("gaussian", scale=scale, rho=rho) == "scale":
        sigma = positive(scale, "scale")
        variance = sigma * sigma
    else:
        moving(unit, "gaussian")
        variance = cast(Fraction, unit.l2_squared) / (2 * positive(rho, "rho"))
        sigma = sqrt_up(variance)
    law = RoundedGaussian(*grid_for(sigma))

    def privacy_map(distance: Norms) -> Fraction:
        return _ratio(distance.over(dimension), variance) / 2

    return Measurement(
        space,
        ZeroConcentratedDivergence(),
        releasing(space, law),
        privacy_map,
        profile=lambda distance: GaussianProfile(_ratio(distance.over(dimension), variance)),
        laws=(law,),
        formula=f"rho = l2^2 / (2 sigma^2), sigma = {float(sigma):.6g}",
    )


def _ratio(distance: Norms, variance: Fraction) -> Fraction:
    return cast(Fraction, distance.l2_squared) / variance


def _approximate(
    space: Aggregate, unit: Norms, epsilon: Number, delta: Number
) -> Measurement[Aggregate, ApproximateDivergence]:
    dimension = space.domain.dimension
    level, spill = positive(epsilon, "epsilon"), open_probability(delta, "delta")
    asked = _ratio_for(level, spill)
    variance = cast(Fraction, unit.l2_squared) / asked
    law = RoundedGaussian(*grid_for(sqrt_up(variance)))

    def privacy_map(distance: Norms) -> tuple[Fraction, Fraction]:
        ratio = _ratio(distance.over(dimension), variance)
        if ratio == 0:
            return Fraction(0), Fraction(0)
        return (level if ratio == asked else GaussianProfile(ratio).epsilon(spill)), spill

    return Measurement(
        space,
        ApproximateDivergence(),
        releasing(space, law),
        privacy_map,
        profile=lambda distance: GaussianProfile(_ratio(distance.over(dimension), variance)),
        laws=(law,),
        formula=f"exact Gaussian curve at delta, sigma = {float(sqrt_up(variance)):.6g}",
    )


class _Gaussian(Protocol):
    @overload
    def __call__(self, *, scale: Number) -> Mechanism[Aggregate, ZeroConcentratedDivergence]: ...
    @overload
    def __call__(self, *, rho: Number) -> Mechanism[Aggregate, ZeroConcentratedDivergence]: ...
    @overload
    def __call__(
        self, *, epsilon: Number, delta: Number
    ) -> Mechanism[Aggregate, ApproximateDivergence]: ...


gaussian: _Gaussian = cast(_Gaussian, _gaussian)
