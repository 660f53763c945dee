"""The curve of a pure loss of which a zCDP loss is known too."""

from __future__ import annotations

from fractions import Fraction

import attrs

from opendp_lite.measures.loss_distribution import LossDistribution, LossGrid
from opendp_lite.measures.profile import ConcentratedProfile, Profile, PureProfile, zcdp_of_pure


@attrs.frozen
class PureConcentratedProfile(Profile):
    """The lesser of the curves of a pure loss and of a zCDP loss, which both hold."""

    loss: Fraction
    zcdp: Fraction

    @property
    def pure(self) -> Fraction:
        return self.loss

    @property
    def rho(self) -> Fraction:
        return min(self.zcdp, zcdp_of_pure(self.loss))

    def loss_distribution(self, grid: LossGrid) -> LossDistribution | None:
        return PureProfile(self.loss).loss_distribution(grid)

    def _delta(self, epsilon: Fraction) -> Fraction:
        known = PureProfile(self.loss).delta(epsilon)
        return min(known, ConcentratedProfile(self.zcdp).delta(epsilon)) if known else known
