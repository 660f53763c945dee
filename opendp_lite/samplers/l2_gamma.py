"""Noise of a ball and of a cube for a vector as a whole, and how far one entry of it reaches."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import acosh, isqrt, log, pi, sqrt
from statistics import NormalDist
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.numbers.exact import log_up, nearest, normal_quantile_up, sqrt_up
from opendp_lite.samplers.core_noise import along_level
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exact_reals import Chi, Combined, Gamma, Lazy, LazyNormal
from opendp_lite.samplers.law import ErrorLaw, Noise, Offsets, fill, grid_for, usable_scale
from opendp_lite.samplers.quantile_table import MARGIN, MASK, normal_table
from opendp_lite.samplers.rounded_laws import signed_floor

LARGE: Final = 2.0**500
"""Beyond it sums of a tail are divided by it."""
# Of all floats in one step of the recursion, and in one sum, relatively.
_ROUNDING: Final = Fraction(1, 2**47)
# A sum rounds by no more than so many steps.
_SUMS: Final = 2**8
# ``bessel_integrals`` proves that what it leaves out, beyond exponents of 80, is below 2^-100.
_LEFT: Final = 2.0**-100
_NEGLIGIBLE: Final = 80.0
_CLOSE: Final = 2.0**-34
_NUDGE: Final = 2.0**-30
# Of Newton's method, which only proposes: ``EntryTail.within`` certifies.
_MOST_STEPS: Final = 60
# Up to so many dimensions the tail is worked out.
_MOST_SHAPES: Final = 2**17
# Of the probability of an error, with more dimensions.
_FOR_LENGTH: Final = Fraction(1, 2**10)


@attrs.frozen
class EntryError(ErrorLaw):
    """One entry of noise for a vector as a whole, and a rounding.

    Attributes:
        scale: Of the noise.
        dimension: How many entries there are.
        slack: Of the rounding.
        quantile_up: The length that an entry at scale 1 exceeds with at most a probability.
        variance: Of such an entry.
    """

    scale: Fraction
    dimension: int
    slack: Fraction
    quantile_up: Callable[[Fraction, int], Fraction]
    variance: float

    def half_width(self, miss: Fraction) -> Fraction:
        return self.scale * self.quantile_up(miss, self.dimension) + self.slack

    @property
    def standard_deviation(self) -> float:
        return float(self.scale) * sqrt(self.variance)


@lru_cache(maxsize=2**10)
def entry_quantile_up(miss: Fraction, dimension: int) -> Fraction:
    """A t with P(|z_1| > t) <= miss for the density exp(-|z|) in so many dimensions.

    It is above the least by about 2^-30, relatively; from 2^17 dimensions on by a few percent at
    most.

    Proof:
        The entry is the difference of two gamma variates of shape a = (d + 1) / 2 and scale 1: its
        characteristic function is (1 + w^2)^-a, as that of a normal whose variance is twice such a
        gamma variate (Andrews and Mallows 1974; see ``L2Gamma``).
    """
    if dimension > _MOST_SHAPES:
        return _by_length(miss, dimension)
    return least_beyond(miss, dimension, EntryTail.at)


def least_beyond(
    miss: Fraction, dimension: int, tail_at: Callable[[float, int], EntryTail]
) -> Fraction:
    """The least t, but for about 2^-30 of it, beyond which both tails together are at most miss.

    The tail is log-concave, so each step of Newton's method for its logarithm leads to the least t
    or beyond. Then t is moved up until the certified tail is small enough.
    """
    wanted = log(nearest(miss)) - log(2)
    # Any start leads there; nearer to 0, 1 - miss / 2 may round to 1, which has no quantile.
    normal = NormalDist().inv_cdf(1 - nearest(miss) / 2) if miss > Fraction(1, 10**9) else 6.0
    found = max(normal, _NUDGE) * sqrt(dimension + 1)
    for _ in range(_MOST_STEPS):
        tail = tail_at(found, dimension)
        step = (tail.logarithm - wanted) * tail.beyond / tail.density
        found = max(found + step, _NUDGE * found)
        if abs(step) <= _CLOSE * found:
            break
    nudge = _NUDGE
    while not tail_at(found, dimension).within(miss):
        found += nudge * (found + nudge)
        nudge *= 4
    return Fraction(found)


def _by_length(miss: Fraction, dimension: int) -> Fraction:
    """As above, from what the length and a normal exceed.

    Proof:
        The entry is a normal times the length X of d + 1 independent normals (``L2Gamma``). X moves
        by no more than these normals do, and its mean is at most sqrt(d + 1). So it exceeds
        sqrt(d + 1) + s with a probability of at most exp(-s^2 / 2) (Boucheron, Lugosi, Massart
        2013, theorem 5.6). The normal gets the rest of the probability.
    """
    length = sqrt_up(Fraction(dimension + 1)) + sqrt_up(2 * log_up(1 / (miss * _FOR_LENGTH)))
    return length * normal_quantile_up(miss * (1 - _FOR_LENGTH))


@attrs.frozen
class EntryTail:
    """P(z_1 > t) for the density exp(-|z|), and the density of z_1 at t.

    Both are here times e^t 2^-halvings. ``beyond`` is certified to be at most a factor of
    ``rounding`` too small.

    Proof:
        Let T_a be the tail and f_a the density, for gamma variates of shape a. By the
        characteristic function f_a = f_(a+1) - f_(a+1)'', so T_a = T_(a+1) + f_(a+1)'. As f_a(t) is
        proportional to t^v K_v(t) with v = a - 1/2, and (t^v K_v)' = -t^v K_(v-1):
        T_(a+1) = T_a + t f_a / 2a. From K_(v+1) = K_(v-1) + (2 v / t) K_v:
        f_(a+2) = (2a + 1) f_(a+1) / (2a + 2) + t^2 f_a / (4 a (a + 1)). It starts from
        f_1 = T_1 = exp(-t) / 2 and f_2 = (1 + t) exp(-t) / 4 in odd dimensions; in even ones from
        f_(1/2) = K_0 / pi, f_(3/2) = t K_1 / pi and T_(1/2), the integral of f_(1/2) from t on. All
        terms are positive, so that bounds from above stay such, and each step of floats adds no
        more than its own rounding, relatively. What is lost where numbers are halved is below
        2^-500 of them.
    """

    t: float
    beyond: float
    density: float
    halvings: int
    rounding: Fraction

    @classmethod
    def at(cls, t: float, dimension: int) -> EntryTail:
        """By recursion over the shape, in (d + 1) / 2 steps."""
        if dimension % 2:
            shape, beyond, now, after = 1.0, 0.5, 0.5, (1 + t) / 4
        else:
            beyond, now, after = (each / pi for each in bessel_integrals(t))
            shape, after = 0.5, after * t
        last, square, halvings, steps = (dimension + 1) / 2, t * t / 4, 0, 0
        while shape < last:
            beyond += t / (2 * shape) * now
            after, now = (
                (shape + 0.5) / (shape + 1) * after + square / (shape * (shape + 1)) * now,
                after,
            )
            shape += 1
            steps += 1
            if after > LARGE:
                beyond, now, after = beyond / LARGE, now / LARGE, after / LARGE
                halvings += 500
        return cls(t, beyond, now, halvings, 1 + _ROUNDING * (steps + _SUMS))

    @property
    def logarithm(self) -> float:
        """Of the tail."""
        return log(self.beyond) + self.halvings * log(2) - self.t

    def within(self, miss: Fraction) -> bool:
        """Whether both tails together are certainly at most so much."""
        most = Fraction(self.beyond) * self.rounding * 2**self.halvings
        return log_up(most) + log_up(2 / miss) <= Fraction(self.t)


def bessel_integrals(t: float) -> tuple[float, float, float]:
    """The integral of K_0 from t on, K_0(t) and K_1(t), times e^t, from above up to rounding.

    Proof:
        They are the integrals over u > 0 of exp(-t cosh u) g(u), for g = 1 / cosh, 1 and cosh. Half
        of the trapezoid rule of step h over all u is off by at most M / (exp(2 pi b / h) - 1), if M
        bounds the integrals of the absolute value on both lines of imaginary part +-b (Trefethen
        and Weideman 2014, theorem 5.1). Take b = 1 / sqrt(1 + t), which is at most 1, and
        h = b / 16. There |exp(-t cosh)| is exp(-t cos(b) cosh u), and |g| is at most
        cosh(u) / cos(b). So M is at most 2 K_1(t cos b) / cos b. K_1(x) is below
        K_(3/2)(x) = sqrt(pi / 2x) exp(-x) (1 + 1/x), and t (1 - cos b) <= 1/2. This comes to less
        than 2^-130 (t^-1/2 + 4 t^-3/2), times exp(-t). Beyond x = cosh u = 1 + 80 / t all three
        fall, and the integral of what is left is at most exp(-80) (1 + sqrt(t)) / t. Both are below
        2^-100 (1 + t^-2).
    """
    width = 1 / sqrt(1 + t) / 16
    last = acosh(1 + _NEGLIGIBLE / t) if _NEGLIGIBLE / t < LARGE else log(2 * _NEGLIGIBLE / t)
    points = width * np.arange(int(last / width) + 2)
    cosh = np.cosh(points)
    weights = width * np.exp(-2 * t * np.sinh(points / 2) ** 2)
    weights[0] /= 2
    left = _LEFT * (1 + t**-2)
    sums = (weights / cosh).sum(), weights.sum(), (weights * cosh).sum()
    found, nought, first = (float(each) + left for each in sums)
    return found, nought, first


# Times s and the error of X: a normal of 5 needs 5, see the error budget of ``L2Gamma``.
_REACH = 100


@attrs.frozen
class L2Gamma(Noise):
    """floor(v + z + 1/2), entry by entry, for z in R^d of density proportional to exp(-|z| / s).

    z = s X g for d standard normals g and the length X of d + 1 others: given X^2 = q, z has the
    density q^(-d/2) exp(-r^2 / 2 s^2 q) at the length r, and the integral of it over the density
    of q, q^((d-1)/2) exp(-q/2), is that of q^(-1/2) exp(-q/2 - r^2 / 2 s^2 q), proportional to
    exp(-r / s) (Andrews and Mallows 1974, where d is 1). No length is divided by.

    Error budget, for an entry whose normal is at most 5 as floats are: s X times the normal's
    2^-40; 5 s times the error of X; eight roundings, 2^-53 of s X 5 each, below s X 2^-47; and
    2^-52 for the offset. The margin, (s X + 1) 2^-38 + 100 s times the error of X, is three times
    as much or more. X is common to all entries, and what was drawn of it stays.

    Noise fits int64, as that of other laws does, for s of at most 2^50 / sqrt(d + 1).

    Proof:
        Rounding is post-processing of the K-norm mechanism on the reals (Hardt and Talwar 2010), so
        its pure loss, the l2 distance over s, holds exactly in any dimension.
    """

    scale: Fraction = attrs.field(validator=usable_scale)
    exponent: int
    margin: float = attrs.field(default=MARGIN, kw_only=True)

    @classmethod
    def near(cls, scale: Fraction, dimension: int) -> L2Gamma:
        """On the grid of which an entry's standard deviation is about 2^16 to 2^18 units."""
        root = isqrt(dimension + 1)
        units, exponent = grid_for(scale * root)
        return cls(units / root, exponent)

    def error_of_each(self, count: int) -> EntryError:
        unit = Fraction(2) ** self.exponent
        return EntryError(self.scale * unit, count, unit / 2, entry_quantile_up, count + 1)

    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        usable_scale(self, None, self.scale * isqrt(count + 1))
        length = Chi.of(count + 1, entropy)
        scale = float(self.scale)
        factor = scale * length.value
        edge = 0.5 - self.margin * (factor + 1) - _REACH * scale * length.error

        def exactly(position: int, word: int) -> int:
            product = _product(length, LazyNormal(word & MASK))
            return signed_floor(product, self.scale, word, offsets.exactly(position), entropy)

        found = np.empty(count, dtype=np.int64)
        fill(normal_table(), factor, edge, offsets.floats, exactly, entropy, found)
        return found


def _product(first: Lazy, second: Lazy) -> Lazy:
    """Of two variates that are at least 0."""
    return Combined((first, second), lambda a, b: (a[0] * b[0], a[1] * b[1]))


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

    def error_of_each(self, count: int) -> EntryError:
        unit, variance = Fraction(2) ** self.exponent, (count + 1) * (count + 2) / 3
        return EntryError(self.scale * unit, count, unit / 2, cube_quantile_up, variance)

    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        usable_scale(self, None, self.scale * (count + 1))
        level = Gamma(count + 1, entropy)
        words = entropy.words(count).tolist()
        return along_level(level, Fraction(0), self.scale, words, offsets, self.margin, entropy)


# Up to so many dimensions the tail is worked out.
_MOST_TERMS: Final = 2**14
# Of the probability of an error, with more dimensions: for a long level.
_FOR_LEVEL: Final = Fraction(1, 2**10)


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
