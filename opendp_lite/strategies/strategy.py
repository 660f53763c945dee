"""The base class of all strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.entries import Whole
from opendp_lite.engines.fold import Floats
from opendp_lite.norms import Norms

ROOM: Final = 1 << 62
"""What int64 certainly holds."""
_AT_ONCE: Final = 256


@attrs.frozen(eq=False)
class Products:
    """Inner products of the weights of some counts: with themselves, and with those of all."""

    squares: Floats
    along: Floats


class Strategy(ABC):
    """A public matrix of whole numbers whose products with the counts of cells are released.

    The counts can be estimated from the noisy products, and sums of many neighbouring cells with
    much less noise than from noisy counts.

    Args:
        cells: How many cells.
    """

    cells: int

    @property
    @abstractmethod
    def terms(self) -> int:
        """How many products."""

    @property
    @abstractmethod
    def exponent(self) -> int:
        """The matrix holds multiples of 2^exponent."""

    @abstractmethod
    def radii(self) -> Norms:
        """Bounds on the norms of a column: what one row adds."""

    @abstractmethod
    def diameters(self) -> Norms:
        """Bounds on the norms of a difference of two columns: what replacing one row does."""

    @abstractmethod
    def products(self, counts: Whole) -> NDArray[Any]:
        """The products, exactly, in whole steps of 2^exponent."""

    @abstractmethod
    def counts(self, products: Floats) -> Floats:
        """The counts by least squares, from products of shape (..., terms)."""

    @abstractmethod
    def weights(self, of_cells: Floats) -> Floats:
        """The transpose of ``counts``: weights of cells as weights of the products."""

    @cached_property
    def everything(self) -> Floats:
        """The weights of the products in the number of all rows."""
        return self.weights(np.ones(self.cells))

    @cached_property
    def of_edges(self) -> Products:
        """For the cells up to each one."""
        return self._multiplied(lambda places: np.arange(self.cells) <= places[:, None])

    @cached_property
    def of_cells(self) -> Products:
        """For each cell."""
        return self._multiplied(lambda places: np.arange(self.cells) == places[:, None])

    def _multiplied(self, chosen: Callable[[Whole], NDArray[np.bool_]]) -> Products:
        squares, along = [], []
        for some in np.array_split(np.arange(self.cells), self.cells // _AT_ONCE + 1):
            weights = self.weights(chosen(some).astype(np.float64))
            squares.append((weights * weights).sum(axis=1))
            along.append(weights @ self.everything)
        return Products(np.concatenate(squares), np.concatenate(along))
