"""Losses that know their own curve of epsilon and delta, and the curve of several releases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from types import ModuleType
from typing import Final, TypeVar, cast

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.frozen import OwnCopy
from opendp_lite.measures import loss_distribution
from opendp_lite.measures import profile as profiles
from opendp_lite.measures.loss_distribution import Convolution, combine_atoms
from opendp_lite.measures.profile import GaussianProfile, Profile, float_up, gaussian_ratio
from opendp_lite.numbers.exact import exp_down, exp_up, nearest, sum_up

Pair = tuple[Fraction, Fraction]
L = TypeVar("L")


class Unordered:
    """A loss with a curve is neither larger nor smaller than another: curves may cross.

    So ``max`` of two losses is refused, as it would keep the curve of one of them.
    """

    __slots__ = ()

    def _refuse(self, other: object) -> bool:
        raise TypeError(
            "a loss with a curve has no order; compare by measure.within(loss, budget), or take "
            "the number alone, Fraction(loss), which has no curve"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _refuse


class CurvedNumber(OwnCopy, Unordered, Fraction):
    """A loss of one number that is known to have a better curve than the number implies."""

    curve: Profile | None = None

    def __repr__(self) -> str:
        return repr(Fraction(self))

    def __reduce__(self) -> tuple[object, ...]:
        return curved_number, (Fraction(self), self.curve)


class CurvedPair(Unordered, tuple[Fraction, Fraction]):
    """A loss (epsilon, delta) that is one point of a known curve."""

    curve: Profile | None = None

    def __reduce__(self) -> tuple[object, ...]:
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
    # By class alone: a subclass of a person's own is no loss of the library's.
    if type(loss) is CurvedNumber:
        return cast(L, Fraction(cast(CurvedNumber, loss)))
    return cast(L, tuple(cast(CurvedPair, loss))) if type(loss) is CurvedPair else loss


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
    return loss.curve if type(loss) is CurvedNumber or type(loss) is CurvedPair else None


def keep_directions(loss: L) -> L:
    """The loss with its curve in each direction: of a release whose sample is of the rows of all.

    The very same where it has none. See ``Profile.with_directions``.
    """
    curve = curve_of(loss)
    found = None if curve is None else curve.with_directions(kept=True)
    if found is None or found is curve:
        return loss
    if isinstance(loss, tuple):
        return cast(L, curved_pair(cast(Pair, without_curve(loss)), found))
    return cast(L, curved_number(cast(Fraction, loss), found))


def gaussian_curve(
    losses: Iterable[object], combine: Callable[[list[Fraction]], Fraction | int]
) -> Profile | None:
    """A curve for several releases, where all are Gaussian: of what combines their ratios.

    Their sum is the ratio of all releases together (Dong, Roth, Su 2022, corollary 2). The largest
    is that of a curve above each.
    """
    curves = [curve_of(loss) for loss in losses]
    ratios = [None if curve is None else curve.gaussian_ratio for curve in curves]
    known = [ratio for ratio in ratios if ratio is not None]
    # One release of another kind, or none at all, has no such curve.
    return GaussianProfile(Fraction(combine(known))) if ratios and known == ratios else None


# Tails are cut off where they matter to no delta of a hundred times as much.
_LEVELS = (1e-10, 1e-30, 1e-90, 1e-270)
# Above each sum of finite losses.
_HIGHEST = 2.0**60


@attrs.frozen(cache_hash=True)
class ComposedProfile(Profile):
    """The curve of releases that were all fixed before any of them was made.

    It is the least of three: the privacy loss distribution of all releases, the sum of their zCDP
    losses, and the sum that the measure adds up. The distribution is computed when a number is
    first asked for.

    Attributes:
        parts: The curves of the releases, and how many have each.
        summed: The curve of the loss that the measure adds up.

    Proof:
        Each release is dominated by a pair of laws, and all of them by the product of the pairs,
        also where one is chosen by those before it, as long as its pair is not (Zhu, Dong, Wang
        2022, theorem 10). Where the pairs themselves are chosen by the answers, no such curve may
        be used to stop (arXiv 2602.06756): ``adaptive`` adds numbers. Where the rows of all
        releases are the same, they come or go in all alike. Then each direction is composed by
        itself, and the largest delta counts.
    """

    parts: tuple[tuple[Profile, int], ...]
    summed: Profile

    @property
    def pure(self) -> Fraction | None:
        return _sum(self.parts, lambda part: part.pure)

    @property
    def rho(self) -> Fraction | None:
        return _sum(self.parts, lambda part: part.rho)

    @property
    def least_delta(self) -> Fraction:
        return min(curve.least_delta for curve in _curves(self))

    def renyi(self, orders: tuple[Fraction, ...]) -> profiles.Divergences | None:
        found = [(part.renyi(orders), count) for part, count in self.parts]
        known = [(one, count) for one, count in found if one is not None]
        if len(known) < len(found):
            return super().renyi(orders)
        losses = [count * one[1] for one, count in known if one[1] is not None]
        divergences = zip(*([count * each for each in one[2]] for one, count in known), strict=True)
        return (
            sum((count * one[0] for one, count in known), Fraction(0)),
            sum(losses, Fraction(0)) if len(losses) == len(known) else None,
            tuple(sum(each, Fraction(0)) for each in divergences),
        )

    def group(self, size: int) -> Profile | None:
        # Of each release the pair of laws of so many units: the product of them is that of all.
        whole = [(part.group(size), count) for part, count in self.parts]
        summed = self.summed.group(size) or super().group(size)
        parts = [part for part, count in whole if part is not None for _ in range(count)]
        if summed is None or len(parts) < sum(count for _, count in whole):
            return super().group(size)
        return composed_profile(parts, summed)

    def _delta(self, epsilon: Fraction) -> Fraction:
        return min(curve.delta(epsilon) for curve in _curves(self))

    def epsilon(self, delta: Fraction) -> Fraction:
        curves = [curve for curve in _curves(self) if _has_epsilon(curve, delta)]
        return min(curve.epsilon(delta) for curve in curves or [self.summed])

    def dp_event(self, library: ModuleType) -> object:
        found = [
            library.SelfComposedDpEvent(part.dp_event(library), count) for part, count in self.parts
        ]
        return library.ComposedDpEvent(found)


def _level_of(delta: Fraction) -> float:
    return next((each for each in _LEVELS if 100 * each <= delta), _LEVELS[-1])


@attrs.frozen
class _DistributionProfile(Profile):
    """The curve of the loss distribution of all releases."""

    releases: tuple[tuple[Profile, int], ...]

    @property
    def least_delta(self) -> Fraction:
        # The mass of infinity is in every delta; near it, no epsilon of use is found.
        spilt = sum(part.least_delta * count for part, count in self.releases)
        return max(super().least_delta, 2 * (spilt + Fraction(loss_distribution.LOST)))

    def guess(self, delta: Fraction) -> tuple[float, float]:
        found = [
            law for law in _laws(self.releases, _level_of(delta)) if isinstance(law, Convolution)
        ]
        tilts = [law.find_tilt(float(delta)) for law in found]
        if not tilts:
            return super().guess(delta)
        _, _, mean, variance = max(tilts, key=lambda each: float(each[2]))
        return max(float(mean), 0.0), math.sqrt(variance) / 4

    def _delta(self, epsilon: Fraction) -> Fraction:
        # A float below epsilon, since delta falls with it.
        level, found = math.nextafter(nearest(epsilon), -math.inf), 1.0
        for small in _LEVELS:
            laws = _laws(self.releases, small)
            found = min(found, max((law.delta(level) for law in laws), default=1.0))
            if found >= 100 * small or not laws:
                break
        return Fraction(found)


@lru_cache(maxsize=64)
def _laws(
    releases: tuple[tuple[Profile, int], ...], small: float
) -> tuple[loss_distribution.LossLaw, ...] | tuple[Convolution, ...]:
    """Of all releases, in each direction; none where losses are too large."""
    atoms = [(part.atoms(), count) for part, count in releases]
    known = [(one, count) for one, count in atoms if one is not None]
    exact = combine_atoms(known) if len(known) == len(atoms) else None
    if exact is not None:
        return (exact,)
    sides = [part.sides for part, _ in releases]
    most = max(map(len, sides))
    if any(len(each) not in (1, most) for each in sides):
        # Different numbers of rows come or go: no direction of one is that of another.
        sides, most = [(part.deltas,) for part, _ in releases], 1
    wide = [each if len(each) == most else each * most for each in sides]
    return loss_distribution.connect_all(
        [(each, count) for each, (_, count) in zip(wide, releases, strict=True)], small
    )


def composed_profile(profiles: Iterable[Profile], summed: Profile, times: int = 1) -> Profile:
    """The curve of releases that were fixed beforehand.

    Args:
        profiles: The curve of each.
        summed: The curve of the loss that the measure adds up.
        times: How often there are these releases.
    """
    parts: Counter[Profile] = Counter()
    ratio = Fraction(0)
    for profile in profiles:
        for each, count in profile.parts:
            # A step may stand before a composition: its directions are not those of the others.
            part = each if each is profile else each.with_directions(kept=False)
            own = part.gaussian_ratio
            ratio += 0 if own is None else own * count * times
            parts[part] += 0 if own is not None else count * times
    gaussian = [(GaussianProfile(ratio), 1)] if ratio else []
    together = (*gaussian, *((part, count) for part, count in parts.items() if count))
    if len(together) == 1 and together[0][1] == 1:
        return together[0][0].with_directions(kept=False)
    return ComposedProfile(together, summed) if together else GaussianProfile(ratio)


def _sum(
    parts: Sequence[tuple[Profile, int]], loss_of: Callable[[Profile], Fraction | None]
) -> Fraction | None:
    """The sum of a loss over all parts; None where it is not known of one."""
    found = [(loss_of(part), count) for part, count in parts]
    known = [loss * count for loss, count in found if loss is not None]
    return sum_up(known) if len(known) == len(found) else None


def _has_epsilon(curve: Profile, delta: Fraction) -> bool:
    """Whether some epsilon of the curve has this delta: a search for one would not end."""
    if curve.least_delta > delta or not isinstance(curve, _DistributionProfile):
        return curve.least_delta <= delta
    laws = _laws(curve.releases, _level_of(delta))
    return bool(laws) and max(law.delta(_HIGHEST) for law in laws) <= delta


@lru_cache(maxsize=64)
def _curves(whole: ComposedProfile) -> tuple[Profile, ...]:
    """All curves that hold, of which the least counts."""
    pure, rho = whole.pure, whole.rho
    # A float above it: the exact sum of many releases has thousands of digits.
    short = math.inf if rho is None else float_up(rho)
    return (
        whole.summed,
        *(() if pure is None else (profiles.PureProfile(pure),)),
        *(() if math.isinf(short) else (profiles.ConcentratedProfile(Fraction(short)),)),
        *((_DistributionProfile(whole.parts),) if _laws(whole.parts, _LEVELS[0]) else ()),
    )


# So many golden sections leave 3e-13 of the range.
_TURNS: Final = 60
_SHRINK: Final = (math.sqrt(5) - 1) / 2
# e^700 is about the largest float.
_FARTHEST: Final = 700.0


def least_missed(profile: Profile, alpha: Fraction) -> Fraction:
    """At most the false-negative rate of a test whose false-positive rate is at most ``alpha``.

    Proof:
        (epsilon, delta) makes it at least 1 - delta - e^epsilon alpha, and at least
        e^-epsilon (1 - delta - alpha) (Wasserman and Zhou 2010, theorem 2.4; Dong, Roth, Su 2022,
        equation 5). The epsilon is looked for in floats, and any epsilon gives a bound.
    """

    def few_found(level: Fraction) -> Fraction:
        return 1 - profile.delta(level) - exp_up(level) * alpha

    def many_found(level: Fraction) -> Fraction:
        return exp_down(-level) * (1 - profile.delta(level) - alpha)

    levels = [(bound, _best(bound)) for bound in (few_found, many_found)]
    pure = profile.pure
    if pure is not None and pure < _FARTHEST:
        # The curve has a kink at the pure loss, which sections need not meet.
        levels += [(bound, pure) for bound in (few_found, many_found)]
    return max(Fraction(0), *(bound(level) for bound, level in levels))


def odds_factor(profile: Profile, delta: Fraction) -> Fraction:
    """A factor by which odds about one unit change at most, except with probability ``delta``.

    It holds of whatever is made of the release too. The tail of the loss itself does not: at 0.01
    it gives a Gaussian of rho 0.03 the factor 1.89. But to tell only whether the loss is above
    0.59 moves odds by 1.95, with a larger probability.

    Proof:
        Odds change by e^loss or e^-loss (Kasiviswanathan and Smith 2014, section 2). Let P be the
        law of the release and Q that of a neighbour, f a factor above e^epsilon, and d
        delta(epsilon). Where the loss is above log f, P is at least f Q. So P - e^epsilon Q is at
        least (1 - e^epsilon / f) P there, and at most d. Where it is below -log f, Q is at least
        f P, and (f - e^epsilon) P is at most d. So both together have a probability of at most
        (1 + 1 / f) d / (1 - e^epsilon / f) under P, which is ``delta`` for
        f = (delta e^epsilon + d) / (delta - d).
    """
    pure = profile.pure
    known = [] if pure is None else [_exp_up(pure)]
    if delta and profile.least_delta < delta:
        known.append(_likely_factor(profile, delta))
    if not known:
        least = nearest(profile.least_delta)
        raise ParameterError(
            "odds: no factor bounds the odds for certain; give a delta above "
            f"{least:g}{', such as delta=1e-6' if least < 1e-6 else ''}"
        )
    return min(known)


def _likely_factor(profile: Profile, delta: Fraction) -> Fraction:
    # Between these levels the best is looked for; any level that has a factor gives a bound.
    enough = max(profile.least_delta, delta / 4)
    first, last = (profile.epsilon(each) for each in (delta, enough))

    def factor(level: Fraction) -> Fraction | None:
        share = profile.delta(level) / delta
        return (_exp_up(level) + share) / (1 - share) if share < 1 else None

    def merit(level: Fraction) -> Fraction:
        found = factor(level)
        return Fraction(-1) if found is None else 1 / found

    tried = [factor(each) for each in (_best(merit, first, last + 1), last, last + 1)]
    found = [each for each in tried if each is not None]
    if not found:
        raise ParameterError(
            f"odds: no factor is known at delta = {nearest(delta):g}; give a larger delta"
        )
    return min(found)


def _exp_up(level: Fraction) -> Fraction:
    """At least e^level, or a power of two that shows as infinity."""
    return exp_up(level) if level < 2 * _FARTHEST else Fraction(2) ** 1100


def _best(
    merit: Callable[[Fraction], Fraction],
    first: Fraction = Fraction(0),
    last: Fraction = Fraction(_FARTHEST),
) -> Fraction:
    """About where a function that rises and then falls is largest: golden sections."""
    low, high = nearest(first), nearest(last)
    if not math.isfinite(high - low):
        return first
    left, right = high - _SHRINK * (high - low), low + _SHRINK * (high - low)
    at_left, at_right = merit(Fraction(left)), merit(Fraction(right))
    for _ in range(_TURNS):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _SHRINK * (high - low)
            at_left = merit(Fraction(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + _SHRINK * (high - low)
            at_right = merit(Fraction(right))
    return Fraction(left if at_left >= at_right else right)
