"""Values that nobody declared: told apart exactly, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from functools import partial
from itertools import repeat
from math import nan
from numbers import Integral, Real
from operator import getitem
from threading import Lock
from typing import Any, Final, TypeAlias, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.dates import dates_in
from opendp_lite.base.errors import DataError
from opendp_lite.base.spelling import is_span
from opendp_lite.engines.columns import ReadColumns
from opendp_lite.engines.data import arrays, categories, source
from opendp_lite.engines.data.fold import Floats, Numeric, Reduction
from opendp_lite.engines.data.table import Column, ColumnReading
from opendp_lite.engines.data.values import categories_in
from opendp_lite.engines.grouped import LazyTable
from opendp_lite.engines.plan import LaterReduction
from opendp_lite.engines.rows import FoldRequest, LazyRows, Part

# Up to here whole numbers are kept as such, beyond as floats where they are floats.
_EXACT: Final = 2**53
# Types whose values are equal to no other than text or numbers.
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_SPARE: Final = 1024
_UNKNOWN: Final = -1.0


class Distinct:
    """The different values that were met, each with a place, in the order of their first sight.

    Values that are equal are one: 1, 1.0 and True, but not "1". Which of them a key is shown as
    does not depend on the data. Threads may share it.
    """

    def __init__(self) -> None:
        self.keys: list[Hashable] = []
        self._places: dict[Hashable, float] = {None: nan}
        self._lock = Lock()

    def places(self, values: Numeric) -> Floats:
        """The place of each value; NaN where it is missing, or neither text nor a number."""
        if values.dtype.kind not in "iubf":
            return self.of_list(values.tolist())
        whole = _in_short_range(values)
        if whole is not None:
            return self._of_range(values, *whole)
        different, which = np.unique(values, return_inverse=True)
        return self.of_list(different.tolist())[which]

    def of_list(self, listed: Sequence[Hashable]) -> Floats:
        """As ``places``, for values in a list."""
        if not _PLAIN.issuperset(map(type, listed)):
            return self.of_keys(list(map(canonical, listed)))
        found = self._found(listed)
        rows = np.flatnonzero(found == _UNKNOWN)
        if len(rows):
            found[rows] = self.of_keys([canonical(listed[row]) for row in rows.tolist()])
        return found

    def of_keys(self, keys: Sequence[Hashable]) -> Floats:
        """The place of each key in its one form; NaN for None."""
        with self._lock:
            for key in keys:
                if key not in self._places:
                    self._places[key] = float(len(self.keys))
                    self.keys.append(key)
        return self._found(keys)

    def _found(self, listed: Sequence[Hashable]) -> Floats:
        return np.fromiter(map(self._places.get, listed, repeat(_UNKNOWN)), np.float64, len(listed))

    def _of_range(self, values: Numeric, from_least: NDArray[np.int64], least: int) -> Floats:
        occur = np.flatnonzero(np.bincount(from_least.astype(np.intp, copy=False)))
        table = np.full(occur[-1] + 1, nan)
        table[occur] = self.of_list((occur + least).tolist())
        found: Floats = table[from_least]
        if values.dtype.kind == "f":
            found[np.isnan(values)] = nan
        return found

    def __reduce__(self) -> tuple[object, ...]:
        """Sent elsewhere without its keys: what is counted there comes back with those it met."""
        return Distinct, ()


def canonical(value: object) -> str | int | float | None:
    """The one form in which a key is kept; None where there is none.

    Text and numbers are equal to it. A date becomes text, and so does an interval or a period of
    pandas. Nothing that a value may be fails.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return _shortest(float(value))
    try:
        return None if categories.is_missing(value) else _convert(value)
    except Exception:
        return None


def _convert(value: object) -> str | int | float | None:
    if isinstance(value, Integral | np.bool_):
        whole = int(value)
        return float(whole) if abs(whole) > _EXACT and float(whole) == whole else whole
    if isinstance(value, Real | Decimal):
        return _shortest(float(value))
    if isinstance(value, np.datetime64):  # as in an array of them
        value = dates_in(np.array([value]))[0]
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, str):  # a time that Python does not hold
        return value
    return str(value) if is_span(value) else None


def _shortest(number: float) -> int | float | None:
    """A number as a whole one where it is; None for NaN."""
    if number != number:
        return None
    return int(number) if number.is_integer() and abs(number) <= _EXACT else number


def _in_short_range(values: Numeric) -> tuple[NDArray[np.int64], int] | None:
    """Whole numbers from the least one on, and this; None where they are others or far apart.

    A missing number stands for the least.
    """
    # By kind and size: another byte order is another type, and beyond 2^63 it has no int64.
    if not len(values) or values.dtype.kind + str(values.dtype.itemsize) == "u8":
        return None
    whole = values
    if values.dtype.kind == "f":
        # As single values are: a long double beyond 2^53 would be another key in a short range.
        values = values.astype(np.float64, copy=False)
        with np.errstate(all="ignore"):
            least = np.fmin.reduce(values)
            present = np.where(np.isnan(values), least, values)
            whole = present.astype(np.int64)
            if not (whole == present).all():
                return None
    whole = whole.astype(np.int64, copy=False)
    first, last = int(whole.min()), int(whole.max())
    if last - first > 4 * len(values) + _SPARE:
        return None
    return whole - first, first


@attrs.frozen(eq=False, repr=False)
class Numbered(ColumnReading):
    """The place of each value among those that were met."""

    distinct: Distinct

    def __call__(self, column: object) -> source.Source:
        return categories_in(column).as_numbers(self.distinct.places)

    def of_numbers(self, numbers: Floats) -> Floats:
        return self.distinct.places(numbers)


@attrs.frozen
class KeysFound(ColumnReading):
    """The place of each value among keys that were met before; NaN for all others.

    The rows of a key are those that were counted for it, whatever the type of the column is.
    """

    keys: categories.Categories

    def __call__(self, column: object) -> source.Source:
        return categories_in(column).as_numbers(self.of_numbers)

    def of_numbers(self, numbers: Numeric) -> Floats:
        met = Distinct()
        which = met.places(numbers)
        # Behind them the place of a value that has no key.
        places = self.keys.codes(np.fromiter([*met.keys, None], object, len(met.keys) + 1))
        return places[np.where(np.isnan(which), len(met.keys), which).astype(np.intp)]


def _number_rows(met: Distinct, block: Floats) -> Floats:
    """The place of each row of places among the rows that were met."""
    found = np.full((len(block), 1), nan)
    present = np.flatnonzero(~np.isnan(block).any(axis=1))
    if not len(present):
        return found
    places = block[present].astype(np.int64)
    which = places[:, 0]
    for column in places.T[1:]:
        _, which = np.unique(which, return_inverse=True)
        which = which * (int(column.max()) + 1) + column
    _, first, which = np.unique(which, return_index=True, return_inverse=True)
    table = met.of_keys(list(map(tuple, places[first].tolist())))
    found[present, 0] = table[which]
    return found


KeysByPlace: TypeAlias = Callable[[], list[Hashable]]
"""Lists the keys of all places, in order."""


def _list_values(column: Distinct) -> list[Hashable]:
    return column.keys


def _list_tuples(columns: Sequence[Distinct], rows: Distinct) -> list[Hashable]:
    keys = [column.keys for column in columns]
    return [tuple(map(getitem, keys, cast(Iterable[int], row))) for row in rows.keys]


@attrs.frozen(eq=False)
class Tally:
    """How often the key at each place occurs."""

    counts: arrays.Whole
    keys: KeysByPlace

    def items(self) -> dict[Hashable, int]:
        """The keys that occur, with their counts."""
        keys, places = self.keys(), np.flatnonzero(self.counts)
        if len(self.counts) > len(keys):
            raise DataError("keys that nobody declared were met and counted in two processes")
        each = zip(places.tolist(), self.counts[places].tolist(), strict=True)
        return {keys[place]: count for place, count in each}

    def __reduce__(self) -> tuple[object, ...]:
        """Sent elsewhere with its keys."""
        return _tally_of, (self.items(),)


def _tally_of(items: Mapping[Hashable, int]) -> Tally:
    counts = np.fromiter(items.values(), np.int64, len(items))
    return Tally(counts, partial(list, items))


@attrs.frozen(eq=False)
class CountPlaces(Reduction[Tally]):
    """Counts how often each place occurs, however many there turn out to be."""

    keys: KeysByPlace

    def empty(self) -> Tally:
        return Tally(np.zeros(0, dtype=np.int64), self.keys)

    def summarise(self, block: Floats) -> Tally:
        places = block[:, 0]
        present = places[~np.isnan(places)].astype(np.intp)
        return Tally(np.bincount(present).astype(np.int64, copy=False), self.keys)

    def merge(self, first: Tally, second: Tally) -> Tally:
        if first.keys is not second.keys:
            both = Counter(first.items())
            both.update(second.items())
            return _tally_of(both)
        shorter, longer = sorted((first.counts, second.counts), key=len)
        counts = longer.copy()
        counts[: len(shorter)] += shorter
        return Tally(counts, first.keys)


@attrs.frozen(eq=False)
class KeyCounts:
    """The keys that occur, in an order that does not depend on the data's, and their counts."""

    keys: tuple[Hashable, ...]
    counts: arrays.Whole

    @classmethod
    def of(cls, tally: Tally) -> KeyCounts:
        """Those of a tally."""
        items = tally.items()
        keys = tuple(sorted(items, key=_rank))
        return cls(keys, np.fromiter((items[key] for key in keys), np.int64, len(keys)))


@attrs.frozen
class CountKeys(LaterReduction):
    """Counts the keys of a table or of rows; the summary is a ``Tally``.

    A key is the value of one column, or a tuple of those of several. A row that lacks one of them
    is left out.

    Attributes:
        columns: How many there are.
        names: Of the columns of a table; None for the only one.
    """

    columns: int
    names: tuple[str, ...] | None

    def ask(self, rows: LazyTable | LazyRows, step: str) -> FoldRequest[Tally]:
        columns = [Distinct() for _ in range(self.columns)]
        if isinstance(rows, LazyTable):
            asked = zip(self.names or (None,), columns, strict=True)
            places = rows.columns([Column(name, Numbered(each)) for name, each in asked])
        else:
            read = ReadColumns(tuple(range(self.columns)), tuple(map(Numbered, columns)))
            places = rows.map_rows(Part(read, step))
        keys: KeysByPlace = partial(_list_values, columns[0])
        if self.columns > 1:
            rows_met = Distinct()
            keys = partial(_list_tuples, columns, rows_met)
            places = places.map_rows(Part(partial(_number_rows, rows_met), step))
        return FoldRequest(places, CountPlaces(keys), step)


def _rank(key: Hashable) -> Any:
    """Numbers come first, by their size; then text, by its characters."""
    return tuple(map(_rank, key)) if isinstance(key, tuple) else (isinstance(key, str), key)
