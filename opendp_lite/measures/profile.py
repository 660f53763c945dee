"""Privacy profiles: the whole curve of (epsilon, delta) that a mechanism satisfies."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from types import ModuleType
from typing import Final

import attrs

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.measures.loss_distribution import (
    LossDistribution,
    LossGrid,
    bounded_range_losses,
    float_up,
    gaussian_losses,
    noise_multiplier,
    two_points,
)
from opendp_lite.numbers.exact import (
    NEGLIGIBLE,
    exp_down,
    exp_up,
    log_up,
    nearest,
    normal_tail,
    quote,
    round_up,
    sqrt_up,
)

# Halvings: 53 for the digits of a float, the others for an epsilon far below 1.
_STEPS = 200
# About where floats end: a larger epsilon shows as infinity, a smaller root as infinite noise.
_LARGEST = 2.0**1000
_SMALLEST = 2.0**-1000


class Profile(ABC):
    """Certified upper bounds: ``delta(epsilon)`` and its inverse ``epsilon(delta)``."""

    @property
    def gaussian_ratio(self) -> Fraction | None:
        """(l2 distance / sigma)^2 for the curve of Gaussian noise; None for any other."""
        return None

    @property
    def pure(self) -> Fraction | None:
        """A pure loss epsilon that holds; None where none is known."""
        return None

    @property
    def rho(self) -> Fraction | None:
        """A zCDP loss that holds; None where none is known."""
        return None

    @property
    def parts(self) -> tuple[tuple[Profile, int], ...]:
        """The curves of the releases of which this is the curve of all, and how many have each."""
        return ((self, 1),)

    @property
    def least_delta(self) -> Fraction:
        """The delta from which on ``epsilon`` knows an answer."""
        return NEGLIGIBLE if self.pure is None else Fraction(0)

    def loss_distribution(self, grid: LossGrid) -> LossDistribution | None:
        """A pair of laws on this grid of losses that is no closer than any releases.

        None where no such pair is known.
        """
        return None

    def dp_event(self, library: ModuleType) -> object:
        """An event of dp_accounting that loses at least as much.

        The discrete Laplace mechanism with a sensitivity of 1 is randomised response, the worst of
        a pure loss.
        """
        if 0 in (self.pure, self.rho):
            return library.NoOpDpEvent()
        return self._event(library)

    def _event(self, library: ModuleType) -> object:
        """The event of a loss above 0."""
        pure, rho = self.pure, self.rho
        if pure is not None:
            return library.DiscreteLaplaceDpEvent(float_up(pure), 1)
        if rho is not None:
            return library.ZCDpEvent(float_up(rho))
        raise SpaceError(
            "dp_accounting has no event for a loss that is known at one delta alone; give it the "
            "mechanisms before to_approximate(delta), or noise with rho="
        )

    def delta(self, epsilon: Fraction) -> Fraction:
        """A delta for which (epsilon, delta)-differential privacy certainly holds.

        Args:
            epsilon: At least 0.

        Raises:
            ParameterError: If it is below 0, where no curve holds.
        """
        if epsilon < 0:
            raise ParameterError(f"epsilon must be at least 0, got {quote(epsilon)}")
        known = self.pure
        return Fraction(0) if known is not None and epsilon >= known else self._delta(epsilon)

    @abstractmethod
    def _delta(self, epsilon: Fraction) -> Fraction:
        """The delta at an epsilon of at least 0, and below the pure loss where one is known."""

    def epsilon(self, delta: Fraction) -> Fraction:
        """An epsilon for which (epsilon, delta)-differential privacy certainly holds.

        By bisection on the certified ``delta``, to 15 digits.
        """
        if self.delta(Fraction(0)) <= delta:
            return Fraction(0)
        known = self.pure
        if known is not None and delta < NEGLIGIBLE:
            return known
        if delta <= 0:
            raise ParameterError(
                "no finite epsilon holds at delta = 0 for this mechanism; give a delta above 0"
            )
        if delta < NEGLIGIBLE:
            raise ParameterError("a delta below 1e-340 is finer than the curves are computed")
        low, high = 0.0, 1.0
        while self.delta(Fraction(high)) > delta:
            if high > _LARGEST:
                return self._beyond_floats(delta)
            low, high = high, high * 2
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if high - low <= 1e-15 * high or middle in (low, high):
                break
            if self.delta(Fraction(middle)) <= delta:
                high = middle
            else:
                low = middle
        # The upper end, at which the delta was certified.
        return Fraction(high) if known is None else min(known, Fraction(high))

    def _beyond_floats(self, delta: Fraction) -> Fraction:
        """A power of two, which shows as infinity."""
        # Above all floats, which end at 2^1024.
        epsilon = Fraction(2) ** 1100
        while self.delta(epsilon) > delta:
            epsilon *= epsilon
        return epsilon


def zcdp_of_pure(epsilon: Fraction) -> Fraction:
    """A rho that holds for every mechanism of this pure loss: see ``to_zcdp``."""
    # tanh(epsilon / 2) falls with it, so a lower bound makes an upper one.
    shrunk = exp_down(-epsilon)
    return min(epsilon * epsilon / 2, epsilon * (1 - shrunk) / (1 + shrunk))


@attrs.frozen
class PointProfile(Profile):
    """The curve that follows from one point (E, D).

    (e, d) holds for d = D + (1 - D) (e^E - e^e) / (1 + e^E) where e < E: the dominating pair of
    an (E, D) mechanism (Kairouz, Oh, Viswanath 2015, section 3.2).
    """

    loss: Fraction
    spill: Fraction

    @property
    def pure(self) -> Fraction | None:
        return None if self.spill else self.loss

    @property
    def rho(self) -> Fraction | None:
        return None if self.spill else zcdp_of_pure(self.loss)

    @property
    def least_delta(self) -> Fraction:
        return self.spill

    def loss_distribution(self, grid: LossGrid) -> LossDistribution | None:
        found = two_points(grid, float_up(self.loss), float_up(1 - self.spill))
        return found.spilling(float_up(self.spill))

    def _delta(self, epsilon: Fraction) -> Fraction:
        if epsilon >= self.loss:
            return self.spill
        # Both from below, so that the fraction can only grow.
        ratio, tail = exp_down(epsilon - self.loss), exp_down(-self.loss)
        return min(Fraction(1), self.spill + (1 - self.spill) * (1 - ratio) / (1 + tail))

    def epsilon(self, delta: Fraction) -> Fraction:
        if delta < self.spill:
            raise ParameterError(
                f"this loss holds at delta = {round_up(self.spill)} and above, "
                f"delta = {float(delta)} cannot be had"
            )
        if delta == self.spill or delta < NEGLIGIBLE:
            return self.loss
        return min(self.loss, super().epsilon(delta))


@attrs.frozen
class PureProfile(PointProfile):
    """The curve of pure differential privacy.

    (e, d) holds for d = (e^E - e^e) / (1 + e^E): randomised response is the worst case
    (Kairouz, Oh, Viswanath 2015, section 3).
    """

    spill: Fraction = attrs.field(default=Fraction(0), init=False, repr=False)

    def loss_distribution(self, grid: LossGrid) -> LossDistribution | None:
        return two_points(grid, float_up(self.loss))


# Smaller losses are rounded up to it: the inverse of one below is no float.
_LEAST: Final = 2.0**-1000


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
        # From below; a tiny loss may leave nothing of it, and then any pure loss's curve holds.
        least = 1 - exp_up(-self.loss)
        known = PureProfile(self.loss).delta(epsilon)
        if least <= 0:
            return known
        root = 1 - exp_down((epsilon - self.loss) / 2)
        return min(known, root * root / least)

    def loss_distribution(self, grid: LossGrid) -> LossDistribution | None:
        return bounded_range_losses(grid, max(float_up(self.loss), _LEAST))


@attrs.frozen
class ConcentratedProfile(Profile):
    """The curve of zero-concentrated differential privacy.

    delta = exp((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a for every a > 1
    (Canonne, Kamath, Steinke 2020, proposition 12); a is optimised in floats, the bound at that
    a evaluated on the safe side.
    """

    _rho: Fraction

    @property
    def rho(self) -> Fraction:
        return self._rho

    def _delta(self, epsilon: Fraction) -> Fraction:
        if self.rho == 0:
            return Fraction(0)
        # The best order of floats; any order above 1 gives a bound.
        order = Fraction(self._best_order(nearest(epsilon)))
        exponent = (order - 1) * (order * self.rho - epsilon) + order * log_up(1 - 1 / order)
        # e^100 is far above all orders, which end near 1e18: the bound is above 1.
        if exponent > 100:
            return Fraction(1)
        return min(Fraction(1), exp_up(exponent) / (order - 1))

    def _best_order(self, epsilon: float) -> float:
        rho = nearest(self.rho)

        def slope(order: float) -> float:
            return (2 * order - 1) * rho - epsilon + math.log1p(-1 / order)

        low, high = 1 + 1e-9, 2.0
        while slope(high) < 0 and high < 1e18:
            low, high = high, high * 2
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if slope(middle) < 0:
                low = middle
            else:
                high = middle
        return max(high, 1 + 1e-9)


@attrs.frozen
class GaussianProfile(Profile):
    """The exact curve of the Gaussian mechanism with (l2 distance / sigma)^2 = ``ratio``.

    delta = P(Z > e/m - m/2) - e^e P(Z > e/m + m/2), m the root of the ratio (Balle and Wang
    2018, theorem 8). Gaussians compose by adding ratios (Dong, Roth, Su 2022, corollary 2).
    """

    ratio: Fraction

    @property
    def gaussian_ratio(self) -> Fraction:
        return self.ratio

    @property
    def rho(self) -> Fraction:
        return self.ratio / 2

    def _event(self, library: ModuleType) -> object:
        return library.GaussianDpEvent(noise_multiplier(sqrt_up(self.ratio)))

    def loss_distribution(self, grid: LossGrid) -> LossDistribution | None:
        return gaussian_losses(grid, float_up(self.ratio)) if self.ratio else None

    def _delta(self, epsilon: Fraction) -> Fraction:
        if self.ratio == 0:
            return Fraction(0)
        root = sqrt_up(self.ratio)
        _, near = normal_tail(epsilon / root - root / 2)
        far, _ = normal_tail(epsilon / root + root / 2)
        # Rounded down; a far tail of 0 spares an e^epsilon of any number of digits.
        lost = exp_down(epsilon) * far if far else Fraction(0)
        return min(Fraction(1), max(near - lost, NEGLIGIBLE))


@lru_cache(maxsize=256)
def gaussian_ratio(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ratio, to 12 digits, whose Gaussian curve certainly meets (epsilon, delta)."""
    low, high = 0.0, 1.0
    while GaussianProfile(Fraction(high) ** 2).delta(epsilon) <= delta:
        low, high = high, high * 2
    while high > _SMALLEST and high - low > 1e-13 * high:
        middle = (low + high) / 2
        if GaussianProfile(Fraction(middle) ** 2).delta(epsilon) <= delta:
            low = middle
        else:
            high = middle
    if low == 0:
        raise ParameterError(
            f"epsilon = {round_up(epsilon)}, delta = {round_up(delta)} would need infinite noise"
        )
    # The lower end, at which the curve was certified to meet the pair.
    return Fraction(low) ** 2
