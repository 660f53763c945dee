"""The curve of several releases together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from types import ModuleType

import attrs

from opendp_lite.measures.loss_distribution import (
    LOST,
    Convolution,
    LossLaw,
    combine_atoms,
    connect_all,
)
from opendp_lite.measures.profile import (
    ConcentratedProfile,
    Divergences,
    GaussianProfile,
    Profile,
    PureProfile,
    float_up,
)
from opendp_lite.numbers.exact import nearest, sum_up

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
        releases: The curves of the releases, and how many have each.
        summed: The curve of the loss that the measure adds up.

    Proof:
        Each release is dominated by a pair of laws, and all of them by the product of the pairs,
        also where one is chosen by those before it, as long as its pair is not (Zhu, Dong, Wang
        2022, theorem 10). Where the pairs themselves are chosen by the answers, no such curve may
        be used to stop (arXiv 2602.06756): ``adaptive`` adds numbers. Where the rows of all
        releases are the same, they come or go in all alike. Then each direction is composed by
        itself, and the largest delta counts.
    """

    releases: tuple[tuple[Profile, int], ...]
    summed: Profile

    @property
    def parts(self) -> tuple[tuple[Profile, int], ...]:
        return self.releases

    @property
    def pure(self) -> Fraction | None:
        return _sum(self.releases, lambda part: part.pure)

    @property
    def rho(self) -> Fraction | None:
        return _sum(self.releases, lambda part: part.rho)

    @property
    def least_delta(self) -> Fraction:
        return min(curve.least_delta for curve in _curves(self))

    def renyi(self, orders: tuple[Fraction, ...]) -> Divergences | None:
        found = [(part.renyi(orders), count) for part, count in self.releases]
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

    def _delta(self, epsilon: Fraction) -> Fraction:
        return min(curve.delta(epsilon) for curve in _curves(self))

    def epsilon(self, delta: Fraction) -> Fraction:
        curves = [curve for curve in _curves(self) if _has_epsilon(curve, delta)]
        return min(curve.epsilon(delta) for curve in curves or [self.summed])

    def dp_event(self, library: ModuleType) -> object:
        found = [
            library.SelfComposedDpEvent(part.dp_event(library), count)
            for part, count in self.releases
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
        return max(super().least_delta, 2 * (spilt + Fraction(LOST)))

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
) -> tuple[LossLaw, ...] | tuple[Convolution, ...]:
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
    return connect_all(
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
        *(() if pure is None else (PureProfile(pure),)),
        *(() if math.isinf(short) else (ConcentratedProfile(Fraction(short)),)),
        *((_DistributionProfile(whole.releases),) if _laws(whole.releases, _LEVELS[0]) else ()),
    )
