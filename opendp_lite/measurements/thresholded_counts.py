"""Counts of keys that nobody declared: those that pass a threshold."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from math import ceil
from typing import Any, Final, cast

import attrs

from opendp_lite.core import Facts, Measurement
from opendp_lite.engines.deferred import Released
from opendp_lite.engines.distinct import CountKeys, KeyCounts
from opendp_lite.errors import ParameterError
from opendp_lite.exact import (
    Number,
    digits_up,
    exp_down,
    exp_up,
    open_probability,
    positive,
)
from opendp_lite.examples import example
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.curve import Pair
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import mechanism
from opendp_lite.samplers.discrete_laplace import DiscreteLaplace
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.law import SCALE_SLACK
from opendp_lite.spaces import Space, records, row_metric
from opendp_lite.tables import TablesOrRows

_WIDEST: Final = 2**20
_FINEST: Final = 2**2048
_LEAST_DELTA: Final = Fraction(1, 10**300)


@attrs.frozen
class Threshold:
    """Discrete Laplace noise on counts, and the least noisy count that is released.

    Attributes:
        scale: The b of the noise, of which P(k) is in proportion to exp(-|k| / b).
        least: The threshold.
    """

    scale: Fraction
    least: int

    @classmethod
    def met(cls, scale: Fraction, rows: int, delta: Fraction) -> Threshold:
        """The least threshold, of 1 or more, at which so many rows make new keys with delta."""
        below, enough = 0, 1
        while cls(scale, enough).newcomers(rows) > delta:
            below, enough = enough, 2 * enough
        while enough - below > 1:
            middle = (below + enough) // 2
            if cls(scale, middle).newcomers(rows) > delta:
                below = middle
            else:
                enough = middle
        return cls(scale, enough)

    @property
    def law(self) -> DiscreteLaplace:
        """The noise, on whole numbers."""
        return DiscreteLaplace(self.scale * SCALE_SLACK, 0)

    def chance(self, count: int) -> Fraction:
        """The probability that a key of so many rows is released, rounded up by 1e-40 of it."""
        rate, beyond = 1 / self.law.scale, self.least - count
        if beyond > 0:
            return min(Fraction(1), exp_up(-beyond * rate) / (1 + exp_down(-rate)))
        return 1 - exp_down((beyond - 1) * rate) / (1 + exp_up(-rate))

    def newcomers(self, rows: int) -> Fraction:
        """The largest probability that any key is released of which these rows are all there are.

        Over all ways to part the rows among keys: one key for all, or one for each is the worst.
        """
        if rows <= 1:
            return rows * self.chance(1)
        return max(self.chance(rows), 1 - _power_down(1 - self.chance(1), rows))

    def passed(self, found: KeyCounts, entropy: Entropy) -> dict[Hashable, int]:
        """The keys whose noisy count reaches the threshold, with this count."""
        noisy = self.law.release(found.counts, 0, entropy).tolist()
        pairs = zip(found.keys, noisy, strict=True)
        return {key: count for key, count in pairs if count >= self.least}


def _power_down(base: Fraction, exponent: int) -> Fraction:
    """A rational at most base^exponent, for a base from 0 to 1."""
    found, square = Fraction(1), _shorter(base)
    while exponent:
        if exponent & 1:
            found = _shorter(found * square)
        exponent >>= 1
        square = _shorter(square * square)
    return found


def _shorter(value: Fraction) -> Fraction:
    """The value, rounded down to a multiple of 2^-2048."""
    return Fraction(value.numerator * _FINEST // value.denominator, _FINEST)


def threshold_of(
    space: Space[TablesOrRows], step: str, epsilon: Number | None, delta: Number | None
) -> Threshold:
    """The noise and the threshold that cost epsilon and at most delta for one unit of a space."""
    if epsilon is None or delta is None:
        raise ParameterError(
            f"{step}: keys that are not declared need epsilon= and delta=, such as epsilon=1, "
            "delta=1e-6; or declare them"
        )
    level, spill = positive(epsilon, "epsilon"), open_probability(delta, "delta")
    if spill < _LEAST_DELTA:
        raise ParameterError(f"{step}: delta must be at least 1e-300")
    rows = ceil(cast(Fraction, space.unit))
    scale = _sides(space) * rows / level
    if scale > _WIDEST:
        raise ParameterError(f"{step}: epsilon = {float(level):g} needs noise of more than 2^20")
    return Threshold.met(scale, rows, spill)


def _sides(space: Space[Any]) -> int:
    """How many counts one row of distance moves by 1, at most."""
    return 2 if row_metric(space).fixed_size else 1


@example(records(columns=["city"]), epsilon=1, delta=1e-6)
@example(
    records(columns=["city", "sex"], size=20, metric=ChangeOneDistance()), epsilon=0.1, delta=1e-9
)
@example(records(), epsilon=2.5, delta=1e-3)
@mechanism
def thresholded_counts(
    space: Space[TablesOrRows], *, epsilon: Number, delta: Number
) -> Measurement[Space[TablesOrRows], ApproximateDivergence, dict[Hashable, int]]:
    """Counts the rows of each key, and releases the keys whose noisy count passes a threshold.

    You need not know the keys. Put ``select("city")`` before it. ``dp.histogram("city", ...)``
    does, and adds intervals.

    Args:
        epsilon: The loss from the counts of keys that both datasets hold.
        delta: At most this is the probability that a key shows which one of two neighbouring
            datasets holds alone.

    Returns:
        A dictionary from keys to noisy counts, whole numbers. Numbers come first in rising order,
        then text. A key is text or a number, or a tuple of them for several columns. 1 and 1.0 are
        one key, and "1" is another. A date becomes text. A row that lacks a value is left out, and
        so is one that holds anything else.

    Raises:
        ParameterError: If epsilon or delta is missing or impossible.

    Privacy:
        The pair (epsilon, delta') under ``ApproximateDivergence``, where delta' is at most
        ``delta``: the exact probability at the threshold, which is a whole number. For k rows added
        or removed epsilon is k / b, and for k rows replaced 2 k / b, with b the scale of the noise.
        Delta' is then the probability that k rows show a key of which they are all.

    Proof:
        Each key has its own noise, so its release depends on its own count alone. Write p(c) for
        the probability that a key with c rows is released: the discrete Laplace mass from T - c on.
        Let two datasets differ by k rows. Keys in both have counts that differ by k in sum, or by 2
        k if rows are replaced. Thresholding is post-processing of the discrete Laplace mechanism
        (Ghosh, Roughgarden, Sundararajan 2009), which gives epsilon.

        A key in the first dataset only is never released from the second. Let A be the probability
        that the first releases none of its own keys, and B the same for the second. Outcomes that
        show such keys are disjoint, so the total variation distance is 1 - min(A, B). It adds to
        delta (basic composition, Dwork and Roth 2014, theorem 3.16). A replaced row may remove a
        key and create another. That is one on either side, so it counts once.

        A is the product of 1 - p(c) over keys whose c sum up to at most k. The logarithm of 1 -
        p(c) is concave in c, since the law is log-concave. With j keys the product is therefore
        least for j - 1 keys of one row and one of the rest. This is concave in j again, so j is 1
        or k. Delta' = max(p(k), 1 - (1 - p(1))^k). Thresholds of this kind are due to Korolova,
        Kenthapadi, Mishra, Ntoulas 2009, and Wilson et al. 2020 released keys of several rows so.

    Example:
        >>> import opendp_lite as dp
        >>> cities = ["Rome"] * 300 + ["Oslo"] * 200 + ["Bern"]
        >>> count = dp.select("city") >> dp.measurements.thresholded_counts(epsilon=1, delta=1e-6)
        >>> list(count({"city": cities}))
        ['Oslo', 'Rome']
        >>> epsilon, delta = count.map(1)
        >>> epsilon, delta < 1e-6
        (1.0, True)
    """
    domain = space.domain
    threshold = threshold_of(space, "thresholded_counts", epsilon, delta)
    sides = _sides(space)

    def privacy_map(distance: Fraction) -> Pair:
        rows = ceil(distance)
        return sides * rows / threshold.scale, threshold.newcomers(rows)

    return Measurement(
        space,
        ApproximateDivergence(),
        Released(CountKeys(domain.columns, domain.names), threshold.passed),
        privacy_map,
        Facts(
            explanation=f"epsilon = l1 / b, b = {float(threshold.scale):.6g}; a key of one row is "
            f"released with probability {digits_up(threshold.chance(1))}, noisy counts from "
            f"{threshold.least} on are shown"
        ),
    )
