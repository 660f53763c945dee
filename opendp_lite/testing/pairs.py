"""Pairs of laws whose privacy loss is known, to hold a measure's laws against."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce, singledispatch
from math import comb
from operator import mul
from typing import Any, ClassVar, Final

import attrs

from opendp_lite.exact import exact, exp_down, exp_up, normal_tail, sqrt_up
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.gaussian_divergence import GaussianDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence

_LARGEST_TESTED: Final = 300
"""A larger epsilon is tested by a pair of this one, which loses less."""
_PARTS = tuple(Fraction(n, 1000) for n in (0, 250, 500, 750, 900, 990, 999, 1000))
_DEVIATIONS = (-1, 0, 1, 2, 4, 8, 16, 30)
_ONE = Fraction(1)


class Pair(ABC):
    """The laws of a release of two datasets; ``words`` says of which kind."""

    words: ClassVar[str]

    @abstractmethod
    def delta(self, epsilon: Fraction) -> Fraction:
        """A certified lower bound on the delta of the pair at this epsilon."""

    @abstractmethod
    def levels(self) -> Sequence[Fraction]:
        """The epsilons at which a curve that is too low would show."""

    @abstractmethod
    def __mul__(self, other: Any) -> Pair:
        """Both releases, independently."""


@attrs.frozen
class Coins(Pair):
    """A finite pair: the probabilities of each outcome, exactly, and the reach of its losses."""

    words = "a known pair of coins"

    masses: tuple[tuple[Fraction, Fraction], ...]
    reach: Fraction

    def delta(self, epsilon: Fraction) -> Fraction:
        most = exp_up(epsilon)
        return sum((max(p - most * q, Fraction(0)) for p, q in self.masses), Fraction(0))

    def levels(self) -> Sequence[Fraction]:
        return [part * self.reach for part in _PARTS]

    def __mul__(self, other: Coins) -> Coins:
        both = tuple((p * r, q * s) for p, q in self.masses for r, s in other.masses)
        return Coins(both, self.reach + other.reach)


@attrs.frozen
class Gaussians(Pair):
    """Two Gaussians of one variance, whose zCDP loss is rho."""

    words = "the Gaussian pair"

    rho: Fraction

    def delta(self, epsilon: Fraction) -> Fraction:
        apart = 2 * self.rho / sqrt_up(2 * self.rho)
        near, _ = normal_tail(epsilon / apart - apart / 2)
        _, far = normal_tail(epsilon / apart + apart / 2)
        return max(near - exp_up(epsilon) * far, Fraction(0))

    def levels(self) -> Sequence[Fraction]:
        return [max(self.rho + t * sqrt_up(2 * self.rho), Fraction(0)) for t in _DEVIATIONS]

    def __mul__(self, other: Gaussians) -> Gaussians:
        return Gaussians(self.rho + other.rho)


def randomised_response(epsilon: Fraction, spill: Fraction = Fraction(0)) -> Coins:
    """Tells the truth with probability ``spill``, else flips a coin of this epsilon."""
    reach = min(epsilon, Fraction(_LARGEST_TESTED))
    ratio = max(exp_down(reach), _ONE)
    heads, tails = (1 - spill) * ratio / (1 + ratio), (1 - spill) / (1 + ratio)
    told = ((spill, Fraction(0)), (Fraction(0), spill)) if spill else ()
    return Coins((*told, (heads, tails), (tails, heads)), reach)


@attrs.frozen
class Known:
    """What is known of one typed loss.

    Args:
        pairs: For distances k, pairs k apart that are made of neighbours of the typed loss.
        typed: For distances k, the loss at it as a person types it, where the measure is one
            number and the pairs attain it.
    """

    pairs: tuple[tuple[int, tuple[Pair, ...]], ...]
    typed: tuple[tuple[int, Fraction], ...] = ()

    @property
    def alone(self) -> tuple[Pair, ...]:
        """The pairs of neighbours."""
        return self.pairs[0][1]


GROUPS: Final = (1, 2, 3, 5)


@singledispatch
def known(measure: Measure[Any], typed: Any) -> Known | None:
    """Pairs of a typed loss: None for a measure that nothing is known of here."""
    return None


@known.register
def _pure(measure: MaxDivergence, typed: Any) -> Known:
    epsilon = exact(typed, "epsilon")
    pairs = tuple((k, (_flipped(epsilon, k),)) for k in GROUPS)
    return Known(pairs, tuple((k, k * epsilon) for k in GROUPS))


@known.register
def _concentrated(measure: ZeroConcentratedDivergence, typed: Any) -> Known:
    rho = exact(typed, "rho")
    pairs = tuple((k, (Gaussians(k * k * rho),) if rho else ()) for k in GROUPS)
    return Known(pairs, tuple((k, k * k * rho) for k in GROUPS))


@known.register
def _gaussian(measure: GaussianDivergence, typed: Any) -> Known:
    mu = exact(typed, "mu")
    rho = mu * mu / 2
    pairs = tuple((k, (Gaussians(k * k * rho),) if rho else ()) for k in GROUPS)
    return Known(pairs, tuple((k, k * mu) for k in GROUPS))


@known.register
def _approximate(measure: ApproximateDivergence, typed: Any) -> Known:
    epsilon, spill = exact(typed[0], "epsilon"), exact(typed[1], "delta")
    alone = (randomised_response(epsilon, spill),)
    others = tuple(
        (k, (_flipped(epsilon, k), *_spilled(epsilon, spill, k))) for k in GROUPS if k > 1
    )
    return Known(((1, alone), *others))


def _flipped(epsilon: Fraction, size: int) -> Coins:
    """So many rows that each answer by randomised response, all of them changed."""
    one = randomised_response(epsilon)
    (heads, tails), _ = one.masses
    masses = tuple(
        (
            comb(size, j) * heads**j * tails ** (size - j),
            comb(size, j) * tails**j * heads ** (size - j),
        )
        for j in range(size + 1)
    )
    return Coins(masses, size * one.reach)


def _spilled(epsilon: Fraction, spill: Fraction, size: int) -> tuple[Coins, ...]:
    """An event that a first dataset never has, and each next one as often as it may."""
    ratio, chance = (
        max(exp_down(min(epsilon, Fraction(_LARGEST_TESTED))), _ONE),
        Fraction(0),
    )
    for _ in range(size):
        more = ratio * chance + spill
        if more > 1 or 1 - chance > ratio * (1 - more) + spill:
            return ()
        chance = more
    masses = ((chance, Fraction(0)), (1 - chance, _ONE))
    return (Coins(masses, size * epsilon),)


def together(pairs: Sequence[Pair]) -> Pair:
    """All releases, independently."""
    return reduce(mul, pairs)
