"""Functions of a table, done for each group of its rows; folds in one pass over all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.applied import applied
from opendp_lite.engines.deferred import (
    Chained,
    Deferred,
    Function,
    Together,
    defer,
    evaluate,
    fold,
)
from opendp_lite.engines.door import NUMBERS
from opendp_lite.engines.fold import Floats, Fold, Scratch
from opendp_lite.engines.lazy_table import Kept, Lazily, LazyTable, WithoutFirst
from opendp_lite.engines.missing import Present, holds_missing
from opendp_lite.engines.rows import LazyRows, MapRows, Part, materialise, unfused
from opendp_lite.engines.table import Column

_GROUP: Final = "\0group"
"""The name of a column that holds the group of each row; no column of a person has it."""


@attrs.frozen
class IsPlace:
    """Whether places are a certain one."""

    place: int

    def __call__(self, places: Floats) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = places == self.place
        return found


@attrs.frozen
class Groups:
    """The groups of rows by the categories of some columns: one for each combination.

    Attributes:
        columns: Each read as the places of its values.
        widths: How many places each has.
        step: The step that asks for them.
    """

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    step: str

    @property
    def count(self) -> int:
        """How many groups there are."""
        return int(np.prod(self.widths, dtype=object))

    def require(self, table: LazyTable) -> None:
        """Refuses a table that lacks one of the columns."""
        table.dataset.require([str(column.name) for column in self.columns], self.step)

    def of(self, places: Floats) -> Floats:
        """The group of each row of places; NaN where one is."""
        found = places[:, 0]
        for column, width in enumerate(self.widths[1:], 1):
            found = found * width + places[:, column]
        return found

    def read_once(self, table: LazyTable) -> tuple[LazyTable, Groups]:
        """The same groups, found by one column of numbers where the table is in memory."""
        found = table.dataset.with_column(_GROUP, partial(self._of_rows, table))
        if found is None:
            return table, self
        column = Column(_GROUP, NUMBERS)
        return attrs.evolve(table, dataset=found), Groups((column,), (self.count,), self.step)

    def _of_rows(self, table: LazyTable) -> Floats:
        places = materialise(LazyTable(table.dataset, None).columns(self.columns))
        return self.of(places.reshape(-1, len(self.columns)))

    def only(self, table: LazyTable, group: int) -> LazyTable:
        """The rows of one group."""
        for column, width in zip(self.columns[::-1], self.widths[::-1], strict=True):
            group, place = divmod(group, width)
            table = table.only(Kept(column, IsPlace(place)))
        return table


@attrs.frozen(eq=False, repr=False)
class EachGroup:
    """The function that gives a list of what a function makes of each group of a table's rows.

    A function that reads the rows by folds is done for all groups in one pass. Any other is done
    for one group after another.
    """

    function: Function
    groups: Groups

    def deferred(self, table: LazyTable) -> Any:
        """The list, waiting where there is one fold; else its values."""
        self.groups.require(table)
        if not _folds(self.function):
            read, groups = self.groups.read_once(table)
            every = range(groups.count)
            return [evaluate(defer(self.function, groups.only(read, group))) for group in every]
        tree = defer(self.function, attrs.evolve(table, beside=self.groups.columns))
        if isinstance(tree, Deferred):
            return _for_all(tree, self.groups)
        found = evaluate(_mapped(tree, partial(_for_all, groups=self.groups)))
        return [_mapped(found, itemgetter(group)) for group in range(self.groups.count)]

    def __call__(self, table: LazyTable) -> list[Any]:
        found: list[Any] = evaluate(self.deferred(table))
        return found


def _folds(function: Function) -> bool:
    """Whether a function is known to do nothing but read rows by folds."""
    if isinstance(function, Together):
        return all(map(_folds, function.functions))
    if isinstance(function, Chained):
        *before, last = function.functions
        return _folds(last) and all(map(is_row_by_row, before))
    return isinstance(function, fold)


def is_row_by_row(function: Function) -> bool:
    """Whether a function from rows to rows is known to treat each row by itself."""
    if isinstance(function, Chained):
        return all(map(is_row_by_row, function.functions))
    return isinstance(function, MapRows | Present | Lazily)


def _mapped(tree: Any, function: Callable[[Any], Any]) -> Any:
    if type(tree) is tuple:
        return tuple(_mapped(each, function) for each in tree)
    return function(tree)


def _for_all(waiting: Deferred, groups: Groups) -> Deferred:
    """The values of a fold for all groups, waiting."""
    functions, fused = unfused(waiting.rows.functions, waiting.rows.fused, waiting.how)
    split = next(
        place for place, part in enumerate(functions) if type(part.function) is WithoutFirst
    )
    beside = LazyRows(waiting.rows.source, functions[:split])
    how = _Grouped(waiting.how, functions[split + 1 :], groups)
    finish, one = waiting.finish, waiting.how.one_group

    def finished(summaries: Any) -> list[Any]:
        return [finish(one(summaries, group)) for group in range(groups.count)]

    return Deferred(beside, how, finished, fused or waiting.step)


@attrs.frozen(eq=False, repr=False)
class _OneGroup:
    """A block function that keeps the rows of one group, without the columns that say so."""

    groups: Groups
    group: int

    def __call__(self, block: Floats) -> Floats:
        width = len(self.groups.widths)
        inside = self.groups.of(block[:, :width]) == self.group
        return np.ascontiguousarray(block[inside, width:])


@attrs.frozen(eq=False, repr=False)
class _Grouped(Fold[Any]):
    """A fold of each group's rows. The first columns of a block say the group."""

    how: Fold[Any]
    functions: Sequence[Part]
    groups: Groups

    @property
    def gathers(self) -> bool:
        return self.how.gathers

    def without_gathering(self, rows: LazyRows, step: str) -> Any:
        """What the fold puts in the place of the rows of each group."""
        return {
            group: self.how.without_gathering(self._only(rows, group), step)
            for group in range(self.groups.count)
        }

    def _only(self, rows: LazyRows, group: int) -> LazyRows:
        one = Part(_OneGroup(self.groups, group), "by")
        return LazyRows(rows.source, (*rows.functions, one, *self.functions))

    def empty(self) -> Any:
        return None

    def summarise(self, block: Floats, scratch: Scratch) -> Any:
        width = len(self.groups.widths)
        found = self.groups.of(block[:, :width])
        rows = np.ascontiguousarray(block[:, width:])
        if holds_missing(found):
            inside = ~np.isnan(found)
            found, rows = found[inside], rows[inside]
        codes = found.astype(np.intp)
        for part in self.functions:
            codes, rows = _followed(part.function, codes, rows)
        return self.how.summarise_groups(rows, codes, self.groups.count, scratch)

    def merge(self, first: Any, second: Any) -> Any:
        if first is None or second is None:
            return second if first is None else first
        return self.how.merge_groups(first, second)


def _followed(
    function: Any, codes: NDArray[np.intp], rows: Floats
) -> tuple[NDArray[np.intp], Floats]:
    """The rows after a block function, with the groups of those that it kept.

    A function that may put rows into another order is applied to each group by itself.
    """
    if not getattr(function, "any_order", False):
        made = applied(rows, function)
        if len(made) == len(rows):
            return codes, made
        kept = getattr(function, "kept", None)
        if kept is not None:
            return codes[kept(rows)], made
    order = np.argsort(codes, kind="stable")
    at = codes[order]
    starts = np.flatnonzero(np.diff(at, prepend=-1))
    pieces = [applied(piece, function) for piece in np.split(rows[order], starts[1:])]
    if not len(starts):
        return codes, pieces[0]
    counts = [len(piece) for piece in pieces]
    return np.repeat(at[starts], counts), np.concatenate(pieces)
