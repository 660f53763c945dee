"""Losses that know their own curve of epsilon and delta."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeVar, cast

from opendp_lite.measures.profile import GaussianProfile, Profile, gaussian_ratio

Pair = tuple[Fraction, Fraction]
L = TypeVar("L")


class Unordered:
    """A loss with a curve is neither larger nor smaller than another: curves may cross.

    So ``max`` of two losses is refused, as it would keep the curve of one of them.
    """

    __slots__ = ()

    def _refused(self, other: object) -> bool:
        raise TypeError(
            "a loss with a curve has no order; compare by measure.within(loss, budget), or take "
            "the number alone, Fraction(loss), which has no curve"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _refused


class CurvedNumber(Unordered, Fraction):
    """A loss of one number that is known to have a better curve than the number implies."""

    curve: Profile

    def __repr__(self) -> str:
        return repr(Fraction(self))

    def __copy__(self) -> CurvedNumber:
        return self

    def __deepcopy__(self, memo: Any) -> CurvedNumber:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return curved_number, (Fraction(self), self.curve)


class CurvedPair(Unordered, tuple[Fraction, Fraction]):
    """A loss (epsilon, delta) that is one point of a known curve."""

    curve: Profile

    def __reduce__(self) -> tuple[Any, ...]:
        return curved_pair, (tuple(self), self.curve)


def curved_number(loss: Fraction, curve: Profile | None) -> Fraction:
    """The loss with its curve; arithmetic on it gives plain numbers, which have none."""
    if curve is None:
        return Fraction(loss)
    found = CurvedNumber(loss)
    found.curve = curve
    return found


def curved_pair(loss: Pair, curve: Profile | None) -> Pair:
    """As ``curved_number``, for a pair."""
    if curve is None:
        return loss
    found = CurvedPair(loss)
    found.curve = curve
    return found


def gaussian_rho(ratio: Fraction) -> Fraction:
    """The zCDP loss of Gaussian noise with (l2 distance / sigma)^2 = ``ratio``: half of it.

    It carries the exact curve of the Gaussian.
    """
    return curved_number(ratio / 2, GaussianProfile(ratio))


def without_curve(loss: L) -> L:
    """The loss as a plain number or pair, as people see it."""
    if isinstance(loss, CurvedNumber):
        return cast(L, Fraction(loss))
    return cast(L, tuple(loss)) if isinstance(loss, CurvedPair) else loss


def gaussian_pair(ratio: Fraction, epsilon: Fraction, delta: Fraction) -> Pair:
    """The loss (epsilon, delta) of Gaussian noise with this ratio, with its exact curve.

    Args:
        ratio: (l2 distance / sigma)^2.
        epsilon: What noise of this kind was asked for at ``delta``: at the ratio that meets it,
            the loss is the epsilon that was typed.
        delta: Where the loss is read off the curve.
    """
    curve = GaussianProfile(ratio)
    if ratio == 0:
        return curved_pair((Fraction(0), Fraction(0)), curve)
    met = epsilon if ratio == gaussian_ratio(epsilon, delta) else curve.epsilon(delta)
    return curved_pair((met, delta), curve)


def curve_of(loss: object) -> Profile | None:
    """The curve that a loss carries; None where only the loss itself is known."""
    return getattr(loss, "curve", None)


def composed_curve(losses: Iterable[object]) -> Profile | None:
    """The curve of several releases, where all are Gaussian: ratios add.

    Dong, Roth, Su 2022, corollary 2.
    """
    ratios = _ratios(losses)
    return GaussianProfile(sum(ratios, Fraction(0))) if ratios else None


def largest_curve(losses: Iterable[object]) -> Profile | None:
    """A curve above those of several releases, where all are Gaussian: that of most ratio."""
    ratios = _ratios(losses)
    return GaussianProfile(max(ratios)) if ratios else None


def _ratios(losses: Iterable[object]) -> list[Fraction]:
    """(l2 distance / sigma)^2 of each release; none where one is not Gaussian."""
    found = [None if (curve := curve_of(loss)) is None else curve.gaussian_ratio for loss in losses]
    known = [ratio for ratio in found if ratio is not None]
    return known if len(known) == len(found) else []
