"""The continuous Gaussian mechanism, rounded to a grid."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, floor, log, pi, sqrt

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exponential import (
    BITS,
    LANES,
    LEAST,
    MARGIN,
    SQUARE_MARGIN,
    LazyExponential,
    exact_floor,
    exactly_below,
    flip_signs,
    logarithms,
)
from opendp_lite.samplers.law import Floats, Law, Offsets

_HALF = Fraction(1, 2)
_PER_ACCEPTED = 1.36
_SPARE = 48
_FEW = 4
_UNIT = 2.0**-BITS
_NARROW = 2.0**-10


@attrs.frozen
class RoundedGaussian(Law):
    """floor(v + s Z + 1/2) for a standard normal Z and a scale of s grid units.

    |Z| is an exponential E, kept when 2 E' > (E - 1)^2 for another exponential E'
    (Devroye 1986, section IV.1.1).

    Because: rounding is post-processing of the Gaussian mechanism on the reals, so its zCDP and
        its exact (epsilon, delta) curve hold in any dimension.
    """

    scale: Fraction
    exponent: int
    margin: float = attrs.field(default=MARGIN, kw_only=True)
    square_margin: float = attrs.field(default=SQUARE_MARGIN, kw_only=True)

    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        if count <= _FEW:
            each = [self._one(i, offsets, entropy) for i in range(count)]
            return np.array(each, dtype=np.int64)
        noise = np.empty(count, dtype=np.int64)
        done = 0
        with np.errstate(all="ignore"):
            while done < count:
                done += self._fill(noise, done, offsets, entropy)
        return noise

    def _fill(
        self, noise: NDArray[np.int64], start: int, offsets: Offsets, entropy: Entropy
    ) -> int:
        """Draws a block of proposals and fills ``noise`` from ``start`` on; gives how many."""
        wanted = min(len(noise) - start, int(LANES / _PER_ACCEPTED))
        lanes = int(wanted * _PER_ACCEPTED) + _SPARE
        words, others = entropy.words(lanes), entropy.words(lanes)
        first, second = np.empty(lanes), np.empty(lanes)
        doubtful = logarithms(words, first)
        doubtful |= logarithms(others, second)
        np.multiply(second, -2.0, out=second)
        square = first + 1.0
        np.multiply(square, square, out=square)
        np.subtract(second, square, out=second)
        keep = second > 0
        np.abs(second, out=second)
        doubtful |= ~(second > self.square_margin)
        extended: dict[int, LazyExponential] = {}
        for each in np.flatnonzero(doubtful):
            lane = int(each)
            extended[lane] = LazyExponential(int(words[lane]) >> 1)
            rival = LazyExponential(int(others[lane]) >> 1)
            keep[lane] = exactly_below(extended[lane], rival, entropy)
        kept = np.flatnonzero(keep)[: len(noise) - start]
        stop = start + len(kept)
        words, y = words[kept], first[kept]
        np.multiply(y, float(self.scale), out=y)
        flip_signs(words, y)
        np.add(y, offsets.half_above(start, stop), out=y)
        whole = np.floor(y)
        noise[start:stop] = whole
        np.subtract(y, whole, out=y)
        np.subtract(y, 0.5, out=y)
        np.abs(y, out=y)
        unsure = ~(y < 0.5 - self.margin * (float(self.scale) + 1))
        unsure |= doubtful[kept]
        for each in np.flatnonzero(unsure):
            place = int(each)
            exponential = extended.get(int(kept[place])) or LazyExponential(int(words[place]) >> 1)
            noise[start + place] = self._exactly(
                exponential, int(words[place]), offsets.exactly(start + place), entropy
            )
        return len(kept)

    def _exactly(
        self, exponential: LazyExponential, word: int, offset: Fraction, entropy: Entropy
    ) -> int:
        factor = self.scale if word & 1 else -self.scale
        return exact_floor(exponential, factor, offset + _HALF, entropy)

    def _one(self, position: int, offsets: Offsets, entropy: Entropy) -> int:
        """One draw without arrays: the same decisions with the same margins."""
        scale = float(self.scale)
        half = 0.5 if offsets.floats is None else float(offsets.floats[position]) + 0.5
        while True:
            word, other = entropy.word(), entropy.word()
            top, rival = word >> 1, other >> 1
            if top < LEAST or rival < LEAST:
                break
            size = -log(top * _UNIT)
            gap = -2 * log(rival * _UNIT) - (size - 1) ** 2
            if abs(gap) <= self.square_margin:
                break
            if gap < 0:
                continue
            y = (size if word & 1 else -size) * scale + half
            whole = floor(y)
            if abs(y - whole - 0.5) < 0.5 - self.margin * (scale + 1):
                return whole
            return self._exactly(LazyExponential(top), word, offsets.exactly(position), entropy)
        exponential = LazyExponential(top)
        if exactly_below(exponential, LazyExponential(rival), entropy):
            return self._exactly(exponential, word, offsets.exactly(position), entropy)
        return self._one(position, offsets, entropy)

    def log_probability(self, steps: Floats, value: Fraction) -> Floats:
        """A difference of two tails; for narrow cells the density times the width.

        The series has the next term too: what it leaves out is below 2^-40 of it.
        """
        width = 1 / float(self.scale)
        z = (steps - float(value)) / float(self.scale)
        if width > _NARROW:
            middle, half = np.abs(z), width / 2
            tails = [np.array([erfc(e / sqrt(2)) for e in middle + s * half]) for s in (-1, 1)]
            with np.errstate(divide="ignore"):
                mass: Floats = np.log((tails[0] - tails[1]) / 2)
            return mass
        bend = np.log1p((z * z - 1) * width * width / 24)
        found: Floats = -z * z / 2 - log(sqrt(2 * pi)) + log(width) + bend
        return found

    @property
    def standard_deviation(self) -> float:
        return float(Fraction(2) ** self.exponent) * sqrt(float(self.scale) ** 2 + 1 / 12)
