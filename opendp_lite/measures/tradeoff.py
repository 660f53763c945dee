"""How well anybody can tell two neighbours apart: errors of a test, and odds."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from opendp_lite.errors import ParameterError
from opendp_lite.exact import exp_down, exp_up, nearest
from opendp_lite.measures.profile import Profile

_TURNS: Final = 60
_SHRINK: Final = (math.sqrt(5) - 1) / 2
_FARTHEST: Final = 700.0
"""e^700 is about the largest float."""


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
        levels += [(bound, pure) for bound in (few_found, many_found)]
    return max(Fraction(0), *(bound(level) for bound, level in levels))


def odds_factor(profile: Profile, delta: Fraction) -> Fraction:
    """A factor by which odds about one unit change at most, except with probability ``delta``.

    Proof:
        Odds change by e^loss or e^-loss (Kasiviswanathan and Smith 2014, section 2). Let t be
        above epsilon, P the law of the release and Q that of a neighbour. By the definition of
        delta(epsilon), P(loss > t) (1 - e^(epsilon - t)) is at most delta(epsilon). A loss below -t
        has a probability under P of e^-t times that under Q, at most, which the same holds of. So
        both together have at most (1 + e^-epsilon) delta(epsilon) / (1 - e^(epsilon - t)), which is
        ``delta`` for the t with e^t = e^epsilon / (1 - (1 + e^-epsilon) delta(epsilon) / delta).
    """
    pure = profile.pure
    known = [] if pure is None else [_grown(pure)]
    if delta and profile.least_delta < delta:
        known.append(_likely_factor(profile, delta))
    if not known:
        raise ParameterError(
            "odds: no factor bounds the odds for certain; give a delta above "
            f"{nearest(profile.least_delta):g}, such as delta=1e-6"
        )
    return min(known)


def _likely_factor(profile: Profile, delta: Fraction) -> Fraction:
    enough = max(profile.least_delta, delta / 4)
    first, last = (profile.epsilon(each) for each in (delta, enough))

    def factor(level: Fraction) -> Fraction | None:
        share = profile.delta(level) * (1 + exp_up(-level)) / delta
        return _grown(level) / (1 - share) if share < 1 else None

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


def _grown(level: Fraction) -> Fraction:
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
