"""The values of one column as they are: text, numbers, anything that can be a category."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, singledispatch
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.dates import are_days, dates_in, python_dates
from opendp_lite.base.errors import DataError
from opendp_lite.engines.data import arrays, open_data
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.data.fold import Floats, Numeric, Scalar, identity
from opendp_lite.engines.data.source import Source
from opendp_lite.engines.data.table import NamedColumns, RowPlaces, take


@attrs.frozen(eq=False, repr=False)
class Values:
    """A column in memory, of which any slice can be read as it is.

    Attributes:
        column: As its library has it.
        array: Makes an array of a slice of it; where there are ``levels``, of their places.
        is_text: Whether the type says that it is text, or that it is not; None if that is open.
        unfit: The type of values that are no categories, keys or ids; nothing where they can be.
        days: Of dates and times without a zone: whether they are dates alone. Else None.
        dates: Of these: makes an array of numpy's dates of a slice of the column.
        only: The class of which all values are, where none of them is text, a number or a date.
        levels: The different values, where the container lists them; a place below 0 is missing.
        fits_all: Whether no categories are refused, whatever the type says.
        lacking: Of types that hold more than Python's do: which of a slice of the column are
            missing, without making objects of them.
    """

    column: arrays.Cuttable
    array: Callable[[Any], Numeric]
    is_text: bool | None = None
    unfit: str = ""
    days: bool | None = None
    dates: Callable[[Any], NDArray[np.datetime64]] | None = None
    only: type | None = None
    levels: Sequence[object] | None = None
    fits_all: bool = False
    lacking: Callable[[Any], NDArray[np.bool_]] | None = None

    @classmethod
    def of_dates(
        cls, column: arrays.Cuttable, days: bool, array: Callable[[Any], NDArray[np.datetime64]]
    ) -> Values:
        """A column of which a function makes numpy's dates."""
        return cls(column, lambda piece: dates_in(array(piece)), days=days, dates=array)

    @classmethod
    def of_texts(cls, places: Numeric, levels: Sequence[object]) -> Values:
        """A column of text, whose library found the different ones, as their places."""
        return cls(places, identity, is_text=True, levels=levels)

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, rows: slice) -> Numeric:
        """Some of the values; where there are ``levels``, their places among them."""
        return self.array(self.column[rows])

    def require_fit(self, categories: Categories) -> None:
        """Refuses categories that no value of this type can be."""
        if self.fits_all:
            return
        if self.only is not None:
            categories.require_some(self.only)
        elif self.days is not None:
            categories.refuse_dates(self.days)
        elif self.is_text is not None:
            refuse = categories.refuse_text if self.is_text else categories.refuse_numbers
            refuse()

    def once_each(
        self, make: Callable[[Numeric], NDArray[Scalar]]
    ) -> Callable[[Any], NDArray[Scalar]]:
        """What a function of some values, which may be objects, makes of a slice of the column.

        Where the different values are listed, it is asked for each of them once.
        """
        if self.levels is None:
            return partial(_make_of, self.array, make)
        # Behind them what is made of a missing one: it is taken for all places below 0.
        of_levels = make(np.fromiter([*self.levels, None], object, len(self.levels) + 1))
        return partial(_make_of, self.array, partial(_take_levels, of_levels))

    def as_numbers(self, numbers: Callable[[Numeric], Floats]) -> arrays.ColumnRows:
        """One column of numbers, by a function as for ``once_each``."""
        return arrays.ColumnRows(self.column, self.once_each(numbers))

    def require_dates(self, step: str, mend: str) -> None:
        """Refuses a column of which no value is a date, by its type; of text it says the mend."""
        if self.fits_all or self.days is not None or (self.is_text is None and self.only is None):
            return
        found = f"text; {mend}" if self.is_text else "none"
        raise DataError(f"{step} needs a column of dates, and this one holds {found}")

    def as_dates(self, numbers: Callable[[NDArray[np.datetime64]], Floats]) -> arrays.ColumnRows:
        """As ``as_numbers``, by a function of numpy's dates; NaT for what is none."""
        if (read := self.dates) is not None:
            return arrays.ColumnRows(self.column, partial(_make_of, read, numbers))
        return self.as_numbers(lambda values: numbers(python_dates(values.tolist())))


# Named functions, and no closures: other processes are sent them.
def _make_of(
    array: Callable[..., Numeric], make: Callable[..., NDArray[Scalar]], piece: object
) -> NDArray[Scalar]:
    return make(array(piece))


def _take_levels(of_levels: Numeric, places: Numeric) -> Numeric:
    return of_levels[np.maximum(places, -1)]


SAMPLE: Final = 2**12
"""Rows at the beginning of a column by which it is said whether its texts repeat."""


def do_repeat(different: int, rows: int) -> bool:
    """Whether so few of so many texts differ that their places are quicker than the texts."""
    return 2 * different <= rows


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
        return Values.of_dates(column, are_days(column.dtype), _unmask_dates)
    kind = column.dtype.kind
    unfit = "" if kind in "biufUO" else f"dtype {column.dtype}"
    return Values(column, _unmask, None if kind == "O" else kind == "U", unfit)


def _unmask(piece: Numeric) -> Numeric:
    """What is masked is missing."""
    if not arrays.is_masked(piece):
        return piece
    if piece.dtype.kind == "f":
        return np.ma.filled(piece, np.nan)  # Objects would forget which whole numbers it holds.
    objects = piece.data.astype(object)
    objects[np.ma.getmaskarray(piece)] = None
    return objects


def _unmask_dates(dates: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    return np.ma.filled(dates, np.datetime64("NaT", "D")) if arrays.is_masked(dates) else dates


@open_values.register
def _of_values(column: Values) -> Values:
    """A reader of files hands over columns as values."""
    return column


@open_data.open_rows.register
def _numbers_of(column: Values) -> Source:
    if column.days is not None:
        raise DataError(arrays.no_numbers("dates"))
    raise DataError("it is read as text; declare it as float to have its numbers")


@take.register
def _rows_of_values(container: Values, places: RowPlaces) -> Values:
    return attrs.evolve(container, column=take(container.column, places))


@open_values.register(list)
@open_values.register(tuple)
def _of_list(column: Sequence[object]) -> Values:
    cells = arrays.single_values(column)
    return Values(np.fromiter(cells, dtype=object, count=len(cells)), identity)


def values_of(column: object) -> Values:
    """As ``open_values``, once the libraries that the type comes from have registered theirs."""
    open_data.register_libraries(type(column))
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
    open_data.register_libraries(type(data))
    known = open_values.dispatch(type(data)) is not open_values.dispatch(object)
    if isinstance(data, list | tuple):
        return not (open_data.is_records(data) or arrays.list_rows(data))
    return known and getattr(data, "ndim", 1) == 1


def names_alone(data: object) -> NamedColumns | None:
    """A table with the columns of this one and without rows; None for what is no table in memory.

    So a query of it raises what a query of the table would raise for the names and the types of its
    columns, and reads nothing.
    """
    # Which names a list of dictionaries has, its rows say: no query may be refused for them.
    named = not (is_column(data) or open_data.is_records(data))
    table = open_data.opened_table(data, None) if named else None
    if not isinstance(table, NamedColumns):
        return None
    return table.without_rows()
