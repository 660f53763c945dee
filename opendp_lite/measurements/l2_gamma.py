"""Noise of a gamma distributed length in a uniform direction."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol, cast, overload

from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.exact import Number, positive, shown_up, sqrt_up
from opendp_lite.measurements.noise import Aggregate, moving, one_of, releasing
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.norms import Norms
from opendp_lite.samplers.l2_gamma import L2Gamma


@mechanism
def _l2_gamma(
    space: Aggregate, *, scale: Number | None = None, epsilon: Number | None = None
) -> Measurement[Aggregate, MaxDivergence]:
    """Adds noise to a vector as a whole, for pure differential privacy that reads the l2 distance.

    Takes: a vector or a number with a bounded l2 distance; one of ``scale``, the b of the density
        proportional to exp(-|z| / b) for the l2 norm |z| of the noise, and ``epsilon``, solved for
        one unit at the front of the pipeline. Raises ``ParameterError`` unless it is above 0 and
        finite.
    Gives: the value with noise of a uniform direction and a gamma distributed length, of mean d b
        and mean square d (d + 1) b^2 in d dimensions, rounded to a public grid far finer than an
        entry's noise. Samples are exact: the law is the claimed one, not a float's idea of it.
        The entries' noises are dependent, so no law of single entries is declared as ``laws``.
    Costs: epsilon = l2 / b under ``MaxDivergence``. For the same epsilon the mean square error is
        (d + 1) / 2d of that of ``laplace`` where only the l2 distance is bounded, and for d up to
        16 also below that of ``gaussian(epsilon=1, delta=1e-6)``.
    Because: the K-norm mechanism of the l2 ball: the density changes by exp(l2 / b) at most, by
        the triangle inequality (Hardt and Talwar 2010, section 4; Chaudhuri, Monteleoni, Sarwate
        2011, algorithm 1). Rounding comes after the noise.

    >>> import opendp_lite as dp
    >>> survey = dp.records(columns=3)
    >>> (survey >> dp.clip_to_norm(10) >> dp.sum() >> dp.l2_gamma(scale=20)).map(1)
    0.5
    >>> (survey >> dp.clip_to_norm(10) >> dp.sum() >> dp.l2_gamma(epsilon=0.1)).map(1)
    0.1
    """
    dimension = space.domain.dimension
    unit = space.unit.over(dimension)
    if one_of("l2_gamma", scale=scale, epsilon=epsilon) == "scale":
        square = positive(scale, "scale") ** 2
    else:
        moving(unit, "l2_gamma")
        square = cast(Fraction, unit.l2_squared) / positive(epsilon, "epsilon") ** 2
    width = sqrt_up(square)

    def privacy_map(distance: Norms) -> Fraction:
        return sqrt_up(cast(Fraction, distance.over(dimension).l2_squared) / square)

    return Measurement(
        space,
        MaxDivergence(),
        releasing(space, L2Gamma.near(width, dimension)),
        privacy_map,
        formula=(
            f"epsilon = l2 / b, b = {float(width):.6g}, expected l2 norm of the noise d b = "
            f"{shown_up(dimension * width):.6g}"
        ),
    )


class _L2Gamma(Protocol):
    @overload
    def __call__(self, *, scale: Number) -> Mechanism[Aggregate, MaxDivergence]: ...
    @overload
    def __call__(self, *, epsilon: Number) -> Mechanism[Aggregate, MaxDivergence]: ...


l2_gamma: _L2Gamma = cast(_L2Gamma, _l2_gamma)
