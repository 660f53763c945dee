"""Several quantiles by recursion: one, then those below and those above on their rows alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from math import cbrt, sqrt
from typing import Final

import attrs
import numpy as np

from opendp_lite.engines.fold import Floats
from opendp_lite.measurements._quantile_lines import Spread
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.lattice import Stretch
from opendp_lite.samplers.rank_choice import CellChoice, RankLaw

_MOST_WEIGHED: Final = 20
"""Of more quantiles the middle one is as good a first one as the best."""
_GRID: Final = 2**20


@attrs.frozen
class Prices:
    """How the ranges of several choices add up to a loss, and what a row can change.

    Args:
        power: 1 where ranges add up, 2 where their squares do.
        replaces: Whether a row may also move from one part of the rows to another.
    """

    power: int
    replaces: bool

    def cost(self, reach: Fraction) -> Fraction:
        """The loss of one choice whose weights' logarithms change within a range."""
        return reach if self.power == 1 else reach * reach / 8

    def own_range(self, quantile: Fraction) -> Fraction:
        """The range at a slope of 1, where a row is added to a part or removed from it."""
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
        below: The part of the rows below the one that is chosen, if more is wanted there.
        above: The part of the others, likewise.
    """

    index: int
    quantile: Fraction
    slope: Fraction
    below: Branch | None
    above: Branch | None

    def parts(self) -> Iterator[Branch]:
        """This one and all in it."""
        yield self
        for side in (self.below, self.above):
            if side is not None:
                yield from side.parts()

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
        return attrs.evolve(self, slope=slope(self.slope), below=below, above=above)


def _costs(part: Branch | None, prices: Prices) -> tuple[Fraction, Fraction]:
    """The largest loss for a row added to a part or removed, and for one that is replaced."""
    if part is None:
        return Fraction(0), Fraction(0)
    below, above = _costs(part.below, prices), _costs(part.above, prices)
    one = prices.cost(prices.own_range(part.quantile) * part.slope)
    both = prices.cost(prices.range_inside(part.quantile) * part.slope)
    moved = max(below[1], above[1], below[0] + above[0])
    return one + max(below[0], above[0]), both + moved


def planned(wanted: tuple[Fraction, ...], prices: Prices) -> Branch:
    """The order of choices and their slopes, with the least error that is foreseen.

    The rank error of a choice is in proportion to its range over its part of the loss. An error of
    a cut moves the quantiles beside it, less the farther they are: down to nothing at the next cut.
    The sum of the squares is a sum of terms w / x^2 for the parts x of the loss, or w / x where
    the loss is a sum of squares, and is least for parts in proportion to the roots of the terms.
    """
    places = np.array([0.0, *map(float, wanted), 1.0])
    count = len(wanted)
    root, whole = (cbrt, 3) if prices.power == 1 else (sqrt, 2)

    @cache
    def best(first: int, last: int) -> tuple[float, int, float]:
        """Of the quantiles between two cuts: the sum, the first choice, and its part."""
        inside = range(first + 1, last)
        if not inside:
            return 0.0, 0, 0.0
        middle = (first + last) // 2
        found = []
        for cut in inside if count <= _MOST_WEIGHED else (middle,):
            reach = float(prices.range_inside(_within(wanted, first, cut, last)))
            own = root(_influence(places, first, cut, last) * reach * reach)
            rest = root(best(first, cut)[0] + best(cut, last)[0])
            found.append(((own + rest) ** whole, cut, own / (own + rest)))
        return min(found, key=lambda each: (round(each[0], 9), abs(each[1] - middle)))

    def part(first: int, last: int, left: float) -> Branch | None:
        if last - first == 1:
            return None
        _, cut, share = best(first, last)
        quantile = _within(wanted, first, cut, last)
        mine = left * share if prices.power == 1 else sqrt(left * left * share)
        rest = left - mine if prices.power == 1 else sqrt(left * left * (1 - share))
        slope = Fraction(max(1, round(mine * _GRID)), _GRID) / prices.range_inside(quantile)
        return Branch(cut - 1, quantile, slope, part(first, cut, rest), part(cut, last, rest))

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


def cells_by_parts(root: Branch, spread: Spread, count: int, entropy: Entropy) -> list[int]:
    """The cells of all quantiles, in order.

    Rows below the chosen place go to one part, the others to the other. Where no place is left
    between two cuts, which their release tells, nothing is drawn.
    """
    found = [0] * count
    waiting = [(root, spread.rows, 0, spread.places)]
    while waiting:
        part, rows, first, last = waiting.pop()
        place = first
        if last > first:
            law = RankLaw(part.quantile, part.slope)
            place += CellChoice(Stretch(first, last), law).cell(rows, entropy)
        found[part.index] = place >> spread.bits
        if part.below is not None:
            waiting.append((part.below, rows[rows < place], first, place))
        if part.above is not None:
            waiting.append((part.above, rows[rows >= place], place, last))
    return found
