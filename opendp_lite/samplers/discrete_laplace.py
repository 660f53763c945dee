"""The discrete Laplace distribution on the grid of the values themselves."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, exp, expm1, floor, log, sqrt

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.exact import exp_down, log_up
from opendp_lite.samplers._arrays import Floats
from opendp_lite.samplers.entropy import Entropy, Words
from opendp_lite.samplers.exponential import (
    BITS,
    LEAST,
    MARGIN,
    LazyExponential,
    exact_floor,
    rounded,
)
from opendp_lite.samplers.law import FEW, Law, Offsets

_UNIT = 2.0**-BITS
_NO_NOISE = 600


@attrs.frozen
class DiscreteLaplace(Law):
    """v + G - G' for G, G' = floor(t E): P(k) proportional to exp(-|k| / t).

    The noise is k 2^exponent, so ``scale`` counts steps of 2^exponent.

    Proof:
        The difference of two geometric variates (Inusah and Kozubowski 2006); on whole numbers it
        is the optimal noise for pure differential privacy (Ghosh, Roughgarden, Sundararajan 2009),
        with less variance than the rounded Laplace.
    """

    kind = "discrete Laplace noise"
    on_grid_only = True
    scale: Fraction
    exponent: int
    margin: float = attrs.field(default=MARGIN, kw_only=True)

    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        if count <= FEW:
            return self.few(count, offsets, entropy)
        noise = self._geometric(count, entropy)
        noise -= self._geometric(count, entropy)
        return noise

    def one(self, inside: float, exactly: Callable[[], Fraction], entropy: Entropy) -> int:
        return self._one_geometric(entropy) - self._one_geometric(entropy)

    def _one_geometric(self, entropy: Entropy) -> int:
        scale, top = float(self.scale), entropy.word() >> 1
        if top >= LEAST:
            y = -log(top * _UNIT) * scale
            whole = floor(y)
            if abs(y - whole - 0.5) < 0.5 - self.margin * scale:
                return whole
        return exact_floor(LazyExponential(top), self.scale, Fraction(0), entropy)

    def _geometric(self, count: int, entropy: Entropy) -> NDArray[np.int64]:
        scale = float(self.scale)

        def shape(words: Words, y: Floats, start: int) -> None:
            np.multiply(y, -scale, out=y)
            np.subtract(y, 0.5, out=y)

        def exactly(position: int, word: int) -> int:
            return exact_floor(LazyExponential(word >> 1), self.scale, Fraction(0), entropy)

        return rounded(count, entropy, shape, 0.5 - self.margin * scale, exactly)

    def log_probability(self, steps: Floats, value: Fraction) -> Floats:
        rate = float(1 / self.scale)
        apart = np.abs(steps - float(value))
        found: Floats = np.log(np.tanh(rate / 2)) - apart * rate
        return found

    def half_width(self, miss: Fraction) -> Fraction:
        """The least k with P(|noise| > k) = 2 q^(k + 1) / (1 + q) <= miss for q = exp(-1 / t)."""
        beyond = self.scale * log_up(2 / (miss * (1 + exp_down(-1 / self.scale))))
        return Fraction(2) ** self.exponent * max(ceil(beyond) - 1, 0)

    @property
    def standard_deviation(self) -> float:
        rate = float(1 / self.scale)
        spread = 0.0 if rate > _NO_NOISE else sqrt(2) * exp(rate / 2) / expm1(rate)
        return float(Fraction(2) ** self.exponent) * spread
