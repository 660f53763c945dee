"""Public lattices: a range cut into cells, evenly or with cells that grow with the value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from math import ldexp
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.samplers._arrays import Floats, Numbers

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
    def cell(self, x: Numbers) -> Cells:
        """The cell of each number."""

    @abstractmethod
    def point(self, cell: int) -> float:
        """The middle of a cell."""


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

    def cell(self, x: Numbers) -> Cells:
        inside = np.where(np.isnan(x), self.upper, x).clip(self.lower, self.upper)
        share = (inside - self.lower) / (self.upper - self.lower)
        found: Cells = (share * 2.0**self.bits).astype(np.int64)
        return np.minimum(found, self.cells - 1)

    def point(self, cell: int) -> float:
        share = ldexp(2 * cell + 1, -self.bits - 1)
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
        edge = float(np.array(zero << self._dropped).view(np.float64))
        for name, value in (("unit", edge), ("_zero", zero)):
            object.__setattr__(self, name, value)
        first, last = self._from_zero(self.lower), self._from_zero(self.upper)
        for name, value in (("_first", first), ("_cells", last - first)):
            object.__setattr__(self, name, value)

    @property
    def cells(self) -> int:
        """How many."""
        return self._cells

    def cell(self, x: Numbers) -> Cells:
        inside = np.where(np.isnan(x), self.upper, x).clip(self.lower, self.upper)
        steps = self._whole(np.abs(inside) + self.unit) - self._zero
        if self.lower < 0:
            steps = np.where(inside < 0, -1 - steps, steps)
        steps -= self._first
        return steps.clip(0, self._cells - 1, out=steps)

    def point(self, cell: int) -> float:
        place = cell + self._first
        steps = place if place >= 0 else -place - 1
        edges = (np.arange(2) + (steps + self._zero)) << self._dropped
        sizes = edges.view(np.float64) - self.unit
        inside = (sizes if place >= 0 else -sizes).clip(self.lower, self.upper)
        return float(inside[0] / 2 + inside[1] / 2)

    @property
    def _dropped(self) -> int:
        return _MANTISSA - self.bits

    def _whole(self, x: Floats) -> Cells:
        return x.view(np.int64) >> self._dropped

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

    def cell(self, x: Numbers) -> Cells:
        return np.asarray(x, dtype=np.int64) - self.first

    def point(self, cell: int) -> float:
        return float(self.first + cell)
