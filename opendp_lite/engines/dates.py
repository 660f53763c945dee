"""Columns of dates: between two dates, between rising ones, and by period."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from math import nan
from numbers import Real
from typing import Final, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.dates import PeriodKey, day_number, of_each, tick_number, ticks, whole_days
from opendp_lite.base.errors import DataError, ParameterError
from opendp_lite.engines.data.categories import is_day
from opendp_lite.engines.data.fold import Floats, Numeric, identity
from opendp_lite.engines.data.open_data import NUMBERS
from opendp_lite.engines.data.source import InMemory, Source
from opendp_lite.engines.data.table import Column, ColumnReading
from opendp_lite.engines.data.values import Values, categories_in
from opendp_lite.numbers.exact import quote

Dates = NDArray[np.datetime64]
_DAY: Final = np.dtype("M8[D]")
_MONTH: Final = np.dtype("M8[M]")
_FIRST: Final = day_number(date.min)
_LAST: Final = day_number(date.max)


def are_dates(given: object) -> bool:
    """Whether some of what a person typed in a list are dates or times, or text, which may be."""
    listed = given if isinstance(given, tuple | list) else ()
    return any(isinstance(each, date | str) for each in listed)


def require_dates(given: Sequence[object], what: str) -> Sequence[date]:
    """Dates, or times, that a person typed: all of one kind, and without a time zone."""
    read = [_read_iso(each) if isinstance(each, str) else each for each in given]
    found = [each for each in read if isinstance(each, date)]
    if len(found) < len(given):
        raise ParameterError(
            f"{what} must be all dates, or all numbers; a date is datetime.date(2024, 1, 31) or "
            "'2024-01-31'"
        )
    if len({is_day(each) for each in found}) > 1:
        raise ParameterError(
            f"{what} must be all dates, or all times: write datetime.datetime(2024, 1, 31) for the "
            "time that begins a day"
        )
    for each in found:
        if isinstance(each, datetime) and each.tzinfo is not None:
            raise ParameterError(f"{what} must have no time zone, as the column has none")
        if getattr(each, "nanosecond", 0):
            raise ParameterError(f"{what} must be times to the microsecond")
    return found


def _read_iso(text: str) -> date | None:
    """The date, or the time, that a text says as ISO 8601 writes it; None where it says none."""
    for kind in (date, datetime):
        try:
            return kind.fromisoformat(text)
        except ValueError:
            continue
    return None


def numbers_of(
    typed: Sequence[date],
) -> tuple[NDArray[np.int64], Callable[[Dates], NDArray[np.int64]]]:
    """Dates or times as whole numbers, and what makes such numbers of a column.

    A column is measured in what was typed: of dates its days, so that the same data as dates and as
    times have one place.
    """
    if all(map(is_day, typed)):
        return np.array([day_number(each) for each in typed], np.int64), whole_days
    times = [each for each in typed if isinstance(each, datetime)]
    return np.array([tick_number(each) for each in times], np.int64), ticks


@attrs.frozen(eq=False, repr=False)
class DateReading(ColumnReading):
    """A number for each date of a column, by a function of numpy's dates; NaN for a missing one.

    Attributes:
        numbers: The function.
        step: What needs dates, for a refusal.
    """

    numbers: Callable[[Dates], Floats]
    step: str

    def __call__(self, column: object) -> Source:
        values = categories_in(column)
        mend = "put dp.period('day', 'day', form='%Y-%m-%d') before it, which reads text as dates"
        values.require_dates(self.step, mend)
        return values.as_dates(self.numbers)

    def of_numbers(self, numbers: Floats) -> Floats:
        raise DataError(f"{self.step} needs a column of dates, and this one holds numbers")


def between_dates(lower: date | None, upper: date | None, step: str) -> DateReading:
    """1 for a date from the lower one to the upper one, both included, and 0 for others."""
    return DateReading(partial(_inside, lower, upper), step)


def _inside(lower: date | None, upper: date | None, dates: Dates) -> Floats:
    stays = np.ones(len(dates), np.bool_)
    if lower is not None:
        (least,), numbers = numbers_of([lower])
        stays &= numbers(dates) >= least
    if upper is not None:
        (most,), numbers = numbers_of([upper])
        stays &= numbers(dates) <= most
    return np.where(np.isnat(dates), np.nan, stays)


# What each is counted in, how many of these it has, and how many the first of 1970 lies behind its
# beginning: day 0 was a Thursday, and a week begins on Monday, as ISO 8601 has it.
_PERIODS: Final = {
    "day": (_DAY, 1, 0),
    "week": (_DAY, 7, 3),
    "month": (_MONTH, 1, 0),
    "quarter": (_MONTH, 3, 0),
    "year": (_MONTH, 12, 0),
}


def require_period(given: object, step: str) -> str:
    """The name of a period."""
    if given not in _PERIODS:
        first = str(given)[:1].lower()
        meant = [f"; did you mean {each!r}?" for each in _PERIODS if each[0] == first]
        raise ParameterError(
            f"{step}: a period is one of {', '.join(_PERIODS)}; got {quote(given)}{''.join(meant)}"
        )
    return str(given)


def first_days(dates: Dates, period: str) -> Dates:
    """The first day of the period of each date; NaT for a missing one."""
    numbers = whole_days(dates)
    there = ~np.isnat(dates) & (numbers >= _FIRST) & (numbers <= _LAST)
    # Where there is none, any day will do until the end.
    numbers = np.where(there, numbers, 0)
    unit, length, ahead = _PERIODS[period]
    units = numbers.astype(_DAY).astype(unit).astype(np.int64)
    first = (units - (units + ahead) % length).astype(unit).astype(_DAY)
    return np.where(there, first, np.datetime64("NaT", "D"))


def days_since_1970(numbers: Floats) -> Dates:
    """Days of numbers, rounded down; NaT for a missing one and for a year that Python has not."""
    with np.errstate(invalid="ignore"):
        inside = (numbers >= _FIRST) & (numbers < _LAST + 1)
    days = np.floor(np.where(inside, numbers, 0.0)).astype(np.int64).astype(_DAY)
    return np.where(inside, days, np.datetime64("NaT", "D"))


@attrs.frozen
class ByPeriod:
    """Makes of a column of dates, or of text that says dates, the first days of their periods.

    Attributes:
        period: Its name.
        form: How text says a date, as ``datetime.strptime`` reads it; None for no text.
    """

    period: str
    form: str | None = None

    def __call__(self, values: Values) -> Values:
        if self.form is None and values.is_text is not False:
            values.require_dates("period", "say how it is written, as in form='%Y-%m-%d'")
        if values.dates is not None:
            read: Callable[[object], Dates] = values.dates
            return Values.of_dates(values.column, True, lambda piece: self._first(read(piece)))
        return Values.of_dates(values.column, True, values.once_each(self._of_values))

    def of_numbers(self, numbers: Floats) -> Dates:
        """The first days of the periods of days that are numbers."""
        return self._first(days_since_1970(numbers))

    def _first(self, dates: Dates) -> Dates:
        return first_days(dates, self.period)

    def _of_values(self, found: Numeric) -> Dates:
        """Of text, numbers, or objects of any kind."""
        if found.dtype.kind in "biuf":
            return self.of_numbers(found.astype(np.float64))
        return self.of_numbers(of_each(self._day, found.tolist(), np.float64))

    def _day(self, value: object) -> float:
        """A value as days since 1970; NaN for what is no day. Nothing that a value may be fails."""
        if isinstance(value, str):
            value = None if self.form is None else _read(self.form, value)
        try:
            if isinstance(value, date):
                return day_number(value) if getattr(value, "tzinfo", None) is None else nan
            if isinstance(value, np.datetime64):
                return nan if np.isnat(value) else float(whole_days(np.array([value]))[0])
            return float(value) if isinstance(value, Real | Decimal) else nan
        except Exception:
            return nan


def _read(form: str, text: str) -> date | None:
    """The date that a text says; a text that says none is missing."""
    try:
        return datetime.strptime(text.strip(), form).date()
    except Exception:
        return None


@attrs.frozen
class Derived(ColumnReading):
    """Reads a column of dates after something was made of it. As a number a day counts from 1970.

    Attributes:
        change: Makes a column of another.
        reading: How that is read.
    """

    change: ByPeriod
    reading: ColumnReading

    @classmethod
    def column(cls, column: Column, made: Sequence[tuple[str, ByPeriod]]) -> Column:
        """A column after what was made of some columns, by name, in this order."""
        reading = column.reading
        for name, change in reversed(made):
            if name == column.name:
                reading = cls(change, reading)
        return Column(column.name, reading)

    def __call__(self, column: object) -> Source:
        return self._read(self.change(categories_in(column)))

    def of_numbers(self, numbers: Floats) -> Floats:
        days = self.change.of_numbers(numbers)
        found = self._read(Values.of_dates(days, True, identity))
        return np.asarray(cast(InMemory, found).between(0, len(days), set()))[:, 0]

    def _read(self, days: Values) -> Source:
        return days.as_dates(_count_days) if self.reading is NUMBERS else self.reading(days)


def _count_days(days: Dates) -> Floats:
    return np.where(np.isnat(days), np.nan, days.astype(_DAY).astype(np.int64))


def require_form(given: object) -> str | None:
    """How text says a date, refused where it does not say one day."""
    if given is None:
        return None
    example = datetime(2023, 11, 28)
    try:
        if isinstance(given, str) and datetime.strptime(example.strftime(given), given) == example:
            return given
    except ValueError:
        pass
    raise ParameterError(
        f"period: form says how text is written as a day, such as '%Y-%m-%d' for 2024-01-31 or "
        f"'%d.%m.%Y' for 31.01.2024; got {quote(given)}"
    )


def list_periods(period: str, first: date, last: date) -> list[date]:
    """The first days of all periods from that of one date to that of another."""
    unit, length, _ = _PERIODS[period]
    days = first_days(np.array([first, last], dtype=_DAY), period)
    start, stop = days.astype(unit).astype(np.int64).tolist()
    found = np.arange(start, stop + 1, length).astype(unit).astype(_DAY)
    listed: list[date] = found.astype(object).tolist()
    return listed


def mark_period(key: Hashable, period: str | None) -> Hashable:
    """The first day of a period as that, with its name; of another day the date alone."""
    if not is_day(key):
        return key
    day = date(key.year, key.month, key.day)
    label = _label_of(day, period)
    if not label or list_periods(str(period), day, day) != [day]:
        return day
    return PeriodKey(day.year, day.month, day.day, label)


def _label_of(day: date, period: str | None) -> str:
    """The period of a day as people write it, a week as ISO 8601 does; empty where it has none."""
    said, (year, week, _) = str(day), day.isocalendar()
    labels = {
        "week": f"{year:04}-W{week:02}",
        "month": said[:7],
        "quarter": f"{said[:4]}-Q{(day.month + 2) // 3}",
        "year": said[:4],
    }
    return labels.get(period or "", "")
