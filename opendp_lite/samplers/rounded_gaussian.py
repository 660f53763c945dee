"""The continuous Gaussian mechanism, rounded to a grid."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import erfc, floor, log, pi, sqrt

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.exact import normal_quantile_up
from opendp_lite.samplers._arrays import Floats
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exponential import MARGIN, SQUARE_MARGIN, LazyExponential, exact_floor
from opendp_lite.samplers.law import FEW, Law, Offsets
from opendp_lite.samplers.normal import RoundedNormals, one_normal

_HALF = Fraction(1, 2)
_NARROW = 2.0**-10


@attrs.frozen
class RoundedGaussian(Law):
    """floor(v + s Z + 1/2) for a standard normal Z and a scale of s grid units.

    Proof:
        Rounding is post-processing of the Gaussian mechanism on the reals, so its zCDP and its
        exact (epsilon, delta) curve hold in any dimension.
    """

    kind = "Gaussian noise"
    scale: Fraction
    exponent: int
    margin: float = attrs.field(default=MARGIN, kw_only=True)
    square_margin: float = attrs.field(default=SQUARE_MARGIN, kw_only=True)

    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        if count <= FEW:
            return self.few(count, offsets, entropy)

        def exactly(position: int, positive: bool, size: LazyExponential) -> int:
            return self._exactly(size, positive, offsets.exactly(position), entropy)

        scale, margin = float(self.scale), self.square_margin
        edge = 0.5 - self.margin * (scale + 1)
        return RoundedNormals(scale, edge, offsets.floats, exactly, margin).draw(count, entropy)

    def _exactly(
        self, size: LazyExponential, positive: bool, offset: Fraction, entropy: Entropy
    ) -> int:
        factor = self.scale if positive else -self.scale
        return exact_floor(size, factor, offset + _HALF, entropy)

    def one(self, inside: float, exactly: Callable[[], Fraction], entropy: Entropy) -> int:
        scale = float(self.scale)
        size, positive, exponential = one_normal(self.square_margin, entropy)
        if size is not None:
            y = (size if positive else -size) * scale + (inside + 0.5)
            whole = floor(y)
            if abs(y - whole - 0.5) < 0.5 - self.margin * (scale + 1):
                return whole
        return self._exactly(exponential, positive, exactly(), entropy)

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

    def half_width(self, miss: Fraction) -> Fraction:
        """That of the normal, and half a step for the rounding."""
        return Fraction(2) ** self.exponent * (self.scale * normal_quantile_up(miss) + _HALF)

    @property
    def standard_deviation(self) -> float:
        return float(Fraction(2) ** self.exponent) * sqrt(float(self.scale) ** 2 + 1 / 12)
