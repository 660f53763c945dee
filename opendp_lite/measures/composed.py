"""The curve of several releases together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import Any

import attrs

from opendp_lite.exact import nearest, sum_up
from opendp_lite.measures.loss_distribution import LossDistribution, LossGrid, float_up
from opendp_lite.measures.profile import (
    ConcentratedProfile,
    GaussianProfile,
    Profile,
    PureProfile,
    zcdp_of_pure,
)

_CELLS = 2**12
"""The most cells on either side of 0: with more, convolutions take too long."""
_WIDENED = 1e-4
"""The share by which parting masses on the grid may widen the variance of the loss."""
_FAR = 92.0
"""exp(-92) is 1e-40: the probability of losses that are taken to be infinite."""
_COARSEST = 2.0**8


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
        be used to stop (arXiv 2602.06756): ``adaptive`` adds numbers.
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

    def _delta(self, epsilon: Fraction) -> Fraction:
        return min(curve.delta(epsilon) for curve in _curves(self))

    def epsilon(self, delta: Fraction) -> Fraction:
        curves = [curve for curve in _curves(self) if curve.least_delta <= delta]
        return min(curve.epsilon(delta) for curve in curves or [self.summed])

    def dp_event(self, library: Any) -> Any:
        found = [
            library.SelfComposedDpEvent(part.dp_event(library), count)
            for part, count in self.releases
        ]
        return library.ComposedDpEvent(found)


@attrs.frozen
class _DistributionProfile(Profile):
    """The curve of a privacy loss distribution."""

    distribution: LossDistribution

    @property
    def least_delta(self) -> Fraction:
        return max(super().least_delta, 2 * Fraction(self.distribution.beyond))

    def _delta(self, epsilon: Fraction) -> Fraction:
        return self.distribution.delta(epsilon)


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
        for part, count in profile.parts:
            own = part.gaussian_ratio
            ratio += 0 if own is None else own * count * times
            parts[part] += 0 if own is not None else count * times
    gaussian = [(GaussianProfile(ratio), 1)] if ratio else []
    together = (*gaussian, *((part, count) for part, count in parts.items() if count))
    if len(together) == 1 and together[0][1] == 1:
        return together[0][0]
    return ComposedProfile(together, summed) if together else GaussianProfile(ratio)


def _sum(
    parts: Sequence[tuple[Profile, int]], loss_of: Callable[[Profile], Fraction | None]
) -> Fraction | None:
    """The sum of a loss over all parts; None where it is not known of one."""
    found = [(loss_of(part), count) for part, count in parts]
    known = [loss * count for loss, count in found if loss is not None]
    return sum_up(known) if len(known) == len(found) else None


@lru_cache(maxsize=64)
def _curves(whole: ComposedProfile) -> tuple[Profile, ...]:
    """All curves that hold, of which the least counts."""
    found = _distribution(whole.releases)
    pure, rho = whole.pure, whole.rho
    short = math.inf if rho is None else float_up(rho)
    return (
        whole.summed,
        *(() if pure is None else (PureProfile(pure),)),
        *(() if math.isinf(short) else (ConcentratedProfile(Fraction(short)),)),
        *(() if found is None else (_DistributionProfile(found),)),
    )


def _distribution(parts: Sequence[tuple[Profile, int]]) -> LossDistribution | None:
    """That of all releases; None where one of them has none."""
    grid = _grid(parts)
    if grid is None:
        return None
    most = grid.most
    found = []
    for part, count in parts:
        one = part.loss_distribution(grid)
        if one is None:
            return None
        found.append(_repeated(one.within(most), count, most))
    queue = [(len(each.masses), place, each) for place, each in enumerate(found)]
    heapify(queue)
    for place in range(len(queue), 2 * len(queue) - 1):
        (*_, first), (*_, second) = heappop(queue), heappop(queue)
        both = first.composed(second).within(most)
        heappush(queue, (len(both.masses), place, both))
    return queue[0][-1]


def _repeated(one: LossDistribution, count: int, most: int) -> LossDistribution:
    """That of so many like it, by squaring."""
    found, square = None, one
    while True:
        if count & 1:
            found = square if found is None else found.composed(square).within(most)
        count >>= 1
        if not count:
            assert found is not None
            return found
        square = square.composed(square).within(most)


def _grid(parts: Sequence[tuple[Profile, int]]) -> LossGrid | None:
    """The grid for the losses of all releases; None where there is none.

    A mass between two points widens the variance of the loss, which is about 2 rho, by at most a
    quarter of a squared step. The tail of the loss beyond rho + t is below exp(-t^2 / (4 rho)).
    """
    total = sum(nearest(_rho_about(part)) * count for part, count in parts)
    if not 0 < total < math.inf:
        return None
    reach = total + 2 * math.sqrt(total * _FAR)
    pure = _sum(parts, lambda part: part.pure)
    if pure is not None:
        reach = min(reach, nearest(pure))
    fine = math.sqrt(8 * _WIDENED * total / sum(count for _, count in parts))
    step = 2.0 ** math.floor(math.log2(fine))
    step = max(step, 2.0 ** math.ceil(math.log2(reach / _CELLS)))
    return LossGrid(step, math.ceil(reach / step) + 1) if step <= _COARSEST else None


def _rho_about(part: Profile) -> Fraction:
    known = part.rho
    return zcdp_of_pure(part.epsilon(part.least_delta)) if known is None else known
