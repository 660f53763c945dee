"""Intervals of differences, ratios and shares from the intervals of their parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import hypot, inf, sqrt
from statistics import NormalDist

import attrs

IntervalEnds = tuple[float, float]


def join_errors(first: float, second: float, *, independent: bool) -> float:
    """How far off two numbers are together.

    The root of the squares where they are independent. Otherwise the sum, which holds however the
    two depend: the standard deviation of a sum is at most the sum of the deviations (Minkowski).
    """
    return hypot(first, second) if independent else abs(first) + abs(second)


def subtract(
    one: float, of_one: IntervalEnds, two: float, of_two: IntervalEnds, *, independent: bool
) -> IntervalEnds:
    """The interval of a difference, by MOVER (Zou and Donner 2008, Statistics in Medicine 27).

    It takes what each interval leaves on its own side, so lopsided ones stay so.
    """
    below = join_errors(one - of_one[0], of_two[1] - two, independent=independent)
    above = join_errors(of_one[1] - one, two - of_two[0], independent=independent)
    return one - two - below, one - two + above


def divide(
    one: float, of_one: IntervalEnds, two: float, of_two: IntervalEnds, *, independent: bool
) -> IntervalEnds:
    """The interval of a ratio: all r for which ``subtract`` leaves 0 to one - r two.

    Donner and Zou 2012, Statistical Methods in Medical Research 21. The delta method is too narrow
    where the second number lies few standard errors from 0. It is endless if the second may be 0.
    """
    if of_two[0] <= 0 <= of_two[1]:
        return -inf, inf
    if two < 0:
        one, of_one = -one, (-of_one[1], -of_one[0])
        two, of_two = -two, (-of_two[1], -of_two[0])
    least = _least_ratio if independent else _least_corner
    high = -least(-one, -of_one[1], two, of_two)
    return least(one, of_one[0], two, of_two), high


def _least_ratio(value: float, low: float, by: float, of_by: IntervalEnds) -> float:
    """The r at which value - r by less its error is 0: there is one, as this falls with r."""
    off = value - low
    spread = of_by[1] - by if low >= 0 else by - of_by[0]
    rest = (by - spread) * (by + spread)
    # (value - off) (value + off), without the loss of digits of a difference of squares.
    product = low * (value + off)
    root = sqrt(max((value * by) ** 2 - rest * product, 0.0))
    if low >= 0:
        return product / (value * by + root) if value else 0.0
    return (value * by - root) / rest


def _least_corner(_: float, low: float, by: float, of_by: IntervalEnds) -> float:
    return low / of_by[1 if low >= 0 else 0]


def share_error(
    ones: float, others: float, variances: tuple[float, float], *, sampling: bool
) -> float:
    """The standard error of a share, to the first order; at most 1/2, which knowing nothing is.

    The arguments are those of ``share_interval``, for counts of at least 0.
    """
    rows = ones + others
    if not rows:
        return 0.5
    share = ones / rows
    noise = hypot((1 - share) * sqrt(variances[0]), share * sqrt(variances[1]))
    sample = sqrt(share * (1 - share) * rows) if sampling else 0.0
    return min(hypot(noise, sample) / rows, 0.5)


def share_interval(
    ones: float, others: float, variances: tuple[float, float], confidence: float, *, sampling: bool
) -> IntervalEnds:
    """All shares that fit two noisy counts: Wilson's interval (1927) with the noise in it.

    Args:
        ones: The noisy number of rows in the share.
        others: The noisy number of all other rows.
        variances: Those of the noise of both.
        confidence: Such as 0.95.
        sampling: Whether the interval is for the population that the rows are a sample of.

    Proof:
        For a share p, (1 - p) ones - p others has mean 0 whatever the number n of rows. Its
        variance is that of the noise, (1-p)^2 v + p^2 w, and of the sample, n p (1-p). What it says
        of the noise corrects n, and the correction is uncorrelated with it.
    """
    # No count is below 0, so this only brings them closer to the true ones; and some share fits.
    ones, others = max(ones, 0.0), max(others, 0.0)
    score = NormalDist().inv_cdf((1 + confidence) / 2)
    of_ones, of_others = variances

    def misses(share: float) -> float:
        rest = 1 - share
        gap = rest * ones - share * others
        noise = rest * rest * of_ones + share * share * of_others
        rows = ones + others
        if noise > 0:
            rows -= gap * (rest * of_ones - share * of_others) / noise
        sample = max(rows, 0.0) * share * rest if sampling else 0.0
        return gap * gap - score * score * (noise + sample)

    best = ones / (ones + others) if ones + others else 0.5
    return _end(misses, best, 0.0), _end(misses, best, 1.0)


@attrs.frozen
class CellsOfTable:
    """The noisy counts of all cells of a table, of at least 0.

    Args:
        counts: One for each cell.
        variance: Of the noise of each; the noises are independent.
        keys: What a table of releases says of each cell: its key by the names of the columns.
    """

    counts: tuple[float, ...]
    variance: float
    keys: tuple[Mapping[str, object], ...] = attrs.field(default=(), eq=False, repr=False)

    def pair(self, first: int, second: int) -> TwoCells:
        """Two of them."""
        one, other, total = self.counts[first], self.counts[second], sum(self.counts)
        return TwoCells(one, other, total, self.variance, len(self.counts))


@attrs.frozen
class TwoCells:
    """The noisy counts of two cells of one table, for what their shares are to each other.

    Args:
        first: A noisy count of at least 0.
        second: Likewise.
        total: The sum over all cells.
        variance: Of the noise of each cell.
        cells: How many there are.
    """

    first: float
    second: float
    total: float
    variance: float
    cells: int

    @property
    def shares(self) -> tuple[float, float]:
        """Those of both."""
        if not self.total:
            return 1 / self.cells, 1 / self.cells
        return self.first / self.total, self.second / self.total

    def difference_error(self, share: float, *, sampling: bool) -> float:
        """The standard error of a difference of the shares, to the first order; at most 1."""
        if not self.total:
            return 1.0
        both = (self.first + self.second) / self.total
        sample = self.total * max(both - share * share, 0.0) if sampling else 0.0
        return min(sqrt(self._noise(share) + sample) / self.total, 1.0)

    def difference(self, confidence: float, *, sampling: bool) -> IntervalEnds:
        """All differences of the two shares that fit: Tango's interval (1998) with the noise in it.

        Proof:
            For a difference d of shares p and q, first - second - d total has mean 0. Its variance
            is that of the noise, and of the sample, n (p + q - d^2), as cells are multinomial. With
            d known the likelihood is largest for the p + q of ``_both``.
        """
        score = NormalDist().inv_cdf((1 + confidence) / 2)

        def misses(share: float) -> float:
            gap = self.first - self.second - share * self.total
            sample = self.total * (self._both(share) - share * share) if sampling else 0.0
            return gap * gap - score * score * (self._noise(share) + sample)

        best = (self.first - self.second) / self.total if self.total else 0.0
        return _end(misses, best, -1.0), _end(misses, best, 1.0)

    def _noise(self, share: float) -> float:
        """The variance of the noise of first - second - share total."""
        two = (1 - share) ** 2 + (1 + share) ** 2
        return self.variance * (two + (self.cells - 2) * share * share)

    def _both(self, share: float) -> float:
        """The likeliest sum of two shares of this difference, by a quadratic equation."""
        if not self.total:
            return 1.0
        apart = self.first - self.second
        linear = self.first + self.second + share * apart
        rest = self.total - self.first - self.second
        root = linear * linear - 4 * self.total * share * (apart - rest * share)
        found = (linear + sqrt(max(root, 0.0))) / (2 * self.total)
        return min(max(found, abs(share)), 1.0)

    def ratio_error(self, share: float, *, sampling: bool) -> float:
        """The standard error of a ratio of the shares, to the first order."""
        if not self.second:
            return inf
        sample = share * (self.first + self.second) if sampling else 0.0
        return sqrt(self.variance * (1 + share * share) + sample) / self.second

    def ratio(self, confidence: float, *, sampling: bool) -> IntervalEnds:
        """All ratios that fit; endless if the second share may be 0.

        Proof:
            For a ratio r, first - r second has mean 0 and the variance (1 + r^2) times that of the
            noise, and n (p + r^2 q) = n r (p + q) of the sample: a quadratic equation in r.
        """
        score = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
        noise = score * self.variance
        square, end = self.second**2 - noise, self.first**2 - noise
        if square <= 0:
            return -inf, inf
        both = score * (self.first + self.second) if sampling else 0.0
        linear = self.first * self.second + both / 2
        root = sqrt(max(linear * linear - square * end, 0.0))
        return max(end / (linear + root), 0.0) if end > 0 else 0.0, (linear + root) / square


def _end(misses: Callable[[float], float], inside: float, end: float) -> float:
    """Where what fits ends, between a share that fits and an end: by bisection."""
    if misses(end) <= 0:
        return end
    for _ in range(60):
        middle = (inside + end) / 2
        inside, end = (middle, end) if misses(middle) <= 0 else (inside, middle)
    return end
