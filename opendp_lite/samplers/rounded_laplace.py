"""The continuous Laplace mechanism, rounded to a grid."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor, log, sqrt

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.exact import log_up
from opendp_lite.samplers._arrays import Floats
from opendp_lite.samplers.entropy import Entropy, Words
from opendp_lite.samplers.exponential import (
    BITS,
    LEAST,
    MARGIN,
    LazyExponential,
    exact_floor,
    flip_signs,
    rounded,
)
from opendp_lite.samplers.law import FEW, Law, Offsets

_HALF = Fraction(1, 2)
_UNIT = 2.0**-BITS


@attrs.frozen
class RoundedLaplace(Law):
    """floor(v + s L + 1/2) for a standard Laplace L and a scale of s grid units.

    Proof:
        Rounding is post-processing of the Laplace mechanism on the reals, so its pure loss holds
        exactly, for values on any grid or none.
    """

    kind = "Laplace noise"
    scale: Fraction
    exponent: int
    margin: float = attrs.field(default=MARGIN, kw_only=True)

    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        if count <= FEW:
            return self.few(count, offsets, entropy)
        scale = float(self.scale)

        def shape(words: Words, y: Floats, start: int) -> None:
            np.multiply(y, scale, out=y)
            flip_signs(words, y)
            if offsets.floats is not None:
                np.add(y, offsets.floats[start : start + len(y)], out=y)

        def exactly(position: int, word: int) -> int:
            return self._exactly(word, offsets.exactly(position), entropy)

        return rounded(count, entropy, shape, 0.5 - self.margin * (scale + 1), exactly)

    def one(self, inside: float, exactly: Callable[[], Fraction], entropy: Entropy) -> int:
        scale, word = float(self.scale), entropy.word()
        top = word >> 1
        if top >= LEAST:
            size = log(top * _UNIT) * scale
            y = (-size if word & 1 else size) + (inside + 0.5)
            whole = floor(y)
            if abs(y - whole - 0.5) < 0.5 - self.margin * (scale + 1):
                return whole
        return self._exactly(word, exactly(), entropy)

    def _exactly(self, word: int, offset: Fraction, entropy: Entropy) -> int:
        factor = self.scale if word & 1 else -self.scale
        return exact_floor(LazyExponential(word >> 1), factor, offset + _HALF, entropy)

    def log_probability(self, steps: Floats, value: Fraction) -> Floats:
        width = 1 / float(self.scale)
        centre = np.abs((steps - float(value)) / float(self.scale))
        low, high = centre - width / 2, centre + width / 2
        beside = -np.abs(low) - np.log(2) + np.log(-np.expm1(-width))
        across = np.log(-np.expm1(-np.abs(low)) / 2 - np.expm1(-high) / 2)
        found: Floats = np.where(low >= 0, beside, across)
        return found

    def half_width(self, miss: Fraction) -> Fraction:
        """That of the Laplace noise, log(1 / miss) scales, and half a step for the rounding."""
        return Fraction(2) ** self.exponent * (self.scale * log_up(1 / miss) + _HALF)

    @property
    def standard_deviation(self) -> float:
        return float(Fraction(2) ** self.exponent) * sqrt(2 * float(self.scale) ** 2 + 1 / 12)
