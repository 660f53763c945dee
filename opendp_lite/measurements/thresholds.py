"""Noise on counts of keys that nobody declared, and the least noisy count that is released."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from fractions import Fraction
from math import ceil
from typing import Final, Self, cast

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.engines.distinct import CountKeys, KeyCounts
from opendp_lite.engines.plan import Fold, Release
from opendp_lite.measures.curve import Pair, gaussian_pair
from opendp_lite.measures.divergences import ApproximateDivergence
from opendp_lite.measures.profile import GaussianProfile, gaussian_ratio
from opendp_lite.numbers import exact
from opendp_lite.numbers.exact import Number
from opendp_lite.pipeline.core import Facts, Measurement
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.law import SCALE_SLACK, Law
from opendp_lite.samplers.rounded_laws import DiscreteLaplace, RoundedGaussian
from opendp_lite.spaces.space import Space, example, records, row_metric, sized_rows
from opendp_lite.spaces.tables import Tables, TablesOrRows
from opendp_lite.spelling.description import Proof

_FINEST: Final = 2**2048
# Of delta, for the Gaussian noise of keys that both datasets hold.
_SHARE: Final = Fraction(9, 10)
# Up to so many ways to part rows between new keys and others are looked at one by one.
_SPLITS: Final = 32
# Beyond such an epsilon of all rows together a sum of steps says nothing: its delta is 1.
_MOST_NATS: Final = 700


@attrs.frozen
class Change:
    """How two neighbouring datasets differ.

    Attributes:
        rows: At most so many rows are in one of them alone.
        alike: At most so many of these rows have the same key.
        sides: 2 if each dataset may have so many rows that the other has not.
    """

    rows: int
    alike: int
    sides: int

    def squares(self, new: int) -> int:
        """A bound on the sum of squared changes of counts, if so many rows of one dataset are in
        keys of its own: no more than the largest change times the sum of all."""
        left = self.rows - new
        both = self.rows if self.sides > 1 else 0
        return min(left, self.alike) * left + self.alike * both


@attrs.frozen
class Threshold(ABC):
    """Noise on counts, and the least noisy count that is released.

    Attributes:
        least: The threshold.
    """

    least: int

    @property
    @abstractmethod
    def law(self) -> Law:
        """The noise, on whole numbers."""

    @abstractmethod
    def chance(self, count: int) -> Fraction:
        """The probability that a key of so many rows is released, rounded up by 1e-40 of it."""

    @abstractmethod
    def loss(self, change: Change) -> Pair:
        """The (epsilon, delta) of datasets that differ so."""

    @abstractmethod
    def words(self) -> str:
        """The noise and where its loss comes from, for ``explain()``."""

    def newcomers(self, rows: int, alike: int) -> Fraction:
        """The largest probability that any key is released of which these rows are all there are.

        Over all ways to part the rows among keys with at most ``alike`` rows each: as few keys as
        that takes, or one key for each row, is the worst.
        """
        if rows == 0:
            return Fraction(0)
        most = min(rows, alike)
        ways = ((1, rows), (most, ceil(Fraction(rows, most))))
        return max(1 - _power_down(1 - self.chance(count), keys) for count, keys in ways)

    def raise_until(self, fits: Callable[[Self], bool]) -> Self:
        """The same noise with the least threshold, of 1 or more, that fits."""
        below, enough = 0, 1
        while not fits(attrs.evolve(self, least=enough)):
            below, enough = enough, 2 * enough
        while enough - below > 1:
            middle = (below + enough) // 2
            met = fits(attrs.evolve(self, least=middle))
            below, enough = (below, middle) if met else (middle, enough)
        return attrs.evolve(self, least=enough)

    def pass_on(self, found: KeyCounts, entropy: Entropy) -> dict[Hashable, int]:
        """The keys whose noisy count reaches the threshold, with this count."""
        noisy = self.law.release(found.counts, 0, entropy).tolist()
        pairs = zip(found.keys, noisy, strict=True)
        return {key: count for key, count in pairs if count >= self.least}


@attrs.frozen
class LaplaceThreshold(Threshold):
    """Discrete Laplace noise.

    Attributes:
        scale: The b of the noise, of which P(k) is in proportion to exp(-|k| / b).
    """

    scale: Fraction

    @classmethod
    def costing(cls, change: Change, epsilon: Fraction) -> Self:
        """The noise that costs epsilon for a change."""
        return cls(1, change.sides * change.rows / epsilon)

    def meet(self, change: Change, delta: Fraction) -> Self:
        """With the least threshold at which a change costs at most delta."""
        return self.raise_until(lambda way: way.loss(change)[1] <= delta)

    @property
    def law(self) -> DiscreteLaplace:
        """The noise, on whole numbers."""
        return DiscreteLaplace(self.scale * SCALE_SLACK, 0)

    def chance(self, count: int) -> Fraction:
        """The tail of the noise from the rows that are missing on."""
        rate, beyond = 1 / self.law.scale, self.least - count
        if beyond > 0:
            return min(Fraction(1), exact.exp_up(-beyond * rate) / (1 + exact.exp_down(-rate)))
        return 1 - exact.exp_down((beyond - 1) * rate) / (1 + exact.exp_up(-rate))

    def loss(self, change: Change) -> Pair:
        """The sum of all changes over b, and the probability that a new key shows."""
        return change.sides * change.rows / self.scale, self.newcomers(change.rows, change.alike)

    def words(self) -> str:
        """The scale, and where the loss comes from."""
        return f"epsilon = l1 / b, b = {float(self.scale):.6g}"


@attrs.frozen
class TruncatedThreshold(LaplaceThreshold):
    """Discrete Laplace noise that is never as large as the threshold, so no key of no rows shows.

    No mechanism shows a key more often at the same loss of one row (Desfontaines, Voss, Gipson,
    Mandayam 2022, theorem 3). A change of several rows is as many changes of one.
    """

    def meet(self, change: Change, delta: Fraction) -> Self:
        """With the least threshold at which a change costs at most delta.

        It is at least the scale: else most noise would have to be drawn again.
        """
        return self.raise_until(lambda way: way.reach >= way.scale and way.loss(change)[1] <= delta)

    @property
    def reach(self) -> int:
        """The largest noise."""
        return self.least - 1

    def chance(self, count: int) -> Fraction:
        """The tail of the truncated noise: (p^b - p^(k+1)) / (1 + p - 2 p^(k+1)) from b > 0 on.

        For counts from the threshold on it is 1, which is above it.
        """
        rate, beyond = 1 / self.law.scale, self.least - count
        if not 0 < beyond <= self.reach:
            return Fraction(beyond <= 0)
        low, high = exact.exp_down(-self.least * rate), exact.exp_up(-self.least * rate)
        return (exact.exp_up(-beyond * rate) - low) / (1 + exact.exp_down(-rate) - 2 * high)

    def loss(self, change: Change) -> Pair:
        """As many losses (epsilon, P(k)) of one row as rows change, one after the other."""
        rows = change.sides * change.rows
        return ApproximateDivergence().group((1 / self.scale, self.chance(1)), rows)

    def words(self) -> str:
        """The scale, and where the loss comes from."""
        return f"{LaplaceThreshold.words(self)}, noise of at most {self.reach}"

    def pass_on(self, found: KeyCounts, entropy: Entropy) -> dict[Hashable, int]:
        """As for all noise. What is beyond the reach is drawn again, whatever the count."""
        counts = np.asarray(found.counts)
        noise = self.law.release(np.zeros(len(counts), np.int64), 0, entropy)
        while (far := np.flatnonzero(np.abs(noise) > self.reach)).size:
            noise[far] = self.law.release(np.zeros(len(far), np.int64), 0, entropy)
        pairs = zip(found.keys, (counts + noise).tolist(), strict=True)
        return {key: count for key, count in pairs if count >= self.least}


@attrs.frozen
class GaussianThreshold(Threshold):
    """Gaussian noise, rounded to whole numbers.

    Attributes:
        variance: Of the noise before it is rounded.
        epsilon: What was asked for.
        share: Of delta, for the keys that both datasets hold.
    """

    variance: Fraction
    epsilon: Fraction
    share: Fraction

    @classmethod
    def costing(cls, change: Change, epsilon: Fraction, delta: Fraction) -> GaussianThreshold:
        """The noise that costs epsilon, and a share of delta, for a change."""
        share = _SHARE * delta
        return cls(1, change.squares(0) / gaussian_ratio(epsilon, share), epsilon, share)

    def meet(self, change: Change, delta: Fraction) -> GaussianThreshold:
        """With the least threshold at which a change costs at most delta."""
        splits = self.splits(change, self.epsilon)
        return self.raise_until(lambda way: way.spill(splits, change.alike) <= delta)

    @property
    def scale(self) -> Fraction:
        """The standard deviation sigma of the noise before it is rounded."""
        return exact.sqrt_up(self.variance)

    @property
    def law(self) -> RoundedGaussian:
        """The noise, on whole numbers."""
        return RoundedGaussian(self.scale * SCALE_SLACK, 0)

    def chance(self, count: int) -> Fraction:
        """The tail of the normal: half a row less is rounded up to the threshold."""
        _, tail = exact.normal_tail((self.least - count - Fraction(1, 2)) / self.law.scale)
        return min(Fraction(1), tail)

    def splits(self, change: Change, epsilon: Fraction) -> list[tuple[int, Fraction]]:
        """For each number of rows in new keys, the delta at epsilon of the other keys' counts.

        Numbers are taken together where there are many: the largest one, with the delta of the
        least.
        """
        width = ceil(Fraction(change.rows + 1, _SPLITS))
        return [
            (
                min(new + width - 1, change.rows),
                GaussianProfile(change.squares(new) / self.variance).delta(epsilon),
            )
            for new in range(0, change.rows + 1, width)
        ]

    def spill(self, splits: list[tuple[int, Fraction]], alike: int) -> Fraction:
        """The largest delta over all ways to part the rows between new keys and others."""
        return max(1 - (1 - self.newcomers(new, alike)) * (1 - rest) for new, rest in splits)

    def loss(self, change: Change) -> Pair:
        """Epsilon from the Gaussian's curve at its share, and the delta of both at that epsilon."""
        ratio = change.squares(0) / self.variance
        epsilon, _ = gaussian_pair(ratio, self.epsilon, self.share)
        return epsilon, self.spill(self.splits(change, epsilon), change.alike)

    def words(self) -> str:
        """The scale, and where the loss comes from."""
        return (
            f"epsilon from the exact Gaussian curve at delta {exact.digits_up(self.share)}, "
            f"sigma = {float(self.scale):.6g}"
        )


def _power_down(base: Fraction, exponent: int) -> Fraction:
    """A rational at most base^exponent, for a base from 0 to 1; the base itself for 1."""
    if exponent == 1:
        return base
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


_WIDEST: Final = 2**20
_LEAST_DELTA: Final = Fraction(1, 10**300)


def threshold_of(
    space: Space[TablesOrRows], step: str, epsilon: Number | None, delta: Number | None
) -> Threshold:
    """The noise and the threshold that cost epsilon and at most delta for one unit of a space."""
    if epsilon is None or delta is None:
        raise ParameterError(
            f"{step}: keys that are not declared need epsilon= and delta=, such as epsilon=1, "
            "delta=1e-6; or declare them: categories=['f', 'm']"
        )
    level, spill = exact.positive(epsilon, "epsilon"), exact.open_probability(delta, "delta")
    if spill < _LEAST_DELTA:
        raise ParameterError(f"{step}: delta must be at least 1e-300")
    change = change_in(space, cast(Fraction, space.unit))
    noises: list[LaplaceThreshold | GaussianThreshold] = [
        LaplaceThreshold.costing(change, level),
        GaussianThreshold.costing(change, level, spill),
    ]
    if level <= _MOST_NATS:
        noises.append(TruncatedThreshold.costing(change, level))
    ways = [noise.meet(change, spill) for noise in noises if noise.scale <= _WIDEST]
    if not ways:
        raise ParameterError(f"{step}: epsilon = {float(level):g} needs noise of more than 2^20")
    return min(ways, key=lambda way: (way.least, way.law.standard_deviation))


def change_in(space: Space[TablesOrRows], distance: Fraction) -> Change:
    """How datasets of a space differ that are so far apart."""
    metric, domain = row_metric(space), space.domain
    names = domain.names or () if isinstance(domain, Tables) else ()
    alike = metric.most_alike(distance, names)
    return Change(ceil(distance), ceil(alike), 2 if metric.fixed_size else 1)


@mechanism(
    does="Counts the rows of each key, and releases the keys whose noisy count passes a threshold.",
    changes=(
        "A row that lacks a value is left out, and so is one whose key is neither text nor a "
        "number. Keys whose noisy count is below the threshold are not released."
    ),
    proof=Proof(
        "A key in both datasets costs what the noise does, (epsilon, d). Keys in one alone "
        "show with total variation 1 - m, m the smaller of the probabilities that either side "
        "shows none; p(c) is the exact tail of the noise. So a key that vanishes and one that "
        "appears cost delta once. With Gaussian noise delta is the largest over how many of "
        "the k rows are in new keys. Laplace noise that is never as large as the threshold costs "
        "(epsilon, P(its largest value)) a row, where that makes the threshold smaller.",
        adding=(
            "Laplace: epsilon = k / b, delta = max(p(k), 1 - (1 - p(1))^k). Gaussian: epsilon of "
            "the exact curve at l2 = sqrt(c k), at most c rows in one key; delta = 1 - m (1 - d)"
        ),
        replacing="epsilon = 2 k / b, the same delta. Gaussian: l2 = sqrt(2 c k)",
        sources=[
            "Ghosh, Roughgarden, Sundararajan 2009",
            "Balle and Wang 2018, theorem 8",
            "Korolova, Kenthapadi, Mishra, Ntoulas 2009",
            "Desfontaines, Voss, Gipson, Mandayam 2022",
            "Wilson and others 2020",
            "Wilkins, Kifer, Zhang, Karrer 2024",
        ],
    ),
    examples=lambda: [
        example(records(columns=["city"]), epsilon=1, delta=1e-6),
        example(sized_rows(["city", "sex"]), epsilon=0.1, delta=1e-9),
        example(records(), epsilon=2.5, delta=1e-3),
    ],
)
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
        Release(Fold(CountKeys(domain.columns, domain.names), KeyCounts.of), threshold.pass_on),
        privacy_map,
        Facts(
            explanation=f"{threshold.words()}; a key of one row is released with probability "
            f"{exact.digits_up(threshold.chance(1))}, noisy counts from {threshold.least} on are "
            "shown"
        ),
    )
