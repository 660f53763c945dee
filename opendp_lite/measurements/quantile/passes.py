"""Numbers that lie on other machines, in the cells of a public lattice: found by counting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final, Generic, TypeVar, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.data.fold import Floats, Reduction, Scratch
from opendp_lite.engines.data.least_rows import SecretWords
from opendp_lite.engines.data.source import Source
from opendp_lite.engines.rounds import Elsewhere, ask_for
from opendp_lite.engines.rows import CollectRows, FoldRequest, LazyRows, Pieces
from opendp_lite.measurements.quantile.lines import (
    Laws,
    PlacedRows,
    at_places,
    cells_of_columns,
    in_cells,
    place_bits,
    place_rows,
)
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.lattice import Lattice, Stretch
from opendp_lite.samplers.rank_choice import (
    CellChoice,
    CellChoices,
    InCells,
    PiecesInCells,
    counts_before,
)

Counts = NDArray[np.int64]
Tally = tuple[Counts, Counts]
Summary = TypeVar("Summary")

# Into which a stretch of cells is cut in one pass: a summary takes at most 130 kB.
_PARTS: Final = 2**13


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


@attrs.frozen(eq=False)
class Columns(Elsewhere):
    """All columns of rows on other machines."""

    rows: LazyRows
    step: str

    def __getitem__(self, place: int) -> ColumnElsewhere:
        return ColumnElsewhere(self.rows, place, self.step)


@attrs.frozen(eq=False)
class ColumnsHere:
    """All columns of rows in memory, in pieces that are put together for a few columns at a time.

    Attributes:
        pieces: Arrays of shape (columns, rows).
    """

    pieces: Pieces

    def __getitem__(self, place: int) -> Floats:
        """The numbers of a column, for those who ask to change."""
        found: Floats = self.part(place, place + 1)[0]
        return found

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


class CollectNumbers(CollectRows):
    """As ``CollectRows``, but rows on other machines stay there."""

    def without_gathering(self, rows: LazyRows, step: str) -> Columns:
        return Columns(rows, step)

    def finish(self, pieces: Pieces | Columns) -> Any:
        return pieces if isinstance(pieces, Columns) else ColumnsHere(pieces)


@attrs.frozen
class _Stretch:
    """The cells from ``first`` to ``last`` - 1, and how many numbers lie in cells before.

    It is cut into parts of one length; the last one may be shorter.
    """

    first: int
    last: int
    under: int

    @property
    def step(self) -> int:
        """The length of a part."""
        return max(1, -(-(self.last - self.first) // _PARTS))

    def counts(self, cells: Counts) -> Counts:
        """How many of some numbers, given by their cells, lie in each part."""
        inside = cells[(cells >= self.first) & (cells < self.last)]
        parts = -(-(self.last - self.first) // self.step)
        counts: Counts = np.bincount((inside - self.first) // self.step, minlength=parts)
        return counts

    def part(self, counts: Counts, place: int) -> _Stretch:
        """The part with the number at a place among all numbers."""
        under = self.under + np.cumsum(counts) - counts
        part = int(np.searchsorted(under, place, side="right")) - 1
        first = self.first + part * self.step
        return _Stretch(first, min(first + self.step, self.last), int(under[part]))


class _Count(ABC, Generic[Summary]):
    """What one pass counts of the cells of numbers. It can be sent to other machines."""

    @abstractmethod
    def of(self, cells: Counts) -> Summary:
        """The count of some numbers."""

    @abstractmethod
    def merge(self, first: Summary, second: Summary) -> Summary:
        """The count of both."""


@attrs.frozen(eq=False)
class _CountParts(_Count[Counts]):
    """How many numbers lie in each part of some stretches."""

    stretches: tuple[_Stretch, ...]

    def of(self, cells: Counts) -> Counts:
        return np.concatenate([stretch.counts(cells) for stretch in self.stretches])

    def merge(self, first: Counts, second: Counts) -> Counts:
        return first + second

    def narrow(self, counts: Counts, places: Sequence[int]) -> list[_Stretch]:
        """Of each stretch the part with the number at a place."""
        ends = np.cumsum([len(each.counts(np.empty(0, np.int64))) for each in self.stretches])
        split = np.split(counts, ends[:-1])
        pairs = zip(self.stretches, split, places, strict=True)
        return [stretch.part(own, place) for stretch, own, place in pairs]


@attrs.frozen(eq=False)
class _CountBefore(_Count[Counts]):
    """How many numbers lie before each of some cells."""

    cells: Counts

    def of(self, cells: Counts) -> Counts:
        return counts_before(cells, self.cells)

    def merge(self, first: Counts, second: Counts) -> Counts:
        return first + second


@attrs.frozen(eq=False)
class _TallyCells(_Count[Tally]):
    """The cells from ``first`` to ``last`` - 1 that hold numbers, and how many."""

    first: int
    last: int

    def of(self, cells: Counts) -> Tally:
        inside = cells[(cells >= self.first) & (cells < self.last)]
        return np.unique(inside, return_counts=True)

    def merge(self, first: Tally, second: Tally) -> Tally:
        both = np.concatenate([first[0], second[0]])
        cells, places = np.unique(both, return_inverse=True)
        counts = np.zeros(len(cells), dtype=np.int64)
        np.add.at(counts, places.reshape(-1), np.concatenate([first[1], second[1]]))
        return cells, counts


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
        words, bits = self.secret.of_rows(source, self.step), place_bits(lattice.cells)

        def at(block: Floats) -> Counts:
            cells = lattice.cell(block[:, column])
            return at_places(cells, words(cells), bits)

        return at


@attrs.frozen(eq=False, repr=False)
class _CountCells(Reduction[Summary]):
    """One pass over rows elsewhere: what is counted of the cells of their numbers."""

    cells: _CellsOf
    count: _Count[Summary]
    cells_of: Callable[[Floats], Counts] | None = None

    def of_part(self, source: Source) -> _CountCells[Summary]:
        return attrs.evolve(self, cells_of=self.cells.of_part(source))

    def empty(self) -> Summary:
        return self.count.of(np.empty(0, dtype=np.int64))

    def summarise(self, block: Floats, scratch: Scratch) -> Summary:
        return self.count.of(cast(Callable[[Floats], Counts], self.cells_of)(block))

    def merge(self, first: Summary, second: Summary) -> Summary:
        return self.count.merge(first, second)


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
        return int(self._coarse.sum())

    def between(self, first: int, last: int) -> Counts:
        if first >= last:
            return np.empty(0, dtype=np.int64)
        places = first, last - 1
        how = _CountParts(tuple(self._whole.part(self._coarse, place) for place in places))
        low, high = how.narrow(self._found(how), places)
        cells, counts = self._found(_TallyCells(low.first, high.last))
        ends = low.under + np.cumsum(counts)
        taken = np.minimum(ends, last) - np.maximum(ends - counts, first)
        return np.repeat(cells - self.first, np.maximum(taken, 0))

    def before(self, cells: Counts) -> Counts:
        found = self._found(_CountBefore(np.append(0, cells) + self.first))
        inside: Counts = found[1:] - found[0]
        return inside

    @property
    def _whole(self) -> _Stretch:
        return _Stretch(self.first, self.last, 0)

    @property
    def _coarse(self) -> Counts:
        """How many lie in each part of all cells, counted once.

        Never a ``cached_property``: before Python 3.12 it holds one lock for all objects while it
        computes, and here the thread waits within for its turn, which other threads need too.
        """
        if not self._known:
            self._known.append(self._found(_CountParts((self._whole,))))
        return self._known[0]

    def _found(self, how: _Count[Summary]) -> Summary:
        found: Summary = ask_for(
            FoldRequest(self.rows, _CountCells(self.cells, how), self.cells.step)
        )
        return found


@attrs.frozen(eq=False, slots=False)
class _PlacedElsewhere(PlacedRows):
    """Rows on other machines, at places that follow from a secret of the release."""

    rows: LazyRows
    cells: _CellsOf
    places: Stretch
    bits: int

    @property
    def numbers(self) -> InCells:
        return self._numbers

    @cached_property
    def _numbers(self) -> InCells:
        """Once, so that their counts are."""
        return _NumbersElsewhere(self.rows, self.cells, self.places.first, self.places.last)

    def split(self, place: int) -> tuple[PlacedRows, PlacedRows]:
        under, over = Stretch(self.places.first, place), Stretch(place, self.places.last)
        return attrs.evolve(self, places=under), attrs.evolve(self, places=over)


@cells_of_columns.register
def _cells_of_columns_here(
    data: ColumnsHere, lattices: tuple[Lattice, ...], laws: Laws, columns: int, entropy: Entropy
) -> list[int]:
    if columns == 1:
        numbers = PiecesInCells(lattices[0], [piece[0] for piece in data.pieces])
        return [CellChoice(lattices[0], laws[0]).cell_among(numbers, entropy)]
    found: list[int] = (
        CellChoices(lattices, laws).cells(columns, data.part, data.size, entropy).tolist()
    )
    return found


@in_cells.register
def _of_column(data: ColumnElsewhere, lattice: Lattice) -> InCells:
    cells = _CellsOf(data.place, lattice, None, data.step)
    return _NumbersElsewhere(data.rows, cells, 0, lattice.cells)


@place_rows.register
def _placed_elsewhere(data: ColumnElsewhere, lattice: Lattice, entropy: Entropy) -> PlacedRows:
    secret = SecretWords.of(lambda places: entropy.words(len(places)))
    bits = place_bits(lattice.cells)
    cells = _CellsOf(data.place, lattice, secret, data.step)
    return _PlacedElsewhere(data.rows, cells, Stretch(0, lattice.cells << bits), bits)
