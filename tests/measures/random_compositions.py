"""Random releases of small laws, of all data or of groups, and their delta in exact arithmetic."""

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction

import attrs
import numpy as np

import opendp_lite as dp
from opendp_lite.combinators.losses_of_samples import AmplifiedProfile, LossOfGroups
from opendp_lite.measurements.noise import DiscreteLaplaceProfile
from opendp_lite.measures.curve import composed_profile, curved_number, curved_pair
from opendp_lite.measures.divergences import AnyMeasure
from opendp_lite.measures.profile import BoundedRangeProfile, PointProfile, Profile, PureProfile
from opendp_lite.numbers.exact import exp_down, exp_up, log_up

Law = tuple[tuple[Fraction, Fraction], ...]
"""The probabilities (P, Q) of each outcome; where Q is 0 the loss is infinite."""
_BITS = 40


@attrs.frozen
class Release:
    """A pair of laws of rational probabilities, and a curve that is claimed for it."""

    law: Law
    curve: Profile


def log_above(odds: Fraction) -> Fraction:
    """A short rational at least the logarithm: the claim may only be above the truth."""
    return Fraction(-int(-log_up(odds) * 2**_BITS // 1), 2**_BITS)


def randomised_response(odds: Fraction) -> Release:
    p = odds / (1 + odds)
    return Release(((p, 1 - p), (1 - p, p)), PureProfile(log_above(odds)))


def coin(odds: Fraction, spill: Fraction) -> Release:
    law = tuple(((1 - spill) * p, (1 - spill) * q) for p, q in randomised_response(odds).law)
    both = (*law, (spill, Fraction(0)), (Fraction(0), spill))
    return Release(both, PointProfile(log_above(odds), spill))


def geometric(odds: Fraction, steps: int) -> Release:
    """Discrete Laplace noise with e^rate = ``odds``, outcomes beyond both values put together."""
    q = 1 / odds
    inside = [(1 - q) / (1 + q) * q**j for j in range(1, steps)]
    ends = 1 / (1 + q), q**steps / (1 + q)
    law = (ends, *zip(inside, inside[::-1], strict=True), ends[::-1])
    return Release(law, DiscreteLaplaceProfile(log_above(odds), steps))


def bounded_range(odds: Fraction, share: Fraction) -> Release:
    """Two points with losses t and t - E, e^E = ``odds`` and e^t between 1 and that."""
    top = 1 + share * (odds - 1)
    p = (odds / top - 1) / (odds / top - 1 / top)
    law = ((p, p / top), (1 - p, (1 - p) * odds / top))
    return Release(law, BoundedRangeProfile(log_above(odds)))


def sampled(inner: Release, rate: Fraction) -> Release:
    """Of a sample that holds the unit with this probability, against one without it."""
    law = tuple(((1 - rate) * q + rate * p, q) for p, q in inner.law)
    return Release(law, AmplifiedProfile(inner.curve, rate, directed=True))


def random_release(generator: np.random.Generator) -> Release:
    if generator.integers(3) == 0:
        return sampled(random_release(generator), Fraction(int(generator.integers(1, 20)), 20))
    odds = 1 + Fraction(int(generator.integers(1, 40)), int(generator.choice([4, 16, 64])))
    match generator.integers(4):
        case 0:
            return randomised_response(odds)
        case 1:
            return coin(odds, Fraction(1, int(generator.choice([10, 1000, 10**6]))))
        case 2:
            return geometric(odds, int(generator.integers(1, 5)))
        case _:
            return bounded_range(odds, Fraction(int(generator.integers(1, 20)), 20))


def product_law(laws: list[Law]) -> Law:
    """That of all releases, outcomes of one likelihood ratio put together."""
    found: Counter[Fraction | None] = Counter({Fraction(1): Fraction(1)})
    for law in laws:
        further: Counter[Fraction | None] = Counter()
        for ratio, mass in found.items():
            for p, q in law:
                if p:
                    both = None if ratio is None or not q else ratio * p / q
                    further[both] += mass * p
        found = further
    return tuple(
        (mass, Fraction(0) if ratio is None else mass / ratio) for ratio, mass in found.items()
    )


def true_delta(law: Law, odds: Fraction) -> Fraction:
    return sum((max(p - odds * q, Fraction(0)) for p, q in law), Fraction(0))


@attrs.frozen
class Trial:
    """Some releases with the true law of all of them."""

    releases: tuple[Release, ...]
    law: Law

    @property
    def curves(self) -> tuple[Profile, ...]:
        """What is claimed for each."""
        return tuple(each.curve for each in self.releases)


def trials(seed: int, count: int, most: int = 5) -> Iterator[Trial]:
    """Random compositions of a few releases, the first of them up to three times."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        some = [random_release(generator) for _ in range(generator.integers(1, most))]
        some += [some[0]] * int(generator.integers(3))
        yield Trial(tuple(some), product_law([each.law for each in some]))


def least_margin(
    law: Law, claim: Callable[[Fraction], Fraction], generator: np.random.Generator
) -> float:
    """The claimed delta over the true one: the least at 0 and at three random levels.

    The true one is that at a level a little above, so that no rounding favours the claim.
    """
    worst = np.inf
    sides = law, tuple((q, p) for p, q in law)
    top = max((p / q for p, q in law if p and q), default=Fraction(2))
    for share in (0.0, *generator.random(3)):
        level = log_above(1 + Fraction(share) * (top - 1))
        above = 1 / exp_down(-level)
        true = max(true_delta(side, above) for side in sides)
        if true:
            worst = min(worst, float(claim(level) / true))
    return worst


MOST_ROWS = 4
Laws = tuple[tuple[Fraction, ...], ...]


@attrs.frozen
class Counted:
    """The law of a release for each number of rows, and the curve that is claimed for a change."""

    laws: Laws
    claim: Callable[[int], Profile]


def noisy_count(odds: Fraction) -> Counted:
    """With discrete Laplace noise, outcomes beyond both ends put together."""
    q, last = 1 / odds, MOST_ROWS
    ends, inside = 1 / (1 + q), (1 - q) / (1 + q)
    laws = tuple(
        tuple((ends if here in (0, last) else inside) * q ** abs(rows - here) for here in range(5))
        for rows in range(last + 1)
    )
    return Counted(laws, lambda rows: DiscreteLaplaceProfile(log_above(odds), rows))


def choice(odds: Fraction, generator: np.random.Generator) -> Counted:
    """Each row multiplies each weight by 1 to ``odds``; most by one of both."""
    weights = [Fraction(int(each), 8) for each in generator.integers(1, 64, 4)]
    laws = []
    for _ in range(MOST_ROWS + 1):
        laws.append(tuple(each / sum(weights) for each in weights))
        shares = generator.choice([0, 0, 0, 1, 1, 1, 0.25], 4)
        weights = [
            each * (1 + Fraction(share) * (odds - 1))
            for each, share in zip(weights, shares, strict=True)
        ]
    return Counted(tuple(laws), lambda rows: BoundedRangeProfile(log_above(odds) * rows))


def any_laws(generator: np.random.Generator) -> Counted:
    """Whose loss is the true one for each number of rows, in no order but that more lose more."""
    numbers = generator.integers(1, 64, (MOST_ROWS + 1, 3)).tolist()
    laws = tuple(tuple(Fraction(each, sum(row)) for each in row) for row in numbers)

    def claim(rows: int) -> Profile:
        ratios = (
            p / q
            for one, here in enumerate(laws)
            for other, there in enumerate(laws)
            if abs(one - other) <= rows
            for p, q in zip(here, there, strict=True)
        )
        return PureProfile(log_above(max(ratios)))

    return Counted(laws, claim)


def beside(first: Counted, second: Counted) -> Counted:
    """Both releases of the same rows."""
    laws = tuple(
        tuple(p * q for p in one for q in two)
        for one, two in zip(first.laws, second.laws, strict=True)
    )

    def claim(rows: int) -> Profile:
        curves = [first.claim(rows), second.claim(rows)]
        return composed_profile(curves, PureProfile(sum(curve.pure for curve in curves)))

    return Counted(laws, claim)


def random_counted(generator: np.random.Generator) -> Counted:
    odds = 1 + Fraction(int(generator.integers(1, 40)), int(generator.choice([4, 16, 64])))
    kind = int(generator.integers(60))
    if not kind:
        return beside(noisy_count(odds), choice(odds, generator))
    if kind < 20:
        return noisy_count(odds)
    return choice(odds, generator) if kind < 40 else any_laws(generator)


@attrs.frozen
class Parted:
    """Rows that come or go in independent releases of groups, with the true law of all."""

    each: Counted
    rows: int
    groups: int
    law: Law

    def claim(self, measure: AnyMeasure, stated):
        """The loss of all groups, where that of one is stated so."""
        found = LossOfGroups(measure, lambda rows: stated(self.each.claim(int(rows))), self.groups)
        return found.of(self.rows)

    def margin(self, generator: np.random.Generator) -> float:
        """As ``least_margin``, of a measure by chance; 0 where the numbers say too little."""
        match generator.integers(8):
            case 0:
                delta = Fraction(1, int(generator.choice([10, 100, 1000])))
                pair = dp.ApproximateDivergence()
                loss = self.claim(pair, lambda at: curved_pair((at.epsilon(delta), delta), at))
                curve, odds = pair.profile(loss), exp_up(loss[0])
                sides = self.law, tuple((q, p) for p, q in self.law)
                if max(true_delta(side, odds) for side in sides) > loss[1]:
                    return 0.0
            case 1:
                zcdp = dp.ZeroConcentratedDivergence()
                curve = zcdp.profile(self.claim(zcdp, lambda at: curved_number(at.rho, at)))
            case _:
                pure = dp.MaxDivergence()
                loss = self.claim(pure, lambda at: curved_number(at.pure, at))
                curve, odds = pure.profile(loss), exp_up(Fraction(loss))
                if any(p > odds * q or q > odds * p for p, q in self.law):
                    return 0.0
        return least_margin(self.law, curve.delta, generator)


def parted_rows(seed: int, count: int) -> Iterator[Parted]:
    """Some rows in some groups, parted in a random way, in which each group gains or loses."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        each = random_counted(generator)
        rows, groups = (int(generator.integers(1, most)) for most in (MOST_ROWS + 1, 4))
        laws: list[Law] = []
        for moved in np.bincount(generator.integers(0, groups, rows)):
            least = int(generator.integers(0, MOST_ROWS - moved + 1))
            pair = each.laws[least], each.laws[least + int(moved)]
            laws.append(tuple(zip(*pair[:: generator.choice([-1, 1])], strict=True)))
        yield Parted(each, rows, groups, product_law(laws))
