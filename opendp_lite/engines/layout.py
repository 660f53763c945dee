"""How the entries of a block lie: beside which column's number, and in which row.

What is written against a layout works on a dense block and on the entries of a sparse one.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Floats


class Layout(Protocol):
    """Brings numbers of columns and of rows beside the entries, and adds entries up by row."""

    def of_columns(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """One number a column, or one for all, in a shape that meets the entries."""
        ...

    def of_rows(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """One number a row in a shape that meets the entries."""
        ...

    def totals(self, terms: Floats) -> Floats:
        """The sum of each row's terms, in an order fixed by the row alone; may write to them."""
        ...

    def column_sums(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum modulo 2^64 of each column of whole numbers in the places of the entries."""
        ...


class Dense:
    """The layout of an array of shape (rows, columns)."""

    def of_columns(self, numbers: NDArray[Any]) -> NDArray[Any]:
        return numbers

    def of_rows(self, numbers: NDArray[Any]) -> NDArray[Any]:
        return numbers[:, None]

    def totals(self, terms: Floats) -> Floats:
        """Halves are added to halves; every NaN is the usual one.

        Which of two NaN a sum keeps, with its sign, depends on where in a vector register it lies.
        """
        upright = terms.T
        count = len(upright)
        while count > 1:
            half = (count + 1) // 2
            upright[: count - half] += upright[half:count]
            count = half
        total: Floats = upright[0]
        total[np.isnan(total)] = np.nan
        return total

    def column_sums(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = np.add.reduce(steps, axis=0)
        return found


DENSE: Final = Dense()
