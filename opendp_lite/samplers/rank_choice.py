"""The exponential mechanism on ranks: an item near a quantile, exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, floor, log
from typing import Final, TypeVar

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.engines.data.fold import Numeric
from opendp_lite.numbers.exact import nearest
from opendp_lite.samplers.choice import FAR_EXPONENT, below_each, choose, choose_each, happens
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.lattice import Counts, Floats, Lattice, LatticeValues, Stretch

Each = TypeVar("Each")

STEEPEST: Final = Fraction(2**10)
"""A steeper slope changes nothing: one rank further off already weighs e^-1024."""
# All cells outside of the window then weigh less than e^-28 of one cell in the middle.
_NEGLIGIBLE = 28
# Whoever draws the rest counts all numbers, so it is to be drawn hardly ever.
_RARE = 2.0**-20
# exp(-700) is a positive float still.
_LARGE = 700.0
# The distances of up to so many items are kept, 0.8 MB at most for each of eight.
_KEPT = 100_000
# Of distances in units of 1 / slope: floats tell those to less than 2^-32, far or near.
_STEADY = 2**16


def _within_floats(law: RankLaw, field: object, slope: Fraction) -> None:
    """Refuses a slope at which floats do not tell exponents to 2^-32."""
    if not 0 < slope <= STEEPEST:
        raise ParameterError(
            f"RankLaw: slope must be above 0 and at most {STEEPEST}, got {nearest(slope):g}; "
            f"a steeper one chooses as {STEEPEST} does"
        )


@attrs.frozen
class RankLaw:
    """Items weigh exp(-slope distance), for the distance of an item from a quantile q.

    Of n numbers, ``under`` lie below an item and ``over`` above it. With the target t = q n its
    distance is max(0, under - t, over - (n - t)), which is 0 for a q-quantile and |under - t| for
    an item between the numbers. An ``offset`` is added to the target, which stays between 0 and n.
    """

    quantile: Fraction
    slope: Fraction = attrs.field(validator=_within_floats)
    offset: Fraction = Fraction(0)

    def target(self, size: int) -> Fraction:
        """How many numbers are to lie below the item."""
        return min(max(self.quantile * size + self.offset, Fraction(0)), Fraction(size))

    def distance(self, under: int, over: int, size: int) -> Fraction:
        """How far off an item is."""
        low = self.target(size)
        return max(Fraction(0), under - low, over - size + low)

    def choose(
        self, counts: Counts, under: Counts, over: Counts, size: int, entropy: Entropy
    ) -> int:
        """The index of one of ``counts`` items of each kind, drawn exactly."""
        weights = self.weigh(counts, under, over, size)
        return choose(counts, weights.exponents, weights.exactly, entropy)

    def weigh(self, counts: Counts, under: Counts, over: Counts, size: int) -> Weights:
        """The items' weights, seen from about the nearest of those that are there.

        Far off, floats tell distances apart no better than to a part of a rank. So the nearest is
        looked for again among distances from the one that was found.
        """
        low = self.target(size)

        def seen_from(distance: Fraction) -> Floats:
            return np.maximum(_excess(under, low + distance), _excess(over, size - low + distance))

        def nearest_by(far: Floats) -> Fraction:
            best = int(np.argmin(np.where(counts > 0, far, np.inf)))
            return self.distance(int(under[best]), int(over[best]), size)

        far, seen = seen_from(Fraction(0)), Fraction(0)
        nearest = nearest_by(far)
        if nearest * self.slope >= _STEADY:
            far, seen = seen_from(nearest), nearest
            nearest = nearest_by(far)
        far -= float(nearest - seen)
        far *= float(self.slope)
        return Weights(self, under, over, size, nearest, far.clip(0.0, FAR_EXPONENT, out=far))


@attrs.frozen(eq=False)
class Weights:
    """Items with their exponents, less that of an item at the distance ``nearest``."""

    law: RankLaw
    under: Counts
    over: Counts
    size: int
    nearest: Fraction
    exponents: Floats

    def exactly(self, index: int) -> Fraction:
        """The exact exponent of an item."""
        under, over = int(self.under[index]), int(self.over[index])
        return self.law.slope * (self.law.distance(under, over, self.size) - self.nearest)


def _excess(counts: Counts, level: Fraction) -> Floats:
    """counts - level, within 2^-53 and 2^-53 of it."""
    whole = level.numerator // level.denominator
    return (counts - whole).astype(np.float64) - float(level - whole)


class InCells(ABC):
    """Numbers of which only their cells matter, in order."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many there are."""

    @abstractmethod
    def between(self, first: int, last: int) -> Counts:
        """The cells of those from the place ``first`` to ``last`` - 1, rising."""

    @abstractmethod
    def before(self, cells: Counts) -> Counts:
        """How many lie in cells before each of some cells."""


@attrs.frozen(eq=False)
class NumbersInCells(InCells):
    """Numbers in one array, which are put into another order."""

    lattice: Lattice
    column: LatticeValues

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.column)

    def between(self, first: int, last: int) -> Counts:
        return self.lattice.cell(sort_between(self.column, first, last))

    def within(self, places: Stretch) -> NumbersInCells:
        """Of numbers that are places: those of some places alone."""
        inside = (self.column >= places.first) & (self.column < places.last)
        return NumbersInCells(places, self.column[inside])

    def before(self, cells: Counts) -> Counts:
        return counts_before(self.lattice.cell(self.column), cells)


def sort_between(numbers: Numeric, first: int, last: int) -> Numeric:
    """The numbers of each row from one place to before another, rising; all are put in order."""
    if first < last and last - first < numbers.shape[-1]:
        numbers.partition(first, axis=-1)
        numbers[..., first:].partition(last - 1 - first, axis=-1)
    inside = numbers[..., first:last]
    inside.sort(axis=-1)
    return inside


def counts_before(found: Counts, cells: Counts) -> Counts:
    """How many entries are below each of some numbers."""
    rising, places = np.unique(cells, return_inverse=True)
    beside = np.bincount(np.searchsorted(rising, found, side="right"), minlength=len(rising) + 1)
    return np.cumsum(beside)[places]


# Of so many numbers the ranks of two are looked for, between which those that are wanted lie.
_SAMPLE: Final = 2**14
# Ranks in the sample: four standard deviations of a random one of this size.
_SLACK: Final = 2**8


@attrs.frozen(eq=False)
class PiecesInCells(InCells):
    """Numbers in several arrays, which are not changed.

    Args:
        lattice: Of the cells.
        pieces: The arrays.

    Proof:
        All numbers from ``low`` to ``high`` are put together. As many as ``under`` lie below them.
        So the number at the place p of all in order is at the place p - under of these, if it is
        one of them: if under <= p, and if p - under is below their number. Where that does not hold
        for the places that are asked for, all numbers are put together. NaN is above all.
    """

    lattice: Lattice
    pieces: Sequence[Floats]

    @property
    def size(self) -> int:
        """How many there are."""
        return sum(map(len, self.pieces))

    def between(self, first: int, last: int) -> Counts:
        # With fewer, a sample costs as much as it saves.
        if self.size >= 8 * _SAMPLE and first < last:
            under, inside = self._near(first, last)
            # A sample may mislead, but only in time: this says whether all places lie inside.
            if under <= first and last - under <= len(inside):
                return NumbersInCells(self.lattice, inside).between(first - under, last - under)
        # A copy, which may be put into another order; ``np.empty`` stands for no pieces at all.
        held: Floats = np.concatenate([np.empty(0), *self.pieces])
        return NumbersInCells(self.lattice, held).between(first, last)

    def before(self, cells: Counts) -> Counts:
        counts = np.zeros(len(cells), dtype=np.int64)
        for piece in self.pieces:
            counts += counts_before(self.lattice.cell(piece), cells)
        return counts

    def _near(self, first: int, last: int) -> tuple[int, Floats]:
        """How many numbers are below some, and those: most likely all from a place to another."""
        size = self.size
        step = size // _SAMPLE
        sample = np.concatenate([piece[::step] for piece in self.pieces])
        sample.sort()
        share = len(sample) / size
        low = int(first * share) - _SLACK
        high = int(last * share) + _SLACK
        least = sample[low] if low >= 0 else -np.inf
        most = sample[high] if high < len(sample) else np.inf
        below, inside = 0, []
        for piece in self.pieces:
            under = piece < least
            below += int(np.count_nonzero(under))
            inside.append(piece[(piece <= most) & ~under])
        return below, np.concatenate(inside)


# Numbers that are gone through together: an array of 16 MiB.
_ENTRIES: Final = 2**21
# How far apart the exponents of a run may be: then most cells that are drawn are kept.
_ALIKE: Final = Fraction(1, 2)
# Items of a run, which are looked through where it is drawn.
_LONGEST: Final = 64


@attrs.frozen
class CellChoice:
    """A cell of a lattice, by how many numbers lie in cells before it and after it."""

    lattice: Lattice
    law: RankLaw

    def cell(self, column: LatticeValues, entropy: Entropy) -> int:
        """The chosen cell. ``column`` is put into another order."""
        return self.cell_among(NumbersInCells(self.lattice, column), entropy)

    def cell_among(self, numbers: InCells, entropy: Entropy) -> int:
        """The chosen cell, for numbers that may lie elsewhere."""
        return int(self.columns(numbers).choose(entropy)[0])

    def columns(self, numbers: InCells) -> Columns:
        """These numbers as the only column: their cells, as whole numbers."""

        def between(first: int, last: int) -> Counts:
            return numbers.between(first, last)[None]

        whole = Stretch(0, self.lattice.cells)
        return Columns([whole], [self.law], numbers.size, between, lambda _: numbers)


@attrs.frozen
class CellChoices:
    """A cell of a lattice for each of many columns, each drawn as ``CellChoice`` draws one.

    Args:
        lattices: One for all columns, or one for each.
        laws: One for all columns, or one for each; all of one quantile and without an offset.
    """

    lattices: tuple[Lattice, ...]
    laws: tuple[RankLaw, ...]

    def cells(
        self, columns: int, numbers: Callable[[int, int], Floats], size: int, entropy: Entropy
    ) -> Counts:
        """The chosen cells.

        Args:
            columns: How many columns there are.
            numbers: Those of the columns from one to before another, a row for each column; they
                are put into another order.
            size: How many numbers a column has.
            entropy: Where the random words come from.
        """
        step = max(1, _ENTRIES // max(size, 1))
        parts = [
            self.part(start, numbers(start, min(start + step, columns))).choose(entropy)
            for start in range(0, columns, step)
        ]
        return np.concatenate(parts)

    def part(self, start: int, numbers: Floats) -> Columns:
        """Some columns from ``start`` on."""
        places = np.arange(start, start + len(numbers))
        lattices = _some(list(self.lattices), places % len(self.lattices))
        laws = _some(list(self.laws), places % len(self.laws))

        def between(first: int, last: int) -> Floats:
            return sort_between(numbers, first, last)

        def column(lane: int) -> InCells:
            return NumbersInCells(nth(lattices, lane), numbers[lane])

        return Columns(lattices, laws, numbers.shape[1], between, column)


@attrs.frozen(eq=False)
class Columns:
    """Columns of as many numbers each, of which a cell each is chosen.

    Args:
        lattices: One for all, or one for each.
        laws: One for all, or one for each; all of one target.
        size: How many numbers a column has.
        between: ``between(first, last)`` gives the numbers from a place to before another,
            rising, a row for each column.
        column: The numbers of one of them.
        target: How many numbers of a column are to lie below the chosen cell.

    Proof:
        Cells between two neighbouring numbers share one weight. A cell that holds numbers weighs as
        much as the gap beside it that is nearer to the quantile; the cell, or the two cells and the
        gap between them, in which the quantile lies are one more item. So the choice is among n + 2
        items at most. All columns have as many numbers, so their items lie at the same distances
        from the quantile. Only those near the quantile are looked at; the cells of all others are
        one item with a bound on their weight, and if it is chosen, one of them is drawn and kept by
        the exact ratio. Where that item is not rare, all are looked at. The columns are drawn
        independently.
    """

    lattices: list[Lattice]
    laws: list[RankLaw]
    size: int
    between: Callable[[int, int], LatticeValues]
    column: Callable[[int], InCells]
    target: Fraction = attrs.field(
        default=attrs.Factory(lambda it: it.laws[0].target(it.size), takes_self=True), init=False
    )

    def choose(self, entropy: Entropy) -> Counts:
        """The chosen cells."""
        # The window of the gentlest slope and the most cells is wide enough for all.
        cells = max(lattice.cells for lattice in self.lattices)
        slope = min(law.slope for law in self.laws)
        first, last = window(self.target, slope, cells, self.size)
        # A window of a quarter of the numbers or more saves too little beside sorting all.
        if last - first >= self.size // 4:
            return Items.of(self, 0, self.size).choose(entropy)
        items = Items.of(self, first, last)
        rare = items.has_rare_rest()
        if not any(rare):
            return np.array([self._choose_alone(lane, entropy) for lane in range(len(rare))])
        found = items.choose(entropy)
        for lane in np.flatnonzero((found >= items.bounds[:, -2]) | ~np.array(rare)).tolist():
            # What was drawn of a column whose rest is not rare is not looked at.
            if not rare[lane]:
                found[lane] = self._choose_alone(lane, entropy)
            else:
                found[lane] = self._keep_beyond(lane, int(found[lane]), items.outside, entropy)
        return found

    @property
    def slopes(self) -> Floats:
        """Of the laws."""
        return np.array([float(law.slope) for law in self.laws])

    @property
    def cells(self) -> Counts:
        """How many there are, in all columns or in each."""
        return np.array([lattice.cells for lattice in self.lattices], dtype=np.int64)

    def find_cells(self, lanes: Counts | slice, numbers: LatticeValues) -> Counts:
        """The cells of numbers, a row for each of some columns."""
        if len(self.lattices) == 1:
            return self.lattices[0].cell(numbers)
        rows = zip(np.arange(len(self.lattices))[lanes].tolist(), numbers, strict=True)
        return np.array([self.lattices[lane].cell(row) for lane, row in rows])

    def edges(
        self, lanes: Counts | slice, places: Counts, numbers: LatticeValues, first: int
    ) -> Counts:
        """Edges of some columns that numbers make: at the same places, or at a row for each."""
        before, after = ceil(self.target), floor(self.target)
        above = places > before - first
        places = places - (first == 0) - (before - after) * above
        rows = lanes if isinstance(lanes, slice) else lanes[:, None]
        return self.find_cells(lanes, numbers[rows, places]) + above

    def alone(self, lane: int) -> Columns:
        """One of them."""
        choice = CellChoice(nth(self.lattices, lane), nth(self.laws, lane))
        return choice.columns(self.column(lane))

    def _choose_alone(self, lane: int, entropy: Entropy) -> int:
        """The chosen cell of one column, all numbers looked at."""
        return int(Items.of(self.alone(lane), 0, self.size).choose(entropy)[0])

    def _keep_beyond(self, lane: int, cell: int, outside: Fraction, entropy: Entropy) -> int:
        """A cell beyond the items of a column if it is kept, else one that is drawn anew."""
        law, cell = nth(self.laws, lane), cell % nth(self.lattices, lane).cells
        under, over = self.column(lane).before(np.array([cell, cell + 1], dtype=np.int64)).tolist()
        distance = law.distance(under, self.size - over, self.size)
        # The rest is drawn by its bound, and a cell of it kept by the exact ratio.
        if happens(Fraction(1), law.slope * (distance - outside), entropy):
            return cell
        return int(self.alone(lane).choose(entropy)[0])


def window(target: Fraction, slope: Fraction, cells: int, size: int) -> tuple[int, int]:
    """The gaps between which the numbers near the quantile lie: all others weigh next to nothing.

    Args:
        target: How many numbers are to lie below the chosen cell.
        slope: How the weights fall.
        cells: How many there are.
        size: How many numbers there are.
    """
    middle = int(target)
    reach = ceil(Fraction(log(cells) + _NEGLIGIBLE) / slope) + 1
    return max(0, middle - reach), min(size, middle + reach)


@attrs.frozen(eq=False)
class Items:
    """The items of columns, from the gap after ``first`` numbers to that after ``last``, in runs.

    Item i of a column is made of its cells edge(i) to edge(i + 1) - 1. Below the quantile the cells
    of the numbers are edges, above it the cells after them: a cell with numbers goes with the gap
    beside it that is nearer to the target. Two neighbouring edges lie around the target, and the
    middle item between them is at a distance of 0 and always there.

    Neighbouring items on one side of the middle are a run. A run is drawn by the exponent of the
    nearest of them, then a cell of it, which is kept by the exact exponent of its item.

    The cells beyond are one more item, with a bound on their distance, and the last run. They are
    counted on from those of the other items, and after the last of all cells from the first.

    Args:
        columns: Whose items they are.
        numbers: Those of the columns near the quantile, rising.
        first: How many numbers lie before the first item.
        last: How many do not lie after the last one.
        away: How far each item is from the quantile, and at last the cells beyond at least.
        outside: That last distance, exactly.
        cuts: The first item of each run, and the one after the last.
        bounds: Run i of a column is made of its cells bounds[i] to bounds[i + 1] - 1.
        counts: How many cells each run has.
        exponents: Of the nearest item of each run.
    """

    columns: Columns
    numbers: LatticeValues
    first: int
    last: int
    away: Floats
    outside: Fraction
    cuts: Counts
    bounds: Counts
    counts: Counts
    exponents: Floats

    @classmethod
    def of(cls, columns: Columns, first: int, last: int) -> Items:
        """With runs as long as the steepest slope lets them be; of one item in a single column."""
        target, size = columns.target, columns.size
        # The next gaps beyond are the nearest of what is left out.
        outside = min(target - first, last - target) + 1
        away = np.concatenate([distances(target, first, last), [float(outside)]])
        numbers = columns.between(max(first - 1, 0), min(last + 1, size))
        steepest = max(law.slope for law in columns.laws)
        length = 1 if len(numbers) == 1 else max(1, min(int(_ALIKE / steepest), _LONGEST))
        cuts, nearest = _cuts(ceil(target) - first, len(away) - 1, length)
        exponents = _exponents(away[nearest], columns.slopes[:, None])
        bounds = np.empty((len(numbers), len(cuts)), dtype=np.int64)
        bounds[:, 0], bounds[:, -2] = 0, columns.cells
        inner = slice(int(first == 0), len(cuts) - 1 - (last == size))
        bounds[:, inner] = columns.edges(slice(None), cuts[inner], numbers, first)
        bounds[:, -1] = bounds[:, 0] + columns.cells
        counts = bounds[:, 1:] - bounds[:, :-1]
        return cls(columns, numbers, first, last, away, outside, cuts, bounds, counts, exponents)

    def has_rare_rest(self) -> list[bool]:
        """Of which columns a cell beyond is chosen so rarely that it costs no time."""
        far = [float(law.slope * self.outside) for law in self.columns.laws]
        inside = (self.counts * np.exp(-self.exponents))[:, :-1].sum(axis=1).tolist()
        pairs = zip(self.counts[:, -1].tolist(), inside, strict=True)
        return [
            self.outside > 0 and rest * exp(-min(nth(far, lane), _LARGE)) <= _RARE * weight
            for lane, (rest, weight) in enumerate(pairs)
        ]

    def choose(self, entropy: Entropy) -> Counts:
        """A cell of each column."""
        given = self.counts, self.exponents, self.exactly, entropy
        return choose_each(*given, draw=self.draw)

    def draw(self, lanes: Counts, places: Counts, entropy: Entropy) -> tuple[Counts, Floats]:
        """A cell of a run of each of some columns, each as likely, and its exponent."""
        cells = self.bounds[lanes, places] + below_each(self.counts[lanes, places], entropy)
        # In runs of one item the exponent is that of the run.
        if len(self.cuts) > len(self.away):
            return cells, self.exponents[lanes % len(self.exponents), places]
        away, slopes = self.away[self.find(lanes, places, cells)], self.columns.slopes
        return cells, _exponents(away, slopes[lanes % len(slopes)])

    def find(self, lanes: Counts, places: Counts, cells: Counts) -> Counts:
        """In which items some cells lie: one cell for each column, and its run."""
        start, stop = self.cuts[places][:, None], self.cuts[places + 1][:, None]
        inner = start + np.arange(1, int((stop - start).max()))
        last = len(self.away) - 1 - (self.last == self.columns.size)
        edges = self.columns.edges(lanes, np.minimum(inner, last), self.numbers, self.first)
        found: Counts = ((inner < stop) & (edges <= cells[:, None])).sum(axis=1)
        found += self.cuts[places]
        return found

    def exactly(self, lane: int, cell: int) -> Fraction:
        """The exact exponent of a cell of a column; the bound on it for one beyond."""
        slope: Fraction = nth(self.columns.laws, lane).slope
        place = int(self.bounds[lane].searchsorted(cell, side="right")) - 1
        alone = np.array([[lane], [place], [cell]], dtype=np.int64)
        item = int(self.find(*alone)[0])
        middle, rank = self.columns.target, self.first + item
        before, after = ceil(middle), floor(middle)
        if item == len(self.away) - 1:
            return slope * self.outside
        if rank == before:
            return Fraction(0)
        return slope * (middle - rank if rank < before else rank - before + after - middle)


def distances(middle: Fraction, first: int, last: int) -> Floats:
    """How far the items of a lattice are from the target; not to be changed."""
    find = _distances if last - first <= _KEPT else _distances.__wrapped__
    return find(middle, first, last)


@lru_cache(maxsize=8)
def _distances(middle: Fraction, first: int, last: int) -> Floats:
    before, after = ceil(middle), floor(middle)
    below = -_excess(np.arange(first, before), middle)
    return np.concatenate([below, [0.0], _excess(np.arange(after + 1, last + 1), middle)])


def _cuts(middle: int, items: int, length: int) -> tuple[Counts, Counts]:
    """Where runs of so many items begin and end, and the nearest item of each.

    The middle item is a run by itself, and so are the cells beyond all items.
    """
    if length == 1:
        cuts = np.arange(items + 2)
        return cuts, cuts[:-1]
    below, above = np.arange(middle, 0, -length)[::-1], np.arange(middle + 1, items, length)
    cuts = np.concatenate([[0], below, above, [items, items + 1]])
    return cuts, np.where(cuts[1:] <= middle, cuts[1:] - 1, cuts[:-1])


def _exponents(away: Floats, slopes: Floats) -> Floats:
    """As floats, within 2^-40 up to ``FAR_EXPONENT``."""
    return np.minimum(away * slopes, FAR_EXPONENT)


def nth(each: Sequence[Each], lane: int) -> Each:
    """What belongs to a column: one for all, or one for each."""
    return each[lane % len(each)]


def _some(each: list[Each], lanes: Counts) -> list[Each]:
    """The same of some of the columns."""
    return [each[lane] for lane in lanes.tolist()] if len(each) > 1 else each
