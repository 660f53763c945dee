"""How block functions and folds meet blocks of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from math import fsum
from typing import Any, Final, Never, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError
from opendp_lite.engines.data.arrays import EntryFold, EntryMap, Layout, Whole, to_array
from opendp_lite.engines.data.fold import (
    Block,
    Floats,
    Numeric,
    Reduction,
    Summary,
)
from opendp_lite.engines.data.source import Source

_LEAST_BITS: Final = 18
# At most about one row in 2^9 lies so near to the end of a cell that it is added up exactly.
_MORE_BITS: Final = 10
_FINITE: Final = 2.0**1001


def cell_bits(columns: int) -> int:
    """How many of the last bits of a total of so many terms are rounded away."""
    return max(_LEAST_BITS, columns.bit_length() + _MORE_BITS)


def floats_beyond(columns: int) -> int:
    """How many floats beyond what ``row_totals`` finds a total may be."""
    return 4 * (columns + 3)


def excess(columns: int) -> float:
    """A bound on how far a total is above what ``row_totals`` finds, as a part of it."""
    return floats_beyond(columns) * 2.0**-52


def row_totals(entries: Floats, layout: Layout, p: float, columns: int) -> Floats:
    """The sum of ``|x|^p`` of each row, with the last ``cell_bits`` of its float rounded up.

    Args:
        entries: The entries, which are not written to.
        layout: Where they lie.
        p: 1 or 2.
        columns: How many columns the rows have, with those that are not stored.

    Returns:
        For each row a float that depends on the values of its terms alone. It is NaN for a row with
        NaN, and the only term where there is one column. Totals of 2^1001 and more are off by the
        order of addition.

    Proof:
        Let T be the exact sum of the k float terms, rounded once (``math.fsum``). A sum of such
        terms in any order, with or without fused operations, is within (k + 2) 2^-53 T (1 + 2^-20)
        of T: Higham, Accuracy and Stability of Numerical Algorithms, section 4.2. These are fewer
        than ``margin`` floats. A cell is a run of 2^``cell_bits`` floats that ends
        ``floats_beyond`` after a float whose last bits are 0. This float is the result. A sum that
        is at least ``margin`` floats inside of its cell lies in the cell of T. For another one T is
        computed. Cells do not end at such a float, since sums of short numbers often lie there.
    """
    found = layout.sums_of_squares(entries) if p == 2 else layout.sums(np.abs(entries))
    if np.isnan(found.max(initial=0.0)):
        found[np.isnan(found)] = np.nan
    if columns == 1:
        return found
    cell = 1 << cell_bits(columns)
    up, margin = cell - 1 - floats_beyond(columns), 2 * (layout.longest(entries) + 3)
    bits = found.view(np.int64)
    bits += up + margin
    inside = bits & (cell - 1)
    doubtful = inside < 2 * margin
    for row in np.flatnonzero(doubtful).tolist() if doubtful.any() else ():
        if found[row] < _FINITE:
            entry = layout.row(entries, row)
            terms = entry * entry if p == 2 else np.abs(entry)
            bits[row] = np.float64(fsum(terms.tolist())).view(np.int64) + up
            inside[row] = bits[row] & (cell - 1)
    bits -= inside
    return found


# scipy is not imported: whatever has ``tocsr`` is taken for a sparse matrix.


STORED_ENTRIES: Final = 262144
"""Stored entries in a block: each block costs a total of every column, so they are few."""
KEEPING: Final = (
    "scale",
    "absolute",
    "square",
    "clip_to_norm",
    "norm",
    "impute",
    "drop_nan",
    "sum",
    "count",
)
"""Steps to name in a refusal. A test holds this to what the steps themselves declare."""


@attrs.frozen(eq=False, repr=False)
class SparseRows(Layout):
    """A block of rows by their stored entries; all others are 0.

    ``values[ends[i]:ends[i + 1]]`` are those of row i, in the columns ``indices`` of the same
    places, which ascend within a row and occur once. A ``Layout``; nothing here is written to.
    """

    values: Floats
    indices: Numeric
    ends: Whole
    columns: int

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), self.columns

    def with_values(self, values: Floats) -> SparseRows:
        """Other values in the same places."""
        return attrs.evolve(self, values=values)

    def between(self, start: int, stop: int) -> SparseRows:
        """Some of the rows."""
        ends = self.ends[start : stop + 1]
        held = slice(ends[0], ends[-1])
        return SparseRows(self.values[held], self.indices[held], ends - ends[0], self.columns)

    def __getitem__(self, kept: NDArray[np.bool_]) -> SparseRows:
        """Some of the rows, by which of them stay; a copy, as of an array."""
        stored = self.of_rows(kept)
        ends = np.append(0, np.cumsum(np.diff(self.ends)[kept]))
        return SparseRows(self.values[stored], self.indices[stored], ends, self.columns)

    def of_columns(self, numbers: Numeric) -> Numeric:
        return numbers if len(numbers) == 1 else numbers[self.indices]

    def of_rows(self, numbers: Numeric) -> Numeric:
        return np.repeat(numbers, np.diff(self.ends).astype(np.intp, copy=False))

    def sums(self, terms: Floats) -> Floats:
        found = np.zeros(len(self))
        filled = self.ends[:-1] < self.ends[1:]
        if len(terms):
            found[filled] = np.add.reduceat(terms, self.ends[:-1][filled])
        return found

    def sums_of_squares(self, entries: Floats) -> Floats:
        return self.sums(entries * entries)

    def longest(self, entries: Floats) -> int:
        return int(np.diff(self.ends).max(initial=0))

    def row(self, entries: Floats, place: int) -> Floats:
        return entries[self.ends[place] : self.ends[place + 1]]

    def column_sums(self, steps: Whole) -> Whole:
        sums = np.zeros(self.columns, dtype=np.int64)
        np.add.at(sums, self.indices.astype(np.intp, copy=False), steps)
        return sums

    def __array__(self, *arguments: object, **named: object) -> Never:
        raise densifies("one array of all rows, as resize() makes or a pipeline that ends in rows,")


RowBlock: TypeAlias = Floats | SparseRows
"""A block of rows: an array of shape (rows, columns), or the stored entries of one."""


@attrs.frozen(eq=False, repr=False)
class SparseMatrix(Source):
    """A sparse matrix as it was handed over, checked for its form; nothing is copied.

    ``shape`` is that of the rows. A block is brought to the form of ``SparseRows`` when it is
    read, whatever the flags of the matrix said: an entry stored twice would pass a bound twice.
    """

    data: Numeric
    indices: Numeric
    indptr: Whole
    shape: tuple[int, int]

    @property
    def columns(self) -> int:
        return self.shape[1]

    @property
    def size(self) -> int:
        return self.shape[0]

    def blocks(self) -> Iterator[SparseRows]:
        """At least one block, so that a step is refused or not whatever the number of rows."""
        start, rows = 0, self.size
        while True:
            full = self.indptr[start] + STORED_ENTRIES
            reach = int(np.searchsorted(self.indptr, full, side="right")) - 1
            stop = min(max(reach, start + 1), start + STORED_ENTRIES, rows)
            yield self.block(start, stop)
            if stop == rows:
                return
            start = stop

    def block(self, start: int, stop: int) -> SparseRows:
        """Some of the rows; entries stored twice are added up, in the order they are stored."""
        ends = self.indptr[start : stop + 1]
        held = slice(ends[0], ends[-1])
        values, indices = self.data[held].astype(np.float64, copy=False), self.indices[held]
        ends = ends - ends[0]
        inner = ends[np.searchsorted(ends, 0, "right") : np.searchsorted(ends, len(indices))]
        falls = indices[1:] <= indices[:-1]
        falls[inner - 1] = False
        if falls.any():
            values, indices, ends = _in_order(values, indices, ends)
        stored = values != 0
        if not stored.all():
            ends = np.append(0, np.cumsum(stored))[ends]
            values, indices = values[stored], indices[stored]
        return SparseRows(values, indices, ends, self.shape[1])


def _in_order(values: Floats, indices: Numeric, ends: Whole) -> tuple[Floats, Numeric, Whole]:
    row = np.repeat(np.arange(len(ends) - 1), np.diff(ends).astype(np.intp, copy=False))
    order = np.lexsort((indices, row))
    row, indices, values = row[order], indices[order], values[order]
    fresh = np.append(True, (row[1:] != row[:-1]) | (indices[1:] != indices[:-1]))
    place = np.cumsum(fresh)
    sums = np.zeros(place[-1])
    np.add.at(sums, place - 1, values)
    return sums, indices[fresh], np.append(0, place)[ends]


def densifies(what: str) -> DataError:
    """The refusal of a step that would not keep a sparse matrix sparse."""
    return DataError(
        f"{what or 'a step'} would write out the zeros of a sparse matrix as numbers and densify "
        f"it. Use steps that keep zeros, such as {', '.join(KEEPING)}, clamp with bounds that hold "
        "0, or pass data.toarray() where that fits into memory"
    )


def is_sparse(data: object) -> bool:
    """Whether this is a sparse matrix of scipy's kind, or one that becomes one."""
    return hasattr(data, "tocsr") and hasattr(data, "shape")


def sparse_rows(matrix: Any) -> SparseMatrix:
    """The rows of a sparse matrix."""
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise DataError(
            f"the sparse data has {len(shape)} dimensions; rows are a sparse matrix of shape "
            "(n, columns)"
        )
    by_rows = matrix.tocsr()
    data, indices, indptr = (to_array(by_rows.data), by_rows.indices, by_rows.indptr)
    stored = _count_stored(data, indices, indptr, shape)
    return SparseMatrix(data[:stored], indices[:stored], indptr.astype(np.int64, copy=False), shape)


def _count_stored(data: Numeric, indices: Numeric, indptr: Numeric, shape: tuple[int, ...]) -> int:
    """How many entries there are, where the three arrays make a matrix of this shape."""
    rows, columns = shape
    typed = indices.dtype.kind in "iu" and indptr.dtype.kind in "iu" and len(indptr) == rows + 1
    if typed and indptr[0] == 0 and (indptr[1:] >= indptr[:-1]).all():
        stored = int(indptr[-1])
        held = indices[:stored]
        inside = not stored or (held.min() >= 0 and held.max() < columns)
        if inside and stored <= min(len(data), len(indices)):
            return stored
    raise DataError(
        "the arrays of the sparse matrix do not make a matrix of its shape; its check_format() "
        "says more"
    )


def apply_block(block: RowBlock, function: Block, step: str) -> RowBlock:
    """What a block function makes of a block; a refusal names the step."""
    if not isinstance(block, SparseRows):
        return function(block)
    # Of a block function that leaves out some rows and changes no entry.
    on_rows: Callable[[SparseRows], SparseRows] | None = getattr(function, "on_sparse_rows", None)
    if on_rows is not None:
        return on_rows(block)
    if not (isinstance(function, EntryMap) and function.keeps_zeros()):
        raise densifies(step)
    found = function.on_entries(block.values, block)
    return block.with_values(found) if found.ndim == 1 else found


def summarise_block(block: RowBlock, how: Reduction[Summary], step: str) -> Summary:
    """What a fold makes of a block; a refusal names the step."""
    if not isinstance(block, SparseRows):
        return how.summarise(block)
    if not (isinstance(how, EntryFold) and how.keeps_zeros()):
        raise densifies(step)
    starts = range(0, max(1, len(block)), how.most_rows)
    parts = (block.between(start, start + how.most_rows) for start in starts)
    summaries = (how.summarise_entries(part.values, part, len(part)) for part in parts)
    found: Summary = reduce(how.merge, summaries)
    return found
