"""How far noise reaches, at a level of confidence."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch
from math import ceil, exp, expm1, log, log1p
from statistics import NormalDist

from opendp_lite.samplers.discrete_laplace import DiscreteLaplace
from opendp_lite.samplers.law import Law
from opendp_lite.samplers.rounded_gaussian import RoundedGaussian
from opendp_lite.samplers.rounded_laplace import RoundedLaplace


def half_width(law: Law, confidence: Fraction, entries: int = 1) -> float:
    """A number that the noise of all of so many entries stays within, at least so often.

    A whole number where the noise is one.
    """
    miss = -expm1(log(confidence) / entries)
    steps = _steps(law, miss) * (1 + 1e-12)
    unit = Fraction(2) ** law.exponent
    return float(ceil(steps) * unit)


@singledispatch
def _steps(law: Law, miss: float) -> float:
    """Grid steps beyond which, either way, the noise of one entry lies at most so often."""
    raise NotImplementedError(f"the reach of {type(law).__name__} is not known")


@_steps.register
def _of_discrete_laplace(law: DiscreteLaplace, miss: float) -> float:
    """P(|K| > k) = 2 q^(k + 1) / (1 + q) for q = exp(-1 / t)."""
    rate = float(1 / law.scale)
    return max(0.0, (log(2) - log1p(exp(-rate)) - log(miss)) / rate - 1)


@_steps.register
def _of_rounded_laplace(law: RoundedLaplace, miss: float) -> float:
    return -log(miss) * float(law.scale) + 1


@_steps.register
def _of_rounded_gaussian(law: RoundedGaussian, miss: float) -> float:
    return -NormalDist().inv_cdf(miss / 2) * float(law.scale) + 1
