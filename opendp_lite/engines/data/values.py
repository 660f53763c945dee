"""The values of one column as they are: text, numbers, anything that can be a category."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.dates import are_days, dates_in
from opendp_lite.base.errors import DataError
from opendp_lite.engines.data.arrays import ArrayRows, is_masked
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.data.fold import Floats, Numeric
from opendp_lite.engines.data.open_data import opened_table, register_libraries
from opendp_lite.engines.data.source import Cuttable, InMemory, Source
from opendp_lite.engines.data.table import ColumnReading, NamedColumns, TableRows


class Values(ABC):
    """A column in memory, of which any range can be read as it is."""

    @property
    @abstractmethod
    def is_text(self) -> bool | None:
        """Whether the type says that the column is text, or that it is not; None if it is open."""

    @property
    def levels(self) -> Sequence[object] | None:
        """The different values, where the container lists them; a place below 0 is missing."""
        return None

    @property
    def unfit(self) -> str:
        """The type of values that are no categories, keys or ids; nothing where they can be."""
        return ""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of rows."""

    @abstractmethod
    def between(self, start: int, stop: int) -> Numeric:
        """Some of the values; where there are ``levels``, their places among them."""

    def require_fit(self, categories: Categories) -> None:
        """Refuses categories that no value of this type can be."""
        if self.is_text is not None:
            refuse = categories.refuse_text if self.is_text else categories.refuse_numbers
            refuse()


def _number_levels(rows: ReadValues) -> Floats | None:
    levels = rows.values.levels
    if levels is None:
        return None
    return rows.numbers(np.fromiter([*levels, None], object, len(levels) + 1))


@attrs.frozen(eq=False, repr=False)
class ReadValues(InMemory):
    """One column of values as one column of numbers.

    Attributes:
        values: The column.
        numbers: The number of each of some values, which may be objects.
        of_levels: Those of its ``levels``, and behind them that of a missing one.
    """

    values: Values
    numbers: Callable[[Numeric], Floats]
    of_levels: Floats | None = attrs.field(
        default=attrs.Factory(_number_levels, takes_self=True), init=False
    )

    @property
    def size(self) -> int:
        return self.values.size

    def between(self, start: int, stop: int, odd: set[str]) -> Numeric:
        found = self.values.between(start, stop)
        if self.of_levels is None:
            return self.numbers(found).reshape(-1, 1)
        numbers: Floats = self.of_levels[np.maximum(found, -1)]
        return numbers.reshape(-1, 1)


@attrs.frozen(eq=False, repr=False)
class ArrayValues(Values):
    """The values of a numpy array."""

    array: Numeric

    @property
    def is_text(self) -> bool | None:
        return None if self.array.dtype.kind == "O" else self.array.dtype.kind == "U"

    @property
    def unfit(self) -> str:
        return "" if self.array.dtype.kind in "biufUO" else f"dtype {self.array.dtype}"

    @property
    def size(self) -> int:
        return len(self.array)

    def between(self, start: int, stop: int) -> Numeric:
        piece = self.array[start:stop]
        if is_masked(piece):
            objects = piece.data.astype(object)
            objects[np.ma.getmaskarray(piece)] = None
            return objects
        return piece


@attrs.frozen(eq=False, repr=False)
class TypedValues(Values):
    """A column of a library's own type.

    Attributes:
        column: As its library has it.
        text: Whether it is text; None if that is open.
        array: Makes an array of a slice of it.
        kind: The name of a type whose values are no categories.
    """

    column: Cuttable
    text: bool | None
    array: Callable[[Any], np.ndarray]
    kind: str = ""

    @property
    def unfit(self) -> str:
        return self.kind

    @property
    def size(self) -> int:
        return len(self.column)

    @property
    def is_text(self) -> bool | None:
        return self.text

    def between(self, start: int, stop: int) -> np.ndarray:
        return self.array(self.column[start:stop])


@attrs.frozen(eq=False, repr=False)
class DateValues(Values):
    """A column of dates, or of times without a time zone.

    Attributes:
        column: As its library has it.
        days: Whether it holds dates alone.
        array: Makes numpy's dates of a part of it.
    """

    column: Cuttable
    days: bool
    array: Callable[[Any], NDArray[np.datetime64]]

    @property
    def is_text(self) -> None:
        return None

    @property
    def size(self) -> int:
        return len(self.column)

    def between(self, start: int, stop: int) -> Numeric:
        return dates_in(self.array(self.column[start:stop]))

    def require_fit(self, categories: Categories) -> None:
        categories.refuse_dates(self.days)


@singledispatch
def open_values(column: object) -> Values:
    """Opens one column as its values. A library's columns are registered by its own file."""
    raise DataError(f"values of type {type(column).__name__} cannot be read as categories")


@open_values.register
def _of_array(column: np.ndarray) -> Values:
    if column.ndim != 1:
        raise DataError("a column of a table has one dimension")
    if column.dtype.kind == "T":
        column = column.astype(object)
    if column.dtype.kind == "M":
        return DateValues(column, are_days(column.dtype), _unmask)
    return ArrayValues(column)


def _unmask(dates: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    """What is masked is missing."""
    return np.ma.filled(dates, np.datetime64("NaT", "D")) if is_masked(dates) else dates


@open_values.register(list)
@open_values.register(tuple)
def _of_list(column: Sequence[object]) -> Values:
    return ArrayValues(np.fromiter(column, dtype=object, count=len(column)))


def values_of(column: object) -> Values:
    """As ``open_values``, once the libraries that the type comes from have registered theirs."""
    register_libraries(type(column))
    return open_values(column)


def categories_in(column: object) -> Values:
    """As ``values_of``, refused where no value can be a category, a key or an id."""
    values = values_of(column)
    if values.unfit:
        raise DataError(
            f"values of {values.unfit} cannot be categories, keys or ids; make text, numbers or "
            "dates without a time zone of them"
        )
    return values


def is_column(data: Any) -> bool:
    """Whether something is one column, and no table."""
    register_libraries(type(data))
    known = open_values.dispatch(type(data)) is not open_values.dispatch(object)
    return known and getattr(data, "ndim", 1) == 1 and not any(map(_is_row, data[:1]))


def _is_row(value: object) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


@attrs.frozen(eq=False, repr=False)
class ColumnNames(NamedColumns):
    """A table without rows. A column that it has can be read in every way."""

    def _read(
        self,
        listed: tuple[str, ...],
        places: Sequence[int],
        readings: Sequence[ColumnReading],
        lead: str = "",
    ) -> Source:
        if not places:
            return super()._read(listed, places, readings)
        none = ArrayRows(np.empty((0, 1)))
        return TableRows(tuple(listed[place] for place in places), (none,) * len(places))


def names_alone(data: object) -> ColumnNames | None:
    """A table with the columns of this one and without rows; None for what is no table in memory.

    A query of it raises what a query of the table would raise for the names of its columns, and
    reads nothing.
    """
    table = None if is_column(data) else opened_table(data, None)
    return ColumnNames(table.names, _nothing, 0) if isinstance(table, NamedColumns) else None


def _nothing(place: int) -> list[float]:
    return []
