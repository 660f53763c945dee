"""Ids told apart: one number for each different id."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from itertools import repeat
from math import nan
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.categories import is_missing
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.quiet import attempted
from opendp_lite.engines.source import InMemory, Source
from opendp_lite.engines.table import ColumnReading
from opendp_lite.engines.values import Values, categories_in
from opendp_lite.errors import DataError

_SMALL: Final = 2**52
"""A whole number below it stands for itself. Other ids are numbered from here on."""
_EXACT: Final = 2**53
MIXED: Final = (
    "it holds text in one block and numbers in another, so an id is not known again; make it text "
    "in all blocks, or numbers in all"
)
_NOT_SENT: Final = (
    "the ids of rows on other machines are compared as text, numbers or dates without a time zone, "
    "and one is of another kind; make text of them"
)


@attrs.define(eq=False)
class Identities(ColumnReading):
    """A different number for each different id; NaN for a missing one.

    Ids are the same where Python says that they are equal: 5 and 5.0 are, "5" and 5 are not. These
    count as missing, since one of them may stand for two people: a float so large that its type
    does not hold every whole number, and a value that is not equal to itself or has no hash.
    """

    _known: dict[Any, float] = attrs.field(factory=dict, init=False)
    _is_text: bool | None = attrs.field(default=None, init=False)

    def __call__(self, column: Any) -> Source:
        values = categories_in(column)
        if values.is_text is not None:
            if self._is_text not in (None, values.is_text):
                raise DataError(MIXED)
            self._is_text = values.is_text
        listed = values.known
        return _ReadIds(values, self, None if listed is None else self.of_objects([*listed, None]))

    def of_numbers(self, numbers: Floats) -> Floats:
        return self._of_floats(numbers)

    @property
    def text(self) -> frozenset[bool]:
        """Whether the ids that were met are text; empty where their containers do not say."""
        return frozenset() if self._is_text is None else frozenset({self._is_text})

    def listed(self, numbers: Sequence[int]) -> list[int | bytes]:
        """Of some numbers that ids were given: what is the same in every process.

        Ids that are equal are so there, and others are not.
        """
        if all(abs(number) < _SMALL for number in numbers):
            return list(numbers)
        odd = {number: value for value, number in self._known.items()}
        return [
            number if abs(number) < _SMALL else _bytes_of(odd[float(number)]) for number in numbers
        ]

    def names(self, numbers: Sequence[int]) -> list[bytes]:
        """As ``listed``, all as bytes."""
        listed = self.listed(numbers)
        return [each if isinstance(each, bytes) else b"number %d" % each for each in listed]

    def of_values(self, values: NDArray[Any]) -> Floats:
        """The number of each value."""
        if values.dtype.kind in "iub":
            return self._of_whole(values)
        if values.dtype.kind == "f":
            return self._of_floats(values)
        return self.of_objects(values.tolist())

    def of_objects(self, values: Sequence[Any]) -> Floats:
        """The number of each of some objects."""
        try:
            seen = map(self._known.get, values, repeat(nan))
            found = np.fromiter(seen, np.float64, len(values))
        except Exception:
            return np.fromiter(map(self._number, values), np.float64, len(values))
        known = self._known
        for place in np.flatnonzero(np.isnan(found)).tolist():
            value = values[place]
            if type(value) is str:
                found[place] = known.setdefault(value, float(_SMALL + len(known)))
            else:
                found[place] = self._number(value)
        return found

    def _of_whole(self, values: NDArray[Any]) -> Floats:
        found = values.astype(np.float64)
        large = np.flatnonzero((found >= _SMALL) | (found <= -_SMALL))
        if len(large):
            found[large] = self.of_objects(values[large].tolist())
        return found

    def _of_floats(self, values: NDArray[Any]) -> Floats:
        most = _most(values.dtype)
        inside = (values < most) & (values > -most)
        found = np.where(inside, values, nan).astype(np.float64, copy=False)
        odd = inside & ((np.trunc(found) != found) | (np.abs(found) >= _SMALL))
        places = np.flatnonzero(odd)
        if len(places):
            found[places] = self.of_objects(values[places].tolist())
        return found

    def _number(self, value: Any) -> float:
        """The number of one id, which may be a new one."""
        try:
            if value not in self._known:
                found = self._first(value)
                if found is None:
                    return nan
                self._known[value] = found
            return self._known[value]
        except Exception:
            return nan

    def _first(self, value: Any) -> float | None:
        """The number of an id that was not met before; None for a missing one."""
        if is_missing(value) or isinstance(value, complex) or value != value:
            return None
        if isinstance(value, float | np.floating):
            most = _most(np.asarray(value).dtype)
            value = value.item() if isinstance(value, np.floating) else value
            if not -most < value < most:
                return None
        small = None if isinstance(value, str) else _as_small(value)
        return float(_SMALL + len(self._known)) if small is None else small


def _most(dtype: np.dtype[Any]) -> int:
    """Below it, floats of a type are exact for whole numbers, and so are float64."""
    exact: int = 2 ** (int(np.finfo(dtype).nmant) + 1)
    return min(exact, _EXACT)


def _bytes_of(value: Any) -> bytes:
    """Bytes for an id: equal where the ids are."""
    if isinstance(value, str):
        return b"text " + str.encode(value, "utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"bytes " + bytes(value)
    if isinstance(value, date) and getattr(value, "tzinfo", None) is None:
        return b"date " + value.isoformat().encode()
    return attempted(lambda: b"number " + str(_exact(value)).encode(), _NOT_SENT)


def _exact(value: Any) -> Fraction:
    """A number; Python has no fraction of a float of numpy's other types."""
    return (
        Fraction(*value.as_integer_ratio()) if isinstance(value, np.floating) else Fraction(value)
    )


def _as_small(value: Any) -> float | None:
    """A small whole number of any type; None for anything else."""
    try:
        if -_SMALL < value < _SMALL and int(value) == value:
            return float(int(value))
    except Exception:
        return None
    return None


@attrs.frozen(eq=False, repr=False)
class _ReadIds(InMemory):
    """One column of ids as one column of numbers.

    ``known`` holds the numbers of the different values, where the container lists them; that of a
    missing one comes last.
    """

    values: Values
    identities: Identities
    known: Floats | None

    @property
    def size(self) -> int:
        return self.values.size

    def between(self, start: int, stop: int, odd: set[str]) -> NDArray[Any]:
        values = self.values.between(start, stop)
        if self.known is None:
            return self.identities.of_values(values).reshape(-1, 1)
        found: Floats = self.known[np.where(values < 0, len(self.known) - 1, values)]
        return found.reshape(-1, 1)
