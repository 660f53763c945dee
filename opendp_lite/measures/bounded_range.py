"""The curve of a mechanism of bounded range, such as the exponential mechanism."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import attrs

from opendp_lite.exact import exp_down, exp_up
from opendp_lite.measures.loss_distribution import (
    LossDistribution,
    LossGrid,
    bounded_range_losses,
    float_up,
)
from opendp_lite.measures.profile import Profile, PureProfile, zcdp_of_pure

_LEAST: Final = 2.0**-1000
"""Smaller losses are rounded up to it: the inverse of one below is no float."""


@attrs.frozen
class BoundedRangeProfile(Profile):
    """The curve of a mechanism whose log probabilities change within a range of ``loss``.

    That is, for any two releases the change of ln P differs by at most ``loss``. Every such
    mechanism is ``loss``-DP, and far better than most.

    Proof:
        rho = E^2 / 8 for the range E (Cesar and Rogers 2021, lemma 3.4), or that of any pure loss
        where it is less. For each t between 0 and E, the worst pair of laws has two points, with
        the losses t and t - E (Dong, Durfee, Rogers 2020, section 3). The largest delta over all t
        is at t = (E + e) / 2: (1 - exp((e - E) / 2))^2 / (1 - exp(-E)). This curve is that of one
        pair of laws, whose loss has the density exp((x - E) / 2) / (2 (1 - exp(-E))) on [-E, E].
    """

    loss: Fraction

    @property
    def pure(self) -> Fraction:
        return self.loss

    @property
    def rho(self) -> Fraction:
        return min(self.loss * self.loss / 8, zcdp_of_pure(self.loss))

    def _delta(self, epsilon: Fraction) -> Fraction:
        if epsilon >= self.loss:
            return Fraction(0)
        least = 1 - exp_up(-self.loss)
        known = PureProfile(self.loss).delta(epsilon)
        if least <= 0:
            return known
        root = 1 - exp_down((epsilon - self.loss) / 2)
        return min(known, root * root / least)

    def loss_distribution(self, grid: LossGrid) -> LossDistribution | None:
        return bounded_range_losses(grid, max(float_up(self.loss), _LEAST))
