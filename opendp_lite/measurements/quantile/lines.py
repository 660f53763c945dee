"""The places that a quantile is chosen among: cells of a lattice, or candidates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import singledispatch
from typing import Any, Final, TypeAlias, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.data.fold import Floats
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.lattice import AsinhLattice, Lattice, LinearLattice, Stretch
from opendp_lite.samplers.rank_choice import CellChoice, InCells, NumbersInCells, RankLaw

Counts = NDArray[np.int64]
Laws: TypeAlias = tuple[RankLaw, ...]
Data: TypeAlias = Any
"""What the query gives: the numbers of columns, here or elsewhere, or their tallies."""

_PLACE_BITS: Final = 61
_MOST_BITS: Final = 32
_WORD_BITS: Final = 64


class PlacedRows(ABC):
    """The rows of one column at places of their own: those of one cell in random order.

    Attributes:
        places: The public stretch of places where these rows lie.
        bits: A cell has 2^bits places.
    """

    places: Stretch
    bits: int

    @property
    @abstractmethod
    def numbers(self) -> InCells:
        """Their places."""

    @abstractmethod
    def split(self, place: int) -> tuple[PlacedRows, PlacedRows]:
        """The rows below a place, and the others."""


@attrs.frozen(eq=False)
class PlacedHere(PlacedRows):
    """Rows in memory.

    Args:
        rows: The place of each row.
    """

    rows: Counts
    places: Stretch
    bits: int

    @property
    def numbers(self) -> InCells:
        return NumbersInCells(self.places, self.rows)

    def split(self, place: int) -> tuple[PlacedRows, PlacedRows]:
        under = self.rows < place
        return (
            PlacedHere(self.rows[under], Stretch(self.places.first, place), self.bits),
            PlacedHere(self.rows[~under], Stretch(place, self.places.last), self.bits),
        )


@attrs.frozen(eq=False)
class Outside:
    """How many rows of a column lie outside of some stretches of cells.

    ``under[i]`` rows lie below stretch i and ``over[i]`` above it, of ``size`` rows.
    """

    under: Counts
    over: Counts
    size: int


@singledispatch
def in_cells(data: Data, lattice: Lattice) -> InCells:
    """The numbers of a column in the cells of a lattice. Register those that lie elsewhere."""
    return NumbersInCells(lattice, data)


@singledispatch
def cells_of_columns(
    data: Data, lattices: tuple[Lattice, ...], laws: Laws, columns: int, entropy: Entropy
) -> list[int]:
    """A cell for each column by the exponential mechanism on all of its rows.

    There is one lattice and one law for all columns or one for each. Register data whose columns
    can be drawn together.
    """
    return [
        CellChoice(_nth(lattices, place), _nth(laws, place)).cell_among(
            in_cells(data[place], _nth(lattices, place)), entropy
        )
        for place in range(columns)
    ]


Each = TypeVar("Each")


def _nth(each: tuple[Each, ...], place: int) -> Each:
    """That of a column, of one for all columns or one for each."""
    return each[place % len(each)]


@singledispatch
def place_rows(data: Data, lattice: Lattice, entropy: Entropy) -> PlacedRows:
    """The numbers of a column at places of their own. Register those that lie elsewhere."""
    return _placed_here(lattice.cell(data), lattice.cells, entropy)


class SortedLine(ABC):
    """The cells among which the quantiles of one column are chosen.

    ``data`` is what the query before gives of the column.
    """

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells there are."""

    @classmethod
    @abstractmethod
    def choose_each(
        cls, lines: tuple[Any, ...], data: Data, laws: Laws, columns: int, entropy: Entropy
    ) -> list[int]:
        """A cell for each column by the exponential mechanism on all rows.

        Args:
            lines: Of this class: one for all columns, or one for each.
            data: Of all columns.
            laws: One for all columns, or one for each; all of one quantile.
            columns: How many there are.
            entropy: Where the random words come from.
        """

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
        return float(self.values(np.array([cell]))[0])

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

    @classmethod
    def choose_each(
        cls, lines: tuple[Any, ...], data: Data, laws: Laws, columns: int, entropy: Entropy
    ) -> list[int]:
        lattices = tuple(line.lattice for line in lines)
        return cells_of_columns(data, lattices, laws, columns, entropy)

    def place_rows(self, data: Floats, entropy: Entropy) -> PlacedRows:
        return place_rows(data, self.lattice, entropy)

    def outside(self, data: Floats, first: Counts, last: Counts) -> Outside:
        numbers = in_cells(data, self.lattice)
        below, up_to = np.split(numbers.before(np.concatenate([first, last + 1])), 2)
        return Outside(below, numbers.size - up_to, numbers.size)

    def values(self, cells: Counts) -> Floats:
        return self.lattice.points(cells)

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

    @classmethod
    def choose_each(
        cls, lines: tuple[Any, ...], data: Data, laws: Laws, columns: int, entropy: Entropy
    ) -> list[int]:
        pairs = ((_nth(lines, place), _nth(laws, place)) for place in range(columns))
        return [line._choose(data[place], law, entropy) for place, (line, law) in enumerate(pairs)]

    def _choose(self, data: Counts, law: RankLaw, entropy: Entropy) -> int:
        under, over, size = self._beside(data)
        return law.choose(np.ones(self.cells, dtype=np.int64), under, over, size, entropy)

    def place_rows(self, data: Counts, entropy: Entropy) -> PlacedRows:
        """A row between two candidates has places on both sides of the middle between them.

        Each candidate has a step for its rows and half a step on either side for those between.
        """
        under, over, size = self._beside(data)
        steps = np.empty(2 * self.cells - 1, dtype=np.int64)
        steps[::2] = size - under - over
        steps[1::2] = under[1:] - (size - over[:-1])
        rows = np.repeat(np.arange(len(steps)), steps)
        found = _placed_here(rows, len(steps) + 1, entropy)
        half = 1 << (found.bits - 1)
        return PlacedHere(found.rows + half, found.places, found.bits + 1)

    def outside(self, data: Counts, first: Counts, last: Counts) -> Outside:
        under, over, size = self._beside(data)
        return Outside(under[np.maximum(first, 0)], over[np.minimum(last, self.cells - 1)], size)

    def values(self, cells: Counts) -> Floats:
        return self.points[cells]

    def ends(self, first: int, last: int) -> tuple[float, float]:
        return self.value(max(first, 0)), self.value(min(last, self.cells - 1))

    def _beside(self, data: Counts) -> tuple[Counts, Counts, int]:
        """The rows below and above each candidate; those beyond all count as the outermost."""
        size = int(data[0, -1])
        under, over = data[0, :-1].copy(), size - data[1, :-1]
        under[0] = over[-1] = 0
        return under, over, size


def place_bits(cells: int) -> int:
    """The binary logarithm of the places in each of so many cells."""
    return min(_MOST_BITS, _PLACE_BITS - (cells - 1).bit_length())


def at_places(cells: Counts, words: NDArray[np.uint64], bits: int) -> Counts:
    """A place in its cell for each row, by a random word of the row."""
    inside = words >> np.uint64(_WORD_BITS - bits)
    return (cells << bits) | inside.astype(np.int64)


def _placed_here(cells: Counts, count: int, entropy: Entropy) -> PlacedHere:
    bits = place_bits(count)
    rows = at_places(cells, entropy.words(len(cells)), bits)
    return PlacedHere(rows, Stretch(0, count << bits), bits)
