"""Joint noise on a sum and a count, rounded to two grids."""

from __future__ import annotations

from fractions import Fraction
from math import floor, inf, isqrt

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.numbers.exact import nearest, sqrt_up
from opendp_lite.numbers.grid import Grid
from opendp_lite.samplers import exact_reals
from opendp_lite.samplers.choice import below
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exact_reals import Chi, Combined, Gamma, Lazy, Normal, exact_floor
from opendp_lite.samplers.law import Offsets, grid_for, in_cells, usable_scale
from opendp_lite.samplers.quantile_table import BITS, MARGIN

_HALF = Fraction(1, 2)
# How many times the error a margin is.
_TIMES = 8
# The level c exceeds so many times d + 2 less than once in e^4000 draws (Chernoff).
_LONGEST = 2**12


def _sums_fit(law: CoreNoise, field: object, scale: Fraction) -> None:
    """Refuses a scale S where the noise, below S c, might not fit int64."""
    usable_scale(law, field, scale * (law.columns + 2))


def _count_fits(law: CoreNoise, field: object, scale: Fraction) -> None:
    """Refuses a scale K where the noise, below K (c + h), might not fit int64."""
    usable_scale(law, field, scale * (law.columns + 2 + law.stretch / _LONGEST))


@attrs.frozen(repr=False)
class CoreNoise:
    """floor(v + s + 1/2), entry by entry, and floor(n + k + 1/2) for noises s in R^d and k.

    With the scales S of s and K of k, in units of their grids, and the stretch h, the joint
    density is proportional to exp(-m) for m = max(|s| / S, max(|k| / K - h, 0)). With ``cube`` |s|
    is the largest entry, else the l2 norm.

    The set {m <= c} is a ball of radius S c, or a cube of side 2 S c, times a segment of length
    2 K (c + h), so its volume is proportional to c^d (c + h). As exp(-m) is the integral of exp(-c)
    over all c above m, the noise is uniform in {m <= c} for a c of density proportional to
    exp(-c) c^d (c + h): c^(d+1) weighs (d+1)! and h c^d weighs h d!, so c is the sum of d + 2
    exponentials with probability (d + 1) / (d + 1 + h), else of d + 1. Then k = K (c + h) U for U
    uniform on (-1, 1), and in a cube each entry of s is S c U for a U of its own. In a ball
    s = S c g / L for d standard normals g and the length L of them and two others: the first d
    coordinates of a uniform point of the sphere in R^(d+2) are a uniform point of the ball in R^d.

    Error budget, for c known within e, L within f, and normals within 2^-40. Let
    a = S (c + e) / L. As |g| <= L, an entry S c g / L is known within
    S e + a (2^-40 + f); ten roundings, 2^-53 of S c each, below S e, since e is above 2^-46 c; and
    2^-52 for the offset. The margin, (a + 1) 2^-38 + 8 (S e + a f), is four times as much or more.
    K (c + h) U is known within K e, 2^-63 K (c + h) for the unread bits, six roundings and 2^-52;
    the margin, (K (c + h) + 1) 2^-38 + 8 K e, is eight times as much or more. Noise is far below
    2^53 steps. c and L are common to all entries, and what was drawn of them stays.

    Proof:
        A row moves |s| / S by at most the radius over S and |k| / K by at most 1 / K, hence m by at
        most the larger of the two, by the triangle inequality; that bounds the pure loss, and
        rounding comes after the noise.
    """

    sum_scale: Fraction = attrs.field(validator=_sums_fit)
    sum_exponent: int
    count_scale: Fraction = attrs.field(validator=_count_fits)
    count_exponent: int
    stretch: Fraction
    columns: int
    cube: bool = False
    margin: float = attrs.field(default=MARGIN, kw_only=True)

    @classmethod
    def near(
        cls,
        radius: Fraction,
        epsilon: Fraction,
        stretch: Fraction,
        columns: int,
        cube: bool = False,
    ) -> CoreNoise:
        """For rows of at most this norm, with a loss of epsilon for one row.

        On grids of about 2^-16 of the standard deviations.
        """
        root = columns + 1 if cube else isqrt(columns + 1)
        sums, sum_exponent = grid_for(radius / epsilon * root)
        counts, count_exponent = grid_for((1 + stretch) / epsilon)
        return cls(
            sums / root,
            sum_exponent,
            counts / (1 + stretch),
            count_exponent,
            stretch,
            columns,
            cube,
        )

    @property
    def deviations(self) -> tuple[float, float]:
        """The standard deviations of one entry of the sum and of the count, in their own units.

        From E c^2 = (d + 1) (d + 2) (d + 3 + h) / (d + 1 + h), of which 1 / (d + 2), in a cube
        1 / 3, is an entry's variance over S^2, and from E (c + h)^2, of which a third is the
        count's over K^2.
        """
        d, h = self.columns, self.stretch
        entry = (d + 1) * (d + 3 + h) / (d + 1 + h) * Fraction(d + 2 if self.cube else 3, 3)
        longer = (d + 3) * (d + 2) * (d + 1) + 3 * h * (d + 2) * (d + 1) + 3 * h * h * (d + 1)
        count = (longer + h * h * h) / (3 * (d + 1 + h))
        units = Fraction(2) ** self.sum_exponent, Fraction(2) ** self.count_exponent
        return (
            nearest(self.sum_scale * units[0] * sqrt_up(entry)),
            nearest(self.count_scale * units[1] * sqrt_up(count)),
        )

    def noisy(self, sums: Grid, count: Grid, entropy: Entropy) -> tuple[Grid, Grid]:
        """Sums and a number with noise, each on its output grid."""
        cells, offsets = in_cells(sums.steps, sums.exponent, self.sum_exponent)
        cell, offset = in_cells(count.steps, count.exponent, self.count_exponent)
        entries, beside = self.draw(offsets, offset, entropy)
        return Grid(cells + entries, self.sum_exponent), Grid(cell + beside, self.count_exponent)

    def draw(
        self, sums: Offsets, count: Offsets, entropy: Entropy
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The noise for sums, and for one number, that lie so in their cells."""
        share = (self.columns + 1) / (self.columns + 1 + self.stretch)
        # An exact coin, as the stretch is rational.
        longer = below(share.denominator, entropy) < share.numerator
        level = Gamma(self.columns + (2 if longer else 1), entropy)
        if self.cube:
            words = entropy.words(self.columns + 1).tolist()
            inside = along_level(
                level, Fraction(0), self.sum_scale, words[1:], sums, self.margin, entropy
            )
            return inside, self._beside(level, words[0], count, entropy)
        rest = Gamma(1, entropy)
        normals = [exact_reals.one_normal(entropy) for _ in range(self.columns)]
        word = entropy.word()
        entries = self._entries(level, Chi(rest, normals), normals, sums, entropy)
        return entries, self._beside(level, word, count, entropy)

    def _entries(
        self, level: Gamma, length: Chi, normals: list[Normal], offsets: Offsets, entropy: Entropy
    ) -> NDArray[np.int64]:
        scale = float(self.sum_scale)
        turn = scale / length.value if length.value else inf
        factor, reach = turn * level.value, turn * (level.value + level.error)
        spread = scale * level.error + reach * length.error
        # A whole number is 1/2 away from a float that is safe; the margin is that of the class. No
        # float decides where the edge is below 0, or NaN for a level or length of unknown size.
        edge = 0.5 - self.margin * (reach + 1) - _TIMES * spread
        floats = [0.0] * self.columns if offsets.floats is None else offsets.floats.tolist()
        found = []
        for position, (size, positive, exponential) in enumerate(normals):
            if size is not None and edge > 0:
                y = (size if positive else -size) * factor + (floats[position] + 0.5)
                whole = floor(y)
                if abs(y - whole - 0.5) < edge:
                    found.append(whole)
                    continue
            signed = self.sum_scale if positive else -self.sum_scale
            entry = _entry(level, exponential, length)
            # The level and the length are all entries': what is drawn of them here stays drawn.
            found.append(exact_floor(entry, signed, offsets.exactly(position) + _HALF, entropy))
        return np.array(found, dtype=np.int64)

    def _beside(
        self, level: Gamma, word: int, offset: Offsets, entropy: Entropy
    ) -> NDArray[np.int64]:
        return along_level(
            level, self.stretch, self.count_scale, [word], offset, self.margin, entropy
        )


def along_level(
    level: Gamma,
    stretch: Fraction,
    scale: Fraction,
    words: list[int],
    offsets: Offsets,
    margin: float,
    entropy: Entropy,
) -> NDArray[np.int64]:
    """scale (c + stretch) U for the level c, with a U in (-1, 1) of each word, rounded.

    The level is that of all entries, and what is drawn of it for one stays. ``CoreNoise`` has the
    error budget.
    """
    slope, flat = float(scale), float(scale * stretch)
    reach = slope * level.value + flat
    edge = 0.5 - margin * (reach + 1) - _TIMES * slope * level.error
    floats = [0.0] * len(words) if offsets.floats is None else offsets.floats.tolist()
    found = []
    for position, word in enumerate(words):
        # The lowest bit is the sign; the other 63 are |U|.
        top = word >> 1
        if edge > 0:
            size = reach * (top * 2.0**-BITS)
            y = (size if word & 1 else -size) + (floats[position] + 0.5)
            whole = floor(y)
            if abs(y - whole - 0.5) < edge:
                found.append(whole)
                continue
        signed = scale if word & 1 else -scale
        along = _along(level, stretch, exact_reals.LazyUniform(top))
        found.append(exact_floor(along, signed, offsets.exactly(position) + _HALF, entropy))
    return np.array(found, dtype=np.int64)


def _entry(level: Lazy, size: Lazy, length: Lazy) -> Lazy:
    """c |g| / L, for a g that L is made of: the length draws for it, and knows it first."""

    def divide(
        level: exact_reals.Bracket, length: exact_reals.Bracket
    ) -> exact_reals.Bracket | None:
        own = size.bracket()
        if own is None or length[0] == 0:
            return None
        return level[0] * own[0] / length[1], level[1] * own[1] / length[0]

    return Combined((level, length), divide)


def _along(level: Lazy, stretch: Fraction, share: exact_reals.LazyUniform) -> Lazy:
    """(c + h) |U|."""
    return Combined((level, share), lambda c, u: ((c[0] + stretch) * u[0], (c[1] + stretch) * u[1]))
