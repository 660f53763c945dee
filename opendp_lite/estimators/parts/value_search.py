"""Where the values of a column lie, found in a program that may ask for it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final

import attrs
import numpy as np

from opendp_lite.bodies.points import PointOf, Points
from opendp_lite.estimators.parts import AnyAsk, Floats, RowSpace
from opendp_lite.estimators.parts.budget import Budget
from opendp_lite.estimators.parts.request import BoundedColumn
from opendp_lite.pipeline.steps import Stage
from opendp_lite.transformations import center, sum
from opendp_lite.transformations.row_maps import map_rows

_PER_DOUBLING: Final = 2
_DOUBLINGS: Final = 30
_FALSE, _MOST_FALSE, _HIDDEN = 0.002, 0.2, 8.0
"""How often an empty ring near the values passes for one that holds rows: so often for each share
of the rows that a ring may hide, and within these limits. Where few rows may be hidden, clipping
them errs less than a ring too many."""
# The same for all rings that are found: in doubt, values are clipped to the bounds alone.
_SURELY: Final = 3e-4
_FARTHEST: Final = 2.0**-4
# How many neighbouring rings are looked at together: few rows may be spread over several.
_WINDOWS: Final = (1, 2, 4, 8)
# How much farther values are let than the last ring that is found. More errs less for lognormal
# values, and more for values without a tail.
_FARTHER: Final = 2**0.25
_UNSEEN, _MOST_UNSEEN = 5.0, 0.1
"""And how much farther still, for each share of the rows that a ring may hide."""
_FOR_MIDDLE, _FOR_RINGS = Fraction(1, 20), Fraction(3, 20)
_PURE_FOR_MIDDLE, _PURE_FOR_RINGS = Fraction(1, 10), Fraction(7, 20)
# The most rows that a ring beyond a limit is taken to hold, as a share of the ring before it.
_THINNER: Final = 2 / 5
Around = Stage[RowSpace, RowSpace]
Exceeded = Callable[[float, Floats], float]


def search_shares(budget: Budget) -> tuple[Fraction, Fraction]:
    """The shares of a budget for the median, and for the rings."""
    if budget.power == 1:
        return _PURE_FOR_MIDDLE, _PURE_FOR_RINGS
    return _FOR_MIDDLE, _FOR_RINGS


@attrs.frozen
class Search:
    """A search for where values lie, in a program.

    Args:
        ask: The program's.
        middle: The budget of a median.
        rings: The budget of numbers of rows in rings.
    """

    ask: AnyAsk
    middle: Budget
    rings: Budget

    def column(self, rows: Around, column: BoundedColumn, rings: Points) -> tuple[float, Limits]:
        """The median of one column, and where the values lie as seen from it."""
        middle = float(self.ask(rows >> self.middle.median(bounds=column.typed)))
        return middle, self.beside(middle, rows, column, rings)

    def beside(self, middle: float, rows: Around, column: BoundedColumn, rings: Points) -> Limits:
        """Where the values of one column lie, as seen from a number between its bounds."""
        lower, upper = column.floats
        ends = min(lower - middle, 0.0), max(upper - middle, 0.0)
        return self.around(rows >> center(Fraction(middle)), ends, rings)

    def around(self, rows: Around, ends: tuple[float, float], rings: Points) -> Limits:
        """Where the values lie as seen from 0."""
        counting = rows >> map_rows(PointOf(rings), rings) >> sum()
        scale = self.rings.scale(self.rings.reach(counting, self.ask.space))
        counts = np.asarray(self.ask(counting >> self.rings.noise()), dtype=np.float64)
        return Limits.of(counts, _reaches(rings), ends, partial(self.rings.exceeded, scale))


@attrs.frozen(eq=False)
class Unseen:
    """What is known of the sum of all squared distances from the median.

    Args:
        total: What it would be if every value lay at the far end of its ring, noisily.
        squares: The squares of these ends, which weight the noises.
        exceeded: What a weighted sum of noises exceeds with a probability.
    """

    total: float
    squares: Floats
    exceeded: Exceeded

    @classmethod
    def of(
        cls, counts: Floats, reaches: Floats, ends: tuple[float, float], exceeded: Exceeded
    ) -> Unseen:
        """From noisy numbers of rows in rings, of which those beyond the bounds are empty."""
        last = len(reaches) - 1
        inner = np.append(0.0, reaches[:-1])
        below, above = (np.where(inner < end, np.minimum(reaches, end), 0) for end in np.abs(ends))
        innermost = max(below[0], above[0])
        squares = np.concatenate([below[last:0:-1], [innermost], above[1:]]) ** 2
        return cls(float(counts @ squares), squares, exceeded)

    def most(self, share: float) -> float:
        """What the sum exceeds with at most this probability."""
        return max(self.total + self.exceeded(share, self.squares), 0.0)


@attrs.frozen(eq=False)
class Beyond:
    """What is known of values beyond one of the limits.

    Args:
        limit: They are clipped to it.
        ends: The far ends of the rings from the one with the limit on, up to the bound.
        count: The noisy number of rows in the first of these rings.
        exceeded: What its noise exceeds with a probability.
    """

    limit: float
    ends: Floats
    count: float
    exceeded: Exceeded

    @classmethod
    def of(
        cls,
        counts: Floats,
        reaches: Floats,
        ends: tuple[float, float],
        limits: tuple[float, float],
        exceeded: Exceeded,
    ) -> tuple[Beyond, ...]:
        """Both sides, but for one where nothing lies beyond the limit."""
        inner, found = len(reaches) - 1, []
        for side, end, limit in zip((counts[inner::-1], counts[inner:]), ends, limits, strict=True):
            first = int(np.searchsorted(reaches, abs(limit), side="right"))
            if abs(limit) < abs(end) and first <= inner:
                far = np.unique(np.minimum(reaches[first:], abs(end)))
                found.append(cls(limit, np.copysign(far, end), float(side[first]), exceeded))
        return tuple(found)

    def most(self, mean: float, share: float) -> float:
        """What clipping takes off the sum of squared distances from a mean, where tails are thin.

        Proof:
            With at most this probability the first ring holds more rows than its noisy number and
            what noise may hide. Each ring after it is taken to hold at most two fifths of the rows
            of the one before it. Each of these rows lies at the far end of its ring or nearer.
        """
        rows = max(self.count + self.exceeded(share, np.ones(1)), 0.0)
        moved = (self.ends - mean) ** 2 - (self.limit - mean) ** 2
        return float(rows * (_THINNER ** np.arange(len(moved)) @ moved))


@attrs.frozen
class Limits:
    """Where the values lie, seen from the median.

    Args:
        lower: Values below it are clipped to it.
        upper: Values above it, likewise.
        mean: About their mean.
        variance: About their variance.
        unseen: Given where one ring alone surely holds rows: noise may hide rows in all others.
        beyond: What is known of values beyond the limits, on each side that has such.
        away: Distances from the median, of the rings up to the limits, and noisy numbers of rows
            that are about so far; empty where too few rows show.
    """

    lower: float
    upper: float
    mean: float
    variance: float
    unseen: Unseen | None = None
    beyond: tuple[Beyond, ...] = ()
    away: tuple[Floats, Floats] = attrs.field(default=(np.empty(0), np.empty(0)), eq=False)

    @classmethod
    def of(
        cls, counts: Floats, reaches: Floats, ends: tuple[float, float], exceeded: Exceeded
    ) -> Limits:
        """From noisy numbers of rows in rings.

        A ring holds rows if noise alone would show as many, in it or in it and a few before it,
        with a small probability. That falls with the sixth power of how much farther the ring lies
        than the last that holds rows: faster than the square of the error grows.

        Args:
            counts: The numbers, from the outermost ring on the left to that on the right.
            reaches: How far the rings reach, on one side.
            ends: The bounds of the values.
            exceeded: What a weighted sum of noises exceeds with a probability.
        """
        inner = len(reaches) - 1
        sides = counts[inner::-1], counts[inner:]
        reached = [0, 0]
        within = np.cumsum(sides[0] + sides[1]) - counts[inner]
        here = int(np.argmax(within >= within.max() / 2))
        hidden = exceeded(_FALSE, np.ones(1)) / max(within.max(), 1.0)
        passes = min(max(_HIDDEN * hidden, _FALSE), _MOST_FALSE)
        for ring in range(1, inner + 1):
            rarer = passes * max(reaches[min(here, ring)] / reaches[ring], _FARTHEST) ** 6
            # More rings have more noise: what one alone may show is the least of these levels.
            least = exceeded(rarer, np.ones(1))
            for side in range(2):
                starts = {max(ring - window, reached[side]) + 1 for window in _WINDOWS}
                windows = [sides[side][first : ring + 1] for first in starts if first <= ring]
                if any(
                    each.sum() > least and each.sum() > exceeded(rarer, np.ones(len(each)))
                    for each in windows
                ):
                    reached[side], here = ring, max(here, ring)
        left, right = reached
        inside = counts[inner - left : inner + right + 1]
        if not _surely(inside, exceeded, _SURELY) or inside.sum() <= 0:
            return cls.anywhere(ends)
        others = np.where(np.arange(len(inside)) == np.argmax(inside), 0.0, inside)
        spread = _surely(others, exceeded, _SURELY / len(others))
        unseen = None if spread else Unseen.of(counts, reaches, ends, exceeded)
        far = _FARTHER * (1 + _UNSEEN * min(hidden, _MOST_UNSEEN)) * reaches[reached]
        lower, upper = max(-far[0], ends[0]), min(far[1], ends[1])
        between = np.append(0.0, (reaches[1:] + reaches[:-1]) / 2)
        places = np.concatenate([-between[left:0:-1], between[: right + 1]])
        mean = float(np.clip(inside @ places / inside.sum(), lower, upper))
        variance = float(inside @ (places - mean) ** 2 / inside.sum())
        beyond = Beyond.of(counts, reaches, ends, (lower, upper), exceeded)
        rings = np.arange(max(left, right) + 1)
        both = [side[rings] * (rings <= end) for side, end in zip(sides, reached, strict=True)]
        away = between[rings], both[0] + both[1] * (rings > 0)
        return cls(float(lower), float(upper), mean, variance, unseen, beyond, away)

    @classmethod
    def anywhere(cls, ends: tuple[float, float]) -> Limits:
        """The bounds, where too few rows show."""
        lower, upper = ends
        return cls(lower, upper, (lower + upper) / 2, ((upper - lower) / 4) ** 2)

    @property
    def exact(self) -> tuple[Fraction, Fraction]:
        """The limits as the fractions that they are."""
        return Fraction(self.lower), Fraction(self.upper)

    @property
    def reach(self) -> float:
        """How far from the mean a value may lie."""
        return max(self.upper - self.mean, self.mean - self.lower)

    @property
    def share(self) -> float:
        """The variance over the square of the reach."""
        return float(np.clip(self.variance / self.reach**2, 0.0, 0.5))


def _surely(cells: Floats, exceeded: Exceeded, share: float) -> bool:
    """Whether neighbouring rings show more rows than noise alone would in this share of runs."""
    return any(
        bool(np.convolve(cells, ones).max() > exceeded(share, ones))
        for ones in map(np.ones, _WINDOWS)
    )


@lru_cache(maxsize=64)
def rings_for(width: float) -> Points:
    """A point for each ring around 0: in, and left and right of it, geometric ones."""
    powers = np.arange(_DOUBLINGS * _PER_DOUBLING, 0, -1) / _PER_DOUBLING
    reaches = width * 2.0**-powers
    edges = np.concatenate([-reaches[::-1], reaches])
    return Points.nearest_to(("rings", width), edges, np.eye(len(edges) + 1))


def _reaches(rings: Points) -> Floats:
    """How far the rings reach on one side, from the innermost."""
    right = rings.edges[len(rings.edges) // 2 :]
    return np.append(right, right[-1] * 2.0 ** (1 / _PER_DOUBLING))
