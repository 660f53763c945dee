"""Noise of a gamma distributed length in a uniform direction."""

from __future__ import annotations

from fractions import Fraction
from typing import cast, overload

from opendp_lite.core import Measurement
from opendp_lite.exact import Number, positive, round_up, sqrt_up
from opendp_lite.examples import example
from opendp_lite.measurements.noise import (
    Aggregate,
    Interval,
    added_noise,
    exactly_one,
    require_sensitivity,
)
from opendp_lite.measures.curve import curved_number
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.pure_concentrated import PureConcentratedProfile
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.samplers.l2_gamma import L2Gamma
from opendp_lite.spaces import scalar, vector


@overload
def l2_mechanism(
    *, scale: Number, confidence: None = None
) -> Mechanism[Aggregate, MaxDivergence]: ...
@overload
def l2_mechanism(
    *, scale: Number, confidence: Number
) -> Mechanism[Aggregate, MaxDivergence, Interval]: ...
@overload
def l2_mechanism(
    *, epsilon: Number, confidence: None = None
) -> Mechanism[Aggregate, MaxDivergence]: ...
@overload
def l2_mechanism(
    *, epsilon: Number, confidence: Number
) -> Mechanism[Aggregate, MaxDivergence, Interval]: ...
@example(scalar(), epsilon=1)
@example(vector(3, unit=2), scale=0.1)
@example(vector(3), epsilon=1, confidence=0.95)
@mechanism
def l2_mechanism(
    space: Aggregate,
    *,
    scale: Number | None = None,
    epsilon: Number | None = None,
    confidence: Number | None = None,
) -> Measurement[Aggregate, MaxDivergence]:
    """Adds noise to a vector as a whole, for pure differential privacy of the l2 distance.

    It goes after a vector or a number with a bounded l2 distance. Give ``scale`` or ``epsilon``.

    Args:
        scale: The b of the density proportional to ``exp(-|z| / b)``, for the l2 norm ``|z|`` of
            the noise, in units of the data.
        epsilon: The loss, met exactly for one unit at the front of the pipeline.
        confidence: 0.95, say, asks for an interval with each entry: see ``docs/intervals.md``.

    Returns:
        The value with noise of a uniform direction and a gamma distributed length, on a public
        grid far finer than an entry's noise. In d dimensions the length has the mean d b and the
        mean square d (d + 1) b^2. The noise is an exact sample. The noises of the entries are
        dependent. ``accuracy`` knows how far each entry may be off, and all of them together.
        With a confidence, a ``dp.Estimate`` of one number and ``dp.releases.Estimates`` of several.

    Raises:
        ParameterError: If none or both are given, or it is not above 0 and finite; if
            ``confidence`` is not between 0 and 1.

    Privacy:
        epsilon = l2 / b under ``MaxDivergence``. In d dimensions the loss knows that it is at most
        rho = 2 epsilon^2 / d of zCDP too, which is less than epsilon^2 / 2 from d = 5 on.

        Where only the l2 distance is bounded, the mean square error is (d + 1) / 2d of that of
        ``laplace`` for the same epsilon. For d up to 16 it is also below that of
        ``gaussian(epsilon=1, delta=1e-6)``.

    Proof:
        The K-norm mechanism of the l2 ball: by the triangle inequality the density changes by
        exp(l2 / b) at most (Hardt and Talwar 2010, section 4; Chaudhuri, Monteleoni, Sarwate
        2011, algorithm 1). The result is rounded after the noise was added.

        For rho let P and Q be the laws of the noise and of the noise moved by D, with z drawn from
        P, of direction u. Then ``|z - D| >= |z| - D u``, so the mean of (Q / P)^a is at most that
        of exp(a D u / b). A direction has
        E (e u)^2k = (2k - 1)!! / (d (d + 2) ... (d + 2k - 2)) for a unit vector e, which is at most
        that of a normal of variance 1 / d. So f(a), the logarithm of the mean of (Q / P)^a, is at
        most a^2 epsilon^2 / 2d. It is convex with f(1) = 0. Up to a = 2 it lies below its chord,
        f(a) <= (a - 1) f(2) <= (a - 1) 2 epsilon^2 / d. From there on a^2 <= 2 a (a - 1). So the
        Renyi divergence f(a) / (a - 1) is at most a 2 epsilon^2 / d.

    Example:
        >>> import opendp_lite as dp
        >>> total = dp.records(columns=3) >> dp.clip_to_norm(10) >> dp.sum()
        >>> (total >> dp.measurements.l2_mechanism(scale=20)).map(1)
        0.5
        >>> noisy = total >> dp.measurements.l2_mechanism(epsilon=1)
        >>> noisy.map(1), round(noisy.accuracy(0.95), 1)
        (1.0, 41.1)
        >>> vector = dp.records(columns=200) >> dp.clip_to_norm(10) >> dp.sum()
        >>> (vector >> dp.measurements.l2_mechanism(epsilon=1)).to_zcdp().map(1)
        0.01
    """
    dimension = space.domain.dimension
    unit = space.unit.over(dimension)
    if exactly_one("l2_mechanism", scale=scale, epsilon=epsilon) == "scale":
        square = positive(scale, "scale") ** 2
    else:
        require_sensitivity(unit, "l2_mechanism")
        square = cast(Fraction, unit.l2_squared) / positive(epsilon, "epsilon") ** 2
    width = sqrt_up(square)
    return added_noise(
        space,
        L2Gamma.near(width, dimension),
        MaxDivergence(),
        lambda norms: _loss(sqrt_up(cast(Fraction, norms.l2_squared) / square), dimension),
        f"epsilon = l2 / b, b = {float(width):.6g}, expected l2 norm of the noise d b = "
        f"{round_up(dimension * width):.6g}",
        confidence,
    )


def _loss(epsilon: Fraction, dimension: int) -> Fraction:
    """With the zCDP loss that it knows."""
    rho = 2 * epsilon * epsilon / dimension
    return curved_number(epsilon, PureConcentratedProfile(epsilon, rho))
