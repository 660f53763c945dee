"""Missing values: seen, left out, or filled with public numbers.

A missing value is NaN. Steps that treat rows one by one hand it on, and an aggregate never sees it.
Where the number of rows is private, a row that lacks an entry is left out. Where it is public, the
row stays and public numbers take the place of what it lacks. Either way a row's image depends on
that row alone, so neighbouring datasets stay neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.deferred import Chained, fold
from opendp_lite.engines.entries import EntryMap
from opendp_lite.engines.fold import Block, Floats, Fold
from opendp_lite.engines.layout import Layout
from opendp_lite.engines.rows import LazyRows, MapRows, Part, unfused
from opendp_lite.engines.sparse import SparseRows


def holds_missing(entries: Floats) -> bool:
    """Whether any entry is NaN; one pass over the entries, and no array is made."""
    if entries.dtype.kind != "f":
        return False
    least = np.minimum.reduce(entries, axis=None, initial=np.inf)
    return bool(least != least)


def whole_rows(block: Floats) -> NDArray[np.bool_]:
    """Which rows lack no entry."""
    missing = np.isnan(block)
    if block.shape[1] == 1:
        return ~missing.reshape(-1)
    return np.logical_not(missing.any(axis=1))


@attrs.frozen(repr=False)
class LeaveOut:
    """A block function that leaves out every row with a missing entry."""

    only_missing: ClassVar[bool] = True
    leaves_out: ClassVar[bool] = True

    def __call__(self, block: Floats) -> Floats:
        if not holds_missing(block):
            return block
        return block.take(np.flatnonzero(whole_rows(block)), axis=0)

    def kept(self, block: Floats) -> NDArray[np.bool_]:
        """Which rows stay."""
        return whole_rows(block)

    def on_sparse_rows(self, rows: SparseRows) -> SparseRows:
        if not holds_missing(rows.values):
            return rows
        missing = np.isnan(rows.values)
        kept = np.ones(len(rows), dtype=np.bool_)
        kept[rows.of_rows(np.arange(len(rows)))[missing]] = False
        return rows.only(kept)


@attrs.frozen(eq=False, repr=False)
class FillEntries(EntryMap):
    """A block function that puts a public number in the place of every missing entry.

    ``by`` holds one number for all columns, or one for each.
    """

    only_missing: ClassVar[bool] = True

    by: Floats

    def __call__(self, block: Floats) -> Floats:
        if not holds_missing(block):
            return block
        filled = np.array(block, order="C")
        places = np.flatnonzero(np.isnan(filled))
        columns = places % block.shape[1] if len(self.by) > 1 else np.zeros_like(places)
        filled.reshape(-1)[places] = self.by[columns]
        return filled

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        return np.where(np.isnan(entries), layout.of_columns(self.by), entries)


@attrs.frozen(eq=False, repr=False)
class FillRows:
    """A block function that puts a public row in the place of every row with a missing entry.

    ``by`` holds one number for all columns, or one for each.
    """

    only_missing: ClassVar[bool] = True

    by: Floats

    def __call__(self, block: Floats) -> Floats:
        if not holds_missing(block):
            return block
        filled = np.array(block)
        filled[np.flatnonzero(~whole_rows(block))] = self.by
        return filled


LEAVE_OUT: Final = LeaveOut()


def where_whole(functions: Sequence[Block]) -> tuple[Block, ...]:
    """What is left of block functions for rows in which nothing is missing."""
    return tuple(each for each in functions if not getattr(each, "only_missing", False))


def fold_present(
    how: Fold[Any], treatment: Block | None, finish: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """As ``fold``, with missing values left out or filled before."""
    return Chained((Present(how, treatment), fold(how, finish)))


@attrs.frozen(eq=False, repr=False)
class Present:
    """The function from rows to rows as a fold is to see them: missing values out or filled.

    What the fold does itself is taken off first, so that it still does it while folding. That is
    allowed because what a fold absorbs hands a missing entry on and makes no other entry missing.
    """

    how: Fold[Any]
    treatment: Block | None
    step: str = ""
    before: tuple[Part, ...] = ()
    alone: tuple[tuple[Part, ...], str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "alone", self._left(self.before, ""))

    def joined_to(self, earlier: object) -> Present | None:
        """The same with a map of rows before it, where it is that."""
        if not isinstance(earlier, MapRows):
            return None
        return attrs.evolve(self, before=(earlier.part, *self.before))

    def named(self, step: str) -> Present:
        """The same, as a part of a step."""
        return self if self.step else attrs.evolve(self, step=step)

    def __call__(self, rows: LazyRows) -> LazyRows:
        if rows.functions or rows.fused:
            left = self._left((*rows.functions, *self.before), rows.fused)
            return LazyRows(rows.source, *left, rows.keys)
        return LazyRows(rows.source, *self.alone, rows.keys)

    def _left(self, functions: tuple[Part, ...], fused: str) -> tuple[tuple[Part, ...], str]:
        """What is left to do before the fold, and the step that the fold does itself."""
        left, fused = unfused(functions, fused, self.how)
        if self.treatment is not None:
            left = (*left, Part(self.treatment, fused or self.step))
        return left, fused
