"""How far apart two of finitely many points can be, certified."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import cached_property
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.body import Body, FillPlaces, RowSum, Values
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.grid_rounding import GridRounding, StepsOf
from opendp_lite.display.pictures import SCATTER, Sketch
from opendp_lite.engines.data.arrays import DENSE, Layout, Whole
from opendp_lite.engines.data.fold import Block, Floats, Numeric
from opendp_lite.engines.missing import holds_missing, whole_rows
from opendp_lite.numbers.edges import RisingEdges
from opendp_lite.numbers.exact import floor_log2
from opendp_lite.numbers.norms import Norms

Length = Callable[[Whole], Floats]

CLOSE: Final = 2.0**-12
"""A bound on the largest distance may lie so much above it, relatively."""
_UP = 1 + 2.0**-40
_ENTRIES = 2**21


def l1_length(rows: Whole) -> Floats:
    """The l1 norm along the last axis; exact below 2^53."""
    found: Floats = np.abs(rows).sum(axis=-1).astype(np.float64)
    return found


def l2_length(rows: Whole) -> Floats:
    """The l2 norm along the last axis; the square is exact below 2^63."""
    found: Floats = np.sqrt((rows * rows).sum(axis=-1).astype(np.float64))
    return found


def farthest(points: Whole, length: Length) -> float:
    """A float that is at least the largest distance of two points, and little more.

    Args:
        points: Whole numbers, an array of shape (points, columns). Neighbours in the array should
            be near each other.
        length: A norm along the last axis.

    Returns:
        A bound of at most 1 + 2^-12 times the largest distance.

    Proof:
        Take two groups of points, with a member a' and b' of each and the radii r and s of the
        groups around these. A point of one and a point of the other are at most ``|a' - b'| + r +
        s`` apart. Pairs of groups are halved until this bound is close to a distance that two
        points have.
    """
    size = 1 << (len(points) - 1).bit_length()
    padded = np.concatenate([points, np.repeat(points[-1:], size - len(points), axis=0)])
    first, second = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    met = left = 0.0
    while size:
        members = padded.reshape(-1, size, padded.shape[1])
        centres = members[:, size // 2]
        radii = _largest_in_group(members, centres, length)
        apart = _distances(centres, first, second, length)
        met = max(met, float(apart.max()))
        bound = (apart + radii[first] + radii[second]) * _UP if size > 1 else apart
        open_ = bound > met * (1 + CLOSE)
        left = max(left, float(bound[~open_].max(initial=0.0)))
        if size == 1 or not open_.any():
            break
        first, second, size = *_halve(first[open_], second[open_]), size // 2
    return max(met, left) * _UP


def _halve(first: Whole, second: Whole) -> tuple[Whole, Whole]:
    """The pairs of the halves of each pair of groups, each once."""
    ones = (2 * first[:, None] + np.array([0, 0, 1, 1])).ravel()
    twos = (2 * second[:, None] + np.array([0, 1, 0, 1])).ravel()
    once = ones <= twos
    return ones[once], twos[once]


def _largest_in_group(members: Numeric, centres: Whole, length: Length) -> Floats:
    step = max(1, _ENTRIES // (members.shape[1] * members.shape[2]))
    parts = [
        length(members[start : start + step] - centres[start : start + step, None]).max(axis=1)
        for start in range(0, len(members), step)
    ]
    return np.concatenate(parts)


def _distances(centres: Whole, first: Whole, second: Whole, length: Length) -> Floats:
    step = max(1, _ENTRIES // centres.shape[1])
    parts = [
        length(centres[first[start : start + step]] - centres[second[start : start + step]])
        for start in range(0, len(first), step)
    ]
    return np.concatenate(parts)


_SQUARE_BITS: Final = 58
_MIXER: Final = 0x9E3779B97F4A7C15
_TURN: Final = 1 << 64
_HALF: Final = np.uint64(32)
_ROOM: Final = 1 << 62


@attrs.frozen(repr=False)
class Points(Body):
    """Rows that are one of finitely many public points, or lie in their convex hull.

    Args:
        key: Two such bodies with the same key and grid are the same body.
        edges: Rising numbers, one fewer than points. A number belongs to the point whose place is
            the number of edges that are at most it.
        steps: The points, an array of shape (points, columns), in whole steps of ``2^grid``.
        grid: The exponent of the grid.

    Proof:
        A norm is convex, so over rows it is largest at a point, and over differences at two. The
        radii are maxima over the table and exact: squares of lengths stay below 2^58 steps, and
        those of differences below 2^60. The diameters are certified by ``farthest``.
    """

    key: Hashable
    edges: Floats = attrs.field(eq=False)
    steps: Whole = attrs.field(eq=False)
    grid: int

    @classmethod
    def nearest_to(cls, key: Hashable, edges: Floats, table: Floats) -> Points:
        """The body of a table of floats, rounded to a grid where its norms are exact."""
        columns = table.shape[1]
        reach = floor_log2(Fraction(float(np.abs(table).max())))
        grid = reach + 1 - (_SQUARE_BITS - (columns - 1).bit_length()) // 2
        steps = np.rint(table * 2.0**-grid).astype(np.int64)
        steps.flags.writeable = edges.flags.writeable = False
        return cls(key, edges, steps, grid)

    @property
    def columns(self) -> int:  # type: ignore[override]
        return int(self.steps.shape[1])

    @property
    def _unit(self) -> Fraction:
        return Fraction(2) ** self.grid

    def sketch(self) -> Sketch:
        return SCATTER

    def radii(self) -> Norms:
        return self._radii

    def diameters(self) -> Norms:
        return self._diameters

    @cached_property
    def _radii(self) -> Norms:
        unit = self._unit
        return Norms.squared(
            self._longest * unit, self._longest_squared * unit**2, self.largest * unit
        )

    @cached_property
    def _diameters(self) -> Norms:
        """No more than twice the radii."""
        l1, l2 = (Fraction(farthest(self.steps, length)) for length in (l1_length, l2_length))
        widest, unit = int(np.ptp(self.steps, axis=0).max()), self._unit
        return Norms.squared(
            min(l1, Fraction(2 * self._longest)) * unit,
            min(l2**2, Fraction(4 * self._longest_squared)) * unit**2,
            widest * unit,
        )

    @cached_property
    def _longest(self) -> int:
        return int(np.abs(self.steps).sum(axis=1).max())

    @cached_property
    def _longest_squared(self) -> int:
        return int((self.steps * self.steps).sum(axis=1).max())

    @cached_property
    def _floats(self) -> Floats:
        return np.ldexp(self.steps.astype(np.float64), self.grid)

    @cached_property
    def largest(self) -> int:
        """The largest size of an entry, in steps."""
        return int(np.abs(self.steps).max())

    def at(self, places: Numeric) -> Floats:
        """The points at these places as rows."""
        return self._floats[places]

    def places_of(self, numbers: Floats) -> NDArray[np.intp]:
        """The place of the point that each number belongs to."""
        return self.cells.count_passed(numbers)

    @cached_property
    def cells(self) -> RisingEdges:
        """Between the edges: one for each point."""
        return RisingEdges(self.edges)

    @cached_property
    def _mixers(self) -> NDArray[np.uint64]:
        mixers = [pow(_MIXER, power, _TURN) for power in range(1, self.columns + 1)]
        return np.array(mixers, dtype=np.uint64)

    def _mix(self, rows: Floats) -> NDArray[np.uint64]:
        """A number for each row: of its bits, in integers modulo 2^64."""
        bits = np.ascontiguousarray(rows).view(np.uint64)
        products: NDArray[np.uint64] = (bits ^ (bits >> _HALF)) * self._mixers
        found: NDArray[np.uint64] = products.sum(axis=1, dtype=np.uint64)
        return found

    @cached_property
    def _by_mix(self) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        return np.unique(self._mix(self._floats), return_index=True)

    def places_in(self, rows: Floats) -> NDArray[np.intp]:
        """The place of each row in the table; a place for a row that is not in it.

        Where two points had the same mix, one would stand for the other: a row's place depends
        on that row alone and is a place of the table, which is all that a sum relies on.
        """
        mixes, places = self._by_mix
        found = np.searchsorted(mixes, self._mix(rows))
        return places[np.minimum(found, len(places) - 1)]

    def bounds(self) -> tuple[Values, Values]:
        low, high = self.steps.min(axis=0), self.steps.max(axis=0)
        unit = self._unit
        lower = [(int(a) - (a == b)) * unit for a, b in zip(low, high, strict=True)]
        return tuple(lower), tuple(int(b) * unit for b in high)

    def centre(self) -> Values:
        """The point of the middle cell."""
        return tuple(int(step) * self._unit for step in self.steps[len(self.steps) // 2])

    def filling(self) -> FillPlaces:
        """Of a number that is missing, one of the middle cell takes the place."""
        middle = len(self.steps) // 2
        return FillPlaces(self, float(self.edges[middle - 1]) if len(self.edges) else 0.0)

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = (self.at(self.places_in(rows)) == rows).all(axis=1)
        return inside

    def _box(self) -> Box:
        return Box(*self.bounds(), self.columns)

    def shift(self, offset: Values) -> Box:
        return self._box().shift(offset)

    def scale(self, factor: Values) -> Box:
        return self._box().scale(factor)

    def select(self, columns: tuple[int, ...]) -> Body:
        chosen = np.ascontiguousarray(self.steps[:, list(columns)])
        longest = len(columns) * int(np.abs(chosen).max()) ** 2
        if not 0 < longest <= 1 << _SQUARE_BITS:
            return self._box().select(columns)
        return Points((self.key, columns), self.edges, chosen, self.grid)

    def non_negative(self) -> bool:
        return bool(self.steps.min() >= 0)

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        ends = np.concatenate([self.steps.argmin(axis=0), self.steps.argmax(axis=0)])
        anywhere = generator.integers(0, len(self.steps), count)
        extreme = generator.choice(ends, count)
        return self.at(np.where(generator.random(count) < 0.5, extreme, anywhere))

    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        return _with_missing(self.at(self.places_in(entries)), entries)

    def exponent(self) -> int:
        return self.grid

    def snapper(self) -> GridRounding:
        """Whatever the row, its image is a point of the table."""
        return StepsOf(lambda rows: self.steps[self.places_in(rows)])

    def specialised_sum(self) -> RowSum[Whole]:
        return PointSum(self)

    def __repr__(self) -> str:
        return f"<{len(self.steps)} points of {self.key!r}>"


def _with_missing(rows: Floats, before: Floats) -> Floats:
    """New rows, those that come of a row with a missing entry made missing."""
    if holds_missing(before):
        rows[~whole_rows(before)] = np.nan
    return rows


@attrs.frozen(repr=False)
class PointOf:
    """A block function from one column of numbers to the points that they belong to."""

    body: Points

    def __call__(self, block: Floats) -> Floats:
        return _with_missing(self.body.at(self.body.places_of(block[:, 0])), block)


class PointSum(RowSum[Whole]):
    """Counts how often each point occurs; the sum is that of the points so many times.

    It absorbs ``PointOf``: then the blocks are of one column and no rows are ever written out.
    """

    def __init__(self, body: Points) -> None:
        self._body = body

    def empty(self) -> Whole:
        return np.zeros(len(self._body.steps), dtype=np.int64)

    def summarise(self, block: Floats) -> Whole:
        body = self._body
        if block.shape[1] != body.columns:
            return body.cells.count_by_place(block[:, 0])
        return np.bincount(body.places_in(block), minlength=len(body.steps))

    def finish(self, summary: Whole) -> Numeric:
        met = np.flatnonzero(summary)
        counts, steps = summary[met], self._body.steps[met]
        if int(counts.sum()) * self._body.largest < _ROOM:
            return counts @ steps
        whole: Numeric = (counts[:, None] * steps.astype(object)).sum(axis=0)
        return whole

    def fuses_with(self, function: Block) -> bool:
        return self._body.columns > 1 and function == PointOf(self._body)
