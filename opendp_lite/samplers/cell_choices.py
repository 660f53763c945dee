"""A cell for each of many columns of numbers, each drawn as ``CellChoice`` draws one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Final, TypeVar

import attrs
import numpy as np

from opendp_lite.engines.data.fold import Scratch
from opendp_lite.samplers.choice import FAR_EXPONENT, WeightedItems, below_each, choose_each
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.lattice import Counts, Flags, Floats, Lattice
from opendp_lite.samplers.rank_choice import (
    CellChoice,
    InCells,
    NumbersInCells,
    RankLaw,
    Ranks,
    counts_before,
    distances,
    is_rare,
    sort_between,
    window,
)

Each = TypeVar("Each")

# Numbers that are gone through together: an array of 16 MiB.
_ENTRIES: Final = 2**21
# How far apart the exponents of a run may be: then most cells that are drawn are kept.
_ALIKE: Final = Fraction(1, 2)
# Items of a run, which are looked through where it is drawn.
_LONGEST: Final = 64
# Stands for all cells that are not near the quantile.
_REST: Final = -1


@attrs.frozen
class CellChoices:
    """A cell of a lattice for each column, by how many of its numbers lie before and after it.

    Args:
        lattices: One for all columns, or one for each.
        laws: One for all columns, or one for each; all of one quantile and without an offset.

    Proof:
        All columns have as many numbers, so their items lie at the same distances from the
        quantile. Each column has the items, the window and the rest of ``CellChoice``. Neighbouring
        items on one side of the quantile are a run, with the exponent of the nearest of them.
        ``choose_each`` draws a run and a cell of it, and keeps the cell by the exact exponent of
        its item. So each cell has the weight that ``CellChoice`` gives it. The window is that of
        the gentlest slope, which is wide enough for all. Where the rest is chosen, or is not rare,
        the column is drawn by ``CellChoice`` itself. The columns are drawn independently.
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
        step, scratch = max(1, _ENTRIES // max(size, 1)), Scratch()
        parts = [
            self._part(start, numbers(start, min(start + step, columns)), scratch, entropy)
            for start in range(0, columns, step)
        ]
        return np.concatenate(parts)

    def _part(self, start: int, numbers: Floats, scratch: Scratch, entropy: Entropy) -> Counts:
        """The cells of some columns from ``start`` on."""
        places = np.arange(start, start + len(numbers))
        lattices = _some(list(self.lattices), places % len(self.lattices))
        laws = _some(list(self.laws), places % len(self.laws))
        return _Several(lattices, laws, numbers, scratch).cells(entropy)


@attrs.frozen(eq=False)
class _Several:
    """Columns that are gone through together; lattices and laws: one for all, or one each."""

    lattices: list[Lattice]
    laws: list[RankLaw]
    numbers: Floats
    scratch: Scratch

    def cells(self, entropy: Entropy) -> Counts:
        """The chosen cells."""
        size = self.numbers.shape[1]
        first, last = self._window(size)
        if last - first < size // 4:
            return self._near(first, last, entropy)
        return choose_each(self.runs(0, size), entropy, self.scratch)

    def _window(self, size: int) -> tuple[int, int]:
        """The numbers near the quantile, for the gentlest slope and the most cells."""
        cells = max(lattice.cells for lattice in self.lattices)
        gentlest = min(self.laws, key=lambda law: law.slope)
        return window(gentlest, cells, size)

    def runs(self, first: int, last: int) -> _Runs:
        """The items of each column from the gap after ``first`` numbers to that after ``last``."""
        size = self.numbers.shape[1]
        start, stop = max(first - 1, 0), min(last + 1, size)
        edges = _Edges(
            self.lattices,
            sort_between(self.numbers, start, stop),
            self.laws[0].target(size) - start,
            begins=int(first == 0),
            ends=int(last == size),
        )
        return _Runs.of(edges, self.laws, size, first, last)

    def _near(self, first: int, last: int, entropy: Entropy) -> Counts:
        """The choices among the items near the quantile and the rest, where that is rare."""
        runs, size = self.runs(first, last), self.numbers.shape[1]
        outside = min(
            self.laws[0].distance(rank, size - rank, size) for rank in (first - 1, last + 1)
        )
        rest = np.array([lattice.cells for lattice in self.lattices]) - runs.widths
        inside = (runs.counts * np.exp(-runs.exponents)).sum(axis=1)
        farther = [law.slope * outside for law in runs.laws]
        rare = [
            is_rare(int(cells), farther[lane % len(farther)], float(held))
            for lane, (cells, held) in enumerate(zip(rest, inside, strict=True))
        ]
        lanes, found = np.flatnonzero(rare), np.zeros(len(rare), dtype=np.int64)
        if len(lanes):
            both = _WithRest.of(runs.part(lanes), rest[lanes], outside)
            # The rest is drawn by its bound, and a cell of it kept by the exact ratio.
            found[lanes] = choose_each(both, entropy, self.scratch)
            for lane in np.flatnonzero(found == _REST).tolist():
                found[lane] = self._beyond(lane, runs, outside, entropy)
        for lane in np.flatnonzero(~np.array(rare)).tolist():
            found[lane] = self._choice(lane).among_all(self._column(lane), entropy)
        return found

    def _beyond(self, lane: int, runs: _Runs, outside: Fraction, entropy: Entropy) -> int:
        """The cell of a column whose rest was chosen: one of the rest, or else all anew."""
        choice, numbers = self._choice(lane), self._column(lane)
        stretch = int(runs.bounds[lane, 0]), int(runs.bounds[lane, -1])
        found = choice.outside_of(stretch, numbers, outside, entropy)
        return choice.cell_among(numbers, entropy) if found is None else found

    def _choice(self, lane: int) -> CellChoice:
        lattice = self.lattices[lane % len(self.lattices)]
        return CellChoice(lattice, self.laws[lane % len(self.laws)])

    def _column(self, lane: int) -> NumbersInCells:
        return NumbersInCells(self._choice(lane).lattice, self.numbers[lane])


@attrs.frozen(eq=False)
class _Edges:
    """The edges of the items of several columns.

    Item i of a column is made of its cells edge(i) to edge(i + 1) - 1. Below the quantile the cells
    of the numbers are edges, above it the cells after them. Two neighbouring edges lie around it.

    Args:
        lattices: One for all columns, or one for each.
        numbers: Those near the quantile, rising, a row for each column.
        middle: How many of them are to lie below the quantile.
        begins: 1 if the first cell of all is an edge too, else 0.
        ends: 1 if the end of the last cell of all is one, else 0.
    """

    lattices: list[Lattice]
    numbers: Floats
    middle: Fraction
    begins: int
    ends: int

    @property
    def nearest(self) -> int:
        """The item in which the quantile lies."""
        return self.begins + ceil(self.middle) - 1

    @property
    def items(self) -> int:
        """How many items a column has."""
        return self.nearest + int(self.numbers.shape[1]) - floor(self.middle) + self.ends

    def at(self, places: Counts) -> Counts:
        """Some of the edges of all columns: the first one, the last one, and others between."""
        edges = np.zeros((len(self.numbers), len(places)), dtype=np.int64)
        inside = slice(self.begins, len(places) - self.ends)
        columns, above = self._columns(places[inside])
        edges[:, inside] = self._cells(self.numbers[:, columns], slice(None)) + above
        if self.ends:
            edges[:, -1] = [lattice.cells for lattice in self.lattices]
        return edges

    def between(self, lanes: Counts, places: Counts) -> Counts:
        """Edges of some columns, a row of places for each; neither the first one nor the last."""
        columns, above = self._columns(places)
        return self._cells(self.numbers[lanes[:, None], columns], lanes) + above

    def part(self, lanes: Counts) -> _Edges:
        """Those of some of the columns."""
        return attrs.evolve(self, lattices=_some(self.lattices, lanes), numbers=self.numbers[lanes])

    def _columns(self, places: Counts) -> tuple[Counts, Flags]:
        """The places of numbers whose cells are edges, and whether the edge is behind the cell."""
        above = places > self.nearest
        back = self.begins + (ceil(self.middle) - floor(self.middle)) * above
        return places - back, above

    def _cells(self, numbers: Floats, lanes: Counts | slice) -> Counts:
        """The cells of numbers, a row for each of some columns."""
        if len(self.lattices) == 1:
            return self.lattices[0].cell(numbers)
        rows = zip(np.arange(len(self.lattices))[lanes].tolist(), numbers, strict=True)
        return np.array([self.lattices[lane].cell(row) for lane, row in rows])


@attrs.frozen(eq=False)
class _Runs(WeightedItems):
    """The items of several columns in runs, whose exponents are nearly one.

    Args:
        edges: Of the items.
        laws: One for all columns, or one for each.
        size: How many numbers a column has.
        first: How many of them lie before the first item.
        away: How far each item is from the quantile.
        cuts: The first item of each run, and the one after the last.
        bounds: Run i of a column is made of its cells bounds[i] to bounds[i + 1] - 1.
        counts: How many cells each run has.
        exponents: Of the nearest item of each run.
    """

    edges: _Edges
    laws: list[RankLaw]
    size: int
    first: int
    away: Floats
    cuts: Counts
    bounds: Counts
    counts: Counts
    exponents: Floats

    @classmethod
    def of(cls, edges: _Edges, laws: list[RankLaw], size: int, first: int, last: int) -> _Runs:
        """With runs as long as the steepest slope lets them be."""
        steepest = max(law.slope for law in laws)
        cuts = _cuts(edges, max(1, min(int(_ALIKE / steepest), _LONGEST)))
        bounds = edges.at(cuts)
        away = distances(laws[0].target(size), first, last)
        nearest = np.where(cuts[1:] <= edges.nearest, cuts[1:] - 1, cuts[:-1])
        exponents = _exponents(away[nearest], _slopes(laws)[:, None])
        return cls(edges, laws, size, first, away, cuts, bounds, np.diff(bounds, axis=1), exponents)

    @property
    def widths(self) -> Counts:
        """How many cells the items of each column have together."""
        found: Counts = self.bounds[:, -1] - self.bounds[:, 0]
        return found

    def drawn(self, lanes: Counts, places: Counts, entropy: Entropy) -> tuple[Counts, Floats]:
        """A cell of a run of each of some columns, each as likely, and its exponent."""
        cells = self.bounds[lanes, places] + below_each(self.counts[lanes, places], entropy)
        away = self.away[self.items(lanes, places, cells)]
        slopes = _slopes(self.laws)
        return cells, _exponents(away, slopes[lanes % len(slopes)])

    def exactly(self, lane: int, item: int) -> Fraction:
        """The exact exponent of a cell of a column."""
        place = int(self.bounds[lane].searchsorted(item, side="right")) - 1
        rank = self.items(*(np.array([each]) for each in (lane, place, item)))
        ranks = Ranks(self.laws[lane % len(self.laws)], self.size, self.first, self.away)
        return ranks.exactly(int(rank[0]))

    def items(self, lanes: Counts, places: Counts, cells: Counts) -> Counts:
        """In which items some cells lie: one cell for each column, and its run."""
        start, stop = self.cuts[places][:, None], self.cuts[places + 1][:, None]
        inner = start + np.arange(1, int((stop - start).max()))
        last = self.edges.items - self.edges.ends
        edges = self.edges.between(lanes, np.minimum(inner, last))
        found: Counts = ((inner < stop) & (edges <= cells[:, None])).sum(axis=1)
        found += self.cuts[places]
        return found

    def part(self, lanes: Counts) -> _Runs:
        """Those of some of the columns."""
        return attrs.evolve(
            self,
            edges=self.edges.part(lanes),
            laws=_some(self.laws, lanes),
            bounds=self.bounds[lanes],
            counts=self.counts[lanes],
            exponents=self.exponents[lanes] if len(self.laws) > 1 else self.exponents,
        )


@attrs.frozen(eq=False)
class _WithRest(WeightedItems):
    """Runs of columns, and behind them the rest of each column as one item.

    Args:
        runs: The runs.
        counts: Of them and of the rest.
        exponents: Of them and of the rest, as if all of it were as near as the nearest of it.
        farther: The exact exponent of the rest, of all columns or of each.
    """

    runs: _Runs
    counts: Counts
    exponents: Floats
    farther: list[Fraction]

    @classmethod
    def of(cls, runs: _Runs, rest: Counts, outside: Fraction) -> _WithRest:
        """With a rest of so many cells, all at this distance or farther."""
        farther = [law.slope * outside for law in runs.laws]
        least = np.array([[min(float(each), FAR_EXPONENT)] for each in farther])
        counts = np.hstack([runs.counts, rest[:, None]])
        return cls(runs, counts, np.hstack([runs.exponents, least]), farther)

    def drawn(self, lanes: Counts, places: Counts, entropy: Entropy) -> tuple[Counts, Floats]:
        """A cell of a run, or ``_REST``."""
        cells = np.full(len(lanes), _REST, dtype=np.int64)
        exponents = self.exponents[lanes % len(self.exponents), -1]
        near = np.flatnonzero(places < self.runs.counts.shape[1])
        if len(near):
            cells[near], exponents[near] = self.runs.drawn(lanes[near], places[near], entropy)
        return cells, exponents

    def exactly(self, lane: int, item: int) -> Fraction:
        """The exact exponent of a cell of a column, or of the rest."""
        if item == _REST:
            return self.farther[lane % len(self.farther)]
        return self.runs.exactly(lane, item)


def _cuts(edges: _Edges, length: int) -> Counts:
    """Where runs of so many items begin, and where the last one ends.

    The item in which the quantile lies is a run of its own.
    """
    below = np.arange(edges.nearest, 0, -length)[::-1]
    above = np.arange(edges.nearest + 1, edges.items, length)
    return np.concatenate([[0], below, above, [edges.items]])


def _slopes(laws: list[RankLaw]) -> Floats:
    return np.array([float(law.slope) for law in laws])


def _exponents(away: Floats, slopes: Floats) -> Floats:
    """As floats, within 2^-40 up to ``FAR_EXPONENT``."""
    found: Floats = np.minimum(away * slopes, FAR_EXPONENT)
    return found


def _some(each: list[Each], lanes: Counts) -> list[Each]:
    """What belongs to some of the columns: one for all, or one for each."""
    return [each[lane] for lane in lanes.tolist()] if len(each) > 1 else each


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
