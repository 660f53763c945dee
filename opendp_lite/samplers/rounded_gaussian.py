"""The continuous Gaussian mechanism, rounded to a grid."""

from __future__ import annotations

from collections.abc import Callable
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
    to_nearest,
)
from opendp_lite.samplers.law import FEW, Floats, Law, Offsets

_HALF = Fraction(1, 2)
_PER_ACCEPTED = 1.36
_SPARE = 48
_UNIT = 2.0**-BITS
_NARROW = 2.0**-10


@attrs.frozen
class RoundedGaussian(Law):
    """floor(v + s Z + 1/2) for a standard normal Z and a scale of s grid units.

    |Z| is an exponential E, kept when 2 E' > (E - 1)^2 for another exponential E'
    (Devroye 1986, section IV.1.1). Of a first uniform that is too small for floats nothing is
    asked: E is then above 13, and kept only if the second uniform is too small as well.

    Because: rounding is post-processing of the Gaussian mechanism on the reals, so its zCDP and
        its exact (epsilon, delta) curve hold in any dimension.
    """

    scale: Fraction
    exponent: int
    margin: float = attrs.field(default=MARGIN, kw_only=True)
    square_margin: float = attrs.field(default=SQUARE_MARGIN, kw_only=True)

    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        if count <= FEW:
            return self.few(count, offsets, entropy)
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
        logarithms(words, first)
        doubtful = logarithms(others, second)
        excess = first + 1.0
        np.multiply(excess, excess, out=excess)
        np.add(second, second, out=second)
        np.add(excess, second, out=excess)
        keep = excess < self.square_margin
        surely = excess < -self.square_margin
        extended: dict[int, LazyExponential] = {}
        if np.count_nonzero(doubtful) or np.count_nonzero(keep) > np.count_nonzero(surely):
            doubtful |= keep & ~surely
            for each in np.flatnonzero(doubtful):
                lane = int(each)
                extended[lane] = LazyExponential(int(words[lane]) >> 1)
                rival = LazyExponential(int(others[lane]) >> 1)
                keep[lane] = exactly_below(extended[lane], rival, entropy)
        flip_signs(words, first)
        kept = np.flatnonzero(keep)[:wanted]
        y, stop = first[kept], start + len(kept)
        np.multiply(y, float(self.scale), out=y)
        if offsets.floats is not None:
            np.add(y, offsets.floats[start:stop], out=y)
        sure = to_nearest(y, noise[start:stop], 0.5 - self.margin * (float(self.scale) + 1))
        if extended or np.count_nonzero(sure) < len(kept):
            sure[np.isin(kept, list(extended))] = False
            for each in np.flatnonzero(~sure):
                place = int(each)
                lane = int(kept[place])
                exponential = extended.get(lane) or LazyExponential(int(words[lane]) >> 1)
                noise[start + place] = self._exactly(
                    exponential, int(words[lane]), offsets.exactly(start + place), entropy
                )
        return len(kept)

    def _exactly(
        self, exponential: LazyExponential, word: int, offset: Fraction, entropy: Entropy
    ) -> int:
        factor = self.scale if word & 1 else -self.scale
        return exact_floor(exponential, factor, offset + _HALF, entropy)

    def one(self, inside: float, exactly: Callable[[], Fraction], entropy: Entropy) -> int:
        scale = float(self.scale)
        while True:
            word, other = entropy.words(2).tolist()
            top, rival = word >> 1, other >> 1
            exponential = LazyExponential(top)
            if top >= LEAST and rival >= LEAST:
                size = -log(top * _UNIT)
                excess = (size - 1) ** 2 + 2 * log(rival * _UNIT)
                if excess > self.square_margin:
                    continue
                if excess < -self.square_margin:
                    y = (size if word & 1 else -size) * scale + (inside + 0.5)
                    whole = floor(y)
                    if abs(y - whole - 0.5) < 0.5 - self.margin * (scale + 1):
                        return whole
                    break
            if exactly_below(exponential, LazyExponential(rival), entropy):
                break
        return self._exactly(exponential, word, exactly(), entropy)

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
