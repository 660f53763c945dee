"""Tables: named columns of any kind, of which a pipeline reads those that it needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.source import InMemory, NoRows, Source
from opendp_lite.errors import DataError
from opendp_lite.unknown_column import unknown_column

_PICK: Final = (
    "no step picks columns of the table: put dp.select('age') >> in front, hand over df['age'], or "
    "start with dp.records(columns=['age', ...]). dp.table() >> dp.count() counts rows whatever "
    "they hold. As it is, "
)


class NoColumnError(DataError):
    """A table lacks a column that was asked for.

    Attributes:
        column: Its name.
    """

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


class ColumnReading(ABC):
    """How the values of a column are read as numbers."""

    @abstractmethod
    def __call__(self, column: Any) -> Source:
        """The rows of a column as it was handed over."""

    @abstractmethod
    def of_numbers(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """As above, for values that were read as numbers already; may return its argument."""


@attrs.frozen
class Column:
    """A column that is asked for, and how it is read; no name stands for the only one."""

    name: str | None
    reading: ColumnReading


@attrs.frozen(eq=False, repr=False)
class NamedColumns:
    """A container of named columns in memory.

    Args:
        names: Of all columns.
        column: Gives the column at a place, as the container has it.
        size: The number of rows.
    """

    names: Sequence[object]
    column: Callable[[int], Any]
    size: int

    def rows(self, columns: Sequence[Column]) -> Source:
        """The rows of some columns, side by side in the order that was asked."""
        listed = tuple(map(str, self.names))
        places = [_place(column.name, listed) for column in columns]
        return self._read(listed, places, [column.reading for column in columns])

    def picked(self, names: Sequence[str]) -> NamedColumns:
        """The table of some columns alone."""
        listed = tuple(map(str, self.names))
        places = [_place(name, listed) for name in names]
        return NamedColumns(tuple(names), lambda place: self.column(places[place]), self.size)

    def every(self, reading: ColumnReading) -> Source:
        """The rows of all columns, each read in the same way."""
        listed = tuple(map(str, self.names))
        lead = _PICK if len(listed) > 1 else ""
        return self._read(listed, range(len(listed)), [reading] * len(listed), lead)

    def _read(
        self,
        listed: tuple[str, ...],
        places: Sequence[int],
        readings: Sequence[ColumnReading],
        lead: str = "",
    ) -> Source:
        """The columns at some places. A refusal of one begins with ``lead``."""
        if not places:
            return _Unread(self.size)
        found = tuple(
            _opened(lead + _said(listed[place]), reading, self.column(place))
            for place, reading in zip(places, readings, strict=True)
        )
        if len({each.size for each in found}) > 1:
            raise DataError("the columns of the table differ in length")
        return TableRows(tuple(listed[place] for place in places), found, lead)


@attrs.frozen(eq=False, repr=False)
class TableRows(InMemory):
    """Columns of one length side by side; nothing is held but what was handed over."""

    titles: tuple[str, ...]
    held: tuple[InMemory, ...]
    lead: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return self.titles

    @property
    def columns(self) -> int:
        return len(self.held)

    @property
    def size(self) -> int:
        return self.held[0].size

    @property
    def by_value(self) -> bool:
        return any(column.by_value for column in self.held)

    @property
    def views(self) -> bool:
        return len(self.held) == 1 and self.held[0].views

    def between(self, start: int, stop: int, odd: set[str]) -> NDArray[Any]:
        if len(self.held) == 1:
            return self._column(0, start, stop, odd)
        found = np.empty((stop - start, len(self.held)))
        for place in range(len(self.held)):
            found[:, place] = self._column(place, start, stop, odd)[:, 0]
        return found

    def _column(self, place: int, start: int, stop: int, odd: set[str]) -> NDArray[Any]:
        here: set[str] = set()
        found = self.held[place].between(start, stop, here)
        odd.update(self.lead + _said(self.titles[place]) + words for words in here)
        return found


@attrs.frozen(eq=False, repr=False)
class _Unread(InMemory):
    """The rows of a table of which no column is read: a zero each."""

    rows: int

    @property
    def size(self) -> int:
        return self.rows

    def between(self, start: int, stop: int, odd: set[str]) -> NDArray[Any]:
        return np.zeros((stop - start, 1))


def _opened(where: str, reading: ColumnReading, column: Any) -> InMemory:
    try:
        found = reading(column)
    except DataError as problem:
        raise DataError(f"{where}{problem}") from None
    if isinstance(found, NoRows):
        return _Unread(0)
    if not isinstance(found, InMemory) or found.columns != 1:
        raise DataError(f"{where}a column of a table is one column in memory")
    return found


def _said(name: str) -> str:
    """A column in front of what is said of it; nothing for the only one, without a name."""
    return "" if name == str(None) else f"column {name!r}: "


def require_columns(names: Sequence[str], there: Sequence[object]) -> None:
    """Refuses names that none of these columns has, or that several have."""
    listed = tuple(map(str, there))
    for name in names:
        _place(name, listed)


def _place(name: str | None, have: tuple[str, ...]) -> int:
    if name is None and len(have) == 1:
        return 0
    if name is None:
        raise DataError(
            f"the table has {len(have)} columns; say which, with dp.select('age') before the step "
            "or dp.histogram('age', ...)"
        )
    if have.count(name) == 1:
        return have.index(name)
    if name in have:
        raise DataError(f"the table has the column {name!r} more than once; rename one of them")
    if have == (str(None),):
        raise DataError(
            f"the data is one column and has no names to find {name!r} by; leave out "
            f"dp.select({name!r}) or the name in dp.histogram({name!r}, ...), or give the table"
        )
    raise NoColumnError(f"the table has {unknown_column(name, have)}", name)
