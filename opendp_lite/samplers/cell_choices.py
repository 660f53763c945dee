"""A cell for each of many columns of numbers, each drawn as ``CellChoice`` draws one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Final

import attrs
import numpy as np

from opendp_lite.engines.fold import Scratch
from opendp_lite.samplers._arrays import Counts, Floats
from opendp_lite.samplers.choice import FAR_EXPONENT
from opendp_lite.samplers.choice_each import below_each, choose_each
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.lattice import Lattice
from opendp_lite.samplers.rank_choice import (
    CellChoice,
    NumbersInCells,
    RankLaw,
    Ranks,
    distances,
    is_rare,
    window,
)

_ENTRIES: Final = 2**16
"""Numbers that are gone through together: arrays of 512 KiB stay in a processor's cache."""


@attrs.frozen
class CellChoices:
    """A cell of a lattice for each column, by how many of its numbers lie before and after it.

    Args:
        lattices: One for all columns, or one for each.
        laws: One for all columns, or one for each; all of one quantile and without an offset.

    Proof:
        All columns have as many numbers, so their items lie at the same distances from the
        quantile. Each column has the items, the window and the rest of ``CellChoice``. They are
        chosen among by ``choose_each``, whose law is that of ``choose``. The window is that of
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
        places = range(start, start + len(numbers))
        choices = [
            CellChoice(self.lattices[place % len(self.lattices)], self.laws[place % len(self.laws)])
            for place in places
        ]
        alike = len(self.lattices) == 1, len(self.laws) == 1
        return _Several(choices, numbers, *alike, scratch).cells(entropy)


@attrs.frozen(eq=False)
class _Several:
    """Columns that are gone through together, each with its lattice and its law."""

    choices: list[CellChoice]
    numbers: Floats
    one_lattice: bool
    one_law: bool
    scratch: Scratch

    def cells(self, entropy: Entropy) -> Counts:
        """The chosen cells."""
        size = self.numbers.shape[1]
        first, last = self._window(size)
        if last - first < size // 4:
            return self._near(first, last, entropy)
        items = self._items(0, size)
        index = choose_each(items.counts, items.exponents, items.exactly, entropy, self.scratch)
        return items.within(index, entropy)

    def _window(self, size: int) -> tuple[int, int]:
        """The numbers near the quantile, for the gentlest slope and the most cells."""
        cells = max(choice.lattice.cells for choice in self.choices)
        gentlest = min(self._laws, key=lambda law: law.slope)
        return window(gentlest, cells, size)

    @property
    def _laws(self) -> list[RankLaw]:
        """One for all, or one for each."""
        laws = [choice.law for choice in self.choices]
        return laws[:1] if self.one_law else laws

    def _items(self, first: int, last: int) -> _ItemsOfColumns:
        """The items of each column from the gap after ``first`` numbers to that after ``last``."""
        size = self.numbers.shape[1]
        start, stop = max(first - 1, 0), min(last + 1, size)
        middle = self._laws[0].target(size)
        cells = self._sorted_cells(start, stop)
        before, after = ceil(middle) - start, floor(middle) - start
        begins, ends = int(first == 0), int(last == size)
        edges = self._take("edges", begins + before + stop - start - after + ends).view(np.int64)
        edges[:, :begins] = 0
        edges[:, begins : begins + before] = cells[:, :before]
        np.add(cells[:, after:], 1, out=edges[:, begins + before : edges.shape[1] - ends])
        if ends:
            edges[:, -1] = [choice.lattice.cells for choice in self.choices]
        slopes = np.array([float(law.slope) for law in self._laws])
        away = distances(middle, first, last)
        exponents = self.scratch.take("exponents", (len(slopes), len(away)))
        np.multiply(away, slopes[:, None], out=exponents)
        np.minimum(exponents, FAR_EXPONENT, out=exponents)
        pairs = zip(self._laws, exponents, strict=True)
        ranks = [Ranks(law, size, first, row) for law, row in pairs]
        counts = self._take("counts", edges.shape[1] - 1).view(np.int64)
        np.subtract(edges[:, 1:], edges[:, :-1], out=counts)
        return _ItemsOfColumns(edges, counts, exponents, ranks)

    def _take(self, name: str, width: int) -> Floats:
        """A buffer with a row for each column."""
        return self.scratch.take(name, (len(self.numbers), width))

    def _sorted_cells(self, start: int, stop: int) -> Counts:
        """The cells of the numbers of each column from one place to before another, rising."""
        size = self.numbers.shape[1]
        if start < stop and stop - start < size:
            self.numbers.partition(start, axis=1)
            self.numbers[:, start:].partition(stop - 1 - start, axis=1)
        inside = self.numbers[:, start:stop]
        inside.sort(axis=1)
        if self.one_lattice:
            return self.choices[0].lattice.cell(inside)
        pairs = zip(self.choices, inside, strict=True)
        return np.array([choice.lattice.cell(row) for choice, row in pairs])

    def _near(self, first: int, last: int, entropy: Entropy) -> Counts:
        """The choices among the items near the quantile and the rest, where that is rare."""
        items, size = self._items(first, last), self.numbers.shape[1]
        outside = min(
            self._laws[0].distance(rank, size - rank, size) for rank in (first - 1, last + 1)
        )
        rest = np.array([choice.lattice.cells for choice in self.choices]) - items.widths
        farther = [ranks.farther(outside) for ranks in items.ranks]
        inside = (items.counts * np.exp(-items.exponents)).sum(axis=1)
        rare = [
            is_rare(int(cells), farther[lane % len(farther)], float(held))
            for lane, (cells, held) in enumerate(zip(rest, inside, strict=True))
        ]
        lanes, found = np.flatnonzero(rare), np.empty(len(rare), dtype=np.int64)
        if len(lanes):
            both = items.part(lanes).beside(rest[lanes], outside)
            index = choose_each(both.counts, both.exponents, both.exactly, entropy, self.scratch)
            known = index < items.counts.shape[1]
            found[lanes[known]] = items.part(lanes[known]).within(index[known], entropy)
            for lane in lanes[~known].tolist():
                found[lane] = self._beyond(lane, items, outside, entropy)
        for lane in np.flatnonzero(~np.array(rare)).tolist():
            found[lane] = self.choices[lane].among_all(self._column(lane), entropy)
        return found

    def _beyond(
        self, lane: int, items: _ItemsOfColumns, outside: Fraction, entropy: Entropy
    ) -> int:
        """The cell of a column whose rest was chosen: one of the rest, or else all anew."""
        choice, numbers = self.choices[lane], self._column(lane)
        stretch = int(items.edges[lane, 0]), int(items.edges[lane, -1])
        found = choice.outside_of(stretch, numbers, outside, entropy)
        return choice.cell_among(numbers, entropy) if found is None else found

    def _column(self, lane: int) -> NumbersInCells:
        return NumbersInCells(self.choices[lane].lattice, self.numbers[lane])


@attrs.frozen(eq=False)
class _ItemsOfColumns:
    """The ``Items`` of several columns, a row for each.

    Args:
        edges: Item i of a column is made of its cells edges[i] to edges[i + 1] - 1.
        counts: How many cells each item has.
        exponents: As floats, a row for each column or one for all.
        ranks: The exact exponents, of each column or of all.
    """

    edges: Counts
    counts: Counts
    exponents: Floats
    ranks: list[Ranks]

    @property
    def widths(self) -> Counts:
        """How many cells the items of each column have together."""
        found: Counts = self.edges[:, -1] - self.edges[:, 0]
        return found

    def exactly(self, lane: int, index: int) -> Fraction:
        """The exact exponent of an item of a column."""
        return self.ranks[lane % len(self.ranks)].exactly(index)

    def within(self, index: Counts, entropy: Entropy) -> Counts:
        """A cell of the item at an index, of each column."""
        lanes = np.arange(len(index))
        return self.edges[lanes, index] + below_each(self.counts[lanes, index], entropy)

    def part(self, lanes: Counts) -> _ItemsOfColumns:
        """Those of some of the columns."""
        several = len(self.ranks) > 1
        return _ItemsOfColumns(
            self.edges[lanes],
            self.counts[lanes],
            self.exponents[lanes] if several else self.exponents,
            [self.ranks[lane] for lane in lanes.tolist()] if several else self.ranks,
        )

    def beside(self, rest: Counts, outside: Fraction) -> _WithRest:
        """These with one item more of each column: the rest, as if all of it were so near."""
        farther = [ranks.farther(outside) for ranks in self.ranks]
        least = np.array([[min(float(each), FAR_EXPONENT)] for each in farther])
        return _WithRest(
            np.hstack([self.counts, rest[:, None]]),
            np.hstack([self.exponents, least]),
            self,
            farther,
        )


@attrs.frozen(eq=False)
class _WithRest:
    """Items of columns, and behind them the rest of each column as one item."""

    counts: Counts
    exponents: Floats
    items: _ItemsOfColumns
    farther: list[Fraction]

    def exactly(self, lane: int, index: int) -> Fraction:
        """The exact exponent of an item of a column, or of the rest."""
        if index < self.items.counts.shape[1]:
            return self.items.exactly(lane, index)
        return self.farther[lane % len(self.farther)]
