"""Pairs of laws whose privacy loss is known, to hold a measure's laws against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache, reduce, singledispatch
from itertools import combinations_with_replacement, pairwise, permutations, product
from math import comb
from typing import Any, ClassVar, Final, TypeAlias

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.measures import divergences
from opendp_lite.measures.divergences import AnyMeasure, Loss, Measure
from opendp_lite.measures.profile import ConcentratedProfile, GaussianProfile, PointProfile, Profile
from opendp_lite.numbers.exact import exact, exp_down, exp_up, normal_tail, quote, sqrt_up

# A larger epsilon is tested by a pair of this one, which loses less.
_LARGEST_TESTED: Final = 300
_PARTS = tuple(Fraction(n, 1000) for n in (0, 250, 500, 750, 900, 990, 999, 1000))
_DEVIATIONS = (-1, 0, 1, 2, 4, 8, 16, 30)
_ONE = Fraction(1)


@attrs.frozen
class Coins:
    """A finite pair: the probabilities of each outcome, exactly, and the reach of its losses."""

    words: ClassVar = "a known pair of coins"

    masses: tuple[tuple[Fraction, Fraction], ...]
    reach: Fraction

    def delta(self, epsilon: Fraction) -> Fraction:
        """A certified lower bound on the delta of the pair at this epsilon."""
        most = exp_up(epsilon)
        return sum((max(p - most * q, Fraction(0)) for p, q in self.masses), Fraction(0))

    def levels(self) -> Sequence[Fraction]:
        """The epsilons at which a curve that is too low would show."""
        return [part * self.reach for part in _PARTS]

    def __mul__(self, other: Any) -> Coins:
        """Both releases, independently."""
        both = tuple((p * r, q * s) for p, q in self.masses for r, s in other.masses)
        return Coins(both, self.reach + other.reach)


@attrs.frozen
class Gaussians:
    """Two Gaussians of one variance, whose zCDP loss is rho. All else is as for ``Coins``."""

    words: ClassVar = "the Gaussian pair"

    rho: Fraction

    def delta(self, epsilon: Fraction) -> Fraction:
        apart = 2 * self.rho / sqrt_up(2 * self.rho)
        near, _ = normal_tail(epsilon / apart - apart / 2)
        _, far = normal_tail(epsilon / apart + apart / 2)
        return max(near - exp_up(epsilon) * far, Fraction(0))

    def levels(self) -> Sequence[Fraction]:
        return [max(self.rho + t * sqrt_up(2 * self.rho), Fraction(0)) for t in _DEVIATIONS]

    def __mul__(self, other: Any) -> Gaussians:
        return Gaussians(self.rho + other.rho)


KnownPair: TypeAlias = Coins | Gaussians
"""The laws of a release of two datasets; ``words`` says of which kind."""


def randomised_response(epsilon: Fraction, spill: Fraction = Fraction(0)) -> Coins:
    """Tells the truth with probability ``spill``, else flips a coin of this epsilon."""
    reach = min(epsilon, Fraction(_LARGEST_TESTED))
    ratio = max(exp_down(reach), _ONE)
    heads, tails = (1 - spill) * ratio / (1 + ratio), (1 - spill) / (1 + ratio)
    told = ((spill, Fraction(0)), (Fraction(0), spill)) if spill else ()
    return Coins((*told, (heads, tails), (tails, heads)), reach)


@attrs.frozen
class Known:
    """What is known of one typed loss.

    Args:
        pairs: For distances k, pairs k apart that are made of neighbours of the typed loss.
        typed: For distances k, the loss at it as a person types it, where the measure is one
            number and the pairs attain it.
    """

    pairs: tuple[tuple[int, tuple[KnownPair, ...]], ...]
    typed: tuple[tuple[int, Fraction], ...] = ()

    @property
    def alone(self) -> tuple[KnownPair, ...]:
        """The pairs of neighbours."""
        return self.pairs[0][1]


GROUPS: Final = (1, 2, 3, 5)


@singledispatch
def find_known(measure: AnyMeasure, typed: object) -> Known | None:
    """Pairs of a typed loss: None for a measure that nothing is known of here."""
    return None


@find_known.register
def _pure(measure: divergences.MaxDivergence, typed: object) -> Known:
    epsilon = exact(typed, "epsilon")
    pairs = tuple((k, (_flip(epsilon, k),)) for k in GROUPS)
    return Known(pairs, tuple((k, k * epsilon) for k in GROUPS))


@find_known.register
def _concentrate(measure: divergences.ZeroConcentratedDivergence, typed: object) -> Known:
    rho = exact(typed, "rho")
    return Known(_normal_pairs(rho), tuple((k, k * k * rho) for k in GROUPS))


@find_known.register
def _gaussian(measure: divergences.GaussianDivergence, typed: object) -> Known:
    mu = exact(typed, "mu")
    return Known(_normal_pairs(mu * mu / 2), tuple((k, k * mu) for k in GROUPS))


def _normal_pairs(rho: Fraction) -> tuple[tuple[int, tuple[Gaussians, ...]], ...]:
    return tuple((k, (Gaussians(k * k * rho),) if rho else ()) for k in GROUPS)


@find_known.register
def _approximate(measure: divergences.ApproximateDivergence, typed: Sequence[object]) -> Known:
    epsilon, spill = exact(typed[0], "epsilon"), exact(typed[1], "delta")
    alone = (randomised_response(epsilon, spill),)
    others = tuple((k, (_flip(epsilon, k), *_spill(epsilon, spill, k))) for k in GROUPS if k > 1)
    return Known(((1, alone), *others))


def _flip(epsilon: Fraction, size: int) -> Coins:
    """So many rows that each answer by randomised response, all of them changed."""
    one = randomised_response(epsilon)
    (heads, tails), _ = one.masses
    masses = tuple(
        (
            comb(size, j) * heads**j * tails ** (size - j),
            comb(size, j) * tails**j * heads ** (size - j),
        )
        for j in range(size + 1)
    )
    return Coins(masses, size * one.reach)


def _spill(epsilon: Fraction, spill: Fraction, size: int) -> tuple[Coins, ...]:
    """An event that a first dataset never has, and each next one as often as it may."""
    ratio = max(exp_down(min(epsilon, Fraction(_LARGEST_TESTED))), _ONE)
    chance = Fraction(0)
    for _ in range(size):
        more = ratio * chance + spill
        if more > 1 or 1 - chance > ratio * (1 - more) + spill:
            return ()
        chance = more
    masses = ((chance, Fraction(0)), (1 - chance, _ONE))
    return (Coins(masses, size * epsilon),)


def require(condition: object, message: str) -> None:
    """Raises ``AssertionError`` with the message unless the condition holds."""
    if not condition:
        raise AssertionError(message)


_SHARES = (Fraction(1), Fraction(2), Fraction(1, 7))
_A_LITTLE = (Fraction(1), Fraction(10**9))
_HARDLY = (Fraction(1), Fraction(10**20))
_HALVES = (Fraction(1), Fraction(1))
# So many times 2 a loss is multiplied and divided by: 0.1 reaches from 1e-4 to 100.
_DOUBLINGS = 10
_MANY = 20
_SIZES = (2, 3, 4, 200)
_A_THIRD = (Fraction(1), Fraction(2))
_POINTS = tuple(Fraction(n, 4) for n in range(0, 40, 3))
_MOST = 200
_ADMITTED = Fraction(1, 10), Fraction(2)


def assert_lawful(measure: AnyMeasure, losses: Sequence[object]) -> None:
    """Tries to show that a measure of privacy loss breaks its laws.

    For every measure it checks the laws that need no theory of it:

    - ``within`` is an order, and a loss within another has a curve that is nowhere above its.
    - ``compose`` does not depend on order and grouping, never lowers a loss, and ``zero`` adds
      nothing. ``split`` and ``left`` compose to at most the whole.
    - ``worst`` of several losses is at least each of them, and so is its curve.
    - ``admit`` gives a loss whose curve is not below that of known pairs. ``together`` lowers none.
    - ``cover`` lowers no loss, and its share has a curve that is nowhere below what it pays for.
    - ``group`` changes nothing for 1, rises with the size, and loses no less than as many
      releases as it has rows.
    - A profile's delta is a probability that falls with epsilon, and ``epsilon`` inverts it.
    - ``show`` never shows less than the loss: what it shows, typed again, contains the loss.

    For the measures of this library, and for subclasses of them, it also compares ``loss``,
    ``group``, ``spread``, ``compose``, ``together``, ``profile`` and what is said of a budget with
    pairs whose loss is known exactly: randomised response, the (epsilon, delta) coin and the
    Gaussian pair. For a measure of your own no such pair is known here. A wrong ``group`` or
    ``profile`` that is consistent in itself then passes, so test these two yourself against a
    mechanism whose loss you know.

    It is a falsifier and never a proof. It sees the losses that you give, some near them and a
    few of its own; a law that breaks elsewhere passes.

    Args:
        measure: The measure to test.
        losses: Some losses as a person types them, small and large.

    Raises:
        AssertionError: Naming the law and the losses, if one is broken.
        ParameterError: For something else than a measure.

    Proof:
        A loss is a promise about every pair of laws, so one pair that is further apart than its
        promise refutes it. The deltas of the pairs are rational lower bounds. Group privacy is
        attained: by rows that each answer at random under pure privacy, by Gaussians under zCDP,
        and by an event whose chance grows from p to e^epsilon p + delta at each row under
        approximate privacy.

    Example:
        >>> import opendp_lite as dp
        >>> dp.assert_lawful(dp.MaxDivergence(), [0, 0.1, 1, 7])
    """
    if not isinstance(measure, Measure):
        got = quote(measure)
        raise ParameterError(f"assert_lawful takes a measure: dp.MaxDivergence(), not {got}")
    if not isinstance(losses, Iterable):
        raise ParameterError(
            f"assert_lawful takes a list of losses, such as [0.1, 1]; got {quote(losses)}"
        )
    _deltas.cache_clear()
    typed = [*losses, *more_losses(measure)]
    exact = [measure.loss(loss) for loss in typed]
    for a in exact:
        _check_one(measure, a)
    near = [measure.compose([a, measure.split(a, _A_LITTLE)[0]]) for a in exact]
    for a, b in product([*exact, *near], repeat=2):
        _check_two(measure, a, b)
    for three in list(product(exact, repeat=3))[:_MOST]:
        _check_order(measure, three)
    _check_admitted(measure)
    _check_known(measure, typed)


@singledispatch
def more_losses(measure: AnyMeasure) -> list[object]:
    """Typed losses of this falsifier's own, for a measure that is known here."""
    return [0.5, 2] if find_known(measure, 1) else []


@more_losses.register
def _pairs(measure: divergences.ApproximateDivergence) -> list[object]:
    # Neither is within the other: the worst of them is a third pair.
    return [(0.5, 1e-3), (1, 1e-6)]


def _same(measure: Measure[Loss], first: Loss, second: Loss) -> bool:
    return measure.within(first, second) and measure.within(second, first)


def _is_end(measure: Measure[Loss], a: Loss) -> bool:
    """Whether a loss hides everything or nothing: it adds nothing to itself."""
    return measure.profile(a).delta(Fraction(0)) in (0, 1)


def _check_sum(measure: Measure[Loss], a: Loss) -> None:
    require(measure.within(a, a), f"within is not reflexive at {a}")
    require(measure.within(measure.zero(), a), f"zero is not below {a}")
    alone = measure.compose([a])
    require(_same(measure, alone, a), f"composing {a} alone changes it to {alone}")
    require(_same(measure, measure.compose([a, measure.zero()]), a), f"zero adds to {a}")
    again = measure.within(measure.compose([a, a]), a)
    require(not again or _is_end(measure, a), f"releasing twice costs no more than once at {a}")


def _check_one(measure: Measure[Loss], a: Loss) -> None:
    large = small = a
    for _ in range(_DOUBLINGS):
        _check_sum(measure, large)
        _check_sum(measure, small)
        large, small = measure.compose([large, large]), measure.split(small, _HALVES)[0]
    one_by_one = reduce(lambda total, each: measure.compose([total, each]), [a] * _MANY)
    at_once = measure.compose([a] * _MANY)
    require(
        _same(measure, at_once, one_by_one),
        f"composing {a} {_MANY} times depends on the grouping: {at_once} at once, and {one_by_one} "
        "one by one",
    )
    parts = measure.split(a, _SHARES)
    require(len(parts) == len(_SHARES), f"split of {a} gives {len(parts)} parts")
    require(measure.within(measure.compose(parts), a), f"split of {a} composes to more")
    require(_same(measure, measure.left(a, measure.zero()), a), f"spending nothing changes {a}")
    # The nearest float of a little more is that of the loss itself: shown so, it is rounded down.
    hardly_more = measure.compose([a, measure.split(a, _HARDLY)[0]])
    above = hardly_more == a or _is_end(measure, a) or not measure.within(hardly_more, a)
    require(above, f"a loss a little above {a} is within it: compare them exactly, not as floats")
    for loss in (a, *parts, measure.compose([a, a, a]), hardly_more):
        _check_shown(measure, loss)
    _check_groups(measure, a)
    _check_profile(measure, a)


def _check_shown(measure: Measure[Loss], loss: Loss) -> None:
    typed = measure.loss(measure.typed(loss))
    require(measure.within(typed, loss), f"{loss} is typed again as {typed}, which is above it")
    shown: Any = measure.show(loss)
    try:
        again = measure.loss(float(shown) if isinstance(shown, str) else shown)
    except (ParameterError, ValueError):
        return
    require(
        measure.within(loss, again), f"{loss} is shown as {shown}, which typed again is below it"
    )


def _check_two(measure: Measure[Loss], a: Loss, b: Loss) -> None:
    for total in (measure.compose([a, b]), measure.together([a, b])):
        require(measure.within(a, total), f"composing {a} with {b} lowers it")
    worst = measure.worst([a, measure.zero(), b])
    for each in (a, b):
        require(measure.within(each, worst), f"the worst of {a} and {b} is {worst}: below one")
    _check_curves(measure, a, worst)
    covered = measure.cover(a, b, _A_THIRD[0] / sum(_A_THIRD))
    if covered is not None:
        require(measure.within(a, covered), f"{covered} covers a share of {b}, and is below {a}")
        _check_curves(measure, b, measure.split(covered, _A_THIRD)[0])
    if not measure.within(a, b):
        return
    require(not measure.within(b, a) or a == b, f"{a} and {b} are each within the other")
    for size in GROUPS:
        below, above = measure.group(a, size), measure.group(b, size)
        require(measure.within(below, above), f"group of {size} reverses {a} and {b}")
    _check_curves(measure, a, b)
    rest = measure.left(b, a)
    whole = measure.compose([a, rest])
    require(measure.within(whole, b), f"left of {b} after {a} is {rest}: together above the budget")


def _check_curves(measure: Measure[Loss], a: Loss, b: Loss) -> None:
    low, high = (_deltas(measure.profile(loss)) for loss in (a, b))
    for epsilon, below, above in zip(_POINTS, low, high, strict=True):
        fits = below <= above
        require(fits, f"{a} is within {b} and has a larger delta at epsilon = {epsilon}")


# Each loss is compared with many others.
@lru_cache(maxsize=256)
def _deltas(profile: Profile) -> tuple[Fraction, ...]:
    return tuple(map(profile.delta, _POINTS))


def _check_order(measure: Measure[Loss], three: Sequence[Loss]) -> None:
    totals = [measure.compose(list(order)) for order in permutations(three)]
    alike = all(_same(measure, total, totals[0]) for total in totals)
    require(alike, f"composing {three} depends on the order")
    nested = measure.compose([measure.compose(three[:2]), three[2]])
    require(_same(measure, nested, totals[0]), f"composing {three} depends on the grouping")


def _check_groups(measure: Measure[Loss], loss: Loss) -> None:
    require(_same(measure, measure.group(loss, 1), loss), f"a group of 1 changes {loss}")
    for small, large in pairwise(GROUPS):
        rising = measure.within(measure.group(loss, small), measure.group(loss, large))
        require(rising, f"a larger group loses less at {loss}")
    for size in _SIZES:
        require(
            measure.within(measure.compose([loss] * size), measure.group(loss, size)),
            f"a group of {size} loses less at {loss} than {size} releases",
        )


def _check_profile(measure: Measure[Loss], loss: Loss) -> None:
    profile = measure.profile(loss)
    deltas = _deltas(profile)
    require(all(0 <= delta <= 1 for delta in deltas), f"a delta of {loss} is no probability")
    require(all(b <= a for a, b in pairwise(deltas)), f"delta rises with epsilon at {loss}")
    for delta in (Fraction(1, 10**6), Fraction(1, 100)):
        if profile.delta(Fraction(10**4)) <= delta:
            epsilon = profile.epsilon(delta)
            require(profile.delta(epsilon) <= delta, f"epsilon and delta disagree at {loss}")


def _check_admitted(measure: AnyMeasure) -> None:
    """What other measures' losses come to here."""
    for number, spill in product(_ADMITTED, (Fraction(0), Fraction(1, 1000))):
        coins, normal = randomised_response(number, spill), Gaussians(number)
        for profile, pair in (
            (PointProfile(number, spill), coins),
            (ConcentratedProfile(number), normal),
            (GaussianProfile(2 * number), normal),
        ):
            loss = measure.admit(profile)
            if loss is not None:
                _check_pair(measure, loss, pair, f"the loss of {pair.words}")


def _check_known(measure: AnyMeasure, losses: Sequence[object]) -> None:
    """The laws against pairs of known loss."""
    found = [(typed, told) for typed in losses if (told := find_known(measure, typed)) is not None]
    for typed, facts in found:
        _check_distances(measure, typed, facts)
    for (one, first), (two, second) in combinations_with_replacement(found, 2):
        losses = [measure.loss(one), measure.loss(two)]
        for (a, b), how in product(
            product(first.alone, second.alone), (measure.compose, measure.together)
        ):
            _check_pair(measure, how(losses), a * b, f"{how.__name__} of {one} and {two}")


def _check_distances(measure: AnyMeasure, typed: object, facts: Known) -> None:
    loss = measure.loss(typed)
    _check_budget(measure, loss, facts.alone)
    for size, pairs in facts.pairs:
        claimed = measure.group(loss, size)
        words = f"{typed} for a group of {size}" if size > 1 else f"the profile of {typed}"
        for pair, group in product(pairs, (claimed, measure.spread(loss, claimed, size))):
            _check_pair(measure, group, pair, words)
    for size, least in facts.typed:
        claimed = measure.group(loss, size)
        below = measure.within(measure.loss(least), claimed)
        require(below, f"a group of {size} at {typed} is said to lose {claimed}, and can {least}")


def _check_budget(measure: Measure[Loss], loss: Loss, pairs: Sequence[KnownPair]) -> None:
    """A budget that is spent at once: what is said of it, and by what it may be enlarged."""
    stated_as, stated = measure.stated(loss)
    for pair in pairs:
        for words, said in (
            ("a budget", stated),
            ("what was lost", measure.reach(loss, loss)),
            ("what a release adds", measure.cost(loss, measure.zero(), loss)),
        ):
            _check_pair(stated_as, said, pair, f"{words}, of {loss}")
    _, enlarged = measure.stated(measure.enlarge(loss, stated))
    require(stated_as.within(enlarged, stated), f"a budget of {stated} is enlarged to {enlarged}")


def _check_pair(measure: Measure[Loss], loss: Loss, pair: KnownPair, words: str) -> None:
    curve = measure.profile(loss)
    for epsilon in pair.levels():
        true = pair.delta(epsilon)
        if true > 0:
            claimed = curve.delta(epsilon)
            require(
                true <= claimed,
                f"{words}: at epsilon = {float(epsilon):.6g} the delta is said to be "
                f"{float(claimed):.6g}, and {pair.words} has {float(true):.6g}",
            )
