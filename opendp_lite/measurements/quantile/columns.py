"""Columns of rows, here or on other machines, and the cells that quantiles are chosen among.

Rows on other machines stay there. Numbers of them are found by counting, in passes over the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.data.fold import Floats, Reduction
from opendp_lite.engines.data.least_rows import SecretWords
from opendp_lite.engines.data.source import Source
from opendp_lite.engines.rounds import Elsewhere, ask_for
from opendp_lite.engines.rows import CollectRows, FoldRequest, LazyRows, Pieces
from opendp_lite.samplers import rank_choice
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.lattice import AsinhLattice, Lattice, LinearLattice, Stretch
from opendp_lite.samplers.rank_choice import CellChoice, InCells, NumbersInCells, RankLaw, nth

Counts = NDArray[np.int64]
Laws: TypeAlias = tuple[RankLaw, ...]
Tally = tuple[Counts, Counts]
Summary = TypeVar("Summary")
Data: TypeAlias = Any
"""What the query gives: the numbers of columns, or their tallies."""

_PLACE_BITS: Final = 61
_MOST_BITS: Final = 32
_WORD_BITS: Final = 64
# Floats hold these powers, so that a quotient is the float of a decimal.
_POWERS: Final = 10.0 ** np.arange(18)
# Into which a stretch of cells is cut in one pass: a summary takes at most 130 kB.
_PARTS: Final = 2**13


@attrs.frozen(eq=False)
class PlacedRows:
    """The rows of one column at places of their own: those of one cell in random order.

    Attributes:
        numbers: Their places, here or on other machines.
        places: The public stretch of places where these rows lie.
        bits: A cell has 2^bits places.
    """

    numbers: NumbersInCells | _NumbersElsewhere
    places: Stretch
    bits: int

    @classmethod
    def here(cls, rows: Counts, places: Stretch, bits: int) -> PlacedRows:
        """Rows in memory, by the place of each."""
        return cls(NumbersInCells(places, rows), places, bits)

    def split(self, place: int) -> tuple[PlacedRows, PlacedRows]:
        """The rows below a place, and the others."""
        under, over = Stretch(self.places.first, place), Stretch(place, self.places.last)
        return (
            PlacedRows(self.numbers.within(under), under, self.bits),
            PlacedRows(self.numbers.within(over), over, self.bits),
        )


def place_bits(cells: int) -> int:
    """The binary logarithm of the places in each of so many cells."""
    return min(_MOST_BITS, _PLACE_BITS - (cells - 1).bit_length())


def at_places(cells: Counts, words: NDArray[np.uint64], bits: int) -> Counts:
    """A place in its cell for each row, by a random word of the row."""
    inside = words >> np.uint64(_WORD_BITS - bits)
    return (cells << bits) | inside.astype(np.int64)


def _place_here(cells: Counts, count: int, entropy: Entropy) -> tuple[Counts, Stretch, int]:
    bits = place_bits(count)
    rows = at_places(cells, entropy.words(len(cells)), bits)
    return rows, Stretch(0, count << bits), bits


@attrs.frozen(eq=False)
class ColumnHere:
    """A column in memory.

    Attributes:
        numbers: For those who ask to change.
    """

    numbers: Floats

    def in_cells(self, lattice: Lattice) -> InCells:
        """They in the cells of a lattice."""
        return NumbersInCells(lattice, self.numbers)

    def place_rows(self, lattice: Lattice, entropy: Entropy) -> PlacedRows:
        """They at places of their own."""
        return PlacedRows.here(*_place_here(lattice.cell(self.numbers), lattice.cells, entropy))


@attrs.frozen(eq=False)
class ColumnsHere:
    """All columns of rows in memory, in pieces that are put together for a few columns at a time.

    Attributes:
        pieces: Arrays of shape (columns, rows).
    """

    pieces: Pieces

    def __getitem__(self, place: int) -> ColumnHere:
        return ColumnHere(self.part(place, place + 1)[0])

    def choose_cells(
        self, lines: Sequence[LatticeLine], laws: Laws, columns: int, entropy: Entropy
    ) -> list[int]:
        """As ``choose_each``, some columns together."""
        lattices = tuple(line.lattice for line in lines)
        if columns == 1:
            numbers = rank_choice.PiecesInCells(lattices[0], [piece[0] for piece in self.pieces])
            return [CellChoice(lattices[0], laws[0]).cell_among(numbers, entropy)]
        found = rank_choice.CellChoices(lattices, laws).cells(
            columns, self.part, self.size, entropy
        )
        return list(map(int, found))

    def part(self, start: int, stop: int) -> Floats:
        """Those of several columns, a row for each."""
        if len(self.pieces) == 1:
            return self.pieces[0][start:stop]
        nothing = np.empty((stop - start, 0))
        return np.concatenate([nothing, *(piece[start:stop] for piece in self.pieces)], axis=1)

    @property
    def size(self) -> int:
        """How many rows there are."""
        return sum(piece.shape[1] for piece in self.pieces)


@attrs.frozen(eq=False, repr=False)
class _CellsOf:
    """The cells of a column's numbers, or with a secret their places in random order within.

    It can be sent to other machines.
    """

    column: int
    lattice: Lattice
    secret: SecretWords | None
    step: str

    def of_part(self, source: Source) -> Callable[[Floats], Counts]:
        """The function for the blocks of a part, which come in their order."""
        lattice, column = self.lattice, self.column
        if self.secret is None:
            return lambda block: lattice.cell(block[:, column])
        words, bits = self.secret.of_rows(source.part, self.step), place_bits(lattice.cells)

        def at(block: Floats) -> Counts:
            cells = lattice.cell(block[:, column])
            return at_places(cells, words(cells), bits)

        return at


@attrs.frozen(eq=False, repr=False)
class _CountCells(Reduction[Summary]):
    """What one pass over rows elsewhere counts of the cells of their numbers."""

    cells: _CellsOf
    cells_of: Callable[[Floats], Counts] | None = attrs.field(default=None, kw_only=True)

    @abstractmethod
    def count(self, cells: Counts) -> Summary:
        """The count of some numbers."""

    def of_part(self, source: Source) -> _CountCells[Summary]:
        return attrs.evolve(self, cells_of=self.cells.of_part(source))

    def empty(self) -> Summary:
        return self.count(np.empty(0, dtype=np.int64))

    def summarise(self, block: Floats) -> Summary:
        return self.count(cast(Callable[[Floats], Counts], self.cells_of)(block))


@attrs.frozen(eq=False, repr=False)
class _CountBefore(_CountCells[Counts]):
    """How many numbers lie before each of some cells."""

    edges: Counts

    def count(self, cells: Counts) -> Counts:
        return rank_choice.counts_before(cells, self.edges)


@attrs.frozen(eq=False, repr=False)
class _TallyCells(_CountCells[Tally]):
    """The cells from ``first`` to ``last`` - 1 that hold numbers, and how many."""

    first: int
    last: int

    def count(self, cells: Counts) -> Tally:
        inside = cells[(cells >= self.first) & (cells < self.last)]
        return np.unique(inside, return_counts=True)

    def merge(self, first: Tally, second: Tally) -> Tally:
        both = np.concatenate([first[0], second[0]])
        cells, places = np.unique(both, return_inverse=True)
        counts = np.zeros(len(cells), dtype=np.int64)
        np.add.at(counts, places.reshape(-1), np.concatenate([first[1], second[1]]))
        return cells, counts


def _cut(first: int, last: int) -> Counts:
    """The cells where the parts of a stretch begin, which have one length, and its end."""
    step = max(1, -(-(last - first) // _PARTS))
    return np.append(np.arange(first, last, step, dtype=np.int64), last)


def _find_part(edges: Counts, before: Counts, place: int) -> tuple[int, int, int]:
    """The part that holds the number at a place among all: its ends, and how many lie before."""
    part = int(np.searchsorted(before, place, side="right")) - 1
    return int(edges[part]), int(edges[part + 1]), int(before[part])


@attrs.frozen(eq=False)
class _NumbersElsewhere(InCells):
    """The numbers of a column between two cells, looked for in passes over the rows.

    Each pass brings back counts by cells. Two passes narrow down where the cells of some places
    begin and where they end, and a third tells which they are, each with its count. The cell
    ``first`` is 0 for those who ask.
    """

    rows: LazyRows
    cells: _CellsOf
    first: int
    last: int
    _known: list[Counts] = attrs.field(factory=list, init=False)

    @property
    def size(self) -> int:
        return int(self._coarse[-1] - self._coarse[0])

    def between(self, first: int, last: int) -> Counts:
        if first >= last:
            return np.empty(0, dtype=np.int64)
        # The places among the numbers of all cells.
        first, last = first + int(self._coarse[0]), last + int(self._coarse[0])
        places, edges = (first, last - 1), _cut(self.first, self.last)
        parts = [_cut(*_find_part(edges, self._coarse, place)[:2]) for place in places]
        found = np.split(self._count_before(np.concatenate(parts)), [len(parts[0])])
        (low, _, under), (_, high, _) = map(_find_part, parts, found, places)
        cells, counts = self._find(_TallyCells(self.cells, low, high))
        ends = under + np.cumsum(counts)
        taken = np.minimum(ends, last) - np.maximum(ends - counts, first)
        return np.repeat(cells - self.first, np.maximum(taken, 0).astype(np.intp, copy=False))

    def within(self, places: Stretch) -> _NumbersElsewhere:
        """Those at some of the places alone."""
        return attrs.evolve(self, first=places.first, last=places.last)

    def before(self, cells: Counts) -> Counts:
        found = self._count_before(np.append(0, cells) + self.first)
        inside: Counts = found[1:] - found[0]
        return inside

    @property
    def _coarse(self) -> Counts:
        """How many lie before each part of all cells, counted once.

        Never a ``cached_property``: before Python 3.12 it holds one lock for all objects while it
        computes, and here the thread waits within for its turn, which other threads need too.
        """
        if not self._known:
            self._known.append(self._count_before(_cut(self.first, self.last)))
        return self._known[0]

    def _count_before(self, edges: Counts) -> Counts:
        return self._find(_CountBefore(self.cells, edges))

    def _find(self, how: _CountCells[Summary]) -> Summary:
        found: Summary = ask_for(FoldRequest(self.rows, how, self.cells.step))
        return found


@attrs.frozen(eq=False)
class ColumnElsewhere:
    """One column of rows on other machines.

    Attributes:
        rows: The rows.
        place: Which of their columns it is.
        step: The name of what asks for it, for a refusal.
    """

    rows: LazyRows
    place: int
    step: str

    def in_cells(self, lattice: Lattice) -> InCells:
        cells = _CellsOf(self.place, lattice, None, self.step)
        return _NumbersElsewhere(self.rows, cells, 0, lattice.cells)

    def place_rows(self, lattice: Lattice, entropy: Entropy) -> PlacedRows:
        secret = SecretWords.of(lambda places: entropy.words(len(places)))
        bits = place_bits(lattice.cells)
        cells = _CellsOf(self.place, lattice, secret, self.step)
        places = Stretch(0, lattice.cells << bits)
        return PlacedRows(_NumbersElsewhere(self.rows, cells, 0, places.last), places, bits)


@attrs.frozen(eq=False)
class ColumnsElsewhere(Elsewhere):
    """All columns of rows on other machines."""

    rows: LazyRows
    step: str

    def __getitem__(self, place: int) -> ColumnElsewhere:
        return ColumnElsewhere(self.rows, place, self.step)


class CollectNumbers(CollectRows):
    """As ``CollectRows``, but rows on other machines stay there."""

    def without_gathering(self, rows: LazyRows, step: str) -> ColumnsElsewhere:
        return ColumnsElsewhere(rows, step)

    def finish(self, pieces: Pieces | ColumnsElsewhere) -> Any:
        return pieces if isinstance(pieces, ColumnsElsewhere) else ColumnsHere(pieces)


QuantileColumn: TypeAlias = ColumnHere | ColumnElsewhere
Outside = tuple[Counts, Counts, int]
"""How many rows of a column lie below each of some stretches of cells, above it, and in all."""


class SortedLine(ABC):
    """The cells among which the quantiles of one column are chosen.

    ``data`` is what the query before gives of the column.
    """

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells there are."""

    @property
    def span(self) -> tuple[float, float] | None:
        """The bounds that the values were clipped to, if there are such."""
        return None

    @abstractmethod
    def choose(self, data: Data, law: RankLaw, entropy: Entropy) -> int:
        """A cell by the exponential mechanism on all rows."""

    @abstractmethod
    def size(self, data: Data) -> int:
        """How many rows have a value."""

    @abstractmethod
    def place_rows(self, data: Data, entropy: Entropy) -> PlacedRows:
        """The rows at places of their own, each drawn for itself."""

    @abstractmethod
    def outside(self, data: Data, first: Counts, last: Counts) -> Outside:
        """The rows outside of stretches of cells, of which each holds the one before."""

    @abstractmethod
    def values(self, cells: Counts) -> Floats:
        """The numbers that stand for cells."""

    def value(self, cell: int) -> float:
        """The number that stands for a cell."""
        return float(self.values(np.array([cell], dtype=np.int64))[0])

    @abstractmethod
    def ends(self, first: int, last: int) -> tuple[float, float]:
        """Numbers between which all rows of the cells ``first`` to ``last`` lie, and no more."""

    @abstractmethod
    def coarsen(self, bits: int) -> SortedLine:
        """At most 2^bits cells, where their number is free."""


@attrs.frozen
class LatticeLine(SortedLine):
    """The cells of a lattice; ``data`` are the numbers of a column."""

    lattice: LinearLattice | AsinhLattice

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.lattice.cells

    @property
    def span(self) -> tuple[float, float]:
        return self.lattice.lower, self.lattice.upper

    def choose(self, data: QuantileColumn, law: RankLaw, entropy: Entropy) -> int:
        choice = CellChoice(self.lattice, law)
        return choice.cell_among(data.in_cells(self.lattice), entropy)

    def size(self, data: QuantileColumn) -> int:
        return data.in_cells(self.lattice).size

    def place_rows(self, data: QuantileColumn, entropy: Entropy) -> PlacedRows:
        return data.place_rows(self.lattice, entropy)

    def outside(self, data: QuantileColumn, first: Counts, last: Counts) -> Outside:
        numbers = data.in_cells(self.lattice)
        below, up_to = np.split(numbers.before(np.concatenate([first, last + 1])), 2)
        return below, numbers.size - up_to, numbers.size

    def values(self, cells: Counts) -> Floats:
        """The shortest decimal in each cell, so that whole numbers stay whole. A cell tells it.

        Never a bound: programs divide by a quantile of lengths, which are bounded by 0.
        """
        middles = self.lattice.points(cells)[:, None]
        # Adding 0 makes 0 of -0. The middle itself comes last, and will do.
        decimals = np.rint(middles * _POWERS) / _POWERS + 0.0
        tried = np.concatenate([decimals, middles], axis=1)
        inside = self.lattice.cell(tried) == cells[:, None]
        inside &= (tried > self.lattice.lower) & (tried < self.lattice.upper)
        inside[:, -1] = True
        found: Floats = tried[np.arange(len(cells)), inside.argmax(axis=1)]
        return found

    def coarsen(self, bits: int) -> LatticeLine:
        return LatticeLine(self.lattice.coarsen(bits))

    def ends(self, first: int, last: int) -> tuple[float, float]:
        low = self.lattice.lower if first <= 0 else self.value(first - 1)
        high = self.lattice.upper if last >= self.cells - 1 else self.value(last + 1)
        return low, high


@attrs.frozen(eq=False)
class CandidateLine(SortedLine):
    """Candidates; ``data`` is the tally of a column.

    Its rows are counted below each candidate and up to it, and all at the end.
    """

    points: Floats

    @property
    def cells(self) -> int:
        """How many candidates there are."""
        return len(self.points)

    def choose(self, data: Counts, law: RankLaw, entropy: Entropy) -> int:
        under, over, size = self._beside(data)
        return law.choose(np.ones(self.cells, dtype=np.int64), under, over, size, entropy)

    def size(self, data: Counts) -> int:
        return int(data[0, -1])

    def place_rows(self, data: Counts, entropy: Entropy) -> PlacedRows:
        """A row between two candidates has places on both sides of the middle between them.

        Each candidate has a step for its rows and half a step on either side for those between.
        """
        under, over, size = self._beside(data)
        steps = np.empty(2 * self.cells - 1, dtype=np.int64)
        steps[::2] = size - under - over
        steps[1::2] = under[1:] - (size - over[:-1])
        rows = np.repeat(np.arange(len(steps), dtype=np.int64), steps.astype(np.intp, copy=False))
        rows, places, bits = _place_here(rows, len(steps) + 1, entropy)
        return PlacedRows.here(rows + (1 << (bits - 1)), places, bits + 1)

    def outside(self, data: Counts, first: Counts, last: Counts) -> Outside:
        under, over, size = self._beside(data)
        return under[np.maximum(first, 0)], over[np.minimum(last, self.cells - 1)], size

    def values(self, cells: Counts) -> Floats:
        return self.points[cells]

    def coarsen(self, bits: int) -> CandidateLine:
        return self

    def ends(self, first: int, last: int) -> tuple[float, float]:
        return self.value(max(first, 0)), self.value(min(last, self.cells - 1))

    def _beside(self, data: Counts) -> Outside:
        """The rows below and above each candidate; those beyond all count as the outermost."""
        size = int(data[0, -1])
        under, over = data[0, :-1].copy(), size - data[1, :-1]
        under[0] = over[-1] = 0
        return under, over, size


def choose_each(
    lines: tuple[Any, ...], data: Data, laws: Laws, columns: int, entropy: Entropy
) -> list[int]:
    """A cell for each column by the exponential mechanism on all rows.

    Args:
        lines: Of one class: one for all columns, or one for each.
        data: Of all columns.
        laws: One for all columns, or one for each; all of one quantile.
        columns: How many there are.
        entropy: Where the random words come from.
    """
    if isinstance(data, ColumnsHere):
        return data.choose_cells(lines, laws, columns, entropy)
    pairs = ((nth(lines, place), nth(laws, place)) for place in range(columns))
    return [line.choose(data[place], law, entropy) for place, (line, law) in enumerate(pairs)]
