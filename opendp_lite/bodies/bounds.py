"""Public numbers for columns: one for all, or one for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from operator import sub
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Floats
from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, described, exact, format_number, nearest, sum_up, whole
from opendp_lite.fraction_array import LONG, FractionArray, many, read_many

Values = Sequence[Fraction]
"""One number for all columns, or one for each, exactly: an array of many, a tuple of few."""
Bounds = Number | Sequence[Number] | NDArray[Any]
"""As ``Values``, as a person types them."""

ZERO: Final[Values] = (Fraction(0),)
_MOST_COLUMNS: Final = 2**31
_LISTS: Final = 16
"""Long lists that are remembered as they were read: a step is built more than once."""


def parse_bounds(given: object, name: str) -> Values:
    """A number, or one number a column, as rationals."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        return (exact(given, name),)
    if isinstance(given, FractionArray):
        return given
    if type(given) is tuple and len(given) >= LONG:
        return _remembered(_Same(given), name)
    return _read(given, name)


@attrs.frozen(eq=False)
class _Same:
    """A tuple that is equal to itself alone: (1,) and (True,) are equal, and are read apart."""

    given: tuple[Any, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.given is other.given

    def __hash__(self) -> int:
        return id(self.given)


@lru_cache(maxsize=_LISTS)
def _remembered(same: _Same, name: str) -> Values:
    return _read(same.given, name)


def _read(given: Sequence[Any] | NDArray[Any], name: str) -> Values:
    """Every number of a list."""
    if len(given) >= LONG and not isinstance(given, np.ndarray):
        together = read_many(given)
        if together is not None:
            return together
    found = tuple(exact(value, name) for value in given)
    if not found:
        raise ParameterError(f"{name} needs at least one number")
    return many(found)


def each(move: Callable[..., Any], *vectors: Values) -> Values:
    """What becomes of the numbers of each column.

    Args:
        move: A function of fractions, and alike of arrays of them.
        vectors: One number for all columns, or one for each.
    """
    count = max(map(len, vectors))
    if count >= LONG:
        found: Values = move(*map(FractionArray.of, vectors))
        return found
    return tuple(move(*row) for row in zip(*(broadcast(v, count) for v in vectors), strict=True))


def larger(first: Any, second: Any) -> Any:
    """The larger of two fractions, or of two arrays of them place by place."""
    return first.larger(second) if isinstance(first, FractionArray) else max(first, second)


def smaller(first: Any, second: Any) -> Any:
    """As ``larger``, the smaller."""
    return first.smaller(second) if isinstance(first, FractionArray) else min(first, second)


def largest(values: Values) -> Fraction:
    """The largest number of all columns."""
    return values.largest() if isinstance(values, FractionArray) else max(values)


def smallest(values: Values) -> Fraction:
    """The smallest number of all columns."""
    return values.smallest() if isinstance(values, FractionArray) else min(values)


def narrowest(lower: Values, upper: Values) -> Fraction:
    """The least difference of the numbers of a column."""
    if max(len(lower), len(upper)) >= LONG:
        return FractionArray.of(upper).narrowest(FractionArray.of(lower))
    return smallest(each(sub, upper, lower))


def total(values: Values) -> Fraction:
    """The sum of the numbers of all columns."""
    return values.total() if isinstance(values, FractionArray) else sum(values, Fraction(0))


def total_up(values: Values) -> Fraction:
    """As ``sum_up``."""
    return values.sum_up() if isinstance(values, FractionArray) else sum_up(values)


def squares_up(values: Values) -> Fraction:
    """As ``sum_up`` of the squares."""
    if isinstance(values, FractionArray):
        return values.squares_up()
    return sum_up([value * value for value in values])


def floors(values: Values, unit: Fraction) -> list[int]:
    """How many whole units each number has, rounded down."""
    if isinstance(values, FractionArray):
        return values.floors(unit)
    return [floor(value / unit) for value in values]


def ceils(values: Values, unit: Fraction) -> list[int]:
    """How many whole units each number has, rounded up."""
    if isinstance(values, FractionArray):
        return values.ceils(unit)
    return [ceil(value / unit) for value in values]


def first_not_below(lower: Values, upper: Values) -> int | None:
    """The first column whose lower number is not below its upper one; None if there is none."""
    if max(len(lower), len(upper)) >= LONG:
        below = FractionArray.of(upper).above(FractionArray.of(lower))
        return None if below.all() else int(np.argmin(below))
    count = max(len(lower), len(upper))
    pairs = zip(broadcast(lower, count), broadcast(upper, count), strict=True)
    return next((column for column, (low, high) in enumerate(pairs) if low >= high), None)


def collapse(bound: Values) -> Values:
    """Equal bounds for all columns, kept once."""
    if isinstance(bound, FractionArray):
        return bound[:1] if bound.alike() else bound
    return bound[:1] if len(set(bound)) == 1 else bound


def some_columns(columns: int) -> int:
    """A number of columns, refused where no array could have it."""
    found = whole(columns, "columns", least=1)
    if found > _MOST_COLUMNS:
        raise ParameterError(f"columns must be at most 2^31, got {described(found)}")
    return found


def width_of(name: str, columns: int, *each: Values) -> int:
    """The number of columns, from the declared one and the lengths of the bounds."""
    columns = some_columns(columns)
    lengths = {len(bound) for bound in each} - {1}
    if len(lengths) > 1 or (lengths and columns not in (1, *lengths)):
        raise ParameterError(
            f"{name}: bounds for {sorted(lengths)} columns do not fit {columns} columns"
        )
    return max(columns, *lengths) if lengths else columns


def format_bounds(bound: Values) -> str:
    """Bounds as a person would type them."""
    texts = [format_number(value) for value in bound]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def to_floats(bound: Values) -> Floats:
    """Bounds as floats, one a column or one for all."""
    if isinstance(bound, FractionArray):
        return bound.floats
    return np.array([nearest(value) for value in bound])


def broadcast(bound: Values, columns: int) -> Values:
    """Bounds with one entry a column."""
    return bound if len(bound) == columns else tuple(bound) * columns


def picked(bound: Values, columns: tuple[int, ...]) -> Values:
    """The bounds of some of the columns."""
    return bound if len(bound) == 1 else many([bound[column] for column in columns])


def unsigned(bounds: tuple[Values, Values]) -> tuple[Values, Values]:
    """Bounds on the sizes of entries, from bounds on the entries."""
    least = each(lambda low, high, zero: larger(larger(low, -high), zero), *bounds, ZERO)
    return least, each(lambda low, high: larger(-low, high), *bounds)
