"""A dataset whose columns are picked by name, when a step needs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from math import prod
from typing import Final, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.columns import PRESENCE, Dataset, Picked
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.data.expressions import Engine, Expression, express_of, keep_where
from opendp_lite.engines.data.fold import AnyReduction, Block, Floats, Indices, Reduction, identity
from opendp_lite.engines.data.open_data import NUMBERS
from opendp_lite.engines.data.source import Keys, Source
from opendp_lite.engines.data.table import Column
from opendp_lite.engines.dates import ByPeriod, Derived
from opendp_lite.engines.missing import holds_missing
from opendp_lite.engines.rows import AnyRequest, FoldRequest, LazyRows, OfWhole, Part, materialise

Test = Callable[[Floats], NDArray[np.bool_]]


@attrs.frozen
class Kept(OfWhole):
    """The rows of a table that a column decides about: those whose number passes a test."""

    column: Column
    test: Test

    def __call__(self, table: LazyTable, /) -> LazyTable:
        table.dataset.require((str(self.column.name),), "keep")
        return table.only(self)


@attrs.frozen(repr=False)
class KeepRows:
    """A block function that keeps the rows that pass a test of one column."""

    place: int
    test: Test

    def keeps(self, block: Floats) -> NDArray[np.bool_]:
        """Which rows stay."""
        return self.test(block[:, self.place])

    def __call__(self, block: Floats) -> Floats:
        return block[self.keeps(block)]

    def express(self, values: Sequence[Expression], engine: Engine) -> Sequence[Expression]:
        """The same of an engine's columns: those of other rows are NULL."""
        inside = express_of(self.test)(values[self.place], engine)
        return [keep_where(engine, inside, each) for each in values]


# Where the columns beside, which say the group of a row, are left out. ``Groups.ask`` does so.
_WITHOUT_FIRST: Final = Part(identity)


@attrs.frozen(eq=False, repr=False)
class LazyTable:
    """A dataset, the columns that are left of it, and the rows that are left out.

    ``names`` is None where the columns are those of the data, whatever they are. The columns
    ``beside`` come first in the rows, until ``_WITHOUT_FIRST``. ``keys`` gives random words for
    rows, of the release that the table is read for; None where it is read for no release.
    ``derived`` says what is made of some columns, in order, before steps that come later read them.
    """

    dataset: Dataset
    names: tuple[str, ...] | None
    filters: tuple[Kept, ...] = ()
    beside: tuple[Column, ...] = ()
    keys: Keys | None = None
    derived: tuple[tuple[str, ByPeriod], ...] = ()

    @property
    def library(self) -> str:
        """Of rows on other machines: the library that computes them. Else nothing."""
        return getattr(self.dataset.whole, "library", "")

    def for_release(self, keys: Keys) -> LazyTable:
        """The same table, with random words of a release."""
        return attrs.evolve(self, keys=keys)

    def only(self, kept: Kept) -> LazyTable:
        """Those rows alone that pass a test."""
        kept = attrs.evolve(kept, column=self.as_derived(kept.column))
        return attrs.evolve(self, filters=(*self.filters, kept))

    def as_derived(self, column: Column) -> Column:
        """A column as a step here reads it."""
        return Derived.column(column, self.derived)

    def columns(self, columns: Sequence[Column]) -> LazyRows:
        """The rows of some columns; a zero each where there are none."""
        read = map(self.as_derived, columns) if self.derived else columns
        asked = (*self.beside, *read)
        wanted = tuple(dict.fromkeys([*[kept.column for kept in self.filters], *asked]))
        source, function = self.dataset.columns(wanted)
        parts = [] if function is None else [Part(function, "select")]
        for kept in self.filters:
            parts.append(Part(KeepRows(wanted.index(kept.column), kept.test), "keep"))
        if wanted != asked:
            parts.append(Part(Picked(tuple(map(wanted.index, asked))), "select"))
        if self.beside:
            parts.append(_WITHOUT_FIRST)
        if isinstance(self.dataset.whole, Source):
            return LazyRows(source, tuple(parts), self.keys)
        return LazyRows(source, tuple(parts), self.keys, self.dataset, wanted)

    def numbers(self) -> LazyRows:
        """The rows as numbers."""
        return self.columns([Column(name, NUMBERS) for name in self.names or (None,)])


@attrs.frozen
class Select(OfWhole):
    """The columns that a step asks for, refused where a table lacks one."""

    names: tuple[str, ...]
    step: str

    def __call__(self, table: LazyTable, /) -> LazyTable:
        table.dataset.require(self.names, self.step)
        return attrs.evolve(table, names=self.names)


@attrs.frozen
class Numbers(OfWhole):
    """The rows of a table as numbers."""

    def __call__(self, table: LazyTable, /) -> LazyRows:
        return table.numbers()


@attrs.frozen
class Presence(OfWhole):
    """The rows of a table: a zero for each value and NaN for each missing cell.

    Of no columns there is a zero for each row.
    """

    def __call__(self, table: LazyTable, /) -> LazyRows:
        return table.columns([Column(name, PRESENCE) for name in table.names or ()])


# The name of a column that holds the group of each row, beside those of the groups around it.
_GROUP: Final = "\0group"


@attrs.frozen
class Groups:
    """The groups of rows by the categories of some columns.

    Attributes:
        columns: Each read as the places of its values.
        widths: How many places each has.
        step: The step that asks for them.
        chosen: The combinations of places that are groups, as whole numbers; None for each of them.
    """

    columns: tuple[Column, ...]
    widths: tuple[int, ...]
    step: str
    chosen: Categories | None = None

    @property
    def count(self) -> int:
        """How many groups there are."""
        return prod(self.widths) if self.chosen is None else self.chosen.places

    def require(self, table: LazyTable) -> None:
        """Refuses a table that lacks one of the columns."""
        table.dataset.require([str(column.name) for column in self.columns], self.step)

    def of(self, places: Floats) -> Floats:
        """The group of each row of places; NaN where one is."""
        found = places[:, 0]
        for column, width in enumerate(self.widths[1:], 1):
            found = found * width + places[:, column]
        return found if self.chosen is None else self.chosen.codes(found)

    def read_once(self, table: LazyTable) -> tuple[LazyTable, Groups]:
        """The same groups, found by one column of numbers where the table is in memory."""
        there = getattr(table.dataset.whole, "names", None) or ()
        name = next(each for n in count() if (each := f"{_GROUP}{n}") not in there)
        found = table.dataset.with_column(name, partial(self._of_rows, table))
        if found is None:
            return table, self
        column = Column(name, NUMBERS)
        return attrs.evolve(table, dataset=found), Groups((column,), (self.count,), self.step)

    def _of_rows(self, table: LazyTable) -> Floats:
        whole = LazyTable(table.dataset, None, derived=table.derived)
        places = materialise(whole.columns(self.columns))
        return self.of(places.reshape(-1, len(self.columns)))

    def only(self, table: LazyTable, group: int) -> LazyTable:
        """The rows of one group."""
        group = group if self.chosen is None else cast(int, self.chosen.values[group])
        for column, width in zip(self.columns[::-1], self.widths[::-1], strict=True):
            group, place = divmod(group, width)
            table = table.only(Kept(column, partial(np.equal, place)))
        return table

    def ask(self, ask: AnyRequest) -> AnyRequest:
        """The same for each group, of rows whose first columns say it, up to ``_WITHOUT_FIRST``."""
        functions = ask.rows.functions
        split = functions.index(_WITHOUT_FIRST)
        beside = attrs.evolve(ask.rows, functions=functions[:split])
        fold = _Grouped(ask.how, functions[split + 1 :], self, ask.how.gathers)
        return FoldRequest(beside, fold, ask.step)


def _keep_group(groups: Groups, group: int, block: Floats) -> Floats:
    """The rows of one group, without the columns that say so."""
    width = len(groups.widths)
    inside = np.flatnonzero(groups.of(block[:, :width]) == group)
    return np.ascontiguousarray(block[:, width:][inside])


@attrs.frozen(eq=False, repr=False)
class _Grouped(Reduction[object]):
    """A fold of each group's rows. The first columns of a block say the group."""

    how: AnyReduction
    functions: Sequence[Part]
    groups: Groups
    gathers: bool

    def without_gathering(self, rows: LazyRows, step: str) -> object:
        """What the fold puts in the place of the rows of each group."""
        return {
            group: self.how.without_gathering(self._only(rows, group), step)
            for group in range(self.groups.count)
        }

    def _only(self, rows: LazyRows, group: int) -> LazyRows:
        one = Part(partial(_keep_group, self.groups, group), "by")
        return rows.map_rows(one, *self.functions)

    def by_groups(self) -> tuple[Groups, AnyReduction, Sequence[Block]]:
        return self.groups, self.how, [part.function for part in self.functions]

    def empty(self) -> object:
        return None

    def summarise(self, block: Floats) -> object:
        width = len(self.groups.widths)
        found = self.groups.of(block[:, :width])
        rows = block[:, width:]
        if holds_missing(found):
            # By places: a mask over rows of two axes takes four times as long.
            inside = np.flatnonzero(~np.isnan(found))
            found, rows = found.take(inside), rows[inside]
        rows = np.ascontiguousarray(rows)
        codes = found.astype(np.intp)
        for part in self.functions:
            codes, rows = _follow(part.function, codes, rows)
        return self.how.summarise_groups(rows, codes, self.groups.count)

    def merge(self, first: object, second: object) -> object:
        if first is None or second is None:
            return second if first is None else first
        return self.how.merge_groups(first, second)


def _follow(function: Block, codes: Indices, rows: Floats) -> tuple[Indices, Floats]:
    """The rows after a block function, with the groups of those that it kept.

    A function that may put rows into another order is applied to each group by itself.
    """
    if not getattr(function, "any_order", False):
        made = function(rows)
        if len(made) == len(rows):
            return codes, made
        keeps = getattr(function, "keeps", None)
        if keeps is not None:
            return codes[keeps(rows)], made
    order = np.argsort(codes, kind="stable")
    at = codes[order]
    starts = np.flatnonzero(np.diff(at, prepend=-1))
    pieces = [function(piece) for piece in np.split(rows[order], starts[1:])]
    if not len(starts):
        return codes, pieces[0]
    counts = [len(piece) for piece in pieces]
    return np.repeat(at[starts], counts), np.concatenate(pieces)
