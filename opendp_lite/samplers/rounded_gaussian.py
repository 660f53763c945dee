"""The continuous Gaussian mechanism, rounded to a grid."""

from __future__ import annotations

from fractions import Fraction
from math import erfc, log, pi, sqrt

import attrs
import numpy as np

from opendp_lite.exact import normal_quantile_up
from opendp_lite.samplers._arrays import Floats
from opendp_lite.samplers.normal import LazyNormal
from opendp_lite.samplers.quantile_table import QuantileTable, normal_table
from opendp_lite.samplers.signed_law import SignedLaw

_HALF = Fraction(1, 2)
_NARROW = 2.0**-10


@attrs.frozen
class RoundedGaussian(SignedLaw):
    """floor(v + s Z + 1/2) for a standard normal Z and a scale of s grid units.

    Proof:
        Rounding is post-processing of the Gaussian mechanism on the reals, so its zCDP and its
        exact (epsilon, delta) curve hold in any dimension.
    """

    kind = "Gaussian noise"
    size = LazyNormal

    @staticmethod
    def table() -> QuantileTable:
        return normal_table()

    def log_probability(self, steps: Floats, value: Fraction) -> Floats:
        """A difference of two tails; for narrow cells the density times the width.

        The series has the next term too. What it leaves out is below 2^-40 of it up to |z| = 6, and
        below 2^-29 up to 38, where floats end.
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
