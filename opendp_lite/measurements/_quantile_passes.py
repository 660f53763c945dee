"""Numbers that lie on other machines, in the cells of a public lattice: found by counting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.collect_rows import CollectRows, Pieces
from opendp_lite.engines.deferred import fold, identity
from opendp_lite.engines.fold import Floats, Fold, Scratch
from opendp_lite.engines.rows import LazyRows
from opendp_lite.engines.source import require_here
from opendp_lite.measurements._quantile_lines import in_cells
from opendp_lite.samplers.lattice import Lattice
from opendp_lite.samplers.rank_choice import InCells, counts_before

Counts = NDArray[np.int64]
Tally = tuple[Counts, Counts]

_PARTS: Final = 2**13
"""Into which a stretch of cells is cut in one pass: a summary takes at most 130 kB."""
_FEWER: Final = "ask for fewer quantiles at once, or name the numbers to choose among: candidates="


@attrs.frozen(eq=False)
class ColumnElsewhere:
    """One column of rows on other machines."""

    rows: LazyRows
    place: int


@attrs.frozen(eq=False)
class Columns:
    """All columns of rows on other machines."""

    rows: LazyRows

    def __getitem__(self, place: int) -> ColumnElsewhere:
        return ColumnElsewhere(self.rows, place)


class CollectNumbers(CollectRows):
    """As ``CollectRows``, but rows on other machines stay there.

    Args:
        columns: How many the rows have.
        spread: Whether the quantiles are found by parts, which needs all rows.
    """

    def __init__(self, columns: int, spread: bool) -> None:
        super().__init__(columns, _FEWER)
        self._spread = spread

    def without_gathering(self, rows: LazyRows, step: str) -> Any:
        if self._spread:
            require_here(rows.source, step, _FEWER)
        return Columns(rows)

    def finish(self, pieces: Pieces | Columns) -> Any:
        return pieces if isinstance(pieces, Columns) else super().finish(pieces)


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


@attrs.frozen(eq=False)
class _CountParts(Fold[Counts]):
    """How many numbers of a column lie in each part of some stretches."""

    lattice: Lattice
    place: int
    stretches: tuple[_Stretch, ...]

    def empty(self) -> Counts:
        return self._counts(np.empty(0, dtype=np.int64))

    def summarise(self, block: Floats, scratch: Scratch) -> Counts:
        return self._counts(self.lattice.cell(block[:, self.place]))

    def _counts(self, cells: Counts) -> Counts:
        return np.concatenate([stretch.counts(cells) for stretch in self.stretches])

    def merge(self, first: Counts, second: Counts) -> Counts:
        return first + second

    def narrowed(self, counts: Counts, places: Sequence[int]) -> list[_Stretch]:
        """Of each stretch the part with the number at a place."""
        ends = np.cumsum([len(each.counts(np.empty(0, np.int64))) for each in self.stretches])
        split = np.split(counts, ends[:-1])
        pairs = zip(self.stretches, split, places, strict=True)
        return [stretch.part(own, place) for stretch, own, place in pairs]


@attrs.frozen(eq=False)
class _CountBefore(Fold[Counts]):
    """How many numbers of a column lie before each of some cells."""

    lattice: Lattice
    place: int
    cells: Counts

    def empty(self) -> Counts:
        return np.zeros(len(self.cells), dtype=np.int64)

    def summarise(self, block: Floats, scratch: Scratch) -> Counts:
        return counts_before(self.lattice.cell(block[:, self.place]), self.cells)

    def merge(self, first: Counts, second: Counts) -> Counts:
        return first + second


@attrs.frozen(eq=False)
class _TallyCells(Fold[Tally]):
    """The cells from ``first`` to ``last`` - 1 that hold numbers of a column, and how many."""

    lattice: Lattice
    place: int
    first: int
    last: int

    def empty(self) -> Tally:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)

    def summarise(self, block: Floats, scratch: Scratch) -> Tally:
        cells = self.lattice.cell(block[:, self.place])
        inside = cells[(cells >= self.first) & (cells < self.last)]
        return np.unique(inside, return_counts=True)

    def merge(self, first: Tally, second: Tally) -> Tally:
        both = np.concatenate([first[0], second[0]])
        cells, places = np.unique(both, return_inverse=True)
        counts = np.zeros(len(cells), dtype=np.int64)
        np.add.at(counts, places.reshape(-1), np.concatenate([first[1], second[1]]))
        return cells, counts


@attrs.frozen(eq=False, slots=False)
class _NumbersElsewhere(InCells):
    """The numbers of a column, looked for in passes over the rows.

    Each pass brings back counts by cells. Two passes narrow down where the cells of some places
    begin and where they end, and a third tells which they are, each with its count.
    """

    lattice: Lattice
    column: ColumnElsewhere

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self._coarse.sum())

    def between(self, first: int, last: int) -> Counts:
        if first >= last:
            return np.empty(0, dtype=np.int64)
        places = first, last - 1
        stretches = tuple(self._whole.part(self._coarse, place) for place in places)
        how = _CountParts(self.lattice, self.column.place, stretches)
        low, high = how.narrowed(self._found(how), places)
        cells, counts = self._found(
            _TallyCells(self.lattice, self.column.place, low.first, high.last)
        )
        ends = low.under + np.cumsum(counts)
        taken = np.minimum(ends, last) - np.maximum(ends - counts, first)
        return np.repeat(cells, np.maximum(taken, 0))

    def before(self, cells: Counts) -> Counts:
        counts: Counts = self._found(_CountBefore(self.lattice, self.column.place, cells))
        return counts

    @property
    def _whole(self) -> _Stretch:
        return _Stretch(0, self.lattice.cells, 0)

    @cached_property
    def _coarse(self) -> Counts:
        """How many lie in each part of all cells."""
        how = _CountParts(self.lattice, self.column.place, (self._whole,))
        counts: Counts = self._found(how)
        return counts

    def _found(self, how: Fold[Any]) -> Any:
        return fold(how, identity)(self.column.rows)


@in_cells.register
def _of_column(data: ColumnElsewhere, lattice: Lattice) -> InCells:
    return _NumbersElsewhere(lattice, data)
