"""Public lattices: a range cut into cells, evenly or with cells that grow with the value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import ldexp

import attrs
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]

_LINEAR_BITS = 48
_DROPPED = 8


def _bits(x: Floats) -> Cells:
    return x.view(np.int64) >> _DROPPED


def _edge(x: float) -> float:
    """The lower edge of the cell that a number from 0 lies in."""
    return float((_bits(np.array(x)) << _DROPPED).view(np.float64))


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
    def cell(self, x: Floats) -> Cells:
        """The cell of each number."""

    @abstractmethod
    def point(self, cell: int) -> float:
        """The middle of a cell."""


@attrs.frozen
class LinearLattice(Lattice):
    """2^48 cells of one width: far more than numbers, far wider than the rounding of floats."""

    lower: float
    upper: float

    @property
    def cells(self) -> int:
        """How many."""
        return 1 << _LINEAR_BITS

    def cell(self, x: Floats) -> Cells:
        inside = np.where(np.isnan(x), self.upper, x).clip(self.lower, self.upper)
        share = (inside - self.lower) / (self.upper - self.lower)
        found: Cells = (share * 2.0**_LINEAR_BITS).astype(np.int64)
        return np.minimum(found, self.cells - 1)

    def point(self, cell: int) -> float:
        share = ldexp(2 * cell + 1, -_LINEAR_BITS - 1)
        return self.lower + share * (self.upper - self.lower)


@attrs.frozen
class AsinhLattice(Lattice):
    """Cells of about one relative width beyond ``unit``, and of one width near 0.

    |x| + unit is a float whose bits, read as a whole number, are a logarithm that is linear
    between powers of two; its last 8 bits are left away, those of ``unit`` too. With a ``unit`` of
    0 the range is positive, and the cells are those of a logarithm.
    """

    lower: float
    upper: float
    unit: float = attrs.field(converter=_edge)
    _zero: int = attrs.field(init=False)
    _first: int = attrs.field(init=False)
    _cells: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        zero = int(_bits(np.array(self.unit)))
        first, last = (_from_zero(end, self.unit, zero) for end in (self.lower, self.upper))
        for name, value in (("_zero", zero), ("_first", first), ("_cells", last - first)):
            object.__setattr__(self, name, value)

    @property
    def cells(self) -> int:
        """How many."""
        return self._cells

    def cell(self, x: Floats) -> Cells:
        inside = np.where(np.isnan(x), self.upper, x).clip(self.lower, self.upper)
        steps = _bits(np.abs(inside) + self.unit) - self._zero
        if self.lower < 0:
            steps = np.where(inside < 0, -1 - steps, steps)
        steps -= self._first
        return steps.clip(0, self._cells - 1, out=steps)

    def point(self, cell: int) -> float:
        place = cell + self._first
        steps = place if place >= 0 else -place - 1
        bits = ((steps + self._zero) << _DROPPED) + (1 << (_DROPPED - 1))
        size = float(np.int64(bits).view(np.float64)) - self.unit
        return min(max(self.lower, size if place >= 0 else -size), self.upper)


def _from_zero(value: float, unit: float, zero: int) -> int:
    steps = int(_bits(np.array(abs(value) + unit))) - zero
    return steps if value >= 0 else -steps
