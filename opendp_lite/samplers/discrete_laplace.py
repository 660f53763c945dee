"""The discrete Laplace distribution on the grid of the values themselves."""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1, sqrt

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exponential import (
    LANES,
    MARGIN,
    LazyExponential,
    exact_floor,
    logarithms,
)
from opendp_lite.samplers.law import Floats, Law, Offsets

_NO_NOISE = 600


@attrs.frozen
class DiscreteLaplace(Law):
    """v + G - G' for G, G' = floor(t E): P(k) proportional to exp(-|k| / t).

    Because: the difference of two geometric variates (Inusah and Kozubowski 2006); on whole
        numbers it is the optimal noise for pure differential privacy (Ghosh, Roughgarden,
        Sundararajan 2009), with less variance than the rounded Laplace.
    """

    scale: Fraction
    exponent: int
    margin: float = attrs.field(default=MARGIN, kw_only=True)

    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        noise = self._geometric(count, entropy)
        noise -= self._geometric(count, entropy)
        return noise

    def _geometric(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        found = np.empty(count, dtype=np.int64)
        scale = -float(self.scale)
        edge = 0.5 - self.margin * float(self.scale)
        y, whole = np.empty(min(count, LANES)), np.empty(min(count, LANES))
        with np.errstate(all="ignore"):
            for start in range(0, count, LANES):
                stop = min(start + LANES, count)
                words = entropy.words(stop - start)
                at, floor = y[: stop - start], whole[: stop - start]
                doubtful = logarithms(words, at)
                np.multiply(at, scale, out=at)
                np.floor(at, out=floor)
                found[start:stop] = floor
                np.subtract(at, floor, out=at)
                np.subtract(at, 0.5, out=at)
                np.abs(at, out=at)
                doubtful |= ~(at < edge)
                for lane in np.flatnonzero(doubtful):
                    exponential = LazyExponential(int(words[lane]) >> 1)
                    found[start + lane] = exact_floor(exponential, self.scale, Fraction(0), entropy)
        return found

    def log_probability(self, steps: Floats, value: Fraction) -> Floats:
        rate = float(1 / self.scale)
        apart = np.abs(steps - float(value))
        found: Floats = np.log(np.tanh(rate / 2)) - apart * rate
        return found

    @property
    def standard_deviation(self) -> float:
        rate = float(1 / self.scale)
        spread = 0.0 if rate > _NO_NOISE else sqrt(2) * exp(rate / 2) / expm1(rate)
        return float(Fraction(2) ** self.exponent) * spread
