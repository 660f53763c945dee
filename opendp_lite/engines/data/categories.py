"""Declared categories, and the place of each value of a column among them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import repeat
from math import isfinite, nan
from typing import Any, Final, TypeGuard

import attrs
import numpy as np
from numpy.typing import DTypeLike, NDArray

from opendp_lite.base.dates import are_days, day_number, tick_number, ticks, whole_days
from opendp_lite.base.errors import DataError, ParameterError
from opendp_lite.base.spelling import is_span, plain_value
from opendp_lite.engines.data.fold import Floats, Numeric
from opendp_lite.numbers.exact import quote

_MISSING_TYPES: Final = frozenset({"NAType", "NaTType", "MaskedConstant"})
_MAY_BE_NAN: Final = (float, np.floating, np.datetime64, np.timedelta64)
_MOST: Final = 2**24
# Types of which every container's values are told apart in the same way.
_KINDS: Final = (str, int, float, date, type(None))
_EXACT_FLOAT: Final = 2**53
_INT64: Final = range(-(2**63), 2**63)


def is_missing(value: object) -> bool:
    """Whether a value of a column stands for a missing cell."""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, _MAY_BE_NAN) and value != value


@attrs.frozen(slots=False)
class Categories:
    """Values that a column may hold, declared in public.

    Attributes:
        values: Text, numbers or dates, each once; None stands for missing cells.
        other: Whether all other values, missing cells apart, have a place of their own at the end.
    """

    values: tuple[Hashable, ...]
    other: bool = False

    @classmethod
    def of(
        cls,
        given: object,
        step: str,
        *,
        other: bool = False,
        noun: str = "categories",
        repeated: bool = False,
    ) -> Categories:
        """The categories that a person typed, refused where they do not tell values apart.

        Where they may be ``repeated``, each is taken once.
        """
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
            raise ParameterError(
                f"{step} takes a list of {noun}, such as ['f', 'm'] or range(1, 17); "
                f"got {quote(given)}"
            )
        values = tuple(map(plain_value, given))
        if not 0 < len(values) <= _MOST:
            raise ParameterError(f"{step} takes from 1 to 2^24 {noun}; got {len(values)}")
        seen: set[Hashable] = set()
        for place, value in enumerate(values):
            if value is not None and is_missing(value):
                raise ParameterError(f"{step}: write None, not {value!r}, for missing cells")
            if isinstance(value, tuple | list):
                raise ParameterError(
                    f"{step}: the {noun} of one column are one list, such as ['f', 'm']; got a "
                    "list in a list"
                )
            if not isinstance(value, _KINDS) and not is_span(value):
                raise ParameterError(
                    f"{step}: {noun} are text, whole numbers, floats or dates; got a value of type "
                    f"{type(value).__name__}"
                )
            if getattr(value, "nanosecond", 0):
                raise ParameterError(
                    f"{step}: the {noun} have times to the microsecond; round one that has "
                    "nanoseconds"
                )
            if value in seen and not repeated:
                raise ParameterError(
                    f"{step}: one of the {noun} is declared twice; number {place + 1} of the list "
                    "repeats one before it"
                )
            seen.add(value)
        return cls(tuple(dict.fromkeys(values)) if repeated else values, other)

    @property
    def places(self) -> int:
        """How many places there are, that of all others included."""
        return len(self.values) + self.other

    def codes(self, values: Numeric) -> Floats:
        """The place of each value; NaN for what is not declared."""
        if values.dtype.kind in "iub":
            return self._of_whole(values)
        if values.dtype.kind == "f":
            return self._of_floats(values)
        if values.dtype.kind == "U" and not self.other:
            return self._found(values, *self._texts)
        return self._of_objects(values)

    def refuse_text(self) -> None:
        """Refuses a column of text where there are numbers or dates to find in it, and no text."""
        kinds = {isinstance(value, str) for value in self.values if value is not None}
        if kinds == {False}:
            if any(isinstance(value, date) for value in self.values):
                raise DataError(
                    "the column holds text and the categories are dates; put dp.period('day', "
                    "'month', form='%Y-%m-%d') before it, which reads text as dates and takes the "
                    "first day of the month. The period 'day' leaves days as they are"
                )
            raise DataError(
                "the column holds text and the categories are numbers; write them as text, such "
                "as ['1', '2'], or read the column as numbers"
            )

    def refuse_numbers(self) -> None:
        """Refuses a column of numbers where a category is text, which none of them can be."""
        # One of each type says it of all.
        kinds = dict(zip(map(type, self.values), self.values, strict=True)).values()
        if any(map(is_span, kinds)):
            raise DataError(
                "the column holds numbers and the categories are intervals or periods of pandas; "
                "dp.histogram(..., edges=[0, 10, 20]) counts numbers between edges"
            )
        if any(isinstance(value, str) for value in kinds):
            texts = [value for value in self.values if isinstance(value, str)]
            some = "" if len(texts) + (None in self.values) == len(self.values) else "some of "
            raise DataError(
                f"the column holds numbers and {some}the categories are text; write them as "
                "numbers, such as [1, 2]"
            )

    def refuse_dates(self, days: bool) -> None:
        """Refuses a column of dates, or of times, where no category is a date.

        A date is the whole of its day. A time that begins a day is that date, and another is none.
        """
        found = [value for value in self.values if isinstance(value, date)]
        if not (found or None in self.values) or (
            days and len(self._days[0]) + len(self._midnights[0]) < len(found)
        ):
            what, typed = ("dates", "date") if days else ("times", "datetime")
            raise DataError(
                f"the column holds {what} and the categories are others; write them as "
                f"datetime.{typed}(2024, 1, 31), or after dp.period('day', 'month') take "
                "dp.periods('month', '2024-01-01', '2024-12-31')"
            )

    def require_some(self, kind: type) -> None:
        """Refuses a column of spans where no category is one."""
        if not (None in self.values or any(isinstance(value, kind) for value in self.values)):
            raise DataError(
                f"the column holds values of type {kind.__name__} and no category is one; write "
                "pandas.Interval(0, 18), say, or list(column.cat.categories) after pandas.cut with "
                "edges of your own"
            )

    def codes_of_dates(self, dates: NDArray[np.datetime64]) -> Floats:
        """The place of each date or time: that of the time itself, or else that of its day."""
        days = whole_days(dates)
        if are_days(dates.dtype):
            found = self._found(days, *self._days, self._found(days, *self._midnights))
        else:
            found = self._found(ticks(dates), *self._times, self._found(days, *self._days))
        found[np.isnat(dates)] = self._missing
        return found

    @cached_property
    def _table(self) -> dict[Hashable, float]:
        return {value: float(place) for place, value in enumerate(self.values) if value is not None}

    @cached_property
    def _else(self) -> float:
        return float(len(self.values)) if self.other else nan

    @cached_property
    def _missing(self) -> float:
        return float(self.values.index(None)) if None in self.values else nan

    @cached_property
    def _run(self) -> tuple[int, int] | None:
        """The first and the number of categories that are whole numbers one after another."""
        first = self.values[0]
        if type(first) is not int or abs(first) > _EXACT_FLOAT // 2:
            return None
        rising = range(first, first + len(self.values))
        return (first, len(self.values)) if self.values == tuple(rising) else None

    def _those(self, holds: Callable[[Hashable], bool]) -> Mapping[Any, float]:
        return {value: place for value, place in self._table.items() if holds(value)}

    @cached_property
    def _whole(self) -> tuple[Numeric, Floats]:
        """Categories that are whole numbers, rising, with their places."""
        return _sort(self._those(_is_whole))

    @cached_property
    def _floats(self) -> tuple[Numeric, Floats]:
        """Categories that are floats exactly, rising, with their places."""
        return _sort(self._those(_is_float), np.float64)

    @cached_property
    def _texts(self) -> tuple[Numeric, Floats]:
        """Texts, rising, with their places; an array of texts drops zeros at the end of a text."""
        return _sort(self._those(_is_short_text), np.str_)

    @cached_property
    def _days(self) -> tuple[Numeric, Floats]:
        """Categories that are dates as days, rising, with their places."""
        return _sort({day_number(day): place for day, place in self._those(is_day).items()})

    @cached_property
    def _midnights(self) -> tuple[Numeric, Floats]:
        """Categories that are times in which a day begins as days, rising, with their places."""
        starts = [each for each in self._times_typed if each.time() == time()]
        return _sort({day_number(each): self._table[each] for each in starts})

    @cached_property
    def _times(self) -> tuple[Numeric, Floats]:
        """Categories that are times as ticks, rising, with their places."""
        return _sort({tick_number(each): self._table[each] for each in self._times_typed})

    @cached_property
    def _times_typed(self) -> list[datetime]:
        times = [each for each in self._table if isinstance(each, datetime)]
        return [each for each in times if each.tzinfo is None]

    def _of_whole(self, values: Numeric) -> Floats:
        if values.dtype.kind == "u" and values.dtype.itemsize == 8:  # In either byte order.
            return self._of_objects(values.astype(object))
        if self._run is not None:
            return self._in_run(values.astype(np.int64, copy=False))
        return self._found(values.astype(np.int64, copy=False), *self._whole)

    def _of_floats(self, values: Numeric) -> Floats:
        missing = np.isnan(values)
        if values.dtype.itemsize < np.dtype(np.float64).itemsize:
            values = values.astype(np.float64)  # A half or a single rounds the ends of a run.
        if self._run is not None:
            found = self._in_run(values)
        else:
            near = values.astype(np.float64, copy=False)
            found = self._found(near, *self._floats)
            if near is not values:
                found[near != values] = self._else  # a long double beside a category
        found[missing] = self._missing
        return found

    def _in_run(self, values: Numeric) -> Floats:
        first, count = self._run or (0, 0)
        whole = values.dtype.kind == "i"
        if whole and len(values) and values.min() >= first and values.max() < first + count:
            return values.astype(np.float64) - first
        inside = (values >= first) & (values < first + count)
        if not whole:
            inside &= np.trunc(values) == values
        found = np.full(len(values), self._else)
        found[inside] = values[inside].astype(np.float64) - first
        return found

    def _found(
        self, values: Numeric, known: Numeric, places: Floats, otherwise: Floats | None = None
    ) -> Floats:
        """The place of each value that is known; for others what is found otherwise."""
        if otherwise is None:
            otherwise = np.full(len(values), self._else)
        if not len(known):
            return otherwise
        at = np.searchsorted(known, values)
        at[at == len(known)] = 0
        return np.where(known[at] == values, places[at], otherwise)

    def _of_objects(self, values: Numeric) -> Floats:
        listed = values.tolist()
        plain = not (self.other or None in self.values or self._decimals)
        if plain and not any(isinstance(value, date) for value in self.values):
            try:
                found = map(self._table.get, listed, repeat(nan))
                return np.fromiter(found, np.float64, len(listed))
            except Exception:
                pass
        return np.fromiter(map(self._place, listed), np.float64, len(listed))

    def _place(self, value: Hashable) -> float:
        """The place of one value; a value that cannot be hashed is not declared."""
        if is_missing(value):
            return self._missing
        try:
            if (
                self._decimals
                and value not in self._table
                and isinstance(value, Decimal | Fraction)
            ):
                return self._decimals.get(float(value), self._else)
            if isinstance(value, np.datetime64):  # as in an array of them
                return float(self.codes_of_dates(np.array([value]))[0])
            if isinstance(value, date) and value not in self._table:
                value = _same_day(value)
            return self._table.get(value, self._else)
        except Exception:
            return self._else

    @cached_property
    def _decimals(self) -> dict[float, float]:
        """The categories that are floats and no whole numbers: a decimal is the one next to it."""
        return {
            value: place
            for value, place in self._table.items()
            if isinstance(value, float) and isfinite(value) and not value.is_integer()
        }


def _same_day(value: date) -> date | None:
    """The day of a time, and the time that begins a date; None for a time with a zone."""
    if not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value.date() if value.tzinfo is None else None


def is_day(value: object) -> TypeGuard[date]:
    """Whether it is a date alone, and no time."""
    return isinstance(value, date) and not isinstance(value, datetime)


def _is_whole(value: Hashable) -> bool:
    return isinstance(value, int | float) and value == value // 1 and int(value) in _INT64


def _is_float(value: Hashable) -> bool:
    try:
        return isinstance(value, int | float) and float(value) == value
    except OverflowError:
        return False


def _is_short_text(value: Hashable) -> bool:
    return type(value) is str and not value.endswith("\0")


def _sort(table: Mapping[Any, float], dtype: DTypeLike = np.int64) -> tuple[Numeric, Floats]:
    rising = sorted(table.items())
    known = np.array([value for value, _ in rising], dtype=dtype)
    return known, np.array([place for _, place in rising], dtype=np.float64)
