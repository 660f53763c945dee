"""Zero-concentrated differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import attrs

from opendp_lite.exact import digits_up
from opendp_lite.measures.curve import (
    composed_curve,
    curve_of,
    curved_number,
    largest_curve,
    without_curve,
)
from opendp_lite.measures.max_divergence import AdditiveMeasure, budget
from opendp_lite.measures.measure import group_size
from opendp_lite.measures.profile import ConcentratedProfile, Profile


@attrs.frozen(repr=False)
class ZeroConcentratedDivergence(AdditiveMeasure):
    """Zero-concentrated differential privacy: the loss is rho.

    The Renyi divergence of every order a is at most a rho.

    Proof:
        Rhos add under composition, and grow with the square of a group's size (Bun and Steinke
        2016, lemma 1.7 and proposition 1.9).

    Example:
        >>> ZeroConcentratedDivergence().group(Fraction(1, 2), 2)
        Fraction(2, 1)
    """

    def loss(self, value: object) -> Fraction:
        return budget(value, "rho")

    def group(self, loss: Fraction, size: int) -> Fraction:
        return loss * group_size(size) ** 2

    def compose(self, losses: Sequence[Fraction]) -> Fraction:
        return curved_number(super().compose(losses), composed_curve(losses))

    def worst(self, losses: Sequence[Fraction]) -> Fraction:
        return curved_number(super().worst(losses), largest_curve(losses))

    def profile(self, loss: Fraction) -> Profile:
        return curve_of(loss) or ConcentratedProfile(loss)

    def admit(self, profile: Profile) -> Fraction | None:
        return profile.rho

    def words(self, loss: Fraction) -> str:
        return f"rho = {digits_up(without_curve(loss))} zCDP"
