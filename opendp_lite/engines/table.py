"""Tables: columns by name, read side by side, a range of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.source import InMemory, NoRows, Source
from opendp_lite.errors import DataError

_LISTED = 8


@attrs.frozen(eq=False, repr=False)
class TableRows(InMemory):
    """Columns of one length side by side; nothing is held but what was handed over."""

    titles: tuple[str, ...]
    held: tuple[InMemory, ...]

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
        odd.update(_of_column(self.titles[place], words) for words in here)
        return found


def table_rows(
    have: Sequence[object], names: tuple[str, ...] | None, column: Callable[[int], object]
) -> Source:
    """The rows of a table.

    Args:
        have: The names of all columns of the table.
        names: The columns that are asked for; None for all.
        column: Gives the column at a place as rows in memory.
    """
    listed = tuple(map(str, have))
    places = range(len(listed)) if names is None else [_place(name, listed) for name in names]
    if not places:
        return NoRows()
    found = tuple(_opened(listed[place], place, column) for place in places)
    if len({each.size for each in found}) > 1:
        raise DataError("the columns of the table differ in length")
    return TableRows(tuple(listed[place] for place in places), found)


def _opened(name: str, place: int, column: Callable[[int], Any]) -> InMemory:
    try:
        found = column(place)
    except DataError as problem:
        raise DataError(_of_column(name, str(problem))) from None
    if isinstance(found, NoRows):
        return _Nothing()
    if not isinstance(found, InMemory) or found.columns != 1:
        raise DataError(_of_column(name, "a column of a table is one column of numbers in memory"))
    return found


@attrs.frozen(eq=False, repr=False)
class _Nothing(InMemory):
    """A column without rows."""

    @property
    def size(self) -> int:
        return 0

    def between(self, start: int, stop: int, odd: set[str]) -> NDArray[Any]:
        return np.empty((0, 1))


def _of_column(name: str, words: str) -> str:
    return (
        f"column {name!r}: {words}; or pass the columns that you need: df['age'], or start with "
        "dp.records(columns=['age', ...])"
    )


def _place(name: str, have: tuple[str, ...]) -> int:
    if have.count(name) == 1:
        return have.index(name)
    if name in have:
        raise DataError(f"the table has the column {name!r} more than once; rename one of them")
    near = get_close_matches(name, have, n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(have[:_LISTED])}"
    raise DataError(f"the table has no column {name!r}{hint}")
