"""The continuous Laplace mechanism, rounded to a grid."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import attrs
import numpy as np

from opendp_lite.exact import log_up
from opendp_lite.samplers._arrays import Floats
from opendp_lite.samplers.exponential import LazyExponential
from opendp_lite.samplers.quantile_table import QuantileTable, exponential_table
from opendp_lite.samplers.signed_law import SignedLaw

_HALF = Fraction(1, 2)


@attrs.frozen
class RoundedLaplace(SignedLaw):
    """floor(v + s L + 1/2) for a standard Laplace L and a scale of s grid units.

    Proof:
        Rounding is post-processing of the Laplace mechanism on the reals, so its pure loss holds
        exactly, for values on any grid or none.
    """

    kind = "Laplace noise"
    size = LazyExponential

    @staticmethod
    def table() -> QuantileTable:
        return exponential_table()

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
