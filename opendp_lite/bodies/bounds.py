"""Public numbers for columns: one for all, or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Floats
from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, described, exact, format_number, nearest, whole

Values = tuple[Fraction, ...]
"""One number for all columns, or one for each, exactly."""
Bounds = Number | Sequence[Number] | NDArray[Any]
"""As ``Values``, as a person types them."""

_MOST_COLUMNS: Final = 2**31


def parse_bounds(given: object, name: str) -> Values:
    """A number, or one number a column, as rationals."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        return (exact(given, name),)
    found = tuple(exact(value, name) for value in given)
    if not found:
        raise ParameterError(f"{name} needs at least one number")
    return found


def collapse(bound: Values) -> Values:
    """Equal bounds for all columns, kept once."""
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
    return np.array([nearest(value) for value in bound])


def broadcast(bound: Values, columns: int) -> Values:
    """Bounds with one entry a column."""
    return bound if len(bound) == columns else bound * columns


def picked(bound: Values, columns: tuple[int, ...]) -> Values:
    """The bounds of some of the columns."""
    return bound if len(bound) == 1 else tuple(bound[column] for column in columns)


def unsigned(bounds: tuple[Values, Values]) -> tuple[Values, Values]:
    """Bounds on the sizes of entries, from bounds on the entries."""
    kept = max(map(len, bounds))
    pairs = list(zip(*(broadcast(each, kept) for each in bounds), strict=True))
    least = tuple(max(low, -high, Fraction(0)) for low, high in pairs)
    return least, tuple(max(-low, high) for low, high in pairs)
