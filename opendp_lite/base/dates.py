"""Dates and times as Python has them, from those of numpy."""

from __future__ import annotations

from datetime import date
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_DAY: Final = np.dtype("M8[D]")
# The parts of a second that Python's times have.
_FINEST: Final = np.dtype("M8[us]")


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
    plain = found.astype(_DAY if are_days(found.dtype) else _FINEST)
    held = plain.astype(object)
    told = np.fromiter((isinstance(each, date) for each in held), np.bool_, len(held))
    odd = ~np.isnat(found) & ~(told & (plain.astype(found.dtype) == found))
    held[odd] = np.datetime_as_string(found[odd])
    return held
