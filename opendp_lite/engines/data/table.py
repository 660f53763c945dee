"""What is said of a name that no column has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, singledispatch
from typing import Any, ClassVar, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError, NoColumnError, name_like
from opendp_lite.engines.data.arrays import ColumnRows, exact_column
from opendp_lite.engines.data.expressions import Engine, Expression, NoExpressionError
from opendp_lite.engines.data.fold import Numeric
from opendp_lite.engines.data.source import InMemory, NoRows, Source
from opendp_lite.numbers.exact import MOST_SHOWN


def unknown_column(name: str, there: Sequence[str], most: int = 8) -> str:
    """The column that was asked for, the nearest one, and those that are there.

    At most so many of these are listed.

    Example:
        >>> unknown_column("incme", ["income", "sex"])
        "no column 'incme'; did you mean 'income'? The columns are 'income', 'sex'"
        >>> unknown_column("zzz", ["income"])
        "no column 'zzz'; the column is 'income'"
    """
    same = [each for each in there if each.casefold() == name.casefold()]
    near = same or name_like(name, there, cutoff=0.4)
    lead = f"did you mean {near[0]!r}? The" if near else "the"
    return f"no column {name!r}; {lead} {list_columns(there, most)}"


def list_columns(there: Sequence[str], most: int) -> str:
    """The names of columns, at most so many."""
    more = f" and {len(there) - most} more" if len(there) > most else ""
    columns = "column is" if len(there) == 1 else "columns are"
    listed = ", ".join(map(repr, there[:most])) or "none"
    return f"{columns} {listed}{more}"


_PICK: Final = (
    "no step picks columns of the table: put dp.select('age') >> in front, hand over df['age'], or "
    "start with dp.records(columns=['age', ...]). dp.table() >> dp.count() counts rows whatever "
    "they hold. As it is, "
)


class ColumnReading(ABC):
    """How the values of a column are read as numbers."""

    as_they_are: ClassVar[bool] = False
    """Whether numbers are read as the same numbers."""
    tells_apart: ClassVar[bool] = False
    """Whether two values must be two, as the ids of people must."""

    @abstractmethod
    def __call__(self, column: object, /) -> Source:
        """The rows of a column as it was handed over."""

    @abstractmethod
    def of_numbers(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """As above, for values that were read as numbers already; may return its argument."""

    def express(self, name: str | None, engine: Engine) -> Expression:
        """As an engine's numbers or ``KeyedCells``."""
        raise NoExpressionError(f"what is read of {name!r} is neither a number nor a declared key")


@attrs.frozen
class Column:
    """A column that is asked for, and how it is read; no name stands for the only one."""

    name: str | None
    reading: ColumnReading


class Table(ABC):
    """What a pipeline picks columns of, once it knows which.

    ``names`` are those of all columns; None where the rows alone may say them.
    """

    __slots__ = ()
    names: Any

    @abstractmethod
    def read(self, names: tuple[str, ...] | None, reading: ColumnReading) -> Source:
        """The rows of these columns, or of all of them, each read in the same way."""


@attrs.frozen(eq=False, repr=False)
class NamedColumns(Table):
    """A container of named columns in memory.

    Args:
        names: Of all columns.
        column: Gives the column at a place, as the container has it.
        size: The number of rows.
        more: What to say beside of a name that no column has.
        together: Gives the numbers of the columns at some places side by side, where that is
            quicker; else None.
    """

    names: Sequence[object]
    column: Callable[[int], Any]
    size: int
    more: str = ""
    together: Callable[[Sequence[int]], InMemory | None] = lambda _: None
    by_rows: ClassVar[bool] = False
    """Whether the rows say which columns there are, so that a refusal would tell of them."""

    @cached_property
    def text_names(self) -> tuple[str, ...]:
        """The names as text."""
        return tuple(map(str, self.names))

    def read(self, names: tuple[str, ...] | None, reading: ColumnReading) -> Source:
        if names is not None:
            return self.rows([Column(name, reading) for name in names])
        if not self.names:
            return NoRows()
        count = len(self.text_names)
        lead = _PICK if count > 1 else ""
        return self._read(range(count), [reading] * count, lead)

    def rows(self, columns: Sequence[Column]) -> Source:
        """The rows of some columns, side by side in the order that was asked."""
        places = places_of([column.name for column in columns], self.text_names, self.more)
        return self._read(places, [column.reading for column in columns])

    def pick(self, names: Sequence[str]) -> NamedColumns:
        """The table of some columns alone."""
        places = places_of(names, self.text_names, self.more)
        return NamedColumns(tuple(names), lambda place: self.column(places[place]), self.size)

    def without_rows(self) -> NamedColumns:
        """The same columns without rows, of the types that they have: to see what is refused.

        A type is public, as the container has it. The different values that a column may list are
        not: so where it lists them, and where no rows can be taken, a list stands in its place,
        which can be read in every way.
        """
        columns, apart = (lambda place: _no_rows(self.column(place))), (lambda _: None)
        return attrs.evolve(self, column=columns, size=0, together=apart)

    def _read(
        self, places: Sequence[int], readings: Sequence[ColumnReading], lead: str = ""
    ) -> Source:
        """The columns at some places. A refusal of one begins with ``lead``."""
        if not places:
            return _zero_each(self.size)
        titles = tuple(map(self.text_names.__getitem__, places))
        many = len(places) > 1 and all(each.as_they_are for each in readings)
        together = self.together(places) if many else None
        if together is not None:
            return TableRows(titles, (together,))
        found: list[InMemory] = []
        for title, place, reading in zip(titles, places, readings, strict=True):
            column = self.column(place)
            if reading.as_they_are and isinstance(column, list | tuple):
                column = exact_column(column)  # A list in it is a value of it, and no row.
            try:
                rows = reading(column)
                if isinstance(rows, NoRows):
                    rows = _zero_each(0)
                if not isinstance(rows, InMemory) or rows.columns != 1:
                    raise DataError("a column of a table is one column in memory")
            except DataError as problem:
                # Whoever picked no column has none to make numeric.
                words = str(problem).partition("; make")[0] if lead else problem
                raise DataError(f"{lead}{_say(title)}{words}") from None
            found.append(rows)
        if len(found) == 1 and found[0].plain:
            return found[0]
        if len({each.size for each in found}) > 1:
            raise DataError("the columns of the table differ in length")
        return TableRows(titles, tuple(found), lead)


@attrs.frozen(eq=False, repr=False)
class TableRows(InMemory):
    """Columns of one length side by side; nothing is held but what was handed over.

    ``held`` has one of them each, or all together.
    """

    titles: tuple[str, ...]
    held: tuple[InMemory, ...]
    lead: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return self.titles

    @property
    def columns(self) -> int:
        return len(self.titles)

    @property
    def size(self) -> int:
        return self.held[0].size

    @property
    def by_value(self) -> bool:
        return any(column.by_value for column in self.held)

    def between(self, start: int, stop: int, odd: set[str]) -> Numeric:
        if len(self.held) == 1:
            return self._column(0, start, stop, odd)
        found = np.empty((stop - start, len(self.held)))
        for place in range(len(self.held)):
            found[:, place] = self._column(place, start, stop, odd)[:, 0]
        return found

    def cut(self, start: int, stop: int) -> TableRows:
        return attrs.evolve(self, held=tuple(each.cut(start, stop) for each in self.held))

    def _column(self, place: int, start: int, stop: int, odd: set[str]) -> Numeric:
        here: set[str] = set()
        found = self.held[place].between(start, stop, here)
        odd.update(self.lead + _say(self.names[place]) + words for words in here)
        return found


def _zero_each(size: int) -> ColumnRows:
    """The rows of a table of which no column is read: a zero each."""
    return ColumnRows(range(size), lambda piece: np.zeros(len(piece)))


def _say(name: str) -> str:
    """A column in front of what is said of it; nothing for the only one, without a name."""
    return "" if name == str(None) else f"column {name!r}: "


@lru_cache(maxsize=8)
def _find_places(have: tuple[str, ...]) -> dict[str, int]:
    """Where each column is, of those that are there once."""
    places = {name: place for place, name in enumerate(have)}
    if len(places) == len(have):
        return places
    return {name: places[name] for name, count in Counter(have).items() if count == 1}


def places_of(names: Sequence[str | None], have: tuple[str, ...], more: str = "") -> list[int]:
    """Where columns are among those that are there, by ``place_of``."""
    places = _find_places(have)
    lost = sum(name not in places for name in names)
    if lost > MOST_SHOWN:  # They may be a column of data, given by mistake.
        raise NoColumnError(f"the table lacks {lost} of the columns asked for; check their names")
    return [places[name] if name in places else place_of(name, have, more) for name in names]


def place_of(name: str | None, have: tuple[str, ...], more: str = "") -> int:
    """Where a column is among those that are there; the only one where ``name`` is None.

    ``more`` is said behind the refusal of a name that none has.
    """
    if name is None and len(have) == 1:
        return 0
    if name is None:
        raise DataError(
            f"the table has {len(have)} columns; say which, with dp.select('age') before the step "
            "or dp.histogram('age', ...)"
        )
    if (place := _find_places(have).get(name)) is not None:
        return place
    if name in have:
        raise DataError(f"the table has the column {name!r} more than once; rename one of them")
    if have == (str(None),):
        raise DataError(
            f"the data is one column and has no names to find {name!r} by; leave out "
            f"dp.select({name!r}) or the name in dp.histogram({name!r}, ...), or give the table"
        )
    raise NoColumnError(f"the table has {unknown_column(name, have)}{more}", column=name)


RowPlaces = NDArray[np.int64]

_NO_ROWS: Final = np.empty(0, np.int64)


def _no_rows(column: object) -> object:
    listed = hasattr(column, "categories") or hasattr(getattr(column, "dtype", None), "categories")
    try:
        return [] if listed else take(column, _NO_ROWS)
    except Exception:
        return []


@singledispatch
def take(container: object, places: RowPlaces) -> Any:
    """The rows at some places. A library's containers are registered by its own file."""
    raise DataError(
        f"rows of a {type(container).__name__} cannot be picked; give arrays, lists, or frames of "
        "pandas, polars or Arrow"
    )


@take.register
def _of_array(container: np.ndarray, places: RowPlaces) -> Numeric:
    return container[places]


@take.register(list)
@take.register(tuple)
def _of_list(container: Sequence[object], places: RowPlaces) -> list[object]:
    return [container[place] for place in places.tolist()]
