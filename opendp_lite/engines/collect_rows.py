"""All rows in memory, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from opendp_lite.engines.fold import Floats, Fold, Scratch
from opendp_lite.engines.rows import LazyRows
from opendp_lite.engines.source import require_here

Pieces = tuple[Floats, ...]


class CollectRows(Fold[Pieces]):
    """Copies of the blocks, each turned into rows of one column's numbers.

    Args:
        columns: How many the rows have.
        instead: What to type where the rows may not fit into memory, if they are then refused.
    """

    def __init__(self, columns: int, instead: str = "") -> None:
        self._columns = columns
        self._instead = instead

    @property
    def gathers(self) -> bool:
        return True

    def without_gathering(self, rows: LazyRows, step: str) -> Any:
        require_here(rows.source, step, self._instead)

    def empty(self) -> Pieces:
        return ()

    def summarise(self, block: Floats, scratch: Scratch) -> Pieces:
        return (block.T.copy(),)

    def merge(self, first: Pieces, second: Pieces) -> Pieces:
        return first + second

    def finish(self, pieces: Pieces) -> Floats:
        """One array of shape (columns, rows), its to change."""
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate([np.empty((self._columns, 0)), *pieces], axis=1)
