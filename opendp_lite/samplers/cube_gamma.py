"""Noise of a cube: the same level for all entries, each uniform within it."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.numbers.exact import log_up, sqrt_up
from opendp_lite.samplers.core_noise import along_level
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exact_reals import Gamma
from opendp_lite.samplers.l2_gamma import LARGE, EntryTail, least_beyond
from opendp_lite.samplers.law import ErrorLaw, Noise, Offsets, grid_for, usable_scale
from opendp_lite.samplers.quantile_table import MARGIN


@attrs.frozen
class CubeGamma(Noise):
    """floor(v + z + 1/2), entry by entry, for z of density proportional to exp(-max |z_j| / s).

    exp(-m) is the integral of exp(-c) over all c above m, and {max |z_j| <= s c} has the volume
    (2 s c)^d. So z is s c U, for U uniform in (-1, 1)^d and a c of density proportional to
    c^d exp(-c): the sum of d + 1 exponentials, which all entries share.

    Proof:
        By the triangle inequality the density changes by at most exp(linf / s), in any dimension
        (Hardt and Talwar 2010). Rounding comes after the noise. ``CoreNoise`` has the error budget.
    """

    scale: Fraction = attrs.field(validator=usable_scale)
    exponent: int
    margin: float = attrs.field(default=MARGIN, kw_only=True)

    @classmethod
    def near(cls, scale: Fraction, dimension: int) -> CubeGamma:
        """On the grid of which the reach s (d + 1) is 2^16 to 2^17 units."""
        units, exponent = grid_for(scale * (dimension + 1))
        return cls(units / (dimension + 1), exponent)

    def error_of_each(self, count: int) -> CubeGammaError:
        unit = Fraction(2) ** self.exponent
        return CubeGammaError(self.scale * unit, count, unit / 2)

    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        usable_scale(self, None, self.scale * (count + 1))
        level = Gamma(count + 1, entropy)
        words = entropy.words(count).tolist()
        return along_level(level, Fraction(0), self.scale, words, offsets, self.margin, entropy)


# Up to so many dimensions the tail is worked out.
_MOST_TERMS: Final = 2**14
# Of the probability of an error, with more dimensions: for a long level.
_FOR_LEVEL: Final = Fraction(1, 2**10)


@attrs.frozen
class CubeGammaError(ErrorLaw):
    """One entry of ``CubeGamma``, and a rounding."""

    scale: Fraction
    dimension: int
    slack: Fraction

    def half_width(self, miss: Fraction) -> Fraction:
        return self.scale * cube_quantile_up(miss, self.dimension) + self.slack

    @property
    def standard_deviation(self) -> float:
        return float(self.scale) * sqrt((self.dimension + 1) * (self.dimension + 2) / 3)


@lru_cache(maxsize=2**10)
def cube_quantile_up(miss: Fraction, dimension: int) -> Fraction:
    """A t with P(|z_1| > t) <= miss for the density exp(-max |z_j|) in so many dimensions.

    Beyond 2^14 dimensions it is up to 4 % above the least.

    Proof:
        |z_1| is c U. A c of Gamma(k) is above k + sqrt(2 k x) + x with a probability of at most
        exp(-x) (Boucheron, Lugosi, Massart 2013, section 2.4), and U above 1 - p with p.
    """
    if dimension <= _MOST_TERMS:
        return least_beyond(miss, dimension, _cube_tail)
    shape, nats = Fraction(dimension + 1), log_up(1 / (miss * _FOR_LEVEL))
    longest = shape + sqrt_up(2 * shape * nats) + nats
    return longest * (1 - miss * (1 - _FOR_LEVEL))


def _cube_tail(t: float, dimension: int) -> EntryTail:
    """P(z_1 > t) for the density exp(-max |z_j|), and the density of z_1 at t.

    Proof:
        |z_1| = c U has the density P(Gamma(d) > t) / d, as the integral of c^(d-1) exp(-c) / d!
        from t on. With P(Gamma(k) > t) = exp(-t) (1 + t + ... + t^(k-1) / (k-1)!) the integral of
        this is exp(-t) times the sum of (1 - j / d) t^j / j! over j < d. All terms are positive.
        Each is made by 2 j roundings, and added with its factor by 3 + d more.
    """
    term, density, beyond, halvings = 1.0, 0.0, 0.0, 0
    for place in range(dimension):
        density += term
        beyond += (dimension - place) * term
        term *= t / (place + 1)
        if beyond > LARGE:
            term, density, beyond = term / LARGE, density / LARGE, beyond / LARGE
            halvings += 500
    rounding = 1 + Fraction(4 * (dimension + 4), 2**53)
    twice = 2.0 * dimension
    return EntryTail(t, beyond / twice, density / twice, halvings, rounding)
