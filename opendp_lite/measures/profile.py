"""Privacy profiles: the whole curve of (epsilon, delta) that a mechanism satisfies."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from types import ModuleType

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.measures.loss_distribution import Curve, Floats, LossDistribution, find_divergences
from opendp_lite.numbers import exact

# Halvings: 53 for the digits of a float, the others for an epsilon far below 1.
_STEPS = 200
# About where floats end: a larger epsilon shows as infinity, a smaller root as infinite noise.
_LARGEST = 2.0**1000
_SMALLEST = 2.0**-1000


_KNOTS = 257
# Up to here exp(level) is far from the largest float.
_FARTHEST = 512.0
# So few binary digits leave multiples by 2^13 exact, as floats.
RATE_BITS = 40
_tail_of = np.frompyfunc(math.erfc, 1, 1)


def normal_tails(x: Floats) -> Floats:
    """P(Z > x): C libraries' erfc is within a few units, which numpy has not."""
    return 0.5 * np.asarray(_tail_of(x * math.sqrt(0.5)), dtype=np.float64)


def draw_chords(knots: Floats, deltas: Floats, levels: Floats) -> Floats:
    """At least the deltas at levels of at least the first knot: delta is convex in e^level."""
    left = np.clip(np.searchsorted(knots, levels, "right") - 1, 0, len(knots) - 2)
    gaps = knots[left + 1] - knots[left]
    shares = np.expm1(np.minimum(levels - knots[left], gaps)) / np.expm1(gaps)
    # Where the share is near 1, what is left of the higher end is off by units of that end.
    return deltas[left] * (1 - shares + 2.0**-50) + deltas[left + 1] * shares


Divergences = tuple[Fraction, Fraction | None, tuple[Fraction, ...]]
"""The probability of one event, and what holds outside of it: a pure loss, or None, and a Renyi
divergence of each order."""


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
        return exact.NEGLIGIBLE if self.pure is None else Fraction(0)

    @property
    def sides(self) -> tuple[Curve, ...]:
        """A curve for each way in which units may come or go; from the last on the way back.

        One curve bounds all ways.
        """
        return (self.deltas,)

    def with_directions(self, kept: bool) -> Profile:
        """The same with one curve for each way to come or go, or with one for all.

        Many ways are for releases that all read the same rows. A step before one of them may let a
        row go where one comes, such as one that keeps what occurs once. No stability says whether.
        """
        return self

    def deltas(self, levels: Floats) -> Floats:
        """At least (1 - 2^-47) times the delta at each of these rising levels, all at least 0.

        Delta is convex in e^level, so between some levels chords are above it. A curve that has a
        formula for all levels at once overrides this.
        """
        knots = levels[np.unique(np.linspace(0, len(levels) - 1, _KNOTS).astype(np.int64))]
        known = np.array([float_up(self.delta(Fraction(float(level)))) for level in knots])
        return draw_chords(knots, known, levels) if len(knots) > 1 else known

    def atoms(self) -> LossDistribution | None:
        """The exact law of the loss, where it has few values; None otherwise."""
        return None

    def renyi(self, orders: tuple[Fraction, ...]) -> Divergences | None:
        """Renyi divergences of these orders, both ways; None where none are known."""
        pure, rho = self.pure, self.rho
        if pure is None and rho is None:
            return None
        known = [
            *([] if pure is None else [[renyi_of_pure(pure, order) for order in orders]]),
            *([] if rho is None else [[order * rho for order in orders]]),
        ]
        return Fraction(0), pure, tuple(map(min, zip(*known, strict=True)))

    def group(self, size: int) -> Profile | None:
        """The curve of so many units at once, where this is that of one; None where none is known.

        Proof:
            By what a pure loss and a zCDP loss are for groups. Where the curve is that of shifts of
            one law with a concave log density, k units have the curve of a shift that is k times as
            far, since the best tests for one shift are the best for all: see ``LaplaceProfile``.
            This is so for Gaussian and Laplace noise, and for bounded range.
        """
        pure, rho = self.pure, self.rho
        if pure is None:
            return None if rho is None else ConcentratedProfile(rho * size**2)
        of_pure = PureProfile(pure * size)
        return of_pure if rho is None else PureConcentratedProfile(of_pure.loss, rho * size**2)

    def guess(self, delta: Fraction) -> tuple[float, float]:
        """About the epsilon of a delta, and about how far off it is: where a search begins."""
        return 1.0, 1.0

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
            raise ParameterError(f"epsilon must be at least 0, got {exact.quote(epsilon)}")
        known = self.pure
        return Fraction(0) if known is not None and epsilon >= known else self._delta(epsilon)

    @abstractmethod
    def _delta(self, epsilon: Fraction) -> Fraction:
        """The delta at an epsilon of at least 0, and below the pure loss where one is known."""

    def epsilon(self, delta: Fraction) -> Fraction:
        """An epsilon for which (epsilon, delta)-differential privacy certainly holds.

        By bisection on the certified ``delta``, to 15 digits.
        """
        return _find_epsilon(self, delta)


# A session asks for those of one curve again and again.
@lru_cache(maxsize=1024)
def renyi_of_curve(curve: Profile, orders: tuple[Fraction, ...]) -> Divergences | None:
    """Those of the distribution of the loss, for a curve that has a formula."""
    found = find_divergences(curve.with_directions(kept=True).sides, tuple(map(float, orders)))
    if found is None:
        return Profile.renyi(curve, orders)
    beyond, largest, divergences = found
    return Fraction(beyond), Fraction(largest), tuple(map(Fraction, divergences))


# Equal parts of a composition are worked out once.
@lru_cache(maxsize=1024)
def _find_epsilon(curve: Profile, delta: Fraction) -> Fraction:
    if curve.delta(Fraction(0)) <= delta:
        return Fraction(0)
    known = curve.pure
    if known is not None and delta < exact.NEGLIGIBLE:
        return known
    if delta <= 0:
        raise ParameterError(
            "no finite epsilon holds at delta = 0 for this mechanism; give a delta above 0"
        )
    if delta < exact.NEGLIGIBLE:
        raise ParameterError("a delta below 1e-340 is finer than the curves are computed")
    high, width = curve.guess(delta)
    low = max(0.0, high - width)
    while curve.delta(Fraction(high)) > delta:
        if high > _LARGEST:
            return _go_beyond_floats(curve, delta)
        low, high, width = high, high + width, width * 2
    while low and curve.delta(Fraction(low)) <= delta:
        low, high, width = max(0.0, low - width), low, width * 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if high - low <= 1e-15 * high or middle in (low, high):
            break
        met = curve.delta(Fraction(middle)) <= delta
        low, high = (low, middle) if met else (middle, high)
    # The upper end, at which the delta was certified.
    return Fraction(high) if known is None else min(known, Fraction(high))


def _go_beyond_floats(curve: Profile, delta: Fraction) -> Fraction:
    """A power of two, which shows as infinity."""
    # Above all floats, which end at 2^1024.
    epsilon = Fraction(2) ** 1100
    # Below its least delta a curve may stay above delta for ever.
    if delta < curve.least_delta and curve.delta(epsilon) > delta:
        raise ParameterError(
            f"no finite epsilon is known at delta = {exact.nearest(delta):g}; give a delta of "
            f"{exact.nearest(curve.least_delta):g} or more"
        )
    while curve.delta(epsilon) > delta:
        epsilon *= epsilon
    return epsilon


def zcdp_of_pure(epsilon: Fraction) -> Fraction:
    """A rho that holds for every mechanism of this pure loss: see ``to_zcdp``."""
    # tanh(epsilon / 2) falls with it, so a lower bound makes an upper one.
    shrunk = exact.exp_down(-epsilon)
    return min(epsilon * epsilon / 2, epsilon * (1 - shrunk) / (1 + shrunk))


def renyi_of_pure(epsilon: Fraction, order: Fraction) -> Fraction:
    """The Renyi divergence of randomised response, the worst mechanism of a pure loss.

    With E = epsilon it is log((e^(a E) + e^((1 - a) E)) / (1 + e^E)) / (a - 1) at the order a
    (Mironov 2017, proposition 5), and at most a E^2 / 2 (Bun and Steinke 2016, proposition 3.3).
    """
    if epsilon == 0:
        return epsilon
    ratio = (1 + exact.exp_up((1 - 2 * order) * epsilon)) / (1 + exact.exp_down(-epsilon))
    return min(epsilon + exact.log_up(ratio) / (order - 1), order * epsilon * epsilon / 2, epsilon)


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

    def deltas(self, levels: Floats) -> Floats:
        loss, spill = float_up(self.loss), float_up(self.spill)
        inside = np.expm1(np.minimum(levels - loss, 0.0)) / -(1 + math.exp(-loss))
        return spill + (1 - spill) * inside

    def renyi(self, orders: tuple[Fraction, ...]) -> Divergences:
        # Outside of the spill the dominating pair is that of the pure loss, with less mass.
        return self.spill, self.loss, tuple(renyi_of_pure(self.loss, order) for order in orders)

    def atoms(self) -> LossDistribution | None:
        if self.loss > _FARTHEST:
            return None
        loss, spill = float_up(self.loss, RATE_BITS), float_up(self.spill)
        tail = math.exp(-loss)
        masses = np.array([tail, 0.0, 1.0]) / (1 + tail) * (1 - spill)
        return LossDistribution(loss, -1, masses, spill)

    def _delta(self, epsilon: Fraction) -> Fraction:
        if epsilon >= self.loss:
            return self.spill
        # Both from below, so that the fraction can only grow.
        ratio, tail = exact.exp_down(epsilon - self.loss), exact.exp_down(-self.loss)
        return min(Fraction(1), self.spill + (1 - self.spill) * (1 - ratio) / (1 + tail))

    def epsilon(self, delta: Fraction) -> Fraction:
        if delta < self.spill:
            raise ParameterError(
                f"this loss holds at delta = {exact.round_up(self.spill)} and above, "
                f"delta = {float(delta)} cannot be had"
            )
        if delta == self.spill or delta < exact.NEGLIGIBLE:
            return self.loss
        return min(self.loss, super().epsilon(delta))


@attrs.frozen
class PureProfile(PointProfile):
    """The curve of pure differential privacy.

    (e, d) holds for d = (e^E - e^e) / (1 + e^E): randomised response is the worst case
    (Kairouz, Oh, Viswanath 2015, section 3).
    """

    spill: Fraction = attrs.field(default=Fraction(0), init=False, repr=False)

    def group(self, size: int) -> Profile:
        return PureProfile(self.loss * size)


@attrs.frozen
class BoundedRangeProfile(Profile):
    """The curve of a mechanism whose log probabilities change within a range of ``pure``.

    That is, for any two releases the change of ln P differs by at most ``pure``. Every such
    mechanism is ``pure``-DP, and far better than most.

    Proof:
        rho = E^2 / 8 for the range E (Cesar and Rogers 2021, lemma 3.4), or that of any pure loss
        where it is less. For each t between 0 and E, the worst pair of laws has two points, with
        the losses t and t - E (Dong, Durfee, Rogers 2020, section 3). The largest delta over all t
        is at t = (E + e) / 2: (1 - exp((e - E) / 2))^2 / (1 - exp(-E)). This curve is that of one
        pair of laws, whose loss has the density exp((x - E) / 2) / (2 (1 - exp(-E))) on [-E, E]: a
        logistic law and the same law moved by E.
    """

    pure: Fraction

    @property
    def rho(self) -> Fraction:
        return min(self.pure * self.pure / 8, zcdp_of_pure(self.pure))

    def group(self, size: int) -> Profile:
        return BoundedRangeProfile(self.pure * size)

    def _delta(self, epsilon: Fraction) -> Fraction:
        # From below; a tiny loss may leave nothing of it, and then any pure loss's curve holds.
        least = 1 - exact.exp_up(-self.pure)
        known = PureProfile(self.pure).delta(epsilon)
        if least <= 0:
            return known
        root = 1 - exact.exp_down((epsilon - self.pure) / 2)
        return min(known, root * root / least)

    def _event(self, library: ModuleType) -> object:
        # dp_accounting 0.6 has no such event; its sources have.
        event = getattr(library, "ExponentialMechanismDpEvent", None)
        return super()._event(library) if event is None else event(float_up(self.pure))

    def deltas(self, levels: Floats) -> Floats:
        loss = float_up(self.pure)
        roots = np.expm1(np.minimum(levels - loss, 0.0) / 2)
        found: Floats = roots * roots / -math.expm1(-loss)
        return np.minimum(found, PureProfile(self.pure).deltas(levels))


@attrs.frozen
class ConcentratedProfile(Profile):
    """The curve of zero-concentrated differential privacy.

    delta = exp((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a for every a > 1
    (Canonne, Kamath, Steinke 2020, proposition 12); a is optimised in floats, the bound at that
    a evaluated on the safe side.
    """

    rho: Fraction

    def _delta(self, epsilon: Fraction) -> Fraction:
        if self.rho == 0:
            return Fraction(0)
        # The best order of floats; any order above 1 gives a bound.
        order = Fraction(self._best_order(exact.nearest(epsilon)))
        exponent = (order - 1) * (order * self.rho - epsilon) + order * exact.log_up(1 - 1 / order)
        # e^100 is far above all orders, which end near 1e18: the bound is above 1.
        if exponent > 100:
            return Fraction(1)
        return min(Fraction(1), exact.exp_up(exponent) / (order - 1))

    def _best_order(self, epsilon: float) -> float:
        rho = exact.nearest(self.rho)

        def slope(order: float) -> float:
            return (2 * order - 1) * rho - epsilon + math.log1p(-1 / order)

        low, high = 1 + 1e-9, 2.0
        while slope(high) < 0 and high < 1e18:
            low, high = high, high * 2
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        return max(high, 1 + 1e-9)


@attrs.frozen
class PureConcentratedProfile(Profile):
    """The lesser of the curves of a pure loss and of a zCDP loss, which both hold."""

    pure: Fraction
    zcdp: Fraction

    @property
    def rho(self) -> Fraction:
        return min(self.zcdp, zcdp_of_pure(self.pure))

    def deltas(self, levels: Floats) -> Floats:
        return PureProfile(self.pure).deltas(levels)

    def atoms(self) -> LossDistribution | None:
        return PureProfile(self.pure).atoms()

    def _delta(self, epsilon: Fraction) -> Fraction:
        known = PureProfile(self.pure).delta(epsilon)
        return min(known, ConcentratedProfile(self.zcdp).delta(epsilon))


@attrs.frozen
class GaussianProfile(Profile):
    """The exact curve of the Gaussian mechanism with (l2 distance / sigma)^2 = ``gaussian_ratio``.

    delta = P(Z > e/m - m/2) - e^e P(Z > e/m + m/2), m the root of the ratio (Balle and Wang
    2018, theorem 8). Gaussians compose by adding ratios (Dong, Roth, Su 2022, corollary 2).
    """

    gaussian_ratio: Fraction

    @property
    def rho(self) -> Fraction:
        return self.gaussian_ratio / 2

    def group(self, size: int) -> Profile:
        return GaussianProfile(self.gaussian_ratio * size**2)

    def _event(self, library: ModuleType) -> object:
        return library.GaussianDpEvent(noise_multiplier(exact.sqrt_up(self.gaussian_ratio)))

    def deltas(self, levels: Floats) -> Floats:
        if not self.gaussian_ratio:
            return np.zeros(len(levels))
        root = float_up(exact.sqrt_up(self.gaussian_ratio))
        high = levels / root + root / 2
        near, far = normal_tails(levels / root - root / 2), normal_tails(high)
        lost = np.exp(np.minimum(levels, 700.0)) * far
        # The error of tail(x) is a unit times x times its hazard, which is about x. It is relative
        # to ``near``, which is x / root times the difference: no constant relative slack is enough.
        slack = 2.0**-53 * (16 + 12 * high * (high + 1) + 4 * levels)
        return np.maximum(near - lost, 0.0) + near * slack

    def guess(self, delta: Fraction) -> tuple[float, float]:
        if self.gaussian_ratio > _FARTHEST:
            return super().guess(delta)
        # In floats, so that the exact search has a few steps left.
        low, high = 0.0, _FARTHEST
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            found = self.deltas(np.array([middle]))[0] > exact.nearest(delta)
            low, high = (middle, high) if found else (low, middle)
        return high, 1e-11 * high

    def _delta(self, epsilon: Fraction) -> Fraction:
        if self.gaussian_ratio == 0:
            return Fraction(0)
        root = exact.sqrt_up(self.gaussian_ratio)
        _, near = exact.normal_tail(epsilon / root - root / 2)
        far, _ = exact.normal_tail(epsilon / root + root / 2)
        # Rounded down; a far tail of 0 spares an e^epsilon of any number of digits.
        lost = exact.exp_down(epsilon) * far if far else Fraction(0)
        return min(Fraction(1), max(near - lost, exact.NEGLIGIBLE))


@lru_cache(maxsize=256)
def gaussian_ratio(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ratio, to 12 digits, whose Gaussian curve certainly meets (epsilon, delta)."""
    low, high = 0.0, 1.0
    while GaussianProfile(Fraction(high) ** 2).delta(epsilon) <= delta:
        low, high = high, high * 2
    while high > _SMALLEST and high - low > 1e-13 * high:
        middle = (low + high) / 2
        met = GaussianProfile(Fraction(middle) ** 2).delta(epsilon) <= delta
        low, high = (middle, high) if met else (low, middle)
    if low == 0:
        raise ParameterError(
            f"epsilon = {exact.round_up(epsilon)}, delta = {exact.round_up(delta)} would need "
            "infinite noise"
        )
    # The lower end, at which the curve was certified to meet the pair.
    return Fraction(low) ** 2


def float_up(value: Fraction, bits: int = 53) -> float:
    """A float that is at least a positive value, of so many binary digits."""
    found = math.nextafter(exact.nearest(value), math.inf)
    if math.isinf(found):
        return found
    mantissa, exponent = math.frexp(found)
    return math.ldexp(math.ceil(math.ldexp(mantissa, bits)), exponent - bits)


def accounting_library() -> ModuleType:
    """Its events, or a refusal that says how to install it."""
    try:
        return import_module("dp_accounting.dp_event")
    except ImportError:
        raise ParameterError(
            'to_dp_event needs dp-accounting: pip install "opendp_lite[accounting]"; '
            "pipeline.epsilon(delta) does without"
        ) from None


def noise_multiplier(loss: Fraction) -> float:
    """The noise for a distance of 1 that loses this much, or a little less noise."""
    return math.nextafter(1 / float_up(loss), 0.0)
