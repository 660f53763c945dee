"""Several quantiles by recursion: one, then those below and those above on their rows alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from math import cbrt, ceil, floor, sqrt
from typing import Final

import attrs
import numpy as np

from opendp_lite.engines.data.fold import Floats
from opendp_lite.measurements.quantile.columns import PlacedRows
from opendp_lite.numbers.grid import Grid
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.law import Law, grid_for
from opendp_lite.samplers.rank_choice import CellChoice, RankLaw
from opendp_lite.samplers.rounded_laws import RoundedGaussian, RoundedLaplace

# Of more quantiles the middle one is as good a first one as the best.
_MOST_WEIGHED: Final = 20
_GRID: Final = 2**20
# Parts of a choice's loss that the choice may keep, where the rest counts the rows below it.
_SPLITS: Final = np.arange(0.3, 1.0, 0.01)
# Of the error without a count: a count that gains less is left out.
_WORTH: Final = 0.99
_COUNT_BITS: Final = 20
# Steps to a rank, in which an estimated error is given.
_ERROR_STEPS: Final = 64


@attrs.frozen
class Prices:
    """How the ranges of several choices add up to a loss, and what a row can change.

    Args:
        power: 1 where ranges add up, 2 where their squares do.
        replaces: Whether a row may also move from one part of the rows to another.
        pure_counts: Whether counts have Laplace noise, where choices are priced under zCDP.
    """

    power: int
    replaces: bool
    pure_counts: bool = False

    def cost(self, reach: Fraction) -> Fraction:
        """The loss of one choice whose weights' logarithms change within a range."""
        return reach if self.power == 1 else reach * reach / 8

    def count_cost(self, reach: Fraction) -> Fraction:
        """The loss of a count that costs as much as a choice of this range.

        Laplace noise of the pure loss a has no bounded range: it costs up to a^2 / 2 in zCDP (Bun
        and Steinke 2016, proposition 1.4).
        """
        return reach * reach / 2 if self.pure_counts else self.cost(reach)

    def split(self, own: float, others: float) -> tuple[float, float]:
        """The least error that one loss buys, and the part of it that the choice keeps.

        The variances of a choice and of a count are in proportion to a^-power, and the count's is
        1 / 2 or 1 / 4 of the choice's where both cost the same.

        Args:
            own: The weight of the square of the choice's error on its own quantile.
            others: The same on those beside it, which a count of the rows corrects.
        """
        told = _SPLITS**self.power_of_precision + (
            (1 - _SPLITS) ** self.power_of_precision / self.count_variance
        )
        errors = own / _SPLITS**self.power_of_precision + others / told
        best = int(np.argmin(errors))
        if errors[best] > _WORTH * (own + others):
            return own + others, 1.0
        return float(errors[best]), float(_SPLITS[best])

    @property
    def power_of_precision(self) -> int:
        """The precision of a release grows with this power of its loss."""
        return 2 if self.power == 1 else 1

    @property
    def count_variance(self) -> float:
        """Of a count, over that of a choice of the same cost."""
        return 0.25 if self.power == 1 else 0.5

    def counting(self, steepness: Fraction) -> Law:
        """The noise of a count that costs as much as a choice of this slope.

        A choice has twice the range by which the count changes. Laplace noise costs the change over
        its scale, and Gaussian noise half of the square of that.
        """
        if self.power == 1:
            return RoundedLaplace(*grid_for(1 / (2 * steepness)))
        return RoundedGaussian(*grid_for(1 / steepness))

    def own_range(self, quantile: Fraction) -> Fraction:
        """The range at a slope of 1, where a row is added to a part or removed from it.

        The quantiles 0 and 1 lie at an end of all rows, of which no count moves their targets.
        """
        return max(quantile, 1 - quantile) * (1 if quantile in (0, 1) else 2)

    def range_inside(self, quantile: Fraction) -> Fraction:
        """The same where a row changes inside of the part: the largest that is priced there."""
        if not self.replaces:
            return self.own_range(quantile)
        return Fraction(1 if quantile in (0, 1) else 2)


@attrs.frozen
class Branch:
    """A quantile of a part of the rows, with those that are then wanted on either side.

    Args:
        index: Which of the wanted quantiles it is.
        quantile: Of the part's rows.
        slope: Relative to those of the other parts.
        counted: The slope of a choice that costs as much as the noisy count of the rows below; 0
            where they are not counted.
        below: The part of the rows below the one that is chosen, if more is wanted there.
        above: The part of the others, likewise.
    """

    index: int
    quantile: Fraction
    slope: Fraction
    counted: Fraction
    below: Branch | None
    above: Branch | None

    def parts(self) -> Iterator[Branch]:
        """This one and all in it."""
        yield self
        for side in (self.below, self.above):
            if side is not None:
                yield from side.parts()

    @property
    def is_leaf(self) -> bool:
        """Whether nothing more is wanted of its rows."""
        return self.below is None and self.above is None and not self.counted

    @property
    def depth(self) -> int:
        """How many choices a row takes part in."""
        return 1 + max(0 if side is None else side.depth for side in (self.below, self.above))

    def cost(self, prices: Prices) -> Fraction:
        """The largest loss for one row of the metric: see ``private_quantile``."""
        return _costs(self, prices)[1] if prices.replaces else _costs(self, prices)[0]

    def map(self, slope: Callable[[Fraction], Fraction]) -> Branch:
        """The same with other slopes."""
        below, above = (None if s is None else s.map(slope) for s in (self.below, self.above))
        counted = slope(self.counted) if self.counted else self.counted
        return attrs.evolve(
            self, slope=slope(self.slope), counted=counted, below=below, above=above
        )


def _costs(part: Branch | None, prices: Prices) -> tuple[Fraction, Fraction]:
    """The largest loss for a row added to a part or removed, and for one that is replaced."""
    if part is None:
        return Fraction(0), Fraction(0)
    below, above = _costs(part.below, prices), _costs(part.above, prices)
    one, both = (
        prices.cost(reach * part.slope) + prices.count_cost(reach * part.counted)
        for reach in (prices.own_range(part.quantile), prices.range_inside(part.quantile))
    )
    moved = max(below[1], above[1], below[0] + above[0])
    return one + max(below[0], above[0]), both + moved


def plan_choices(wanted: tuple[Fraction, ...], prices: Prices) -> Branch:
    """The order of choices and their slopes, with the least error that is foreseen.

    The rank error of a choice is in proportion to its range over its part of the loss. An error of
    a cut moves the quantiles beside it, less the farther they are: down to nothing at the next cut.
    The sum of the squares is a sum of terms w / x^2 for the parts x of the loss, or w / x where
    the loss is a sum of squares, and is least for parts in proportion to the roots of the terms.

    Where a cut moves many quantiles beside it, a part of its loss is for a noisy count of the rows
    below it. The choices beside it then aim at ranks from which its estimated error is subtracted.
    """
    places = np.array([0.0, *map(float, wanted), 1.0])
    count = len(wanted)
    root, whole = (cbrt, 3) if prices.power == 1 else (sqrt, 2)

    @cache
    def best(first: int, last: int) -> tuple[float, int, float, float]:
        """Of the quantiles between two cuts: the sum, the first choice, its part, what it keeps."""
        inside = range(first + 1, last)
        if not inside:
            return 0.0, 0, 0.0, 0.0
        middle = (first + last) // 2
        found = []
        for cut in inside if count <= _MOST_WEIGHED else (middle,):
            quantile = _within(wanted, first, cut, last)
            reach = float(prices.range_inside(quantile))
            moved = _influence(places, first, cut, last)
            error, kept = (moved, 1.0) if quantile in (0, 1) else prices.split(1.0, moved - 1)
            own = root(error * reach * reach)
            rest = root(best(first, cut)[0] + best(cut, last)[0])
            found.append(((own + rest) ** whole, cut, own / (own + rest), kept))
        return min(found, key=lambda each: (round(each[0], 9), abs(each[1] - middle)))

    def part(first: int, last: int, left: float) -> Branch | None:
        if last - first == 1:
            return None
        _, cut, share, kept = best(first, last)
        quantile = _within(wanted, first, cut, last)
        mine, rest = (buy(left, each) for each in (share, 1 - share))
        slope, counted = (
            Fraction(round(buy(mine, each) * _GRID), _GRID) / prices.range_inside(quantile)
            for each in (kept, 1 - kept)
        )
        slope = max(slope, Fraction(1, 2 * _GRID))
        sides = part(first, cut, rest), part(cut, last, rest)
        return Branch(cut - 1, quantile, slope, counted, *sides)

    def buy(whole: float, share: float) -> float:
        """The range that a share of a loss buys."""
        return whole * share if prices.power == 1 else whole * sqrt(share)

    found = part(0, count + 1, 1.0)
    assert found is not None
    return found


def _within(wanted: tuple[Fraction, ...], first: int, cut: int, last: int) -> Fraction:
    """A quantile as one of the rows between two others."""
    ends = (Fraction(0), *wanted, Fraction(1))
    return (ends[cut] - ends[first]) / (ends[last] - ends[first])


def _influence(places: Floats, first: int, cut: int, last: int) -> float:
    """The sum of the squares of how far an error at a cut moves each quantile around it."""
    inside = places[first + 1 : last]
    low, middle, high = places[first], places[cut], places[last]
    up = (inside - low) / (middle - low) if middle > low else np.ones_like(inside)
    down = (high - inside) / (high - middle) if high > middle else np.ones_like(inside)
    return float((np.minimum(np.minimum(up, down), 1) ** 2).sum())


def cells_by_parts(
    root: Branch, prices: Prices, placed: PlacedRows, count: int, entropy: Entropy
) -> list[int]:
    """The cells of all quantiles, in order.

    Rows below the chosen place go to one part, the others to the other. Where no place is left
    between two cuts, which their release tells, nothing is drawn.
    """
    found = [0] * count
    # With each part of the rows, by how many ranks its ends are estimated to lie too high.
    waiting = [(root, placed, (Fraction(0), Fraction(0)))]
    while waiting:
        part, rows, (low, high) = waiting.pop()
        # Added to the target of a quantile of the part's rows, so that it does not err.
        offset = -((1 - part.quantile) * low + part.quantile * high)
        error, place = Fraction(0), rows.places.first
        if rows.places.cells:
            law = RankLaw(part.quantile, part.slope, offset)
            place += CellChoice(rows.places, law).cell_among(rows.numbers, entropy)
        found[part.index] = place >> placed.bits
        if part.is_leaf:
            continue
        under, over = rows.split(place)
        if part.counted and rows.places.cells:
            below, size = under.numbers.size, rows.numbers.size
            error = _estimated_error(part, prices, below, size, offset, entropy)
        if part.below is not None:
            waiting.append((part.below, under, (low, error)))
        if part.above is not None:
            waiting.append((part.above, over, (error, high)))
    return found


def _estimated_error(
    part: Branch, prices: Prices, below: int, size: int, offset: Fraction, entropy: Entropy
) -> Fraction:
    """By how many ranks a cut is too high: a noisy count, brought towards 0 as far as it is noisy.

    The quantile is rounded towards 1 / 2, so a row changes the count by no more than it is priced.
    """
    scaled = part.quantile * 2**_COUNT_BITS
    level = ceil(scaled) if part.quantile < Fraction(1, 2) else floor(scaled)
    exact = (below << _COUNT_BITS) - level * size
    noise = prices.counting(part.counted)
    noisy = noise.noisy(Grid(np.array([exact], dtype=np.int64), -_COUNT_BITS), entropy)
    trusted = 1 / (1 + prices.count_variance * float(part.slope / part.counted) ** 2)
    return Fraction(round((float(noisy.floats[0]) - float(offset)) * trusted * _ERROR_STEPS)) / (
        _ERROR_STEPS
    )
