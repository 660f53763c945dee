"""Columns picked by name from whatever a person hands over, each read in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.applied import applied
from opendp_lite.engines.blocks import Blocks, OfBlocks
from opendp_lite.engines.categories import Categories, is_missing
from opendp_lite.engines.deferred import identity
from opendp_lite.engines.door import NUMBERS, opened_table, read
from opendp_lite.engines.entries import EntryMap
from opendp_lite.engines.fold import Block, Floats
from opendp_lite.engines.held import held
from opendp_lite.engines.layout import Layout
from opendp_lite.engines.quiet import attempted
from opendp_lite.engines.reduced import Job, Merge, reduced
from opendp_lite.engines.source import InMemory, Source
from opendp_lite.engines.sparse import NotSparseError, densifies
from opendp_lite.engines.table import (
    Column,
    ColumnReading,
    NamedColumns,
    NoColumnError,
    require_columns,
)
from opendp_lite.engines.values import Values, categories_in, is_column, values_of
from opendp_lite.errors import DataError

Names = tuple[str, ...]


@attrs.frozen
class _Presence(ColumnReading):
    """0 for a value, and NaN for a missing cell."""

    def __call__(self, column: Any) -> Source:
        return _ReadValues(values_of(column), _present)

    def of_numbers(self, numbers: Floats) -> Floats:
        return np.where(np.isnan(numbers), np.nan, 0.0)


@attrs.frozen(slots=False)
class Codes(ColumnReading):
    """The place of each value among categories; NaN for what is not declared."""

    categories: Categories

    def __call__(self, column: Any) -> Source:
        values = categories_in(column)
        values.require_fit(self.categories)
        return _ReadValues(values, self.places)

    def of_numbers(self, numbers: Floats) -> Floats:
        self.categories.refuse_numbers()
        return self.places(numbers)

    def places(self, values: NDArray[Any], known: Sequence[Any] | None = None) -> Floats:
        """The place of each value; of places in a list of known ones, where there is a list."""
        if known is None:
            return self.categories.codes(values)
        return self.categories.of_places(values, known)


PRESENCE: Final = _Presence()
_NAMES: Final = (
    "give a table, or start with dp.records(columns=[...]), which names the columns in their order"
)


@attrs.frozen(eq=False, repr=False)
class _ReadValues(InMemory):
    """One column of values as one column of numbers."""

    values: Values
    how: Any

    @property
    def size(self) -> int:
        return self.values.size

    def between(self, start: int, stop: int, odd: set[str]) -> NDArray[Any]:
        found: Floats = self.how(self.values.between(start, stop), self.values.known)
        return found.reshape(-1, 1)


def _present(values: NDArray[Any], known: Sequence[Any] | None) -> Floats:
    if known is not None:
        return np.where(values < 0, np.nan, 0.0)
    if values.dtype.kind == "O":
        lacking = np.fromiter(map(is_missing, values.tolist()), np.bool_, len(values))
        return np.where(lacking, np.nan, 0.0)
    if values.dtype.kind in "fc":
        return np.where(np.isnan(values), np.nan, 0.0)
    if values.dtype.kind == "m":
        return np.where(np.isnat(values), np.nan, 0.0)
    return np.zeros(len(values))


@attrs.frozen(repr=False)
class _NoColumns:
    """A block function that leaves a zero of each row."""

    def __call__(self, block: Floats) -> Floats:
        return np.zeros((len(block), 1))


NO_COLUMNS: Final = _NoColumns()


@attrs.frozen(repr=False)
class _Presences(EntryMap):
    """A block function that reads all columns of numbers as ``PRESENCE`` does."""

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        return PRESENCE.of_numbers(entries)


@attrs.frozen
class ReadColumns:
    """A block function that picks columns of numbers by their places, each read in its own way."""

    places: tuple[int, ...]
    readings: tuple[ColumnReading, ...]

    def __call__(self, block: Floats) -> Floats:
        if not self.places:
            return NO_COLUMNS(block)
        if all(reading is NUMBERS for reading in self.readings):
            return block[:, self.places]
        found = np.empty((len(block), len(self.places)))
        for place, (column, reading) in enumerate(zip(self.places, self.readings, strict=True)):
            found[:, place] = reading.of_numbers(block[:, column])
        return found


@attrs.frozen(repr=False)
class Picked:
    """A block function that keeps the columns at some places."""

    places: tuple[int, ...]

    def __call__(self, block: Floats) -> Floats:
        return block[:, self.places]


@attrs.frozen(eq=False, repr=False)
class _Columns(Source):
    """Some columns of a dataset. Those of several choices are read in one pass."""

    dataset: Dataset
    asked: tuple[Column, ...]
    rows: Source

    @property
    def columns(self) -> int | None:
        return self.rows.columns

    @property
    def size(self) -> int | None:
        return self.rows.size

    @property
    def plain(self) -> bool:
        return self.rows.plain

    @property
    def origin(self) -> object:
        return self.dataset

    @property
    def library(self) -> str:
        return self.rows.library

    def together(self, others: Sequence[_Columns]) -> tuple[Source, Sequence[Any]]:
        wanted = tuple(dict.fromkeys(column for other in others for column in other.asked))
        source, _ = self.dataset.columns(wanted)
        return source, [_places(other.asked, wanted) for other in others]

    def blocks(self) -> Iterator[Any]:
        return self.rows.blocks()

    def as_they_lie(self) -> Iterator[Any]:
        return self.rows.as_they_lie()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as the rows themselves."""
        return identity, (self.rows,)


@reduced.register
def _of_columns(source: _Columns, job: Job, merge: Merge) -> Any:
    """As the rows themselves do it."""
    return reduced(source.rows, job, merge)


def _places(asked: tuple[Column, ...], wanted: tuple[Column, ...]) -> Block | None:
    if asked == wanted:
        return None
    return Picked(tuple(map(wanted.index, asked))) if asked else NO_COLUMNS


def _of_width(source: Source, declared: Names) -> Source:
    if source.columns in (None, len(declared)):
        return source
    raise DataError(
        f"the pipeline names {len(declared)} columns and the data has {source.columns}; start with "
        f"dp.records(columns=[...]) with as many names, or give a table"
    )


@attrs.frozen(eq=False, repr=False)
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
    _whole: list[Any] = attrs.field(factory=list, init=False)
    _picked: dict[tuple[Column, ...], Source] = attrs.field(factory=dict, init=False)

    def columns(self, columns: tuple[Column, ...]) -> tuple[Source, Block | None]:
        """The rows of some columns, side by side.

        Returns:
            A source, and the block function that makes the columns of its blocks; None where its
            blocks hold just these.
        """
        whole = self.whole()
        if isinstance(whole, Source):
            return whole, self._picking(columns, whole.columns)
        found = self._picked.get(columns)
        if found is None:
            rows = held(self._rows(whole, columns), max(1, len(columns)), self.size)
            found = self._picked[columns] = _Columns(self, columns, rows)
        return found, None

    def require(self, names: Sequence[str], step: str) -> None:
        """Refuses names that a step asks for and a table does not have. No row is read."""
        whole = self.whole()
        if not isinstance(whole, NamedColumns | Blocks) or whole.names is None:
            return
        try:
            require_columns(names, whole.names)
        except NoColumnError as problem:
            raise NoColumnError(f"{step}: {problem}", problem.column) from None
        except DataError as problem:
            raise DataError(f"{step}: {problem}") from None

    def with_column(self, name: str, made: Callable[[], Floats]) -> Dataset | None:
        """The same with one column more, where it is a table in memory; else None."""
        whole = self.whole()
        if not isinstance(whole, NamedColumns):
            return None
        own, column, places = whole.names, whole.column, len(whole.names)
        numbers = made()

        def either(place: int) -> Any:
            return numbers if place == places else column(place)

        return Dataset(NamedColumns((*own, name), either, whole.size), self.declared, self.size)

    def whole(self) -> Any:
        """The data, opened as far as can be without saying which columns."""
        if not self._whole:
            found = self._anew()
            if isinstance(found, Source) and self.declared is not None:
                found = held(_of_width(found, self.declared), len(self.declared), self.size)
            self._whole.append(found)
        return self._whole[0]

    def _anew(self) -> Any:
        if self.declared is None and is_column(self.data):
            return NamedColumns((None,), lambda _: self.data, values_of(self.data).size)
        return opened_table(self.data, self.declared)

    def _rows(self, whole: Any, columns: tuple[Column, ...]) -> Source:
        if isinstance(whole, Blocks):
            whole.require(columns)
            return _BlockColumns(whole.only(columns), columns, self.declared or whole.names)
        words = "the columns of the table could not be read"
        found: Source = attempted(partial(whole.rows, columns), words)
        return found

    def _picking(self, columns: tuple[Column, ...], width: int | None) -> Block | None:
        """What makes the columns of blocks of numbers that have no names of their own."""
        places = tuple(self._place(column, width) for column in columns)
        readings = tuple(column.reading for column in columns)
        whole = range(len(self.declared or (None,)))
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
        if self.declared is None:
            raise DataError(
                f"the data has no names to find the column {column.name!r} by; {_NAMES}"
            )
        return self.declared.index(column.name)


@attrs.frozen(eq=False, repr=False)
class _BlockColumns(OfBlocks):
    """Columns of blocks, each block opened as any data is."""

    asked: tuple[Column, ...]
    declared: Names | None

    @property
    def columns(self) -> int:
        return max(1, len(self.asked))

    def piece(self, piece: object) -> Source:
        source, function = Dataset(piece, self.declared, None).columns(self.asked)
        return source if function is None else _Mapped(source, function, self.columns)


@attrs.frozen(eq=False, repr=False)
class _Mapped(Source):
    """Rows with a block function applied."""

    rows: Source
    function: Block
    width: int

    @property
    def columns(self) -> int:
        return self.width

    def blocks(self) -> Iterator[Any]:
        return map(self._picked, read(self.rows))

    def _picked(self, block: Any) -> Any:
        try:
            return applied(block, self.function)
        except NotSparseError:
            refusal = densifies("select")
        raise refusal
