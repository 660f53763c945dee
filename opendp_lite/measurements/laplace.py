"""Laplace noise."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import cast, overload

from opendp_lite.core import Measurement
from opendp_lite.exact import Number, positive, round_up
from opendp_lite.examples import example
from opendp_lite.measurements.noise import (
    Aggregate,
    Interval,
    added_noise,
    exactly_one,
    require_sensitivity,
)
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.metrics import L1Distance
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.samplers.discrete_laplace import DiscreteLaplace
from opendp_lite.samplers.law import SCALE_SLACK, Law, grid_for
from opendp_lite.samplers.rounded_laplace import RoundedLaplace
from opendp_lite.spaces import scalar, vector

_FINE = 2**20


@overload
def laplace(*, scale: Number, confidence: None = None) -> Mechanism[Aggregate, MaxDivergence]: ...
@overload
def laplace(
    *, scale: Number, confidence: Number
) -> Mechanism[Aggregate, MaxDivergence, Interval]: ...
@overload
def laplace(*, epsilon: Number, confidence: None = None) -> Mechanism[Aggregate, MaxDivergence]: ...
@overload
def laplace(
    *, epsilon: Number, confidence: Number
) -> Mechanism[Aggregate, MaxDivergence, Interval]: ...
@example(scalar(), epsilon=1)
@example(scalar(unit=0.5), scale=2)
@example(vector(3, metric=L1Distance(), unit=2.5), epsilon=1)
@example(scalar(), epsilon=1, confidence=0.9)
@example(vector(3, metric=L1Distance()), scale=2, confidence=0.95)
@mechanism
def laplace(
    space: Aggregate,
    *,
    scale: Number | None = None,
    epsilon: Number | None = None,
    confidence: Number | None = None,
) -> Measurement[Aggregate, MaxDivergence]:
    """Adds Laplace noise, for pure differential privacy.

    It goes after a vector or a number with a bounded l1 distance, such as ``sum()`` or
    ``count()``. Give ``scale`` or ``epsilon``.

    Args:
        scale: The b of the density ``exp(-|x| / b) / 2b``, in units of the data.
        epsilon: The loss, met exactly for one unit at the front of the pipeline.
        confidence: 0.95, say, asks for an interval with each entry: see ``docs/intervals.md``.

    Returns:
        The value with independent noise on every entry, on a public grid far finer than b. A
        whole number stays whole where b is at most 2^20. The noise is an exact sample, not a
        float's approximation of one.
        With a confidence, a ``dp.Estimate`` of one number and ``dp.releases.Estimates`` of several.
        The value is the same. An interval of what is never negative, such as a count, starts at 0
        or above.

    Raises:
        ParameterError: If none or both are given, or it is not above 0 and finite.
        ParameterError: If ``confidence`` is not between 0 and 1.

    Privacy:
        epsilon = l1 / b under ``MaxDivergence``.

    Proof:
        Dwork, McSherry, Nissim, Smith 2006, proposition 1. Where b is above 2^20 steps of the
        value's grid, the noise is continuous and rounded after it was added. Else it is the
        discrete Laplace on that grid.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(0, 4) >> dp.sum() >> dp.laplace(scale=8)).map(1)
        0.5
        >>> (dp.clamp(0, 4) >> dp.sum() >> dp.laplace(epsilon=1)).map(1)
        1.0
        >>> (dp.count() >> dp.laplace(epsilon=1)).accuracy(0.95)
        3.0
    """
    unit = space.unit.over(space.domain.dimension)
    if exactly_one("laplace", scale=scale, epsilon=epsilon) == "scale":
        width = positive(scale, "scale")
    else:
        require_sensitivity(unit, "laplace")
        width = cast(Fraction, unit.l1) / positive(epsilon, "epsilon")
    return added_noise(
        space,
        _law(width, space.domain.exponent),
        MaxDivergence(),
        lambda norms: cast(Fraction, norms.l1) / width,
        f"epsilon = l1 / b, b = {float(width):.6g}, standard deviation "
        f"{round_up(width) * sqrt(2):.6g}",
        confidence,
    )


def _law(width: Fraction, exponent: int | None) -> Law:
    if exponent is not None:
        steps = width / Fraction(2) ** exponent
        if steps <= _FINE:
            return DiscreteLaplace(steps * SCALE_SLACK, exponent)
    return RoundedLaplace(*grid_for(width))
