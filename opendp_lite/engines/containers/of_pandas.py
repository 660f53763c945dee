"""Columns and frames of pandas, on numpy, nullable, sparse or Arrow-backed types."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import attrs
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from numpy.typing import DTypeLike, NDArray
from pandas.api.extensions import ExtensionArray  # type: ignore[import-untyped]

from opendp_lite.base.errors import DataError
from opendp_lite.engines.data.arrays import ColumnRows, no_numbers, require_numbers
from opendp_lite.engines.data.fold import Floats, identity
from opendp_lite.engines.data.open_data import open_rows, open_source, read, register_libraries
from opendp_lite.engines.data.table import NamedColumns, RowPlaces, take
from opendp_lite.engines.data.values import Values, open_values, values_of


def _floats(kind: DTypeLike, piece: ExtensionArray) -> np.ndarray:
    """The numbers of one of pandas' own types; NA is NaN."""
    return np.asarray(piece.to_numpy(dtype=kind, na_value=np.nan))


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
        numbers = _number_of_each(values)
        return ColumnRows(values, lambda piece: numbers[piece.codes])
    if isinstance(kind, pd.SparseDtype):
        require_numbers(kind.subtype)
        return ColumnRows(values, _densely)
    if isinstance(values, pd.arrays.NumpyExtensionArray):
        return values.to_numpy()
    if kind.kind in "biuf":
        return ColumnRows(values, partial(_floats, np.float64))
    words = {"M": "dates", "m": "durations"}
    raise DataError(no_numbers(words.get(kind.kind, f"values of type {type(kind).__name__}")))


@open_rows.register
def _of_frame(data: pd.DataFrame) -> NamedColumns:
    # By names and types alone: whether rows were dropped shows in an index of whole numbers too.
    named = isinstance(data.index, pd.DatetimeIndex) or any(data.index.names)
    more = ". The index is no column: table.reset_index() makes one of it" if named else ""
    names, together = list(data.columns), partial(_read_together, data)
    return NamedColumns(names, lambda place: data.iloc[:, place], len(data), more, together)


# From so many on, a slice of all costs no more than a slice of each, however the frame holds them.
_MANY: Final = 128


def _read_together(data: pd.DataFrame, places: Sequence[int]) -> ColumnRows | None:
    """Many columns, all of one of numpy's types of numbers: no number is cast to another type."""
    kinds = set(data.dtypes.iloc[places]) if len(places) >= _MANY else set()
    if len(kinds) != 1 or not isinstance(kind := kinds.pop(), np.dtype) or kind.kind not in "biuf":
        return None
    columns, rows = np.array(places), range(len(data))
    return ColumnRows(rows, lambda piece: data.iloc[piece.start : piece.stop, columns].to_numpy())


def _densely(piece: pd.arrays.SparseArray) -> np.ndarray:
    # In its own type: by itself pandas makes floats of a slice in which a cell is not stored.
    return np.asarray(piece, piece.dtype.subtype)


def _objects(piece: ExtensionArray) -> np.ndarray:
    return np.asarray(piece, dtype=object)


@open_values.register
def _values_of_series(column: pd.Series | pd.Index | ExtensionArray) -> Values:
    """The values of a column. One of floats fits any categories: none of text is found in it.

    pandas makes floats of a column of text in which all cells are missing. So a refusal would tell
    whether any person has a key. ``is_text`` stays, since ids of blocks are told apart by it.
    """
    values = column if isinstance(column, ExtensionArray) else column.array
    kind = values.dtype
    if isinstance(kind, pd.StringDtype) and kind.storage == "pyarrow":
        held: Any = values  # An ArrowStringArray, which pandas' types do not name.
        return values_of(held.__arrow_array__())
    if isinstance(kind, pd.StringDtype):
        # Its text may have what Arrow cannot hold. Not ``factorize``: it takes a lone surrogate and
        # its repr for one text, and pandas 2 cuts texts at NUL, so that one row would move many.
        return Values(values, _objects, is_text=True)
    if isinstance(values, pd.arrays.ArrowExtensionArray):
        return values_of(values.__arrow_array__())
    if isinstance(values, pd.Categorical):
        return _of_categorical(values, values_of(values.categories))
    if isinstance(values, pd.arrays.NumpyExtensionArray):
        found = open_values(values.to_numpy())
        if kind.kind != "O":
            return attrs.evolve(found, fits_all=kind.kind == "f")
        # Where pandas 3 guesses text pandas 2 has objects: "5" there is not a 5 of other blocks. By
        # the type alone: whether one of them is a text, no refusal may tell.
        return attrs.evolve(found, is_text=True, fits_all=True)
    if kind.kind in "biuf":
        own = isinstance(values, pd.arrays.FloatingArray)
        array = partial(_floats, values.dtype.numpy_dtype) if own else _objects
        if isinstance(kind, pd.SparseDtype):
            array = _densely
        return Values(values, array, is_text=False, fits_all=kind.kind == "f")
    if isinstance(values, pd.arrays.DatetimeArray) and values.tz is None:
        return Values.of_dates(values, False, np.asarray)
    if isinstance(kind, pd.IntervalDtype | pd.PeriodDtype):
        return Values(values, _objects, only=kind.type)
    return Values(values, _objects, unfit=f"dtype {kind}", lacking=pd.isna)


def _of_categorical(column: pd.Categorical, listed: Values) -> Values:
    """A column that lists its different values, with the types of numpy: ids depend on them.

    Where none is listed its type is open: pandas makes float64 of the values of an empty column.
    """
    some = len(listed) > 0
    return attrs.evolve(
        listed,
        column=column.codes,
        array=identity,
        is_text=listed.is_text if some else None,
        levels=list(listed[:]),
        dates=None if listed.dates is None else partial(_date_of_each, listed.dates(listed.column)),
        fits_all=listed.fits_all or not some,
        # What is asked of the categories themselves is not answered by codes.
        lacking=None if listed.lacking is None else _has_no_category,
    )


def _has_no_category(codes: NDArray[np.integer]) -> NDArray[np.bool_]:
    return codes < 0


def _date_of_each(dates: NDArray[np.datetime64], codes: NDArray[np.integer]) -> np.ndarray:
    """The date of each code; NaT for one below 0."""
    with_none = np.append(dates, np.array(["NaT"], dtype=dates.dtype))
    return np.asarray(with_none[np.maximum(codes, -1)])


@take.register
def _rows_of_column(container: pd.Series | pd.Index, places: RowPlaces) -> object:
    """Copies, as every ``take`` gives: of all rows in their order, pandas gives a view.

    Of some types pandas picks all rows and fails for others: a refusal would tell that one is gone.
    """
    values = container.array
    if isinstance(values, pd.arrays.NumpyExtensionArray):
        found = values.to_numpy()[places]
        return pd.Series(found, dtype=found.dtype)
    if isinstance(values, pd.arrays.ArrowExtensionArray):
        column = values.__arrow_array__()
        # Nobody handed over a column of Arrow, so nothing has made its rows known yet.
        register_libraries(type(column))
        return take(column, places)
    return pd.Series(values.take(places), dtype=values.dtype)


@take.register
def _rows_of_array(container: ExtensionArray, places: RowPlaces) -> ExtensionArray:
    return container.take(places)
