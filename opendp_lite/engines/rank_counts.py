"""How many numbers lie below and above given points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Floats, Fold, Scratch

Counts = NDArray[np.int64]


class RankCounts(Fold[Counts]):
    """For each column and each of some rising points: numbers below it, numbers at it or below.

    NaN counts as above all points. The summary has the shape (columns, 2, points + 1); the last
    entries are the number of rows.
    """

    def __init__(self, points: Floats, columns: int) -> None:
        self._points = points
        self._fenced = np.append(points, np.nan)
        self._columns = columns

    def empty(self) -> Counts:
        return np.zeros((self._columns, 2, len(self._points) + 1), dtype=np.int64)

    def summarise(self, block: Floats, scratch: Scratch) -> Counts:
        found = self.empty()
        for counts, numbers in zip(found, block.T, strict=True):
            places = np.searchsorted(self._points, numbers)
            at_point = self._fenced[places] == numbers
            length = counts.shape[1]
            counts[1] = np.cumsum(np.bincount(places, minlength=length))
            counts[0] = counts[1] - np.bincount(places[at_point], minlength=length)
        return found

    def merge(self, first: Counts, second: Counts) -> Counts:
        return first + second
