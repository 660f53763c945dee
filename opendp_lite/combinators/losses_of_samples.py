"""The losses of a secret sample, and of independent releases of groups."""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, lru_cache, partial, reduce, singledispatch
from types import ModuleType
from typing import Final, Generic, cast

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.combinators.accounts import some_sizes
from opendp_lite.measures import divergences, profile
from opendp_lite.measures.curve import Pair, curved_number, curved_pair, without_curve
from opendp_lite.measures.divergences import (
    AnyMeasure,
    ApproximateDivergence,
    Loss,
    MaxDivergence,
    Measure,
)
from opendp_lite.measures.loss_distribution import LOST, Curve, Floats
from opendp_lite.numbers.exact import exp_up, log_up, nearest, sqrt_up
from opendp_lite.spaces.space import PrivacyMap

# Of a Gaussian's sample, each way to come or go is a curve of its own.
_MOST_SHIFTS: Final = 12
# Of any other release, as its curves are tables.
_MOST_WAYS: Final = 6
# With less noise, a table of its tests is too long, and no sample hides much.
_MOST_RATIO: Final = 2**12
# The power of a rate for more units has too many digits, and the union bound serves.
_MOST_UNITS: Final = 1000
# A level of which no finite loss is in sight, and whose exponential is a float.
_FAR: Final = 600.0
# Probabilities of meeting one of many units are rounded up to a multiple of its inverse.
_GRID: Final = 2**256


@attrs.frozen
class Sampling:
    """How the units of a sample are chosen.

    Args:
        rate: The probability of each to be in the sample, above 0.
        among: Of how many units a fixed number is chosen, each set of that number as likely; then
            units are replaced. None where units come or go, and are chosen independently.
    """

    rate: Fraction
    among: int | None = None

    @property
    def size(self) -> int:
        """The number of units in a sample of a fixed number."""
        return int(self.rate * (self.among or 0))

    def hit(self, units: int) -> Fraction:
        """At least the probability that one of some units is in the sample."""
        if units == 1 or self.rate == 1:
            return self.rate
        if units > _MOST_UNITS:
            return min(Fraction(1), self.rate * units)
        if self.among is None:
            missed = (1 - self.rate) ** units
        else:
            # So many of the units that are not in the sample stay for each further one.
            spare = self.among - self.size
            stays = (
                Fraction(max(spare - place, 0), self.among - place)
                for place in range(min(units, self.among))
            )
            missed = math.prod(stays, start=Fraction(1))
        return Fraction(-(-(1 - missed) * _GRID // 1), _GRID)


@singledispatch
def amplify(
    measure: AnyMeasure, losses: Callable[[int], object], sampling: Sampling, units: int
) -> object:
    """The loss of a release of a secret sample.

    Let P and Q be the laws of the release for neighbours. Outside of an event of probability h, the
    two samples are equal. So P = (1 - h) R + h P' and Q = (1 - h) R + h Q'. The hockey-stick
    divergence of P and Q at 1 + h (a - 1) is then at most h times the largest one at ``a`` among
    releases of samples that differ: advanced joint convexity (Balle, Barthe, Gaboardi 2018, theorem
    2). It bounds both directions.

    Where a fixed number of n units is chosen and k are replaced, h is the probability that the
    sample has one of the k. Given that, put another unit that is not in the sample in the place
    of each of them: that gives each sample without them, as likely as any. So the law R is that of
    a sample in which at most k units are replaced, as Q' is beside P' (theorem 9 there).

    Args:
        measure: The measure of the loss.
        losses: The loss of the release of all rows, by how many units come, go or are replaced.
        sampling: How the sample is chosen.
        units: How many units come, go or are replaced, at least 1.

    Raises:
        ParameterError: If no such law is known for the measure.
    """
    raise ParameterError(f"sample: no loss of a secret sample is known under {measure!r}")


@amplify.register
def _amplify_epsilon(
    measure: MaxDivergence,
    losses: Callable[[int], Fraction],
    sampling: Sampling,
    units: int,
) -> Fraction:
    hit, loss = sampling.hit(units), losses(units)
    whole = amplified_epsilon(Fraction(loss), hit)
    # Both bounds hold: a group's loss amplified, and the amplified loss of a group.
    by_group = measure.group(amplified_epsilon(Fraction(losses(1)), sampling.rate), units)
    curve, least = _curve(measure, losses, sampling, units), min(by_group, whole)
    # A curve that allows more than the group's loss would say more than the number does.
    known = curve.pure is not None and curve.pure <= least
    return curved_number(least, curve) if known else least


@amplify.register(divergences.ZeroConcentratedDivergence)
@amplify.register(divergences.GaussianDivergence)
def _amplify_rho_or_mu(
    measure: divergences.ZeroConcentratedDivergence | divergences.GaussianDivergence,
    losses: Callable[[int], Fraction],
    sampling: Sampling,
    units: int,
) -> Fraction:
    # Renyi divergences are jointly quasi-convex (van Erven and Harremoes 2014, theorem 13), and
    # tradeoffs of mixtures are no lower. The order of infinity has no less than all rows have, so
    # the number stays; the curve is that of the sample.
    return curved_number(Fraction(losses(units)), _curve(measure, losses, sampling, units))


@amplify.register
def _amplify_pair(
    measure: ApproximateDivergence,
    losses: Callable[[int], Pair],
    sampling: Sampling,
    units: int,
) -> Pair:
    hit, (epsilon, delta) = sampling.hit(units), losses(units)
    curve, spill = _curve(measure, losses, sampling, units), delta * hit
    whole = amplified_epsilon(epsilon, hit)
    if units == 1:
        return curved_pair((whole, spill), curve)
    epsilon, delta = losses(1)
    by_group = measure.group(
        (amplified_epsilon(epsilon, sampling.rate), delta * sampling.rate), units
    )
    if curve.delta(by_group[0]) > by_group[1]:
        return by_group
    if curve.least_delta <= spill:
        whole = min(whole, curve.epsilon(spill))
    return curved_pair((whole, spill), curve)


def _curve(
    measure: AnyMeasure, losses: Callable[[int], object], sampling: Sampling, units: int
) -> profile.Profile:
    known = measure.profile(losses(units))
    several = units > 1 or sampling.among is not None
    if sampling.rate == 1:
        # What has directions is a sample within, and a step may stand before that one: these are
        # not the directions of other releases of the rows that come in here.
        if known.with_directions(kept=True) is known:
            return known
        return AmplifiedProfile(known, sampling.rate, several=several)
    if sampling.among is None and 1 < units <= _MOST_SHIFTS:
        # Of noise that is known for one unit more is known for each number of them.
        each = [measure.profile(losses(here)).gaussian_ratio for here in range(1, units + 1)]
        if None not in each:
            ratio = max(ratio / here**2 for here, ratio in enumerate(each, 1) if ratio is not None)
            if ratio * units**2 <= _MOST_RATIO:
                return SampledGaussianProfile(ratio, sampling.rate, units)
    whole = AmplifiedProfile(known, sampling.hit(units), several=several)
    if sampling.among is not None or not 1 < units <= _MOST_WAYS:
        return whole
    curves = (*(measure.profile(losses(here)) for here in range(1, units)), known)
    if any(each.parts != ((each, 1),) for each in curves):
        # Of a composition each level takes milliseconds, and a table has hundreds.
        return whole
    return SampledGroupProfile(curves, sampling.rate, whole)


def amplified_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """log(1 + rate (e^epsilon - 1)), rounded up."""
    if epsilon == 0 or rate == 1:
        return epsilon
    # Of a sample no more is lost than of all, however the logarithm rounds.
    found = min(epsilon, epsilon + log_up(rate + (1 - rate) * exp_up(-epsilon)))
    # log(1 + x) <= x, which is closer where x is near the absolute error of ``log_up``.
    return min(found, rate * (exp_up(epsilon) - 1)) if epsilon < 1 else found


@attrs.frozen
class _OfSample(profile.Profile):
    """The curve of a release of a secret sample: the largest of several.

    Args:
        directed: Whether a composition may count on it that units come here where they come in
            the other releases: see ``Profile.with_directions``.
    """

    directed: bool = attrs.field(default=False, kw_only=True)

    @property
    @abstractmethod
    def ways(self) -> tuple[Curve, ...]:
        """A curve for each way in which units come and go."""

    @property
    def sides(self) -> tuple[Curve, ...]:
        return self.ways if self.directed else (self.deltas,)

    def with_directions(self, kept: bool) -> profile.Profile:
        return attrs.evolve(self, directed=kept)

    def renyi(self, orders: tuple[Fraction, ...]) -> profile.Divergences | None:
        return profile.renyi_of_curve(self, orders)

    def deltas(self, levels: Floats) -> Floats:
        return reduce(np.maximum, (way(levels) for way in self.ways))


@attrs.frozen
class AmplifiedProfile(_OfSample):
    """The curve of a release of a secret sample.

    delta'(log(1 + rate (e^epsilon - 1))) = rate delta(epsilon), where each row is in the sample
    with probability ``rate`` (Balle, Barthe, Gaboardi 2018, theorem 8). See ``amplified``.

    Args:
        inner: The curve of the same release of all rows.
        rate: Between 0 and 1.
        several: For several units, of which the rate is that of any in the sample, or for units
            that are replaced: neither law is then that of a sample without them.
        directed: As of ``_OfSample``.
    """

    inner: profile.Profile
    rate: Fraction
    several: bool = False

    @property
    def pure(self) -> Fraction | None:
        return None if self.inner.pure is None else amplified_epsilon(self.inner.pure, self.rate)

    @property
    def rho(self) -> Fraction | None:
        # Of a sample no more is lost than of all: see ``_amplify_rho_or_mu``.
        known = [self.inner.rho, None if self.pure is None else profile.zcdp_of_pure(self.pure)]
        return min((rho for rho in known if rho is not None), default=None)

    @property
    def least_delta(self) -> Fraction:
        return self.rate * self.inner.least_delta

    def _event(self, library: ModuleType) -> object:
        # Its accountants know the sample of one unit that comes or goes, and no group.
        if self.several:
            return super()._event(library)
        return library.PoissonSampledDpEvent(self._share, self.inner.dp_event(library))

    @property
    def _share(self) -> float:
        """The rate: a larger one loses no less."""
        return min(profile.float_up(self.rate), 1.0)

    @property
    def ways(self) -> tuple[Curve, ...]:
        less = self._delta_of_less
        return (less,) if self.several else (self._delta_of_more, less)

    def _delta_of_less(self, levels: Floats) -> Floats:
        """Of the release with the unit against that without it."""
        rate = self._share
        with np.errstate(over="ignore"):
            before = np.log1p(np.expm1(levels) / rate) * (1 - 2.0**-46)
        return rate * self.inner.deltas(np.minimum(before, _FAR))

    def _delta_of_more(self, levels: Floats) -> Floats:
        """Of the release without the unit against that with it.

        Proof:
            The positive part of Q - a ((1 - rate) Q + rate P) is c times that of Q - a rate / c P,
            with c = 1 - a (1 - rate). It is 0 where c is. The part rises with c, so a c that is
            too large is safe.
        """
        rate = self._share
        factors = rate - (1 - rate) * np.expm1(levels) + 2.0**-48 * rate
        # They fall, so these are the first.
        factors = factors[factors > 0]
        found = np.zeros(len(levels))
        if not len(factors):
            return found
        before = np.log(rate / factors) + levels[: len(factors)]
        before = np.clip(before - 2.0**-46 * (1 + np.abs(before)), 0.0, _FAR)
        found[: len(factors)] = factors * self.inner.deltas(before)
        return found

    def _delta(self, epsilon: Fraction) -> Fraction:
        least = 1 - (1 - self.rate) * exp_up(-epsilon)
        if least <= 0:
            return self.rate * self.inner.delta(Fraction(0))
        # Rounded down, as a delta falls with its epsilon.
        before = max(epsilon - log_up(self.rate / least), Fraction(0))
        return self.rate * self.inner.delta(before)

    def epsilon(self, delta: Fraction) -> Fraction:
        try:
            return amplified_epsilon(self.inner.epsilon(delta / self.rate), self.rate)
        except ParameterError:
            refusal = ParameterError(
                f"this loss of a sample has no epsilon at delta = {nearest(delta):g}; give a "
                "larger delta"
            )
        raise refusal


@attrs.frozen
class SampledGaussianProfile(_OfSample):
    """The curve of Gaussian noise on a secret sample, where up to ``units`` units come or go.

    Proof:
        Let i units come and n - i go. So many of them are in the sample: u_j = Bin(i, rate)(j) of
        those that come, and v_k of those that go. Given them, the means are at most j + k shifts m
        apart. Put P = sum u_j N(j m, 1) and Q = sum v_k N(-k m, 1), with densities p and q. Their
        ratio rises, so the best test of the level a is a threshold t with p(t) = a q(t). With
        b = n_k(t) / q(t) and c = n_j(t) / q(t), the sum of u_j over c is a for each k, and that of
        v_k over b is 1 for each j. So by the triangle inequality the divergence of the releases is
        at most the sum of u_j v_k (b P_jk - c Q_jk)+, each at most that of two normal laws j + k
        shifts apart. Their ratio at t is c / b, so t is the best test of all. The sum is
        P(> t) - a Q(> t), which is the divergence of P and Q. Where all come or all go this is the
        tight pair of Ganesh 2024 (arXiv 2401.10294). Fewer units are units that change nothing.

    Args:
        ratio: (shift of one unit / sigma)^2, at least.
        rate: Of the sample.
        units: At least 1.
        directed: As of ``_OfSample``.
    """

    ratio: Fraction
    rate: Fraction
    units: int

    @property
    def rho(self) -> Fraction:
        return self.ratio * self.units**2 / 2

    @property
    def least_delta(self) -> Fraction:
        return Fraction(2 * LOST)

    @property
    def ways(self) -> tuple[Curve, ...]:
        return tuple(partial(self._deltas_of, coming) for coming in range(self.units + 1))

    def _deltas_of(self, coming: int, levels: Floats) -> Floats:
        return profile.draw_chords(*_mixture_curve(self, coming), levels)

    def _delta(self, epsilon: Fraction) -> Fraction:
        level = math.nextafter(nearest(epsilon), 0.0)
        return Fraction(
            min(1.0, float(self.deltas(np.array([level]))[0]) * (1 + 2.0**-46) + 1e-290)
        )


@attrs.frozen
class SampledGroupProfile(_OfSample):
    """The curve of any release of a secret sample, where up to several units come or go.

    Proof:
        Let i units come and n - i go, and u_j, v_k be as for ``SampledGaussianProfile``. Given that
        j and k of them are in the sample, the laws P_j and Q_k of the releases are those of samples
        that are at most j + k units apart. For any b_k with the sum of v_k b_k = 1 and any c_j with
        that of u_j c_j = a, the divergence of the releases at the level a is at most the sum of
        u_j v_k (b_k P_j - c_j Q_k)+. Each is at most b_k times the delta of j + k units at
        c_j / b_k. Where c_j is below b_k that is 1 - c_j / b_k and c_j / b_k times the delta at
        b_k / c_j the other way round. Tilted c and b are tried, and each gives a bound.

    Args:
        curves: Of the release of all rows, for 1, 2, ... units.
        rate: Of the sample.
        whole: The curve by the probability that any unit is in the sample, which holds too.
        directed: As of ``_OfSample``.
    """

    curves: tuple[profile.Profile, ...]
    rate: Fraction
    whole: AmplifiedProfile

    @property
    def pure(self) -> Fraction | None:
        one, many = self.curves[0].pure, self.whole.pure
        if one is None or many is None:
            return many
        return min(len(self.curves) * amplified_epsilon(one, self.rate), many)

    @property
    def rho(self) -> Fraction | None:
        return self.whole.rho

    @property
    def least_delta(self) -> Fraction:
        return self.whole.least_delta

    def _event(self, library: ModuleType) -> object:
        return self.whole.dp_event(library)

    @property
    def ways(self) -> tuple[Curve, ...]:
        return tuple(partial(self._deltas_of, coming) for coming in range(len(self.curves) + 1))

    def _deltas_of(self, coming: int, levels: Floats) -> Floats:
        return profile.draw_chords(*_table_of_ways(self, coming), levels)

    def _delta(self, epsilon: Fraction) -> Fraction:
        level = math.nextafter(nearest(epsilon), 0.0)
        found = float(self.deltas(np.array([level]))[0]) * (1 + 2.0**-40) + 1e-290
        known = [self.whole.delta(epsilon), Fraction(min(1.0, found))]
        return min(
            *known, *(() if self.pure is None else (profile.PureProfile(self.pure).delta(epsilon),))
        )


# Levels of which the curves are known: 0, and each 1 % above the one before.
_LEVELS: Final = np.append(0.0, np.geomspace(2.0**-24, _FAR, 2400))
_TILTS: Final = 33


@lru_cache(maxsize=64)
def _table_of_ways(curve: SampledGroupProfile, coming: int) -> tuple[Floats, Floats]:
    """Levels that rise, and deltas there."""
    rate = min(profile.float_up(curve.rate), 1.0)
    high, low = (_binomial(number, rate) for number in (coming, len(curve.curves) - coming))
    kinks = [float(each.pure) for each in (*curve.curves, curve) if each.pure is not None]
    levels = np.unique(np.append(_LEVELS, [kink for kink in kinks if kink < _FAR]))
    known = [each.deltas(levels) * (1 + 2.0**-46) for each in curve.curves]
    reach = levels[min(int(np.searchsorted(-known[0], -1e-12)), len(levels) - 1)]
    found = curve.whole.deltas(levels) * (1 + 2.0**-46)
    if curve.pure is not None:
        found = np.minimum(found, profile.PureProfile(curve.pure).deltas(levels) * (1 + 2.0**-46))
    for tilt in np.linspace(0.0, min(2 * float(reach), 40.0), _TILTS):
        ups, downs = np.exp(tilt * np.arange(len(high))), np.exp(-tilt * np.arange(len(low)))
        # A share that is too small on one side or too large on the other is safe.
        ups, downs = ups / (high @ ups) * (1 - 2.0**-46), downs / (low @ downs) * (1 + 2.0**-46)
        summed = np.zeros(len(levels))
        for j, k in np.ndindex(len(high), len(low)):
            shift = math.log(ups[j] / downs[k])
            # Rounded down, as a delta falls with its level.
            moved = levels + shift - 2.0**-45 * (levels + abs(shift) + 1)
            deltas = known[j + k - 1] if j + k else np.zeros(len(levels))
            summed += high[j] * low[k] * downs[k] * _both_ways(levels, deltas, moved)
        found = np.minimum(found, summed * (1 + 2.0**-44))
    return levels, found


def _both_ways(knots: Floats, deltas: Floats, levels: Floats) -> Floats:
    """At least the deltas at levels of either sign, for a curve that holds both ways round."""
    below = np.minimum(levels, 0.0)
    far = profile.draw_chords(knots, deltas, np.abs(levels))
    found: Floats = -np.expm1(below) + np.exp(below) * far + 2.0**-50 * (levels < 0)
    return found


@lru_cache(maxsize=256)
def _mixture_curve(curve: SampledGaussianProfile, coming: int) -> tuple[Floats, Floats]:
    """Levels that rise, and deltas there, for thresholds a hundredth of a deviation apart."""
    root, rate = profile.float_up(sqrt_up(curve.ratio)), min(profile.float_up(curve.rate), 1.0)
    high, low = (_binomial(number, rate) for number in (coming, curve.units - coming))
    shifts = [np.arange(len(each))[:, None] * root for each in (high, low)]
    thresholds = np.arange(-40.0, 40.0 + root * len(high), 0.01)
    # A number of hits may have a probability of 0: that of a rate of 1, or far below LOST.
    with np.errstate(divide="ignore"):
        densities = [
            _log_sum(np.log(each)[:, None] + sign * shift * thresholds - shift**2 / 2)
            for each, sign, shift in zip((high, low), (1, -1), shifts, strict=True)
        ]
    levels = densities[0] - densities[1]
    near = high @ profile.normal_tails(thresholds - shifts[0])
    far = low @ profile.normal_tails(thresholds + shifts[1])
    # An exponent has the error of its largest term, and a tail that of its hazard: see
    # ``GaussianProfile``.
    most = np.abs(thresholds) + root * curve.units + 1
    slack = 2.0**-50 * (16 + most * most + root * curve.units * most)
    with np.errstate(over="ignore", invalid="ignore"):
        lost = np.where(far > 0, np.exp(np.minimum(levels, _FAR)) * far, 0.0)
    deltas = np.maximum(near - lost, 0.0) + near * slack
    # A level that is too high keeps the delta of a lower one, which is no smaller.
    levels = np.maximum.accumulate(levels + slack)
    if levels[0] > 0:
        # At small rates all of them are. Below the first a chord would go on under the curve.
        hit = min(1.0, curve.units * rate * (1 + 2.0**-50))
        levels, deltas = np.append(0.0, levels), np.append(hit, deltas)
    first = max(0, int(np.searchsorted(levels, 0.0)) - 1)
    rising = np.append(np.diff(levels[first:]) > 0, True)
    return levels[first:][rising], deltas[first:][rising]


def _binomial(number: int, rate: float) -> Floats:
    """The probabilities of 0 to ``number`` hits."""
    hits = range(number + 1)
    return np.array([math.comb(number, n) * rate**n * (1 - rate) ** (number - n) for n in hits])


def _log_sum(exponents: Floats) -> Floats:
    """The logarithm of the sum of their exponentials, for each column."""
    top = exponents.max(axis=0)
    found: Floats = top + np.log(np.exp(exponents - top).sum(axis=0))
    return found


# A twentieth more is near enough: the first part is 1/20 of a loss.
_A_TWENTIETH: Final = (Fraction(1), Fraction(19))
# Sizes are all up to here, and then each a 64th above the last.
_FINE: Final = 64
# Of so many groups all ways are tried beyond that too.
_FEW: Final = 8
# Halvings, which leave a 128th.
_STEPS: Final = 6


@attrs.frozen(eq=False)
class LossOfGroups(Generic[Loss]):
    """The loss of independent releases of groups, by how many rows come or go in all of them."""

    measure: Measure[Loss]
    privacy_map: PrivacyMap
    groups: int

    def of(self, changes: int) -> Loss:
        """The largest over all ways to part the rows among the groups, or a bound on it.

        Of up to 64 rows it is the largest, or one that is at most a twentieth above that of all
        rows in one group.
        """
        measure, whole = self.measure, self._alone(changes)
        groups = min(self.groups, changes)
        if groups == 1:
            return whole
        # The groups' releases are one release, which loses to a row what that of its group does.
        # So the rows of all groups are so many units at once.
        spread = measure.spread(self._alone(1), whole, changes)
        if self._near(spread, whole):
            return spread
        rows = (0, *some_sizes(changes, _FINE))
        alone = [measure.zero(), *map(self._alone, rows[1:])]
        # Nor does any way lose more than if each group lost as much as by all rows.
        found = [*self._in_shares(rows, alone, groups), spread, measure.together([whole] * groups)]
        if changes > _FINE:
            best = self._least(found)
            # Some way loses so much: what is near it may stay.
            some = measure.compose([self._alone(changes // groups)] * groups)
            many = groups > _FEW and changes > 2 * _FINE
            if many or self._near(best, whole) or self._near(best, some):
                return best
        return self._least([self._in_parts(rows, alone, groups), *found])

    def _in_shares(self, rows: Sequence[int], alone: Sequence[Loss], groups: int) -> list[Loss]:
        """A loss of which each group pays a share, some by its rows and some by being changed.

        None where the measure knows no shares.

        Proof:
            The shares of all rows, by number, and of all groups that change, are at most 1. Rows
            between two sizes lose at most what the larger size does, and have more than the
            smaller one's share. The loss is convex in what the groups pay alike, so halving steps
            find the best; any gives a bound.
        """

        @cache
        def shared(alike: Fraction) -> Loss | None:
            found = without_curve(alone[-1])
            for before, loss in zip(rows, alone[1:], strict=False):
                share = (1 - alike) * Fraction(before + 1, rows[-1]) + alike / groups
                more = self.measure.cover(found, loss, share)
                if more is None:
                    return None
                found = more
            return found

        at, step = Fraction(0), Fraction(1)
        best = shared(at)
        if best is None:
            return []
        for _ in range(_STEPS):
            for each in (at - step, at + step):
                found = shared(each) if 0 <= each <= 1 else None
                if found is not None and self.measure.within(found, best):
                    at, best = each, found
            step /= 2
        return [best]

    def _in_parts(self, rows: Sequence[int], alone: Sequence[Loss], groups: int) -> Loss:
        """The largest over all ways to part the rows, size by size.

        It is the largest for as many rows as have a size each. Beyond, the rows that are not in one
        half of the groups are rounded up to a size.
        """
        found = alone
        for bit in f"{groups:b}"[1:]:
            found = self._beside(rows, found, found)
            found = self._beside(rows, found, alone) if bit == "1" else found
        return found[-1]

    def _beside(
        self, rows: Sequence[int], first: Sequence[Loss], second: Sequence[Loss]
    ) -> list[Loss]:
        """Of the groups of both, for each size."""
        least = [0, *(before + 1 for before in rows[:-1])]

        def worst(size: int) -> Loss:
            ways = zip(first, least[: bisect_left(rows, size) + 1], strict=False)
            return self.measure.worst(
                [
                    self.measure.compose([loss, second[bisect_left(rows, size - here)]])
                    for loss, here in ways
                ]
            )

        return [first[0], *map(worst, rows[1:])]

    def _least(self, losses: Sequence[Loss]) -> Loss:
        """The least, and the last of equals; of pairs that cross, the first."""
        best = losses[0]
        for each in losses[1:]:
            if self.measure.within(each, best) or not self._promises(best):
                best = each
        return best

    def _near(self, loss: Loss, known: Loss) -> bool:
        """Whether a loss is at most a twentieth above another one."""
        more = self.measure.split(known, _A_TWENTIETH)[0]
        return self.measure.within(loss, self.measure.compose([known, more]))

    def _promises(self, loss: Loss) -> bool:
        """Whether not every release has this loss, as at a delta of 1."""
        try:
            self.measure.require_promise(loss)
        except ParameterError:
            return False
        return True

    def _alone(self, rows: int) -> Loss:
        """The loss if so many rows come or go in one group."""
        return cast(Loss, self.privacy_map(Fraction(rows)))
