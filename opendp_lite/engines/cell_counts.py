"""How many numbers lie in each of some cells."""

from __future__ import annotations

import numpy as np

from opendp_lite.engines.entries import Whole
from opendp_lite.engines.fold import Floats, Fold, Scratch


class CellCounts(Fold[Whole]):
    """Counts the numbers of one column in each cell.

    A number at an edge belongs to the cell below it, so the cells up to an edge hold the numbers up
    to it. There is no NaN among them.

    Args:
        edges: The edges between the cells, which rise; one fewer than cells.
    """

    def __init__(self, edges: Floats) -> None:
        self._edges = edges

    def empty(self) -> Whole:
        return np.zeros(len(self._edges) + 1, dtype=np.int64)

    def summarise(self, block: Floats, scratch: Scratch) -> Whole:
        places = np.searchsorted(self._edges, block[:, 0])
        counts = np.bincount(places, minlength=len(self._edges) + 1)
        return counts.astype(np.int64, copy=False)

    def merge(self, first: Whole, second: Whole) -> Whole:
        return first + second
