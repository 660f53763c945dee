"""Dates and times as Python has them, from those of numpy and back, and as whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from opendp_lite.base.spelling import Named, call_when_read

_DAY: Final = np.dtype("M8[D]")
# The parts of a second that Python's times have.
_FINEST: Final = np.dtype("M8[us]")
# Half of one: it tells a time of numpy or pandas with a rest from that without, in years as far.
_TICK: Final = np.dtype("M8[500ns]")
# Units of which one is less than that, and how many make one.
_FINER: Final = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}
# Units of no fixed length, and others with the finer one that tells them, and how many make one.
_CALENDAR: Final = ("Y", "M")
_WIDER: Final = {"W": ("D", 7), "h": ("s", 3600), "m": ("s", 60)}
_A_DAY: Final = 86_400 * 10**6
_BEFORE: Final = np.datetime64("0000-12-24", "D")
_BEHIND: Final = np.datetime64("10000-01-08", "D")
_MONTH: Final = len("2024-02")
_EPOCH: Final = datetime(1970, 1, 1)


def are_days(dtype: np.dtype[Any]) -> bool:
    """Whether the values of a type are dates, without a time of the day."""
    return np.datetime_data(dtype)[0] in ("Y", "M", "W", "D")


def dates_in(found: NDArray[np.datetime64]) -> NDArray[np.object_]:
    """Each date as a ``date``, each time as a ``datetime``, and None for a missing one.

    What these cannot hold, such as a nanosecond or the year 10000, is text as ISO 8601 writes it.

    Example:
        >>> dates_in(np.array(["2024-01-31", "NaT"], dtype="M8[D]"))
        array([datetime.date(2024, 1, 31), None], dtype=object)
    """
    whole, rest = _microseconds(found)
    held = whole.astype(_FINEST).astype(_DAY if are_days(found.dtype) else _FINEST).astype(object)
    held[np.isnat(found)] = None
    told = np.fromiter((isinstance(each, date) for each in held), np.bool_, len(held))
    odd = ~np.isnat(found) & (~told | rest)
    held[odd] = _texts(found[odd])
    return held


def _texts(found: NDArray[np.datetime64]) -> list[str]:
    """As ISO 8601 writes them: equal ones alike, whatever their unit and the order of their bytes.

    Else a person had an id in milliseconds and another one in microseconds.
    """
    unit, count = np.datetime_data(found.dtype)
    # numpy writes bytes of the other order as another time.
    own = found.astype(found.dtype.newbyteorder("="))
    numbers = own.astype(np.int64)
    if unit in _CALENDAR:
        even = own.astype(_DAY)
        same = even.astype(own.dtype) == own
    else:
        # One that is too far for the finer unit is told as a number. A cast would fail by it.
        wide, times = _WIDER.get(unit, (unit, 1))
        same = np.abs(numbers) <= np.iinfo(np.int64).max // (times * count)
        even = (np.where(same, numbers, 0) * times * count).astype(f"M8[{wide}]")
    even.view(np.int64)[~same] = 0  # told below
    told = np.datetime_as_string(even).tolist()
    for place in np.flatnonzero(~same).tolist():
        told[place] = f"{int(numbers[place]) * count} {unit}"
    shown = (text.rstrip("0").rstrip(".") if "." in text else text for text in told)
    return [text.removesuffix("T00:00:00") for text in shown]


def date_meant(key: object, known: Iterable[object]) -> object:
    """The one date among keys that text or a moment says, as "2024-02" says a month; else the key.

    Of several columns, each part of the key says one among those of its column.

    Example:
        >>> date_meant("2024-02", [date(2024, 1, 1), date(2024, 2, 1)])
        datetime.date(2024, 2, 1)
        >>> date_meant(("2024-02", "f"), [(date(2024, 1, 1), "f"), (date(2024, 2, 1), "f")])
        (datetime.date(2024, 2, 1), 'f')
    """
    if isinstance(key, tuple):
        rows = [each for each in known if isinstance(each, tuple) and len(each) == len(key)]
        columns = map(dict.fromkeys, zip(*rows, strict=True))
        # A text that is itself a key of its column says no date.
        parts = zip(key, columns, strict=False)
        return tuple(part if part in each else date_meant(part, each) for part, each in parts)
    said = str(key).removesuffix(" 00:00:00")
    read = max(len(said), _MONTH)
    dates = [each for each in known if isinstance(each, date)]
    # The first month of a quarter is not the quarter: periods go by their own labels or first days.
    labels = [getattr(each, "label", "") or str(each)[:read] for each in dates]
    meant = [each for each, label in zip(dates, labels, strict=True) if said in (label, str(each))]
    return meant[0] if len(meant) == 1 else key


class PeriodKey(date):
    """The first day of a period, where ``dp.period`` made it: tables show it as the period.

    In all else it is that date, and equals it.

    Args:
        year: Of the day.
        month: Likewise.
        day: Likewise.
        label: The period as people write it.

    Example:
        >>> key = PeriodKey(2024, 1, 15, "2024-W03")
        >>> key == date(2024, 1, 15), key.label
        (True, '2024-W03')
    """

    label: str

    # Of three numbers Python itself makes one, as the day after it: that is no period.
    def __new__(cls, year: int, month: int, day: int, label: str = "") -> PeriodKey:
        found = super().__new__(cls, year, month, day)
        found.label = label
        return found

    # What pipelines, errors and statements print is to be typed again.
    def __repr__(self) -> str:
        return repr(date(self.year, self.month, self.day))

    def __reduce__(self) -> tuple[object, ...]:
        fields = self.year, self.month, self.day, self.label
        return call_when_read(Named.of(PeriodKey), *fields)


_PLAIN: Final = frozenset({str, int, float, date, datetime})


def python_dates(objects: Sequence[object]) -> NDArray[np.datetime64]:
    """Objects as numpy's times; NaT for what is neither a date nor a time without a zone.

    What is less than a microsecond counts as half of one, and a year that Python does not have as a
    week before or behind all that it has.
    """
    return of_each(_naive, objects, _TICK)


def of_each(
    function: Callable[[Any], Any], objects: Sequence[object], dtype: DTypeLike
) -> NDArray[Any]:
    """What a function gives for each object, worked out once for equal ones of one plain type.

    A column has many more rows than days. Equality alone will not do: numpy's True equals 1 and is
    no day, so that one row would decide for all others. Nor will a type that says itself what
    equals what.
    """
    known: dict[tuple[type, object], Any] = {}

    def of(each: object) -> Any:
        if type(each) not in _PLAIN:
            return function(each)
        key = type(each), each
        if key not in known:
            known[key] = function(each)
        return known[key]

    return np.array([of(each) for each in objects], dtype=dtype)


def _naive(value: Any) -> np.datetime64 | None:
    """A date or a time as numpy takes it. Nothing that a value may be fails."""
    try:
        if getattr(value, "nanosecond", 0) and value.tzinfo is None:
            value = value.to_datetime64()  # Of pandas.
        if isinstance(value, datetime) and value.tzinfo is None:
            number = tick_number(datetime.combine(value.date(), value.time()))
        elif isinstance(value, date) and not isinstance(value, datetime):
            number = tick_number(datetime.combine(value, time()))
        elif isinstance(value, np.datetime64) and not np.isnat(value):
            number = ticks(np.array([value]))[0].item()
        else:
            return None
        return np.datetime64(number, ("ns", 500))
    except Exception:
        return None


def _microseconds(found: NDArray[np.datetime64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Those since 1970, rounded down, and where there is a rest; anything for NaT."""
    unit, _ = np.datetime_data(found.dtype)
    if found.dtype == _TICK:
        whole, rest = np.divmod(found.astype(np.int64), 2)
        return whole, rest != 0
    if unit in _FINER:
        # numpy's own cast fails for the first nanoseconds, and to days for picoseconds. No such
        # time is outside of Python's years.
        whole, rest = np.divmod(found.astype(f"M8[{unit}]").astype(np.int64), _FINER[unit])
        return whole, rest != 0
    if unit == "generic":  # it holds nothing but NaT
        return np.zeros(len(found), np.int64), np.zeros(len(found), np.bool_)
    return _near(found).astype(_FINEST).astype(np.int64), np.zeros(len(found), np.bool_)


def _near(found: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
    """A year that Python does not have is a week before or behind all that it has.

    Then all is exact, and no cast fails. No time in units below a microsecond is so far.
    """
    if np.datetime_data(found.dtype)[0] in (*_FINER, "generic"):
        return found
    low, high = (end.astype(found.dtype) for end in (_BEFORE, _BEHIND))
    inside: NDArray[np.datetime64] = np.minimum(np.maximum(found, low), high)
    return inside


def whole_days(found: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Days since 1970, rounded down; anything for NaT."""
    return _microseconds(found)[0] // _A_DAY


def ticks(found: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Twice the microseconds since 1970, rounded down, and one more where there is a rest.

    So they are above, below or equal to those of a time of Python's as the times are.
    """
    whole, rest = _microseconds(found)
    return 2 * whole + rest


def day_number(typed: date) -> int:
    """As ``whole_days``, of one date or time."""
    return typed.toordinal() - _EPOCH.toordinal()


def tick_number(typed: datetime) -> int:
    """As ``ticks``, of one time."""
    return 2 * ((typed - _EPOCH) // timedelta(microseconds=1))
