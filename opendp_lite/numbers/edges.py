"""Numbers among rising edges: how many edges each has passed, and how many lie between two."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

Numeric: TypeAlias = NDArray[Any]
Indices: TypeAlias = NDArray[np.intp]
Counts: TypeAlias = NDArray[np.int64]

# A table of so many cells stays in the second-level cache.
_MOST_CELLS: Final = 2**15
# Of fewer numbers a table would take longer than it saves.
_FEW: Final = 2**10


def count_between(edges: Numeric, numbers: Numeric, side: Literal["left", "right"]) -> Counts:
    """How many numbers lie before the first of rising edges, between each two, and after the last.

    NaN counts as after all. Numbers are sorted first: to look each up among the edges, as it comes,
    takes up to nine times as long.

    Args:
        edges: They rise.
        numbers: In any order.
        side: Whether a number at an edge lies after it, "left", or before it, "right".
    """
    rising = np.sort(numbers)
    if len(edges) > len(rising):
        return _tally(edges.searchsorted(rising, "right" if side == "left" else "left"), edges)
    before = rising.searchsorted(edges, side).astype(np.int64, copy=False)
    return np.diff(before, prepend=0, append=len(rising))


def _tally(passed: Indices, edges: Numeric) -> Counts:
    return np.bincount(passed, minlength=len(edges) + 1).astype(np.int64, copy=False)


@attrs.frozen(eq=False, repr=False, slots=False)
class RisingEdges:
    """Rising numbers that others pass: each of those that are at or below them; NaN passes all.

    Args:
        edges: Floats, none of them NaN, or whole numbers.
    """

    edges: Numeric

    def __reduce__(self) -> tuple[type[RisingEdges], tuple[Numeric]]:
        # Without its table, which is large and soon made: pickles go to all workers of a cluster.
        return RisingEdges, (self.edges,)

    def count_passed(self, numbers: Numeric) -> Indices:
        """How many edges each number has passed."""
        if np.size(numbers) < _FEW or self._before is None:
            return self.edges.searchsorted(numbers, "right")
        found = self._before[self._cells(numbers)]
        found += numbers >= self._and_none[found]
        return found

    def count_by_place(self, numbers: Numeric) -> Counts:
        """How many numbers have passed no edge, one, two, up to all of them."""
        if self._before is None:
            return count_between(self.edges, numbers, "left")
        return _tally(self.count_passed(numbers), self.edges)

    @cached_property
    def _and_none(self) -> Numeric:
        """The edges, and behind them one that no number passes."""
        return np.append(self.edges, np.nan)

    @cached_property
    def _before(self) -> Indices | None:
        """How many edges lie in the cells before each; None where these are too many cells.

        A number has passed these, and at most one more: that in its own cell. To look this up is up
        to eight times as fast as to search the edges.
        """
        if self.edges.dtype != np.float64 or len(self.edges) < 2:
            return None
        cells = self._cells(self.edges)
        # Neighbours are 2 cells apart, less a rounding of 2^15 * 2^-51: no cell holds two of them.
        few = (cells < _MOST_CELLS).all()
        return np.searchsorted(cells, np.arange(_MOST_CELLS + 1)) if few else None

    def _cells(self, numbers: Numeric) -> Indices:
        """Cells of half the smallest gap: no lower for a larger number, the last for NaN.

        It is so in floats as well, as rounding keeps their order.
        """
        with np.errstate(all="ignore"):
            cells: NDArray[np.float64] = (numbers - self.edges[:1]) * self._per_unit
        cells += 1
        return np.fmax(np.fmin(cells, _MOST_CELLS, out=cells), 0, out=cells).astype(np.intp)

    @cached_property
    def _per_unit(self) -> Numeric:
        with np.errstate(all="ignore"):
            found: Numeric = 2 / np.diff(self.edges).min(keepdims=True)
        return found
