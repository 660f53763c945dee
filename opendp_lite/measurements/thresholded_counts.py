"""Counts of keys that nobody declared: those that pass a threshold."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from math import ceil
from typing import Any, Final, cast

from opendp_lite.core import Facts, Measurement
from opendp_lite.engines.deferred import Released
from opendp_lite.engines.distinct import CountKeys
from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, digits_up, open_probability, positive
from opendp_lite.examples import example
from opendp_lite.measurements._thresholds import (
    Change,
    GaussianThreshold,
    LaplaceThreshold,
    Threshold,
)
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.curve import Pair
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import mechanism
from opendp_lite.spaces import Space, records, row_metric
from opendp_lite.tables import Tables, TablesOrRows

_WIDEST: Final = 2**20
_LEAST_DELTA: Final = Fraction(1, 10**300)


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
    change = change_in(space, cast(Fraction, space.unit))
    noises: list[LaplaceThreshold | GaussianThreshold] = [
        LaplaceThreshold.costing(change, level),
        GaussianThreshold.costing(change, level, spill),
    ]
    ways = [noise.met(change, spill) for noise in noises if noise.scale <= _WIDEST]
    if not ways:
        raise ParameterError(f"{step}: epsilon = {float(level):g} needs noise of more than 2^20")
    return min(ways, key=lambda way: (way.least, way.law.standard_deviation))


def change_in(space: Space[Any], distance: Fraction) -> Change:
    """How datasets of a space differ that are so far apart."""
    metric, domain = row_metric(space), space.domain
    names = domain.names or () if isinstance(domain, Tables) else ()
    alike = metric.most_alike(distance, names)
    return Change(ceil(distance), ceil(alike), 2 if metric.fixed_size else 1)


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
        ``delta``. The noise is Laplace or Gaussian, whichever has the smaller threshold, and
        ``explain()`` says which. Gaussian noise wins where a person has rows under several keys,
        at most so many under each: ``dp.bound_contributions(1, groups=("city", 5))``.

        With Laplace noise and k rows added or removed epsilon is k / b, and for k rows replaced 2 k
        / b, with b the scale of the noise. Delta' is the exact probability that k rows show a key
        of which they are all. With Gaussian noise epsilon is that of its exact curve at 9/10 of
        ``delta``. Delta' is the largest over all ways to part the rows between such keys and
        others. Probabilities are exact at the threshold, which is a whole number.

    Proof:
        Each key has its own noise, so its release depends on its own count alone. Write p(c) for
        the probability that a key with c rows is released: the mass of the noise from T - c on. Let
        two datasets differ by k rows, at most c of which share a key. Keys in both have counts that
        differ by k in sum, or by 2 k if rows are replaced. For noise on them alone let the loss be
        (epsilon, d). It is (k / b, 0) for the discrete Laplace mechanism (Ghosh, Roughgarden,
        Sundararajan 2009). Gaussian noise has its exact curve (Balle and Wang 2018, theorem 8), at
        an l2 distance of at most sqrt(c k). Thresholding and rounding are post-processing.

        A key in the first dataset only is never released from the second. Let A be the probability
        that the first releases none of its own keys, and B the same for the second. Let S be any
        set of outcomes, and S' those in S that show no such key. The releases of keys in both are
        independent of the others: let P and Q be the probabilities that they alone give S'. Then
        the first dataset gives S with at most 1 - A + A P, the second with at least B Q. Let m be
        the smaller of A and B. Since P - e^epsilon Q <= d, the first minus e^epsilon times the
        second is at most 1 - A + (A - m) P + m d <= 1 - m (1 - d). So delta' is 1 - m (1 - d), the
        largest over how many of the k rows are in new keys. The others have the l2 distance. With
        more than 31 rows, several such numbers are bounded together.

        A is the product of 1 - p(c_i) over keys whose c_i sum up to at most k. The logarithm of 1 -
        p is concave, since the law is log-concave. So it lies above its chord from 1 to c, and the
        product is least if all c_i are 1 or all are c: m = min((1 - p(1))^k, (1 - p(c))^(k / c)),
        with k / c rounded up. Thresholds of this kind are due to Korolova, Kenthapadi, Mishra,
        Ntoulas 2009. Wilson et al. 2020 released keys of several rows so, and Wilkins, Kifer,
        Zhang, Karrer 2024 analysed Gaussian noise exactly.

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

    def privacy_map(distance: Fraction) -> Pair:
        return threshold.loss(change_in(space, distance))

    return Measurement(
        space,
        ApproximateDivergence(),
        Released(CountKeys(domain.columns, domain.names), threshold.passed),
        privacy_map,
        Facts(
            explanation=f"{threshold.words()}; a key of one row is released with probability "
            f"{digits_up(threshold.chance(1))}, noisy counts from {threshold.least} on are shown"
        ),
    )
