"""The places in which the values of one column are counted: categories, or between edges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from numbers import Number
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError
from opendp_lite.bodies.body import parse_bounds, to_floats
from opendp_lite.engines.columns import Codes
from opendp_lite.engines.data.fold import Floats, Numeric
from opendp_lite.engines.data.open_data import NUMBERS
from opendp_lite.engines.data.table import ColumnReading
from opendp_lite.engines.distinct import Distinct, canonical
from opendp_lite.numbers.exact import quote

_FEWEST, _MOST = 2, 2**24
_LISTS: Final = (list, tuple, range, np.ndarray)


class Axis(ABC):
    """The places in which the values of one column are counted."""

    @property
    @abstractmethod
    def places(self) -> int:
        """How many there are."""

    @property
    @abstractmethod
    def reading(self) -> ColumnReading:
        """How the column of a table is read."""

    def by_key(self) -> Axis | None:
        """The same with values of one key alone in each place; None where a place has several."""
        return None

    @abstractmethod
    def of_numbers(self, numbers: Numeric) -> Floats:
        """The place of each number; NaN for what is in none."""

    @abstractmethod
    def of_read(self, found: Floats) -> Floats:
        """As ``of_numbers``, for what the reading gave."""


@attrs.frozen(eq=False)
class CategoryAxis(Axis):
    """A place for each category."""

    codes: Codes

    @property
    def places(self) -> int:
        return self.codes.categories.places

    @property
    def reading(self) -> ColumnReading:
        return self.codes

    def by_key(self) -> Axis | None:
        categories = self.codes.categories
        return None if categories.other else CategoryAxis(KeyedCodes(categories))

    def of_numbers(self, numbers: Numeric) -> Floats:
        return self.codes.places(numbers)

    def of_read(self, found: Floats) -> Floats:
        return found


@attrs.frozen(eq=False)
class EdgeAxis(Axis):
    """A place for each interval between rising edges; the last one holds both of its edges.

    Attributes:
        edges: As floats.
        other: Whether numbers beyond the edges have a further place, the last one.
    """

    edges: Floats
    other: bool

    @classmethod
    def of(cls, given: object, step: str, *, other: bool) -> EdgeAxis:
        """The edges that a person typed, refused where they do not rise."""
        if isinstance(given, Number):
            raise ParameterError(
                f"{step}: edges is a list, such as range(0, 101, 10) for ten bins from 0 to 100; "
                f"got {quote(given)}"
            )
        points = to_floats(parse_bounds(given, "edges"))
        if not _FEWEST <= len(points) <= _MOST:
            raise ParameterError(
                f"{step} takes from 2 to 2^24 rising edges, such as range(0, 101, 10) for ten bins "
                f"from 0 to 100; got {len(points)}"
            )
        if not np.isfinite(points).all():
            raise ParameterError(f"{step}: the edges must be floats, so below 1.8e308 in size")
        falls = np.flatnonzero(points[1:] <= points[:-1])
        if len(falls):
            first, second = points[falls[0] : falls[0] + 2].tolist()
            raise ParameterError(
                f"{step}: the edges must rise, as floats, and {first} comes before {second}; sort "
                "them and drop repeats"
            )
        return cls(points, other)

    @property
    def places(self) -> int:
        return len(self.edges) - 1 + self.other

    @property
    def reading(self) -> ColumnReading:
        return NUMBERS

    def of_numbers(self, numbers: Numeric) -> Floats:
        count = len(self.edges) - 1
        found = np.searchsorted(self.edges, numbers, side="right").astype(np.float64)
        found -= 1
        found[numbers == self.edges[-1]] = count - 1
        beyond = (found < 0) | (found >= count)
        found[beyond] = count if self.other else np.nan
        found[np.isnan(numbers)] = np.nan
        return found

    def of_read(self, found: Floats) -> Floats:
        return self.of_numbers(found)


def one_for_each(given: Any) -> Sequence[Any]:
    """Lists for several columns as they are, and one list as that of the only column."""
    listed = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    nested = listed and all(isinstance(each, _LISTS) for each in given)
    return list(given) if nested else [given]


@attrs.frozen(slots=False)
class KeyedCodes(Codes):
    """As ``Codes``, and NaN for a value that is another key than its category.

    ``Distinct`` tells keys apart, as it does for ``thresholded_counts`` and for the groups of
    ``bound_contributions``. A missing value has the key None, and so has what is no key.

    Proof:
        A value stays in the place of a category only if its key is that of the category. So two
        rows in one place have one key, whatever the categories and the values are, and whichever
        values are equal to them.
    """

    def places(self, values: Numeric) -> Floats:
        """As ``Codes`` has it, where the key of a value is that of its category."""
        found, met = super().places(values), Distinct()
        which = met.places(values)
        numbers = np.array([self._numbers.get(key, -1) for key in (*met.keys, None)])
        own = numbers[np.where(np.isnan(which), len(met.keys), which).astype(np.intp)]
        inside = np.flatnonzero(~np.isnan(found))
        wanted = self._of_places[found[inside].astype(np.intp)]
        kept = np.full(len(found), np.nan)
        stays = inside[own[inside] == wanted]
        kept[stays] = found[stays]
        return kept

    @cached_property
    def _numbers(self) -> dict[object, int]:
        """A number for each key of a category."""
        keys = dict.fromkeys(map(canonical, self.categories.values))
        return {key: number for number, key in enumerate(keys)}

    @cached_property
    def _of_places(self) -> NDArray[np.int64]:
        """The number of the key of each place."""
        keys = map(canonical, self.categories.values)
        return np.array([self._numbers[key] for key in keys], dtype=np.int64)
