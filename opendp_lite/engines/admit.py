"""What a person may hand over as data, brought to a numeric array at the front door.

Refusals here speak of types and shapes, never of a value or of where it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from math import inf, nan
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from opendp_lite.errors import DataError

Numeric = NDArray[Any]
_MISSING_TYPES = ("NAType", "NaTType")
_KINDS = {
    "U": "text",
    "S": "text",
    "T": "text",
    "M": "dates",
    "m": "durations",
    "c": "complex numbers",
}


def as_array(data: object) -> Numeric:
    """An array of numbers of one or two dimensions; a missing value becomes NaN.

    Accepts numpy arrays (masked ones too), numbers in lists, and whatever has columns by name
    (pandas, polars, Arrow tables) or ``__array__`` (their columns).
    """
    if isinstance(data, np.ndarray):
        return _checked(data)
    names = column_names(data)
    if names is not None:
        return _side_by_side(names, _columns(data, names))
    if hasattr(data, "__array__"):
        return _checked(np.asarray(data))
    if isinstance(data, str | bytes) or not isinstance(data, list | tuple):
        raise DataError(
            f"data of type {type(data).__name__} cannot be read; give a numpy array, a list of "
            "numbers, a pandas, polars or Arrow column or table, or dp.Blocks; read a file first "
            "(pandas.read_csv, dp.csv_column), and make a list of an iterator"
        )
    try:
        array = np.asarray(_plain(data))
    except TypeError:
        array = np.asarray(_plain(data), dtype=object)
    except ValueError:
        raise DataError("the rows of the list differ in length") from None
    return _checked(array)


def _plain(data: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
    """The list with NaN for masked entries, of which numpy would warn."""
    if any(each is np.ma.masked for each in data):
        return [nan if each is np.ma.masked else each for each in data]
    if any(isinstance(row, list | tuple) and _plain(row) is not row for row in data):
        return [_plain(row) if isinstance(row, list | tuple) else row for row in data]
    return data


def _side_by_side(names: tuple[str, ...], columns: Iterable[Any]) -> Numeric:
    arrays = [_of_column(name, column) for name, column in zip(names, columns, strict=True)]
    return np.column_stack(arrays) if arrays else np.empty((0, 0))


def _of_column(name: str, column: object) -> Numeric:
    try:
        return _checked(np.asarray(column))
    except DataError as problem:
        raise DataError(
            f"column {name!r}: {problem}; or pass the columns that you need: df['age'], or start "
            "with dp.records(columns=['age', ...])"
        ) from None


def column_names(data: object) -> tuple[str, ...] | None:
    """The names of a table's columns; None where the data is not a table."""
    if hasattr(data, "collect") and not hasattr(data, "__array__"):
        raise DataError(f"a {type(data).__name__} holds no rows yet; call .collect() first")
    for attribute in ("column_names", "columns"):
        found = getattr(data, attribute, None)
        if found is not None and not callable(found) and hasattr(data, "__getitem__"):
            return tuple(str(name) for name in found)
    return None


def _columns(data: Any, names: tuple[str, ...]) -> Iterable[Any]:
    if hasattr(data, "iloc"):
        return [data.iloc[:, j] for j in range(len(names))]
    return [data[name] for name in names]


def named_columns(data: object, names: tuple[str, ...] | None) -> Numeric:
    """As ``as_array``; of a table only the named columns, where names are given."""
    table = None if names is None else column_names(data)
    if names is None or table is None:
        return as_array(data)
    frame = cast(Any, data)
    return _side_by_side(names, [frame[_present(name, table)] for name in names])


def _present(name: str, table: tuple[str, ...]) -> str:
    if name in table:
        return name
    near = get_close_matches(name, table, n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(table[:8])}"
    raise DataError(f"the table has no column {name!r}{hint}")


def _checked(array: Numeric) -> Numeric:
    if isinstance(array, np.ma.MaskedArray):
        array = _unmasked(array)
    array = np.asarray(array)
    if array.ndim not in (1, 2):
        raise DataError(
            f"data has {array.ndim} dimensions; rows are an array of shape (n,) or (n, columns)"
        )
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "O":
        flat = np.fromiter((_number(value) for value in array.flat), np.float64, array.size)
        return flat.reshape(array.shape)
    raise DataError(_refused(array.dtype.kind, f"values of dtype {array.dtype}"))


def _unmasked(array: np.ma.MaskedArray[Any, Any]) -> Numeric:
    """What is masked is missing."""
    if array.dtype.kind not in "biuf":
        found: Numeric = array.data.astype(object)
        found[np.ma.getmaskarray(array)] = None
        return found
    return np.where(np.ma.getmaskarray(array), np.nan, array.data.astype(np.float64))


def _number(value: object) -> float:
    """One value of an object array, taken and refused as its dtype would be."""
    if value is None or value is np.ma.masked or type(value).__name__ in _MISSING_TYPES:
        return nan
    if isinstance(value, str | bytes):
        raise DataError(_refused("U", "text"))
    if isinstance(value, bool | int | float | Fraction | Decimal):
        return _nearest(value)
    single = np.asarray(value)
    if single.ndim or single.dtype.kind not in "biuf":
        kind = single.dtype.kind
        raise DataError(_refused(kind, f"values of type {type(value).__name__}"))
    return float(single)


def _nearest(value: float | Fraction | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf
    except ValueError:
        return nan


def _refused(kind: str, otherwise: str) -> str:
    return f"data holds {_KINDS.get(kind, otherwise)}, not numbers; make the column numeric first"
