"""The arrays that samplers pass to each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
LatticeValues = NDArray[np.float64] | NDArray[np.int64]


Cells = NDArray[np.int64]

LINEAR_BITS: Final = 48
"""Far more cells than numbers, far wider than the rounding of floats."""
DOUBLING_BITS: Final = 44
FARTHEST_BOUND: Final = Fraction(2) ** 900
"""Of a range: differences and middles are floats then."""
_MANTISSA = 52


class Lattice(ABC):
    """A range of numbers, cut into ``cells`` cells.

    ``cell(x)`` says in which cell each number lies, never out of order; NaN in the last.
    ``point(cell)`` is the middle of a cell, so that what is released never comes from the data.
    Both use nothing but comparisons, single IEEE operations and the bits of floats: what becomes
    of a number depends on that number alone.
    """

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells there are."""

    @abstractmethod
    def cell(self, x: LatticeValues) -> Cells:
        """The cell of each number."""

    @abstractmethod
    def points(self, cells: Cells) -> Floats:
        """The middle of each cell."""

    def point(self, cell: int) -> float:
        """The middle of a cell."""
        return float(self.points(np.array([cell], dtype=np.int64))[0])


@attrs.frozen
class LinearLattice(Lattice):
    """2^bits cells of one width."""

    lower: float
    upper: float
    bits: int = LINEAR_BITS

    @property
    def cells(self) -> int:
        """How many."""
        return 1 << self.bits

    def cell(self, x: LatticeValues) -> Cells:
        # clip passes NaN on, and what a cast makes of it differs between machines.
        share = np.where(np.isnan(x), self.upper, x).clip(self.lower, self.upper)
        share -= self.lower
        share /= self.upper - self.lower
        share *= 2.0**self.bits
        found: Cells = share.astype(np.int64)
        # The upper end itself would lie one cell beyond.
        return np.minimum(found, self.cells - 1, out=found)

    def coarsen(self, bits: int) -> LinearLattice:
        """The same bounds in 2^bits cells, or as it is where it has fewer."""
        return attrs.evolve(self, bits=min(self.bits, bits))

    def points(self, cells: Cells) -> Floats:
        share = np.ldexp((2 * cells + 1).astype(np.float64), -self.bits - 1)
        return self.lower + share * (self.upper - self.lower)


@attrs.frozen
class AsinhLattice(Lattice):
    """Cells of about one relative width beyond ``unit``, and of one width near 0.

    |x| + unit is a float whose bits, read as a whole number, are a logarithm that is linear
    between powers of two; of its fraction so many ``bits`` are kept, those of ``unit`` too: 2^bits
    cells to a doubling. With a ``unit`` of 0 the range is positive, and the cells are those of a
    logarithm.
    """

    lower: float
    upper: float
    unit: float
    bits: int = DOUBLING_BITS
    _zero: int = attrs.field(init=False)
    _first: int = attrs.field(init=False)
    _cells: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        zero = int(self._whole(np.array(self.unit)))
        # The unit loses the bits that cells drop: so 0 is an edge, and cells mirror around it.
        edge = float(np.int64(zero << self._spare_bits).view(np.float64))
        for name, value in (("unit", edge), ("_zero", zero)):
            object.__setattr__(self, name, value)
        first, last = self._from_zero(self.lower), self._from_zero(self.upper)
        for name, value in (("_first", first), ("_cells", last - first)):
            object.__setattr__(self, name, value)

    @property
    def cells(self) -> int:
        """How many."""
        return self._cells

    def cell(self, x: LatticeValues) -> Cells:
        inside = np.asarray(x, dtype=np.float64).clip(self.lower, self.upper)
        signs = -(inside < 0).astype(np.int64) if self.lower < 0 else None
        np.abs(inside, out=inside)
        inside += self.unit
        # The bits of NaN are above those of all numbers, and the last clip takes them to the end.
        steps = inside.view(np.int64)
        steps >>= self._spare_bits
        steps -= self._zero
        if signs is not None:
            # With -1 it makes -1 - steps: negative numbers have the cells below 0, in order.
            steps ^= signs
        steps -= self._first
        return steps.clip(0, self._cells - 1, out=steps)

    def coarsen(self, bits: int) -> AsinhLattice:
        """The fewest cells of which there are 2^bits, or as it is where it has fewer."""
        finer = (attrs.evolve(self, bits=each) for each in range(1, self.bits))
        return next((each for each in finer if each.cells >= 1 << bits), self)

    def points(self, cells: Cells) -> Floats:
        places = cells + self._first
        steps = np.where(places >= 0, places, -1 - places) + self._zero
        near, far = (self._size_of(each, places) for each in (steps, steps + 1))
        return near / 2 + far / 2

    def _size_of(self, steps: Cells, places: Cells) -> Floats:
        """An edge of each cell, with its sign."""
        sizes = (steps << self._spare_bits).view(np.float64) - self.unit
        return np.where(places >= 0, sizes, -sizes).clip(self.lower, self.upper)

    @property
    def _spare_bits(self) -> int:
        return _MANTISSA - self.bits

    def _whole(self, x: Floats) -> Cells:
        return x.view(np.int64) >> self._spare_bits

    def _from_zero(self, value: float) -> int:
        steps = int(self._whole(np.array(abs(value) + self.unit))) - self._zero
        return steps if value >= 0 else -steps


@attrs.frozen
class Stretch(Lattice):
    """The whole numbers ``first`` to ``last`` - 1, each a cell."""

    first: int
    last: int

    @property
    def cells(self) -> int:
        """How many."""
        return self.last - self.first

    def cell(self, x: LatticeValues) -> Cells:
        return np.asarray(x, dtype=np.int64) - self.first

    def points(self, cells: Cells) -> Floats:
        return (self.first + cells).astype(np.float64)
