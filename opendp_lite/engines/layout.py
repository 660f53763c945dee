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

    def sums(self, terms: Floats) -> Floats:
        """The sum of each row's terms, added in any order; it may lie where the terms lay."""
        ...

    def sums_of_squares(self, entries: Floats) -> Floats:
        """The sum of the squares of each row's entries, added in any order."""
        ...

    def longest(self, entries: Floats) -> int:
        """How many entries a row has at most."""
        ...

    def row(self, entries: Floats, place: int) -> Floats:
        """The entries of one row."""
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

    def sums(self, terms: Floats) -> Floats:
        found: Floats = terms[:, 0] if terms.shape[1] == 1 else np.add.reduce(terms, axis=1)
        return found

    def sums_of_squares(self, entries: Floats) -> Floats:
        found: Floats = np.einsum("ij,ij->i", entries, entries)
        return found

    def longest(self, entries: Floats) -> int:
        return int(entries.shape[1])

    def row(self, entries: Floats, place: int) -> Floats:
        row: Floats = entries[place]
        return row

    def column_sums(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = np.add.reduce(steps, axis=0)
        return found


DENSE: Final = Dense()
