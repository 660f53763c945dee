"""The exponential mechanism on ranks: an item near a quantile, exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, floor, log
from typing import Final

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.engines.data.fold import Numeric
from opendp_lite.numbers.exact import nearest
from opendp_lite.samplers.choice import FAR_EXPONENT, below, choose, happens
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.lattice import Counts, Floats, Lattice, LatticeValues

STEEPEST: Final = Fraction(2**10)
"""A steeper slope changes nothing: one rank further off already weighs e^-1024."""
# All cells outside of the window then weigh less than e^-28 of one cell in the middle.
_REST = 28
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
        return self.weigh(counts, under, over, size).choose(counts, entropy)

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
        return self.farther(self.law.distance(under, over, self.size))

    def farther(self, distance: Fraction) -> Fraction:
        """The exact exponent at a distance."""
        return self.law.slope * (distance - self.nearest)

    def choose(self, counts: Counts, entropy: Entropy) -> int:
        """The index of an item."""
        return choose(counts, self.exponents, self.exactly, entropy)


def _excess(counts: Counts, level: Fraction) -> Floats:
    """counts - level, within 2^-53 and 2^-53 of it."""
    whole = level.numerator // level.denominator
    found: Floats = (counts - whole).astype(np.float64) - float(level - whole)
    return found


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
    counts: Counts = np.cumsum(beside)[places.reshape(-1)]
    return counts


@attrs.frozen
class CellChoice:
    """A cell of a lattice, by how many numbers lie in cells before it and after it.

    Proof:
        Cells between two neighbouring numbers share one weight. A cell that holds numbers weighs as
        much as the gap beside it that is nearer to the quantile; the cell, or the two cells and the
        gap between them, in which the quantile lies are one more item. So the choice is among n + 2
        items at most. Only those near the quantile are looked at; the cells of all others are one
        item with a bound on their weight, and if it is chosen, one of them is drawn and kept by the
        exact ratio. Where that item is not rare, all are looked at.
    """

    lattice: Lattice
    law: RankLaw

    def release(self, column: LatticeValues, entropy: Entropy) -> float:
        """A number inside the chosen cell. ``column`` is put into another order."""
        return self.lattice.point(self.cell(column, entropy))

    def cell(self, column: LatticeValues, entropy: Entropy) -> int:
        """The chosen cell. ``column`` is put into another order."""
        return self.cell_among(NumbersInCells(self.lattice, column), entropy)

    def cell_among(self, numbers: InCells, entropy: Entropy) -> int:
        """The chosen cell, for numbers that may lie elsewhere."""
        size = numbers.size
        first, last = window(self.law, self.lattice.cells, size)
        # A window of a quarter of the numbers or more saves too little beside sorting all.
        if last - first < size // 4:
            found = self._near(numbers, first, last, entropy)
            if found is not None:
                return found
        return self.among_all(numbers, entropy)

    def among_all(self, numbers: InCells, entropy: Entropy) -> int:
        """The chosen cell, with all numbers looked at."""
        return self._items(numbers, 0, numbers.size).choose(entropy)

    def outside_of(
        self, stretch: tuple[int, int], numbers: InCells, outside: Fraction, entropy: Entropy
    ) -> int | None:
        """A cell outside of a stretch of cells; None if it is not kept and all is to be redrawn.

        Args:
            stretch: Its first cell, and the one after its last.
            numbers: In which the cells' distances are counted.
            outside: A distance that all those cells have at least.
            entropy: Where the random words come from.
        """
        start, end = stretch
        # Each cell outside as likely: the number is moved over the stretch.
        cell = below(self.lattice.cells - (end - start), entropy)
        cell += end - start if cell >= start else 0
        under, over = numbers.before(np.array([cell, cell + 1])).tolist()
        distance = self.law.distance(under, numbers.size - over, numbers.size)
        kept = happens(Fraction(1), self.law.slope * (distance - outside), entropy)
        return cell if kept else None

    def _items(self, numbers: InCells, first: int, last: int) -> Items:
        """The items from the gap after ``first`` numbers to that after ``last``."""
        size, start = numbers.size, max(first - 1, 0)
        cells = numbers.between(start, min(last + 1, size))
        middle = self.law.target(size)
        # A cell with numbers goes with the gap beside it that is nearer to the target: below the
        # target it begins an item, and above it the cell behind it does.
        low, high = cells[: ceil(middle) - start], cells[floor(middle) - start :] + 1
        edges = np.concatenate(
            [
                np.zeros(int(first == 0), np.int64),
                low,
                high,
                np.full(int(last == size), self.lattice.cells, np.int64),
            ]
        )
        return Items(edges, np.diff(edges), Ranks.of(self.law, size, first, last))

    def _near(self, numbers: InCells, first: int, last: int, entropy: Entropy) -> int | None:
        """The choice among the items near the quantile and the rest; None where it is not rare."""
        size = numbers.size
        items = self._items(numbers, first, last)
        stretch = int(items.edges[0]), int(items.edges[-1])
        rest, known = self.lattice.cells - (stretch[1] - stretch[0]), len(items.counts)
        # The next gaps beyond the window are the nearest of what it leaves out.
        outside = min(self.law.distance(rank, size - rank, size) for rank in (first - 1, last + 1))
        farther = items.weights.farther(outside)
        inside = float((items.counts * np.exp(-items.weights.exponents)).sum())
        if not is_rare(rest, farther, inside):
            return None
        while True:
            index = choose(
                np.append(items.counts, rest),
                np.append(items.weights.exponents, min(float(farther), FAR_EXPONENT)),
                lambda i: items.weights.exactly(i) if i < known else farther,
                entropy,
            )
            if index < known:
                return items.within(index, entropy)
            cell = self.outside_of(stretch, numbers, outside, entropy)
            if cell is not None:
                return cell


def window(law: RankLaw, cells: int, size: int) -> tuple[int, int]:
    """The gaps between which the numbers near the quantile lie: all others weigh next to nothing.

    Args:
        law: How the cells weigh.
        cells: How many there are.
        size: How many numbers there are.
    """
    middle = int(law.target(size))
    reach = ceil(Fraction(log(cells) + _REST) / law.slope) + 1
    return max(0, middle - reach), min(size, middle + reach)


def is_rare(rest: int, farther: Fraction, inside: float) -> bool:
    """Whether the rest weighs so little that choosing it costs no time.

    Args:
        rest: How many cells it has.
        farther: An exponent that they have at least.
        inside: The weight of all others.
    """
    return farther > 0 and rest * exp(-min(float(farther), _LARGE)) <= _RARE * inside


@attrs.frozen(eq=False)
class Ranks:
    """The items of a lattice: gaps after ``first`` numbers and more, the middle, gaps to ``last``.

    The middle item is at a distance of 0 and is always there.
    """

    law: RankLaw
    size: int
    first: int
    exponents: Floats

    @classmethod
    def of(cls, law: RankLaw, size: int, first: int, last: int) -> Ranks:
        """With the exponents as floats, within 2^-40 up to ``FAR_EXPONENT``."""
        exponents = distances(law.target(size), first, last) * float(law.slope)
        return cls(law, size, first, np.minimum(exponents, FAR_EXPONENT, out=exponents))

    def exactly(self, index: int) -> Fraction:
        """The exact exponent of an item."""
        middle = self.law.target(self.size)
        rank, before, after = self.first + index, ceil(middle), floor(middle)
        if rank == before:
            return Fraction(0)
        return self.farther(middle - rank if rank < before else rank - before + after - middle)

    def farther(self, distance: Fraction) -> Fraction:
        """The exact exponent at a distance."""
        return self.law.slope * distance


def distances(middle: Fraction, first: int, last: int) -> Floats:
    """How far the items of a lattice are from the target; not to be changed."""
    find = _distances if last - first <= _KEPT else _distances.__wrapped__
    return find(middle, first, last)


@lru_cache(maxsize=8)
def _distances(middle: Fraction, first: int, last: int) -> Floats:
    before, after = ceil(middle), floor(middle)
    below = -_excess(np.arange(first, before), middle)
    return np.concatenate([below, [0.0], _excess(np.arange(after + 1, last + 1), middle)])


@attrs.frozen(eq=False)
class Items:
    """Runs of cells of one weight: item i is made of the cells edges[i] to edges[i + 1] - 1."""

    edges: Counts
    counts: Counts
    weights: Ranks

    def choose(self, entropy: Entropy) -> int:
        """A cell of one of them."""
        index = choose(self.counts, self.weights.exponents, self.weights.exactly, entropy)
        return self.within(index, entropy)

    def within(self, index: int, entropy: Entropy) -> int:
        """A cell of this item."""
        return int(self.edges[index]) + below(int(self.counts[index]), entropy)
