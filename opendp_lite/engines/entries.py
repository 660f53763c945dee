"""Block functions and folds written on entries and their layout: they work on any kind of block.

Who writes one need not know which kinds there are. The engine hands over all entries of a dense
block, and only the stored ones of a sparse block where ``keeps_zeros`` allows that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Floats, Fold
from opendp_lite.engines.layout import DENSE, Layout

Summary = TypeVar("Summary")
Whole = NDArray[np.int64]


class EntryMap(ABC):
    """A block function written on entries."""

    @abstractmethod
    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        """New entries in the same places, or new rows as an array of shape (rows, columns)."""

    def keeps_zeros(self) -> bool:
        """Whether an entry that is 0 stays 0 or, where new rows are made, changes nothing."""
        return True

    def __call__(self, block: Floats) -> Floats:
        return self.on_entries(block, DENSE)


class EntryFold(Fold[Summary]):
    """A fold that can be written on entries."""

    @abstractmethod
    def summarise_entries(self, entries: Floats, layout: Layout, rows: int) -> Summary:
        """The summary of so many rows, at most ``most_rows``, by their entries that are not 0."""

    def keeps_zeros(self) -> bool:
        """Whether entries that are 0 add nothing."""
        return True

    @property
    def most_rows(self) -> int:
        """How many rows may be summarised at once."""
        return 2**62


def keeps_zeros(step: Any) -> bool:
    """Whether a block function or a fold can be given the entries that are not 0 alone."""
    return isinstance(step, EntryMap | EntryFold) and step.keeps_zeros()
