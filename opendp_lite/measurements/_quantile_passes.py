"""Numbers that lie on other machines, in the cells of a public lattice: found by counting."""

from __future__ import annotations

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
from opendp_lite.samplers.rank_choice import InCells

Counts = NDArray[np.int64]
Tally = tuple[Counts, Counts]

_STRETCHES: Final = 2**13
"""Parts into which a stretch of cells is cut in one pass: a summary takes at most 130 kB."""
_FEWER: Final = "ask for fewer quantiles at once, or name the numbers to choose among: candidates="


@attrs.frozen(eq=False)
class Column:
    """One column of rows on other machines."""

    rows: LazyRows
    place: int


@attrs.frozen(eq=False)
class Columns:
    """All columns of rows on other machines."""

    rows: LazyRows

    def __getitem__(self, place: int) -> Column:
        return Column(self.rows, place)


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


@attrs.frozen(eq=False)
class _CountBetween(Fold[Counts]):
    """How many numbers of a column lie in the cells before, between and after some edges."""

    lattice: Lattice
    place: int
    edges: Counts

    def empty(self) -> Counts:
        return np.zeros(len(self.edges) + 1, dtype=np.int64)

    def summarise(self, block: Floats, scratch: Scratch) -> Counts:
        cells = self.lattice.cell(block[:, self.place])
        places = np.searchsorted(self.edges, cells, side="right")
        counts: Counts = np.bincount(places, minlength=len(self.edges) + 1)
        return counts

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


@attrs.frozen
class _Stretch:
    """The cells from ``first`` to ``last`` - 1, and how many numbers lie in cells before."""

    first: int
    last: int
    under: int

    def edges(self) -> Counts:
        """Cuts it into parts of about one length."""
        step = max(1, -(-(self.last - self.first) // _STRETCHES))
        return np.append(np.arange(self.first, self.last, step), self.last)


@attrs.frozen(eq=False, slots=False)
class _NumbersElsewhere(InCells):
    """The numbers of a column, looked for in passes over the rows.

    Each pass brings back counts by cells. Two passes narrow down where the cells of some places
    begin and where they end, and a third tells which they are, each with its count.
    """

    lattice: Lattice
    column: Column

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self._coarse.sum())

    def between(self, first: int, last: int) -> Counts:
        if first >= last:
            return np.empty(0, dtype=np.int64)
        low, high = _around(self._all.edges(), self._coarse, self._all, first, last)
        edges = np.unique(np.concatenate([low.edges(), high.edges()]))
        low, high = _around(edges, self._counts(edges), self._all, first, last)
        how = _TallyCells(self.lattice, self.column.place, low.first, high.last)
        cells, counts = self._found(how)
        ends = low.under + np.cumsum(counts)
        taken = np.minimum(ends, last) - np.maximum(ends - counts, first)
        return np.repeat(cells, np.maximum(taken, 0))

    def before(self, cells: Counts) -> Counts:
        edges, places = np.unique(cells, return_inverse=True)
        counts: Counts = np.cumsum(self._counts(edges))[places.reshape(-1)]
        return counts

    @property
    def _all(self) -> _Stretch:
        return _Stretch(0, self.lattice.cells, 0)

    @cached_property
    def _coarse(self) -> Counts:
        return self._counts(self._all.edges())

    def _counts(self, edges: Counts) -> Counts:
        counts: Counts = self._found(_CountBetween(self.lattice, self.column.place, edges))
        return counts

    def _found(self, how: Fold[Any]) -> Any:
        return fold(how, identity)(self.column.rows)


def _around(
    edges: Counts, counts: Counts, whole: _Stretch, first: int, last: int
) -> tuple[_Stretch, _Stretch]:
    """The stretches between edges in which the numbers ``first`` and ``last`` - 1 lie."""
    fenced = np.concatenate([[whole.first], edges, [whole.last]]).tolist()
    under = np.concatenate([[0], np.cumsum(counts)])
    places = np.searchsorted(under, [first, last - 1], side="right") - 1
    low, high = (
        _Stretch(fenced[place], fenced[place + 1], int(under[place])) for place in places.tolist()
    )
    return low, high


@in_cells.register
def _of_column(data: Column, lattice: Lattice) -> InCells:
    return _NumbersElsewhere(lattice, data)
