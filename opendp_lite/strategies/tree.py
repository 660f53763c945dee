"""Counts of cells, of blocks of cells, of blocks of blocks, and of all rows."""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import log10, prod
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.entries import Whole
from opendp_lite.engines.fold import Floats
from opendp_lite.norms import Norms
from opendp_lite.strategies.strategy import Strategy


@attrs.frozen(slots=False)
class Tree(Strategy):
    """All rows, blocks of about a tenth of the cells, a tenth of those, down to single cells.

    Proof:
        A row counts in one block of each of h sizes, so it adds h ones. Where one row takes the
        place of another, the count of all rows stays, and of each other size at most one block
        gains a one and one loses it.

        ``counts`` are those of least squares. The matrix times its transpose is the sum over the
        sizes of size times P, where P puts the mean of a block in the place of its cells. These
        projections are nested, so the sum is inverted on each difference of two of them by the
        number that it multiplies it with (Hay, Rastogi, Miklau and Suciu 2010 compute the same from
        the leaves to the root and back).
    """

    cells: int

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the blocks in cells, from single cells to one block of all."""
        left, levels = self.cells, max(1, round(log10(self.cells)))
        branches = []
        for level in range(levels, 0, -1):
            branches.append(_least_root(left, level))
            left = -(-left // branches[-1])
        return tuple(prod(branches[place:]) for place in range(levels, -1, -1))

    @property
    def _padded(self) -> int:
        return self.sizes[-1]

    @property
    def terms(self) -> int:
        return sum(self._padded // size for size in self.sizes)

    @property
    def exponent(self) -> int:
        return 0

    def radii(self) -> Norms:
        return Norms(l1=len(self.sizes), linf=1)

    def diameters(self) -> Norms:
        return Norms(l1=2 * (len(self.sizes) - 1), linf=1)

    def products(self, counts: Whole) -> NDArray[Any]:
        return self._blocks(self._with_padding(counts))

    def _with_padding(self, of_cells: NDArray[Any]) -> NDArray[Any]:
        more = (*[(0, 0)] * (of_cells.ndim - 1), (0, self._padded - self.cells))
        return np.pad(of_cells, more)

    def _blocks(self, of_cells: NDArray[Any]) -> NDArray[Any]:
        """The sums of all blocks, those of single cells first."""
        return np.concatenate([self._sums(of_cells, size) for size in self.sizes], axis=-1)

    def _sums(self, of_cells: NDArray[Any], size: int) -> NDArray[Any]:
        found: NDArray[Any] = of_cells.reshape(*of_cells.shape[:-1], -1, size).sum(axis=-1)
        return found

    def _solved(self, of_cells: Floats) -> Floats:
        """Divided by the matrix times its transpose."""
        found, before = np.zeros_like(of_cells), 0.0
        for size, multiple in zip(self.sizes, np.cumsum(self.sizes), strict=True):
            means = self._sums(of_cells, size) / size
            found += np.repeat(means, size, axis=-1) * (1 / multiple - before)
            before = 1 / multiple
        return found

    def counts(self, products: Floats) -> Floats:
        ends = np.cumsum([self._padded // size for size in self.sizes])
        parts = np.split(products, ends[:-1], axis=-1)
        spread = [
            np.repeat(part, size, axis=-1) for part, size in zip(parts, self.sizes, strict=True)
        ]
        return self._solved(np.sum(spread, axis=0))[..., : self.cells]

    def weights(self, of_cells: Floats) -> Floats:
        return self._blocks(self._solved(self._with_padding(of_cells)))


def _least_root(number: int, power: int) -> int:
    """The least whole number of which such a power is at least a number."""
    found = 1
    while pow(found, power) < number:
        found += 1
    return found


@lru_cache(maxsize=8)
def tree(cells: int) -> Tree:
    """The strategy of so many cells, with what was computed of it before."""
    return Tree(cells)
