"""The curve of several releases together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from heapq import heapify, heappop, heappush
from math import floor
from types import ModuleType

import attrs

from opendp_lite.measures.loss_distribution import (
    LossDistribution,
    LossGrid,
    discrete_laplace_losses,
    float_up,
    laplace_losses,
    noise_multiplier,
)
from opendp_lite.measures.profile import (
    ConcentratedProfile,
    GaussianProfile,
    Profile,
    PureProfile,
    zcdp_of_pure,
)
from opendp_lite.numbers.exact import exp_down, exp_up, nearest, sum_up

# The most cells on either side of 0: with more, convolutions take too long.
_CELLS = 2**12
# The share by which parting masses on the grid may widen the variance of the loss.
_WIDENED = 1e-4
# exp(-92) is 1e-40: the probability of losses that are taken to be infinite.
_FAR = 92.0
# Losses beyond 2^20 would need a coarser grid; sums of losses serve there.
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

    def dp_event(self, library: ModuleType) -> object:
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
        # The mass at infinity is in every delta; near it, no epsilon of use is found.
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
    # A float above it: the exact sum of many releases has thousands of digits.
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
        found.append(_repeat(one.within(most), count, most))
    # The shortest first: a convolution takes the product of the two lengths.
    queue = [(len(each.masses), place, each) for place, each in enumerate(found)]
    heapify(queue)
    for place in range(len(queue), 2 * len(queue) - 1):
        (*_, first), (*_, second) = heappop(queue), heappop(queue)
        both = first.compose_with(second).within(most)
        heappush(queue, (len(both.masses), place, both))
    return queue[0][-1]


def _repeat(one: LossDistribution, count: int, most: int) -> LossDistribution:
    """That of so many like it, by squaring."""
    found, square = None, one
    while True:
        if count & 1:
            found = square if found is None else found.compose_with(square).within(most)
        count >>= 1
        if not count:
            assert found is not None
            return found
        square = square.compose_with(square).within(most)


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


# The rate's 24 bits times n - 2 j, of up to 29, are exact as floats.
_RATE_BITS = 24
_MOST_STEPS = 2**28


@attrs.frozen
class LaplaceProfile(Profile):
    """The curve of continuous Laplace noise of scale b at an l1 distance of ``loss`` b.

    delta = 1 - exp((e - E) / 2) and rho = E + exp(-E) - 1 at the loss E.

    Proof:
        The loss is E with probability 1/2, -E with probability exp(-E) / 2, and has the density
        exp((x - E) / 2) / 4 between. From it follows delta. For rho see
        ``DiscreteLaplaceProfile``, of which this is the limit (also Harrison and Manurangsi 2026).

        A vector loses no more than one entry that takes the whole l1 distance. Move the entries
        one after another. A test of false-positive rate a misses at least f1(a) after the first
        move. After the second it misses at least f2(1 - f1(a)), and so on, as for groups in Dong,
        Roth, Su 2022. For shifts of one law with a concave log density, the best tests are
        thresholds (Karlin and Rubin 1956), the same for every shift. So this bound is attained by
        one entry that makes all moves.

        More noise loses less: noise of a larger scale is noise of the smaller one with further
        noise added.
    """

    loss: Fraction

    @property
    def pure(self) -> Fraction:
        return self.loss

    @property
    def rho(self) -> Fraction:
        return _rho(self.loss, Fraction(1))

    def _delta(self, epsilon: Fraction) -> Fraction:
        return 1 - exp_down((epsilon - self.loss) / 2)

    def _event(self, library: ModuleType) -> object:
        return library.LaplaceDpEvent(noise_multiplier(self.loss))

    def loss_distribution(self, grid: LossGrid) -> LossDistribution | None:
        return laplace_losses(grid, float_up(self.loss))


@attrs.frozen
class DiscreteLaplaceProfile(Profile):
    """The curve of discrete Laplace noise, P(k) in proportion to exp(-|k| ``rate``).

    The value moves by ``steps`` steps of the grid, in all entries together. With n steps, the rate
    r and q = exp(-r), it is randomised response for n = 1. For many small steps it is
    ``LaplaceProfile``.

    Proof:
        The loss is (n - 2 j) r at the noise j for 0 <= j <= n. The best test of the level e takes
        the noises up to j, the last with a loss above e, so
        delta = 1 - q^(j + 1) / (1 + q) - exp(e) q^(n - j) / (1 + q).
        Vectors: as for ``LaplaceProfile``.

        rho = n r - (1 - q^n) r / sinh(r), which is the Kullback-Leibler divergence, so no smaller
        rho holds (Harrison and Manurangsi 2026 also have tight bounds). Put u = a - 1/2 for the
        order a, and let g be the logarithm of the sum of sqrt(P Q) cosh(u loss), which is 0 at
        a = 1. The Renyi divergence of order a is g / (a - 1). If g is concave as a function of u^2,
        it is at most its slope at a = 1 times u^2 - 1/4 = a (a - 1). So the divergence is at most
        that slope times a. The slope is the limit for a -> 1, the Kullback-Leibler divergence. The
        sum is in proportion to F(u), for which
        F(i y) sin(r y) = sin((n + 1) r y) - q sin((n - 1) r y). The right side changes its sign
        between the 2 n + 2 places of a period where the first sine is +-1, so all its zeros are
        real. So F is a product of factors 1 + u^2 / y^2, whose logarithms are concave in u^2.
    """

    rate: Fraction
    steps: int

    @property
    def pure(self) -> Fraction:
        return self.rate * self.steps

    @property
    def rho(self) -> Fraction:
        return _rho(self.pure, _over_sinh(self.rate))

    def _delta(self, epsilon: Fraction) -> Fraction:
        # The largest j with (n - 2 j) r above epsilon: a loss of epsilon itself adds nothing.
        last = -floor((epsilon / self.rate - self.steps) / 2) - 1
        kept = exp_down(-(last + 1) * self.rate) + exp_down(
            epsilon - (self.steps - last) * self.rate
        )
        return 1 - kept / (1 + exp_up(-self.rate))

    def _event(self, library: ModuleType) -> object:
        return library.DiscreteLaplaceDpEvent(float_up(self.rate), self.steps)

    def loss_distribution(self, grid: LossGrid) -> LossDistribution | None:
        if self.steps > _MOST_STEPS:
            return PureProfile(self.pure).loss_distribution(grid)
        return discrete_laplace_losses(grid, float_up(self.rate, _RATE_BITS), self.steps)


def _rho(loss: Fraction, kept: Fraction) -> Fraction:
    """At least E - ``kept`` (1 - exp(-E)), where ``kept`` is at most its value.

    Never above that of any mechanism of this pure loss.
    """
    known = zcdp_of_pure(loss)
    return min(known, loss - kept * (1 - exp_up(-loss)))


def _over_sinh(rate: Fraction) -> Fraction:
    """At most r / sinh(r)."""
    rise = 1 - exp_down(-2 * rate)
    return min(Fraction(1), 2 * rate * exp_down(-rate) / rise)
