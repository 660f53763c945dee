"""Columns and frames of pandas, on numpy, nullable, sparse or Arrow-backed types."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import attrs
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from pandas.api.extensions import ExtensionArray  # type: ignore[import-untyped]

from opendp_lite.base.errors import DataError
from opendp_lite.engines.data.arrays import floats_of, no_numbers, require_numbers
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.data.open_data import open_rows, open_source, read
from opendp_lite.engines.data.source import ColumnRows
from opendp_lite.engines.data.table import NamedColumns, RowPlaces, take
from opendp_lite.engines.data.values import (
    ArrayValues,
    DateValues,
    TypedValues,
    Values,
    open_values,
    values_of,
)


def _nullable(piece: ExtensionArray, odd: set[str]) -> np.ndarray:
    """The numbers of one of pandas' own types; NA is NaN."""
    return np.asarray(piece.to_numpy(dtype=np.float64, na_value=np.nan))


def _sparse(piece: ExtensionArray, odd: set[str]) -> np.ndarray:
    """The numbers of a type that numpy is told about."""
    found = np.asarray(piece)
    return floats_of(found, odd) if found.dtype.kind == "O" else found


def _categorical(numbers: Floats, piece: pd.Categorical, odd: set[str]) -> np.ndarray:
    """Numbers, of a column that lists its different values, and NaN at the end of these."""
    return np.asarray(numbers[piece.codes])


def _number_of_each(column: pd.Categorical) -> Floats:
    """The number in each value that a column lists, as these are read themselves; then NaN."""
    blocks = read(open_source(column.dtype.categories))
    return np.concatenate([*(np.array(block).reshape(-1) for block in blocks), [np.nan]])


@open_rows.register
def _of_column(data: pd.Series | pd.Index | ExtensionArray) -> object:
    values = data if isinstance(data, ExtensionArray) else data.array
    kind = values.dtype
    if isinstance(kind, pd.StringDtype):
        raise DataError(no_numbers("text"))
    if isinstance(values, pd.arrays.ArrowExtensionArray):
        return values.__arrow_array__()
    if isinstance(values, pd.Categorical):
        return ColumnRows(values, partial(_categorical, _number_of_each(values)))
    if isinstance(kind, pd.SparseDtype):
        require_numbers(kind.subtype)
        return ColumnRows(values, _sparse)
    if isinstance(values, pd.arrays.NumpyExtensionArray):
        return values.to_numpy()
    if kind.kind in "biuf":
        return ColumnRows(values, _nullable)
    words = {"M": "dates", "m": "durations"}
    raise DataError(no_numbers(words.get(kind.kind, f"values of type {type(kind).__name__}")))


@open_rows.register
def _of_frame(data: pd.DataFrame) -> NamedColumns:
    return NamedColumns(list(data.columns), lambda place: data.iloc[:, place], len(data))


def _objects(piece: ExtensionArray) -> np.ndarray:
    return np.asarray(piece, dtype=object)


def _floats(piece: pd.arrays.FloatingArray) -> np.ndarray:
    return np.asarray(piece.to_numpy(dtype=piece.dtype.numpy_dtype, na_value=np.nan))


class _AnyFit(Values):
    """A column of floats, which fits any categories: none of text is found in it.

    pandas makes floats of a column of text in which all cells are missing. So a refusal would tell
    whether any person has a key. ``is_text`` stays, since ids of blocks are told apart by it.
    """

    def require_fit(self, categories: Categories) -> None:
        pass


@attrs.frozen(eq=False, repr=False)
class _Floats(_AnyFit, ArrayValues):
    """Those of numpy."""


@attrs.frozen(eq=False, repr=False)
class _NullableFloats(_AnyFit, TypedValues):
    """Those of pandas."""


@attrs.frozen(eq=False, repr=False)
class _Categorical(Values):
    """A column that lists its different values.

    Attributes:
        column: As pandas has it.
        listed: The different values.
    """

    column: pd.Categorical
    listed: Values

    @property
    def is_text(self) -> bool | None:
        """Open where no value is listed: pandas makes float64 of the values of an empty column."""
        return self.listed.is_text if self.listed.size else None

    @property
    def unfit(self) -> str:
        return self.listed.unfit

    @property
    def levels(self) -> Sequence[object]:
        """With the types of numpy: what can be an id depends on them."""
        return list(self.listed.between(0, self.listed.size))

    @property
    def size(self) -> int:
        return len(self.column)

    def between(self, start: int, stop: int) -> np.ndarray:
        return np.asarray(self.column.codes[start:stop])

    def require_fit(self, categories: Categories) -> None:
        if self.listed.size:
            self.listed.require_fit(categories)


@open_values.register
def _values_of_series(column: pd.Series | pd.Index) -> Values:
    values = column.array
    kind = values.dtype
    if isinstance(kind, pd.StringDtype):
        return TypedValues(values, True, _objects)
    if isinstance(values, pd.arrays.ArrowExtensionArray):
        return values_of(values.__arrow_array__())
    if isinstance(values, pd.Categorical):
        return _Categorical(values, values_of(values.categories))
    if isinstance(values, pd.arrays.NumpyExtensionArray):
        array = values.to_numpy()
        return _Floats(array) if array.dtype.kind == "f" else open_values(array)
    if kind.kind == "f":
        own = isinstance(values, pd.arrays.FloatingArray)
        return _NullableFloats(values, False, _floats if own else _objects)
    if kind.kind in "biu":
        return TypedValues(values, False, _objects)
    if isinstance(values, pd.arrays.DatetimeArray) and values.tz is None:
        return DateValues(values, False, np.asarray)
    return TypedValues(values, None, _objects, f"dtype {kind}")


@take.register
def _rows_of_column(container: pd.Series | pd.Index, places: RowPlaces) -> pd.Series | pd.Index:
    """Copies, as every ``take`` gives: of all rows in their order, pandas gives a view."""
    found = container.take(places)
    return found.copy(deep=True) if len(found) == len(container) else found


@take.register
def _rows_of_array(container: ExtensionArray, places: RowPlaces) -> ExtensionArray:
    return container.take(places)
