"""The places that a quantile is chosen among: cells of a lattice, or candidates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import singledispatch
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Floats
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.lattice import AsinhLattice, Lattice, LinearLattice
from opendp_lite.samplers.rank_choice import CellChoice, InCells, NumbersInCells, RankLaw

Counts = NDArray[np.int64]

_PLACE_BITS: Final = 61
_MOST_SPREAD_BITS: Final = 32
_WORD_BITS: Final = 64


@attrs.frozen(eq=False)
class Spread:
    """The rows of one column at places of their own: those of one cell in random order.

    Args:
        rows: The place of each row, from 0 to ``places`` - 1.
        places: How many places there are.
        bits: A cell has 2^bits places.
    """

    rows: Counts
    places: int
    bits: int


@attrs.frozen(eq=False)
class Outside:
    """How many rows of a column lie outside of some stretches of cells.

    ``under[i]`` rows lie below stretch i and ``over[i]`` above it, of ``size`` rows.
    """

    under: Counts
    over: Counts
    size: int


@singledispatch
def in_cells(data: Any, lattice: Lattice) -> InCells:
    """The numbers of a column in the cells of a lattice. Register those that lie elsewhere."""
    return NumbersInCells(lattice, data)


class SortedLine(ABC):
    """The cells among which the quantiles of one column are chosen.

    ``data`` is what the query before gives of the column.
    """

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells there are."""

    @abstractmethod
    def choose(self, data: Any, law: RankLaw, entropy: Entropy) -> int:
        """A cell by the exponential mechanism on all rows."""

    @abstractmethod
    def spread(self, data: Any, entropy: Entropy) -> Spread:
        """The rows at places of their own, each drawn for itself."""

    @abstractmethod
    def outside(self, data: Any, first: Counts, last: Counts) -> Outside:
        """The rows outside of stretches of cells, of which each holds the one before."""

    @abstractmethod
    def value(self, cell: int) -> float:
        """The number that stands for a cell."""

    @abstractmethod
    def ends(self, first: int, last: int) -> tuple[float, float]:
        """Numbers between which all rows of the cells ``first`` to ``last`` lie, and no more."""


@attrs.frozen
class LatticeLine(SortedLine):
    """The cells of a lattice; ``data`` are the numbers of a column."""

    lattice: LinearLattice | AsinhLattice

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.lattice.cells

    def choose(self, data: Floats, law: RankLaw, entropy: Entropy) -> int:
        return CellChoice(self.lattice, law).cell_among(in_cells(data, self.lattice), entropy)

    def spread(self, data: Floats, entropy: Entropy) -> Spread:
        return _spread(self.lattice.cell(data), self.cells, entropy)

    def outside(self, data: Floats, first: Counts, last: Counts) -> Outside:
        numbers = in_cells(data, self.lattice)
        below, up_to = np.split(numbers.before(np.concatenate([first, last + 1])), 2)
        return Outside(below, numbers.size - up_to, numbers.size)

    def value(self, cell: int) -> float:
        return self.lattice.point(cell)

    def ends(self, first: int, last: int) -> tuple[float, float]:
        low = self.lattice.lower if first <= 0 else self.lattice.point(first - 1)
        high = self.lattice.upper if last >= self.cells - 1 else self.lattice.point(last + 1)
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

    def spread(self, data: Counts, entropy: Entropy) -> Spread:
        """A row between two candidates has places on both sides of the middle between them.

        Each candidate has a step for its rows and half a step on either side for those between.
        """
        under, over, size = self._beside(data)
        steps = np.empty(2 * self.cells - 1, dtype=np.int64)
        steps[::2] = size - under - over
        steps[1::2] = under[1:] - (size - over[:-1])
        rows = np.repeat(np.arange(len(steps)), steps)
        found = _spread(rows, len(steps) + 1, entropy)
        half = 1 << (found.bits - 1)
        return Spread(found.rows + half, found.places, found.bits + 1)

    def outside(self, data: Counts, first: Counts, last: Counts) -> Outside:
        under, over, size = self._beside(data)
        return Outside(under[np.maximum(first, 0)], over[np.minimum(last, self.cells - 1)], size)

    def value(self, cell: int) -> float:
        return float(self.points[cell])

    def ends(self, first: int, last: int) -> tuple[float, float]:
        return self.value(max(first, 0)), self.value(min(last, self.cells - 1))

    def _beside(self, data: Counts) -> tuple[Counts, Counts, int]:
        """The rows below and above each candidate; those beyond all count as the outermost."""
        size = int(data[0, -1])
        under, over = data[0, :-1].copy(), size - data[1, :-1]
        under[0] = over[-1] = 0
        return under, over, size


def _spread(cells: Counts, count: int, entropy: Entropy) -> Spread:
    """A place in its cell for each row."""
    bits = min(_MOST_SPREAD_BITS, _PLACE_BITS - (count - 1).bit_length())
    inside = entropy.words(len(cells)) >> np.uint64(_WORD_BITS - bits)
    return Spread((cells << bits) | inside.astype(np.int64), count << bits, bits)
