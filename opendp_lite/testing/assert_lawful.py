"""The falsifier of a measure's laws."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch
from itertools import combinations_with_replacement, pairwise, permutations, product
from typing import Any

from opendp_lite.errors import ParameterError
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.profile import Profile
from opendp_lite.testing.pairs import Known, Pair, known, together
from opendp_lite.testing.require import require

_SHARES = (Fraction(1), Fraction(2), Fraction(1, 7))
_A_LITTLE = (Fraction(1), Fraction(300))
_SIZES = (1, 2, 3, 5)
_POINTS = tuple(Fraction(n, 4) for n in range(0, 40, 3))
_MOST = 200


def assert_lawful(measure: Measure[Any], losses: Sequence[object]) -> None:
    """Tries to show that a measure of privacy loss breaks its laws.

    For every measure it checks the laws that need no theory of it:

    - ``within`` is an order, and a loss within another has a curve that is nowhere above its.
    - ``compose`` does not depend on order and grouping, never lowers a loss, and ``zero`` adds
      nothing. ``split`` and ``left`` compose to at most the whole.
    - ``group`` changes nothing for 1, rises with the size, and for two rows loses no less than
      two releases do.
    - A profile's delta is a probability that falls with epsilon, and ``epsilon`` inverts it.
    - ``show`` never shows less than the loss: what it shows, typed again, contains the loss.

    For the measures of this library, and for subclasses of them, it also compares ``loss``,
    ``group``, ``compose`` and ``profile`` with pairs whose loss is known exactly: randomised
    response, the (epsilon, delta) coin and the Gaussian pair. For a measure of your own no such
    pair is known here. A wrong ``group`` or ``profile`` that is consistent in itself then passes,
    so test these two yourself against a mechanism whose loss you know.

    It is a falsifier and never a proof. It sees the losses that you give, some near them and a
    few of its own; a law that breaks elsewhere passes.

    Args:
        measure: The measure to test.
        losses: Some losses as a person types them, small and large.

    Raises:
        AssertionError: Naming the law and the losses, if one is broken.

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
    typed = [*losses, *more_losses(measure)]
    exact = [measure.loss(loss) for loss in typed]
    for a in exact:
        _check_one(measure, a)
    near = [measure.compose([a, measure.split(a, _A_LITTLE)[0]]) for a in exact]
    for a, b in product([*exact, *near], repeat=2):
        _check_two(measure, a, b)
    for three in list(product(exact, repeat=3))[:_MOST]:
        _check_order(measure, three)
    _check_known(measure, typed)


@singledispatch
def more_losses(measure: Measure[Any]) -> list[Any]:
    """Typed losses of this falsifier's own, for a measure that is known here."""
    return [0.5, 2] if known(measure, 1) else []


@more_losses.register
def _pairs(measure: ApproximateDivergence) -> list[Any]:
    return [(0.5, 1e-6), (1, 1e-3)]


def _same(measure: Measure[Any], first: Any, second: Any) -> bool:
    return measure.within(first, second) and measure.within(second, first)


def _curve(measure: Measure[Any], loss: Any) -> Profile:
    return measure.profile(loss)


def _check_one(measure: Measure[Any], a: Any) -> None:
    require(measure.within(a, a), f"within is not reflexive at {a}")
    require(measure.within(measure.zero(), a), f"zero is not below {a}")
    require(_same(measure, measure.compose([a]), a), f"composing {a} alone changes it")
    require(_same(measure, measure.compose([a, measure.zero()]), a), f"zero adds to {a}")
    again = measure.within(measure.compose([a, a]), a)
    spent = _curve(measure, a).delta(Fraction(0)) in (0, 1)
    require(not again or spent, f"releasing twice costs no more than once at {a}")
    parts = measure.split(a, _SHARES)
    require(len(parts) == len(_SHARES), f"split of {a} gives {len(parts)} parts")
    require(measure.within(measure.compose(parts), a), f"split of {a} composes to more")
    require(_same(measure, measure.left(a, measure.zero()), a), f"spending nothing changes {a}")
    for loss in (a, *parts, measure.compose([a, a, a])):
        _check_shown(measure, loss)
    _check_groups(measure, a)
    _check_profile(measure, a)


def _check_shown(measure: Measure[Any], loss: Any) -> None:
    shown = measure.show(loss)
    try:
        again = measure.loss(shown)
    except ParameterError:
        return
    require(
        measure.within(loss, again), f"{loss} is shown as {shown}, which typed again is below it"
    )


def _check_two(measure: Measure[Any], a: Any, b: Any) -> None:
    together = measure.compose([a, b])
    require(measure.within(a, together), f"composing {a} with {b} lowers it")
    if not measure.within(a, b):
        return
    require(not measure.within(b, a) or a == b, f"{a} and {b} are each within the other")
    for size in _SIZES:
        below, above = measure.group(a, size), measure.group(b, size)
        require(measure.within(below, above), f"group of {size} reverses {a} and {b}")
    low, high = _curve(measure, a), _curve(measure, b)
    for epsilon in _POINTS:
        fits = low.delta(epsilon) <= high.delta(epsilon)
        require(fits, f"{a} is within {b} and has a larger delta at epsilon = {epsilon}")
    rest = measure.left(b, a)
    whole = measure.compose([a, rest])
    require(measure.within(whole, b), f"left of {b} after {a} is {rest}: together above the budget")


def _check_order(measure: Measure[Any], three: Sequence[Any]) -> None:
    totals = [measure.compose(list(order)) for order in permutations(three)]
    alike = all(_same(measure, total, totals[0]) for total in totals)
    require(alike, f"composing {three} depends on the order")
    nested = measure.compose([measure.compose(three[:2]), three[2]])
    require(_same(measure, nested, totals[0]), f"composing {three} depends on the grouping")


def _check_groups(measure: Measure[Any], loss: Any) -> None:
    require(_same(measure, measure.group(loss, 1), loss), f"a group of 1 changes {loss}")
    for small, large in pairwise(_SIZES):
        rising = measure.within(measure.group(loss, small), measure.group(loss, large))
        require(rising, f"a larger group loses less at {loss}")
    composed = measure.compose([loss, loss])
    require(
        measure.within(composed, measure.group(loss, 2)),
        f"a group of two loses less at {loss} than two releases",
    )


def _check_profile(measure: Measure[Any], loss: Any) -> None:
    profile = _curve(measure, loss)
    deltas = [profile.delta(epsilon) for epsilon in _POINTS]
    require(all(0 <= delta <= 1 for delta in deltas), f"a delta of {loss} is no probability")
    require(
        all(b <= a for a, b in pairwise(deltas)),
        f"delta rises with epsilon at {loss}",
    )
    for delta in (Fraction(1, 10**6), Fraction(1, 100)):
        if profile.delta(Fraction(10**4)) <= delta:
            epsilon = profile.epsilon(delta)
            require(profile.delta(epsilon) <= delta, f"epsilon and delta disagree at {loss}")


def _check_known(measure: Measure[Any], losses: Sequence[Any]) -> None:
    """The laws against pairs of known loss."""
    found = [(typed, facts) for typed in losses if (facts := known(measure, typed)) is not None]
    for typed, facts in found:
        _check_distances(measure, typed, facts)
    for (one, first), (two, second) in combinations_with_replacement(found, 2):
        composed = measure.compose([measure.loss(one), measure.loss(two)])
        for pair in (together([a, b]) for a, b in product(first.alone, second.alone)):
            _check_pair(measure, composed, pair, f"compose of {one} and {two}")


def _check_distances(measure: Measure[Any], typed: Any, facts: Known) -> None:
    loss = measure.loss(typed)
    for size, pairs in facts.pairs:
        claimed = measure.group(loss, size)
        words = f"{typed} for a group of {size}" if size > 1 else f"the profile of {typed}"
        for pair in pairs:
            _check_pair(measure, claimed, pair, words)
    for size, least in facts.typed:
        claimed = measure.group(loss, size)
        below = measure.within(measure.loss(least), claimed)
        require(below, f"a group of {size} at {typed} is said to lose {claimed}, and can {least}")


def _check_pair(measure: Measure[Any], loss: Any, pair: Pair, words: str) -> None:
    curve = _curve(measure, loss)
    for epsilon in pair.levels():
        true = pair.delta(epsilon)
        if true > 0:
            claimed = curve.delta(epsilon)
            require(
                true <= claimed,
                f"{words}: at epsilon = {float(epsilon):.6g} the delta is said to be "
                f"{float(claimed):.6g}, and {pair.words} has {float(true):.6g}",
            )
