"""Laplace noise."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Protocol, cast, overload

from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.exact import Number, positive, shown_up
from opendp_lite.measurements.noise import Aggregate, moving, one_of, releasing
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.norms import Norms
from opendp_lite.samplers.discrete_laplace import DiscreteLaplace
from opendp_lite.samplers.law import SLACK, Law, grid_for
from opendp_lite.samplers.rounded_laplace import RoundedLaplace

_FINE = 2**20


@mechanism
def _laplace(
    space: Aggregate, *, scale: Number | None = None, epsilon: Number | None = None
) -> Measurement[Aggregate, MaxDivergence]:
    """Adds Laplace noise, for pure differential privacy.

    Takes: a vector or a number with a bounded l1 distance; one of ``scale``, the b of the density
        exp(-|x| / b) / 2b, and ``epsilon``, solved for one unit at the front of the pipeline.
        Raises ``ParameterError`` unless it is above 0 and finite.
    Gives: the value with independent noise on every entry, on a public grid far finer than b; a
        whole number stays whole where b is at most 2^20. Samples are exact: the law is the
        claimed one, not a float's idea of it.
    Costs: epsilon = l1 / b under ``MaxDivergence``.
    Because: Dwork, McSherry, Nissim, Smith 2006, proposition 1. Where b is above 2^20 steps of
        the value's grid the noise is continuous, rounded after it was added; else it is the
        discrete Laplace on that grid.

    >>> import opendp_lite as dp
    >>> (dp.clamp(0, 4) >> dp.sum() >> dp.laplace(scale=8)).map(1)
    0.5
    >>> (dp.clamp(0, 4) >> dp.sum() >> dp.laplace(epsilon=0.1)).map(1)
    0.1
    """
    dimension = space.domain.dimension
    unit = space.unit.over(dimension)
    if one_of("laplace", scale=scale, epsilon=epsilon) == "scale":
        width = positive(scale, "scale")
    else:
        moving(unit, "laplace")
        width = cast(Fraction, unit.l1) / positive(epsilon, "epsilon")
    law = _law(width, space.domain.exponent)

    def privacy_map(distance: Norms) -> Fraction:
        return cast(Fraction, distance.over(dimension).l1) / width

    return Measurement(
        space,
        MaxDivergence(),
        releasing(space, law),
        privacy_map,
        laws=(law,),
        formula=(
            f"epsilon = l1 / b, b = {float(width):.6g}, standard deviation "
            f"{shown_up(width) * sqrt(2):.6g}"
        ),
    )


def _law(width: Fraction, exponent: int | None) -> Law:
    if exponent is not None:
        steps = width / Fraction(2) ** exponent
        if steps <= _FINE:
            return DiscreteLaplace(steps * SLACK, exponent)
    return RoundedLaplace(*grid_for(width))


class _Laplace(Protocol):
    @overload
    def __call__(self, *, scale: Number) -> Mechanism[Aggregate, MaxDivergence]: ...
    @overload
    def __call__(self, *, epsilon: Number) -> Mechanism[Aggregate, MaxDivergence]: ...


laplace: _Laplace = cast(_Laplace, _laplace)
