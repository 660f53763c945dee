"""What a release loses between two datasets: exactly, from the noises that it is made with.

A release that is a function of noisy values loses what these lose, and noise of a known law on
values that are so far apart loses what its density says. So two releases tell what an audit would
need thousands for, and tell it of 1 % too little noise as of half. That samplers follow their laws
is for tests/samplers, and that lies in releases are found for tests/testing/test_audit.py.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, inf, sqrt

import attrs
import numpy as np
import pytest
from scipy.stats import norm

import opendp_lite as dp
from opendp_lite.numbers.grid import Grid
from opendp_lite.samplers.core_noise import CoreNoise
from opendp_lite.samplers.l2_gamma import CubeGamma, L2Gamma
from opendp_lite.samplers.law import Noise
from opendp_lite.samplers.rounded_laws import DiscreteLaplace, RoundedGaussian, RoundedLaplace
from opendp_lite.testing.replayable import alike

ORDERS = {RoundedLaplace: 1, DiscreteLaplace: 1, RoundedGaussian: 2, L2Gamma: 2, CubeGamma: inf}
"""Of the norms that the densities fall with."""


@attrs.frozen
class Lost:
    """By noises whose densities fall with a norm (pure), and by Gaussian ones."""

    pure: float = 0.0
    rho: float = 0.0

    def delta(self, epsilon: float) -> float:
        """Of Gaussian noises: Balle and Wang 2018, theorem 8."""
        assert not self.pure
        if not self.rho:
            return 0.0
        mu = sqrt(2 * self.rho)
        miss, hit = norm.cdf([-epsilon / mu - mu / 2, mu / 2 - epsilon / mu])
        return float(hit - exp(epsilon) * miss)


def lost(measurement: dp.Measurement, data: object, other: object) -> Lost:
    """The loss between the releases of two datasets; fails if a release tells more than noises do.

    The second release gets the noisy values of the first, and must come to the same.
    """
    made = []
    moved = []

    def first(draw):
        def noisy(law, *given):
            found = draw(law, *given)
            made.append((law, given[:-1], found))
            return found

        return noisy

    def second(law, *given):
        assert made, "the second dataset is released with more noises than the first"
        before, values, found = made.pop(0)
        assert before == law
        moved.append((law, values, given[:-1]))
        return found

    with pytest.MonkeyPatch.context() as patches:
        for kind in (Noise, CoreNoise):
            patches.setattr(kind, "noisy", first(kind.noisy))
        one = measurement(data)
        for kind in (Noise, CoreNoise):
            patches.setattr(kind, "noisy", second)
        two = measurement(other)
    assert not made, "the first dataset is released with more noises than the second"
    assert moved, "no noise is in it"
    assert alike(one, two), "the release tells more than its noisy values"
    losses = [_lost_by(*each) for each in moved]
    return Lost(sum(each.pure for each in losses), sum(each.rho for each in losses))


def _lost_by(law, values: Sequence[Grid], others: Sequence[Grid]) -> Lost:
    moves = [_difference(*pair) for pair in zip(values, others, strict=True)]
    if isinstance(law, CoreNoise):
        by_sums = np.linalg.norm(moves[0], inf if law.cube else 2) / _unit(
            law.sum_scale, law.sum_exponent
        )
        by_count = abs(moves[1][0]) / _unit(law.count_scale, law.count_exponent)
        return Lost(pure=float(max(by_sums, by_count)))
    (move,) = moves
    size = float(np.linalg.norm(move, ORDERS[type(law)])) / _unit(law.scale, law.exponent)
    return Lost(rho=size**2 / 2) if type(law) is RoundedGaussian else Lost(pure=size)


def _difference(value: Grid, other: Grid) -> np.ndarray:
    pairs = zip(_exactly(value), _exactly(other), strict=True)
    return np.array([float(one - two) for one, two in pairs])


def _exactly(value: Grid) -> list[Fraction]:
    return [Fraction(step) * Fraction(2) ** value.exponent for step in value.steps.tolist()]


def _unit(scale: Fraction, exponent: int) -> float:
    return float(scale * Fraction(2) ** exponent)
