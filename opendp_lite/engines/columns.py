"""Columns picked by name from whatever a person hands over, each read in its own way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar, Final, TypeAlias, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError, NoColumnError
from opendp_lite.engines.data import arrays, expressions, sparse
from opendp_lite.engines.data.blocks import Blocks, FileError, OfBlocks
from opendp_lite.engines.data.categories import Categories, is_missing
from opendp_lite.engines.data.fold import Block, Floats, Numeric
from opendp_lite.engines.data.open_data import NUMBERS, all_missing, check_size, opened_table, read
from opendp_lite.engines.data.source import BLOCK_ENTRIES, RowBlocks, Source, attempt
from opendp_lite.engines.data.table import Column, ColumnReading, NamedColumns, place_of, places_of
from opendp_lite.engines.data.values import categories_in, is_column, values_of

Names = tuple[str, ...]


@attrs.frozen
class _Presence(ColumnReading):
    """0 for a value, and NaN for a missing cell."""

    def __reduce__(self) -> str:
        return "PRESENCE"

    def __call__(self, column: object) -> Source:
        values = values_of(column)
        lacking = values.lacking
        if lacking is None:
            return values.as_numbers(_mark_missing)
        return arrays.ColumnRows(values.column, lambda piece: np.where(lacking(piece), np.nan, 0.0))

    def of_numbers(self, numbers: Floats) -> Floats:
        return np.where(np.isnan(numbers), np.nan, 0.0)

    def express(self, name: str | None, engine: expressions.Engine) -> expressions.Expression:
        key = None if name is None else engine.key(name, str)
        return expressions.number_of(engine, name) if key is None else key


@attrs.frozen(slots=False)
class Codes(ColumnReading):
    """The place of each value among categories; NaN for what is not declared."""

    categories: Categories

    def __call__(self, column: object) -> Source:
        values = categories_in(column)
        values.require_fit(self.categories)
        if values.dates is not None:
            return values.as_dates(self.of_dates)
        return values.as_numbers(self.places)

    def of_numbers(self, numbers: Floats) -> Floats:
        self.categories.refuse_numbers()
        return self.places(numbers)

    def express(self, name: str | None, engine: expressions.Engine) -> expressions.KeyedCells:
        """Those of declared values alone: of others a place of their own is not known."""
        values = self.categories.values
        return expressions.KeyedCells(((expressions.key_of(engine, name, values), values),))

    def places(self, values: Numeric) -> Floats:
        """The place of each value."""
        return self.categories.codes(values)

    def of_dates(self, dates: NDArray[np.datetime64]) -> Floats:
        """The place of each of numpy's dates."""
        return self.categories.codes_of_dates(dates)


PRESENCE: Final = _Presence()
_NAMES: Final = (
    "give a table or dp.Blocks(..., names=[...]), or start with dp.records(columns=[...]), which "
    "names the columns in their order"
)


def _mark_missing(values: Numeric) -> Floats:
    if values.dtype.kind == "O":
        lacking = np.fromiter(map(is_missing, values.tolist()), np.bool_, len(values))
        return np.where(lacking, np.nan, 0.0)
    if values.dtype.kind in "fcm":
        return np.where(np.isnan(values), np.nan, 0.0)
    return np.zeros(len(values))


@attrs.frozen(repr=False)
class _Presences(arrays.EntryMap):
    """A block function that reads all columns of numbers as ``PRESENCE`` does."""

    def on_entries(self, entries: Floats, layout: arrays.Layout) -> Floats:
        return PRESENCE.of_numbers(entries)


@attrs.frozen(repr=False)
class Picked:
    """A block function that keeps the columns at some places; of none, a zero for each row."""

    places: tuple[int, ...]

    def __call__(self, block: Floats) -> Floats:
        return block[:, self.places] if self.places else np.zeros((len(block), 1))

    def express(
        self, values: Sequence[expressions.Expression], engine: expressions.Engine
    ) -> Sequence[expressions.Expression]:
        """The same of an engine's columns; of none there are only rows."""
        if not self.places:
            raise expressions.NoExpressionError("it counts rows of which no column is read")
        return [values[place] for place in self.places]


@attrs.frozen
class ReadColumns(Picked):
    """The same of columns of numbers, each read in its own way."""

    readings: tuple[ColumnReading, ...]

    def __call__(self, block: Floats) -> Floats:
        found = super().__call__(block)
        for place, reading in enumerate(self.readings):
            if reading is not NUMBERS:
                found[:, place] = reading.of_numbers(found[:, place])
        return found


@attrs.frozen(eq=False, repr=False)
class _Unsaid(NamedColumns):
    """Missing rows, of which none says what columns there are: each that is asked for."""

    by_rows: ClassVar[bool] = True

    def rows(self, columns: Sequence[Column]) -> Source:
        return super().rows([Column(None, each.reading) for each in columns])


Opened: TypeAlias = Source | Blocks | NamedColumns
"""Data that is opened as far as can be without saying which columns are read."""


@attrs.frozen(eq=False, repr=False, slots=False)
class Dataset:
    """What a person handed over, of which columns are picked by name.

    Attributes:
        data: As it was handed over.
        declared: The names of its columns, where the space declares them.
        size: The number of rows, where it is public.
    """

    data: object
    declared: Names | None
    size: int | None
    _picked: dict[tuple[Column, ...], Source] = attrs.field(factory=dict, init=False)

    def columns(self, columns: tuple[Column, ...]) -> tuple[Source, Block | None]:
        """The rows of some columns, side by side.

        Returns:
            A source, and the block function that makes the columns of its blocks; None where its
            blocks hold just these.
        """
        whole = self.whole
        if isinstance(whole, Source):
            return whole, self._picking(columns, whole.columns)
        found = self._picked.get(columns)
        if found is None:
            if isinstance(whole, Blocks):
                whole.require(columns, self.titles)
                opening = partial(_columns_of, columns, self.titles)
                width = max(1, len(columns))
                rows: Source = OfBlocks(whole.only(columns), width, opening)
            else:
                words = "the columns of the table could not be read"
                rows = attempt(partial(whole.rows, columns), words)
            found = self._picked[columns] = check_size(rows, max(1, len(columns)), self.size)
        return found, None

    @cached_property
    def text_names(self) -> tuple[str, ...] | None:
        """The names of all columns, where they are known."""
        there = self.whole.names
        return None if there is None else tuple(map(str, there))

    def require(self, names: Sequence[str], step: str) -> None:
        """Refuses names that a step asks for and a table does not have. No row is read."""
        there = self.text_names
        if there is None or getattr(self.whole, "by_rows", False):
            return
        try:
            places_of(names, there, getattr(self.whole, "more", ""))
        except NoColumnError as problem:
            raise NoColumnError(f"{step}: {problem}", column=problem.column) from None
        except DataError as problem:
            raise DataError(f"{step}: {problem}") from None

    def with_column(self, name: str, made: Callable[[], Floats]) -> Dataset | None:
        """The same with one column more, where it is a table in memory; else None."""
        whole = self.whole
        if not isinstance(whole, NamedColumns):
            return None
        own, column, places = whole.names, whole.column, len(whole.names)
        numbers = made()

        def either(place: int) -> object:
            return numbers if place == places else column(place)

        more = type(whole)((*own, name), either, whole.size)
        return Dataset(more, self.declared, self.size)

    @property
    def engine(self) -> expressions.Engine | None:
        """What computes expressions of its columns, if anything does."""
        return None if self.size is not None else getattr(self.whole, "engine", None)

    @cached_property
    def whole(self) -> Opened:
        """The data, opened as far as can be without saying which columns."""
        if isinstance(self.data, list | tuple) and not self.data:
            # A list of dictionaries without a row: it has whatever column is asked for.
            return Blocks(list, columns=None)
        if all_missing(self.data):
            return _Unsaid((None,), lambda _: self.data, len(cast(list[None], self.data)))
        if self.declared is None and is_column(self.data):
            return NamedColumns((None,), lambda _: self.data, len(values_of(self.data)))
        found = cast(Opened, opened_table(self.data, self.declared))
        names = self.declared if found.names is None else found.names
        if not isinstance(found, Source) or names is None:
            return found
        if found.columns not in (None, len(names)):
            raise DataError(
                f"the pipeline names {len(names)} columns and the data has {found.columns}; start "
                "with dp.records(columns=[...]) with as many names, or give a table"
            )
        return check_size(found, len(names), self.size)

    @property
    def titles(self) -> Names | None:
        """The names of columns that bring none: what the data says goes before what is declared."""
        found = cast(Names | None, self.whole.names)
        return self.declared if found is None else found

    def _picking(self, columns: tuple[Column, ...], width: int | None) -> Block | None:
        """What makes the columns of blocks of numbers that have no names of their own."""
        places = tuple(self._place(column, width) for column in columns)
        readings = tuple(column.reading for column in columns)
        whole = range(len(self.titles or (None,)))
        if places == tuple(whole) and all(each is NUMBERS for each in readings):
            return None
        if places == tuple(whole) and all(each is PRESENCE for each in readings):
            return _Presences()
        return ReadColumns(places, readings)

    def _place(self, column: Column, width: int | None) -> int:
        if column.name is None and width in (None, 1):
            return 0
        if column.name is None:
            raise DataError(f"the data has {width} columns and no names; {_NAMES}")
        if self.titles is None:
            raise DataError(
                f"the data has no names to find the column {column.name!r} by; {_NAMES}"
            )
        return place_of(column.name, self.titles)


def names_itself(data: object) -> bool:
    """Whether data says how its columns are called; else names that are declared are places.

    A list does not, whatever its rows are: one without rows could not say it.
    """
    return not isinstance(data, list | tuple) and Dataset(data, None, None).text_names is not None


def _columns_of(asked: tuple[Column, ...], declared: Names | None, block: object) -> RowBlocks:
    """Some columns of a block, which is opened as any data is."""
    source, function = Dataset(block, declared, None).columns(asked)
    if function is None:
        return read(source)
    return (sparse.apply_block(rows, function, "select") for rows in read(source))


BATCH_ENTRIES: Final = 8 * BLOCK_ENTRIES
"""Entries in a batch: opening it anew, which takes 0.1 ms, costs little for each."""
_UNDESCRIBED: Final = (
    "its columns are not known: the library that gives it failed; ask for its columns once without "
    "dp to see why"
)


class StoredPart(ABC):
    """A file, or a query, whose columns are known before its rows are read."""

    label: str = ""
    """What a refusal calls it, if there are several: its path, say."""
    path: Path | None = None
    """Where its bytes are, if it is a file of this machine."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Those of all columns, which are public."""

    @abstractmethod
    def empty(self) -> object:
        """A table of all columns, each with its type, and no row."""

    @abstractmethod
    def batches(self, names: Sequence[str], rows: int) -> Iterator[object]:
        """Tables of some columns, or at least of one, of about so many rows; anew at each call."""

    def require(self, column: Column) -> None:  # noqa: B027
        """Refuses a column that it does not hold as exactly as it is to be read."""

    def refuse(self, problem: object) -> FileError:
        """A refusal that names the file."""
        return FileError(f"{self.label}: {problem}" if self.label else str(problem))


@attrs.frozen(eq=False, repr=False)
class ColumnBlocks(Blocks):
    """The rows of stored tables that have the same columns, one after another."""

    parts: tuple[StoredPart, ...] = attrs.field(kw_only=True)

    @classmethod
    def of(cls, parts: Sequence[StoredPart], names: tuple[str, ...] | None = None) -> ColumnBlocks:
        """The rows of some tables, with these columns; with all of them if ``names`` is None."""
        columns = max(1, len(parts[0].names if names is None else names))
        return cls(partial(_rows, parts, None), columns, None, names, parts=tuple(parts))

    def __repr__(self) -> str:
        engine = self.engine
        return super().__repr__() if engine is None else f"a query to {engine.library}"

    @property
    def files(self) -> tuple[Path, ...]:
        found = tuple(part.path for part in self.parts if part.path is not None)
        return found if len(found) == len(self.parts) else ()

    @property
    def engine(self) -> expressions.Engine | None:
        """The query that they are, if it is one that computes expressions."""
        first, *others = self.parts
        return first if isinstance(first, expressions.Engine) and not others else None

    def require(self, columns: Sequence[Column] | None, names: Sequence[str] | None) -> None:
        for part in self.parts:
            first = self.parts[0]
            if self.names is None and part.names != first.names and _every(columns):
                raise part.refuse(
                    f"its columns are not those of {first.label}; say which to read: "
                    "columns=[...], or dp.records(columns=[...])"
                )
            problem = self._problem(part, columns)
            if problem is not None:
                raise part.refuse(problem)

    def _problem(self, part: StoredPart, columns: Sequence[Column] | None) -> DataError | None:
        """Why a table without rows cannot be read in this way."""
        try:
            for column in columns or ():
                part.require(column)
            table = opened_table(attempt(part.empty, _UNDESCRIBED), None)
            if not isinstance(table, NamedColumns):
                raise DataError(_UNDESCRIBED)
            if self.names is not None and _every(columns):
                table = table.pick(self.names)
            _ = table.read(None, NUMBERS) if columns is None else table.rows(columns)
        except DataError as problem:
            return problem
        return None

    def only(self, columns: Sequence[Column] | None) -> Blocks:
        asked = dict.fromkeys(str(column.name) for column in columns or ())
        if _every(columns):
            return Blocks(partial(_rows, self.parts, self.names), self.columns, names=self.names)
        rows = partial(_rows, self.parts, tuple(asked))
        return Blocks(rows, columns=max(1, len(asked)))


def _every(columns: Sequence[Column] | None) -> bool:
    return columns is None or any(column.name is None for column in columns)


def _rows(parts: Sequence[StoredPart], names: tuple[str, ...] | None) -> Iterator[object]:
    for part in parts:
        wanted = part.names if names is None else names
        yield from part.batches(wanted, max(1, BATCH_ENTRIES // max(1, len(wanted))))
