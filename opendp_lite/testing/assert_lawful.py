"""The falsifier of a measure's laws."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

from opendp_lite.measures.measure import Measure
from opendp_lite.testing.require import require

_SHARES = (Fraction(1), Fraction(2), Fraction(1, 3))
_SIZES = (1, 2, 3, 5)


def assert_lawful(measure: Measure[Any], losses: Sequence[object]) -> None:
    """Tries to show that a measure of privacy loss breaks its laws.

    Takes: a measure; some losses as a person types them, small and large.
    Gives: nothing, or ``AssertionError`` that names the law and the losses.
    Because: ``within`` must be an order; ``compose`` commutative and associative up to what
        ``within`` accepts, rising, with ``zero`` as its neutral element; ``split`` must compose
        to at most the whole; ``group`` must be the identity for 1, monotone, and never below
        composing nothing; a profile must fall with epsilon, with ``delta(epsilon(d)) <= d``.

    >>> import opendp_lite as dp
    >>> dp.assert_lawful(dp.MaxDivergence(), [0, 0.1, 1, 7])
    """
    exact = [measure.loss(loss) for loss in losses]
    for a in exact:
        require(measure.within(a, a), f"within is not reflexive at {a}")
        require(measure.within(measure.zero(), a), f"zero is not below {a}")
        require(_same(measure, measure.compose([a]), a), f"composing {a} alone changes it")
        require(_same(measure, measure.compose([a, measure.zero()]), a), f"zero adds to {a}")
        again = measure.within(measure.compose([a, a]), a)
        spent = measure.profile(a).delta(Fraction(0)) in (0, 1)
        require(not again or spent, f"releasing twice costs no more than once at {a}")
        parts = measure.split(a, _SHARES)
        require(len(parts) == len(_SHARES), f"split of {a} gives {len(parts)} parts")
        require(measure.within(measure.compose(parts), a), f"split of {a} composes to more")
        _check_groups(measure, a)
        _check_profile(measure, a)
    for a, b in product(exact, repeat=2):
        together = measure.compose([a, b])
        require(measure.within(a, together), f"composing {a} with {b} lowers it")
        if measure.within(a, b) and measure.within(b, a):
            require(a == b, f"{a} and {b} are each within the other")
        if measure.within(a, b):
            for size in _SIZES:
                below, above = measure.group(a, size), measure.group(b, size)
                require(measure.within(below, above), f"group of {size} reverses {a} and {b}")
    for three in list(product(exact, repeat=3))[:200]:
        totals = [measure.compose(list(order)) for order in permutations(three)]
        require(
            all(_same(measure, total, totals[0]) for total in totals),
            f"composing {three} depends on the order",
        )
        nested = measure.compose([measure.compose(three[:2]), three[2]])
        require(_same(measure, nested, totals[0]), f"composing {three} depends on the grouping")


def _same(measure: Measure[Any], first: Any, second: Any) -> bool:
    return measure.within(first, second) and measure.within(second, first)


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
    profile = measure.profile(loss)
    points = [Fraction(n, 4) for n in range(0, 40, 3)]
    deltas = [profile.delta(epsilon) for epsilon in points]
    require(all(0 <= delta <= 1 for delta in deltas), f"a delta of {loss} is no probability")
    require(
        all(b <= a for a, b in pairwise(deltas)),
        f"delta rises with epsilon at {loss}",
    )
    for delta in (Fraction(1, 10**6), Fraction(1, 100)):
        if profile.delta(Fraction(10**4)) <= delta:
            epsilon = profile.epsilon(delta)
            require(profile.delta(epsilon) <= delta, f"epsilon and delta disagree at {loss}")
