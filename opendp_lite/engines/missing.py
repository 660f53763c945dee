"""Results of a person's own functions as floats, whatever type they have."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from math import nan
from numbers import Complex
from operator import and_
from typing import ClassVar, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.data.arrays import EntryMap, Layout, is_masked
from opendp_lite.engines.data.expressions import Engine, Expression
from opendp_lite.engines.data.fold import Block, Floats, Numeric
from opendp_lite.engines.data.sparse import SparseRows


def _number(value: object) -> float:
    """A real number as a float; NaN for anything else."""
    if not isinstance(value, Complex | Decimal):
        return nan
    try:
        number = complex(value)
    except (OverflowError, ValueError):
        return nan
    return number.real if number.imag == 0 else nan


def real_entries(found: object) -> Floats:
    """A new array of floats, with NaN for each entry that is no real number.

    The type of an array may depend on its values: ``numpy.emath.sqrt`` turns complex at the first
    negative number. So no type is refused, and none warns.
    """
    if is_masked(found):
        return np.where(np.ma.getmaskarray(found), np.nan, real_entries(found.data))
    entries = np.asarray(found)
    if entries.dtype.kind in "biuf":
        return np.array(entries, dtype=np.float64)
    if entries.dtype.kind == "c":
        return np.where(np.imag(entries) == 0, np.real(entries), np.nan).astype(np.float64)
    flat = np.fromiter(map(_number, entries.flat), np.float64, entries.size)
    return flat.reshape(entries.shape)


# A missing value is NaN. Steps that treat rows one by one hand it on, and an aggregate never sees
# it. Where the number of rows is private, a row that lacks an entry is left out. Where it is
# public, the row stays and public numbers take the place of what it lacks. Either way a row's image
# depends on that row alone, so neighbouring datasets stay neighbours.


def holds_missing(entries: Numeric) -> bool:
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

    def keeps(self, block: Floats) -> NDArray[np.bool_]:
        """Which rows stay."""
        return whole_rows(block)

    def express(self, values: Sequence[Expression], engine: Engine) -> Sequence[Expression]:
        """The same: NULL counts as nothing, and of several columns one blanks the rest."""
        if len(values) <= 1:
            return values
        whole = reduce(and_, map(engine.is_there, values))
        return [engine.choose(whole, value) for value in values]

    def on_sparse_rows(self, rows: SparseRows) -> SparseRows:
        if not holds_missing(rows.values):
            return rows
        missing = np.isnan(rows.values)
        kept = np.ones(len(rows), dtype=np.bool_)
        kept[rows.of_rows(np.arange(len(rows)))[missing]] = False
        return rows[kept]


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
