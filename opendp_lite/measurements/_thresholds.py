"""Noise on counts of keys that nobody declared, and the least noisy count that is released."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from fractions import Fraction
from math import ceil
from typing import Final, Self

import attrs

from opendp_lite.engines.distinct import KeyCounts
from opendp_lite.exact import digits_up, exp_down, exp_up, normal_tail, sqrt_up
from opendp_lite.measures.curve import Pair, gaussian_pair
from opendp_lite.measures.profile import GaussianProfile, gaussian_ratio
from opendp_lite.samplers.discrete_laplace import DiscreteLaplace
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.law import SCALE_SLACK, Law
from opendp_lite.samplers.rounded_gaussian import RoundedGaussian

_FINEST: Final = 2**2048
_SHARE: Final = Fraction(9, 10)
"""Of delta, for the Gaussian noise of keys that both datasets hold."""
_SPLITS: Final = 32
"""Up to so many ways to part rows between new keys and others are looked at one by one."""


@attrs.frozen
class Change:
    """How two neighbouring datasets differ.

    Attributes:
        rows: At most so many rows are in one of them alone.
        alike: At most so many of these rows have the same key.
        sides: 2 if each dataset may have so many rows that the other has not.
    """

    rows: int
    alike: int
    sides: int

    def squares(self, new: int) -> int:
        """A bound on the sum of squared changes of counts, if so many rows of one dataset are in
        keys of its own: no more than the largest change times the sum of all."""
        left = self.rows - new
        both = self.rows if self.sides > 1 else 0
        return min(left, self.alike) * left + self.alike * both


@attrs.frozen
class Threshold(ABC):
    """Noise on counts, and the least noisy count that is released.

    Attributes:
        least: The threshold.
    """

    least: int

    @property
    @abstractmethod
    def law(self) -> Law:
        """The noise, on whole numbers."""

    @abstractmethod
    def chance(self, count: int) -> Fraction:
        """The probability that a key of so many rows is released, rounded up by 1e-40 of it."""

    @abstractmethod
    def loss(self, change: Change) -> Pair:
        """The (epsilon, delta) of datasets that differ so."""

    @abstractmethod
    def words(self) -> str:
        """The noise and where its loss comes from, for ``explain()``."""

    def newcomers(self, rows: int, alike: int) -> Fraction:
        """The largest probability that any key is released of which these rows are all there are.

        Over all ways to part the rows among keys with at most ``alike`` rows each: as few keys as
        that takes, or one key for each row, is the worst.
        """
        if rows == 0:
            return Fraction(0)
        most = min(rows, alike)
        ways = ((1, rows), (most, ceil(Fraction(rows, most))))
        return max(1 - _power_down(1 - self.chance(count), keys) for count, keys in ways)

    def raised_until(self, fits: Callable[[Self], bool]) -> Self:
        """The same noise with the least threshold, of 1 or more, that fits."""
        below, enough = 0, 1
        while not fits(attrs.evolve(self, least=enough)):
            below, enough = enough, 2 * enough
        while enough - below > 1:
            middle = (below + enough) // 2
            if fits(attrs.evolve(self, least=middle)):
                enough = middle
            else:
                below = middle
        return attrs.evolve(self, least=enough)

    def passed(self, found: KeyCounts, entropy: Entropy) -> dict[Hashable, int]:
        """The keys whose noisy count reaches the threshold, with this count."""
        noisy = self.law.release(found.counts, 0, entropy).tolist()
        pairs = zip(found.keys, noisy, strict=True)
        return {key: count for key, count in pairs if count >= self.least}


@attrs.frozen
class LaplaceThreshold(Threshold):
    """Discrete Laplace noise.

    Attributes:
        scale: The b of the noise, of which P(k) is in proportion to exp(-|k| / b).
    """

    scale: Fraction

    @classmethod
    def costing(cls, change: Change, epsilon: Fraction) -> LaplaceThreshold:
        """The noise that costs epsilon for a change."""
        return cls(1, change.sides * change.rows / epsilon)

    def met(self, change: Change, delta: Fraction) -> LaplaceThreshold:
        """With the least threshold at which a change costs at most delta."""
        return self.raised_until(lambda way: way.loss(change)[1] <= delta)

    @property
    def law(self) -> DiscreteLaplace:
        """The noise, on whole numbers."""
        return DiscreteLaplace(self.scale * SCALE_SLACK, 0)

    def chance(self, count: int) -> Fraction:
        """The tail of the noise from the rows that are missing on."""
        rate, beyond = 1 / self.law.scale, self.least - count
        if beyond > 0:
            return min(Fraction(1), exp_up(-beyond * rate) / (1 + exp_down(-rate)))
        return 1 - exp_down((beyond - 1) * rate) / (1 + exp_up(-rate))

    def loss(self, change: Change) -> Pair:
        """The sum of all changes over b, and the probability that a new key shows."""
        return change.sides * change.rows / self.scale, self.newcomers(change.rows, change.alike)

    def words(self) -> str:
        """The scale, and where the loss comes from."""
        return f"epsilon = l1 / b, b = {float(self.scale):.6g}"


@attrs.frozen
class GaussianThreshold(Threshold):
    """Gaussian noise, rounded to whole numbers.

    Attributes:
        variance: Of the noise before it is rounded.
        epsilon: What was asked for.
        share: Of delta, for the keys that both datasets hold.
    """

    variance: Fraction
    epsilon: Fraction
    share: Fraction

    @classmethod
    def costing(cls, change: Change, epsilon: Fraction, delta: Fraction) -> GaussianThreshold:
        """The noise that costs epsilon, and a share of delta, for a change."""
        share = _SHARE * delta
        return cls(1, change.squares(0) / gaussian_ratio(epsilon, share), epsilon, share)

    def met(self, change: Change, delta: Fraction) -> GaussianThreshold:
        """With the least threshold at which a change costs at most delta."""
        splits = self.splits(change, self.epsilon)
        return self.raised_until(lambda way: way.spill(splits, change.alike) <= delta)

    @property
    def scale(self) -> Fraction:
        """The standard deviation sigma of the noise before it is rounded."""
        return sqrt_up(self.variance)

    @property
    def law(self) -> RoundedGaussian:
        """The noise, on whole numbers."""
        return RoundedGaussian(self.scale * SCALE_SLACK, 0)

    def chance(self, count: int) -> Fraction:
        """The tail of the normal: half a row less is rounded up to the threshold."""
        _, tail = normal_tail((self.least - count - Fraction(1, 2)) / self.law.scale)
        return min(Fraction(1), tail)

    def splits(self, change: Change, epsilon: Fraction) -> list[tuple[int, Fraction]]:
        """For each number of rows in new keys, the delta at epsilon of the other keys' counts.

        Numbers are taken together where there are many: the largest one, with the delta of the
        least.
        """
        width = ceil(Fraction(change.rows + 1, _SPLITS))
        return [
            (
                min(new + width - 1, change.rows),
                GaussianProfile(change.squares(new) / self.variance).delta(epsilon),
            )
            for new in range(0, change.rows + 1, width)
        ]

    def spill(self, splits: list[tuple[int, Fraction]], alike: int) -> Fraction:
        """The largest delta over all ways to part the rows between new keys and others."""
        return max(1 - (1 - self.newcomers(new, alike)) * (1 - rest) for new, rest in splits)

    def loss(self, change: Change) -> Pair:
        """Epsilon from the Gaussian's curve at its share, and the delta of both at that epsilon."""
        ratio = change.squares(0) / self.variance
        epsilon, _ = gaussian_pair(ratio, self.epsilon, self.share)
        return epsilon, self.spill(self.splits(change, epsilon), change.alike)

    def words(self) -> str:
        """The scale, and where the loss comes from."""
        return (
            f"epsilon from the exact Gaussian curve at delta {digits_up(self.share)}, "
            f"sigma = {float(self.scale):.6g}"
        )


def _power_down(base: Fraction, exponent: int) -> Fraction:
    """A rational at most base^exponent, for a base from 0 to 1; the base itself for 1."""
    if exponent == 1:
        return base
    found, square = Fraction(1), _shorter(base)
    while exponent:
        if exponent & 1:
            found = _shorter(found * square)
        exponent >>= 1
        square = _shorter(square * square)
    return found


def _shorter(value: Fraction) -> Fraction:
    """The value, rounded down to a multiple of 2^-2048."""
    return Fraction(value.numerator * _FINEST // value.denominator, _FINEST)
