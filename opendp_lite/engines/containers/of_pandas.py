"""Columns and frames of pandas, on numpy, nullable, sparse or Arrow-backed types."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError
from opendp_lite.engines.data.arrays import floats_of, no_numbers, require_numbers
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.data.open_data import open_rows, open_source, read
from opendp_lite.engines.data.source import InMemory
from opendp_lite.engines.data.table import NamedColumns, RowPlaces, take
from opendp_lite.engines.data.values import (
    ArrayValues,
    DateValues,
    TypedValues,
    Values,
    open_values,
    values_of,
)


@attrs.frozen(eq=False, repr=False)
class _Nullable(InMemory):
    """A column of one of pandas' own types; NA is NaN."""

    column: Any

    @property
    def size(self) -> int:
        return len(self.column)

    def between(self, start: int, stop: int, odd: set[str]) -> NDArray[Any]:
        piece = self.column[start:stop]
        found: NDArray[Any] = piece.to_numpy(dtype=np.float64, na_value=np.nan).reshape(-1, 1)
        return found


@attrs.frozen(eq=False, repr=False)
class _Converted(InMemory):
    """A column whose type numpy is told about: sparse numbers."""

    column: Any

    @property
    def size(self) -> int:
        return len(self.column)

    def between(self, start: int, stop: int, odd: set[str]) -> NDArray[Any]:
        found = np.asarray(self.column[start:stop])
        if found.dtype.kind == "O":
            found = floats_of(found, odd)
        return found.reshape(-1, 1)


@attrs.frozen(eq=False, repr=False)
class _NumberOfEach(InMemory):
    """A column that lists its different values, each of them a number or missing.

    Attributes:
        column: As pandas has it.
        numbers: The number in each value that it lists, and NaN at the end.
    """

    column: Any
    numbers: Floats

    @classmethod
    def of(cls, column: Any) -> _NumberOfEach:
        """The cells of a column, as the values that it lists are read themselves."""
        listed = read(open_source(column.dtype.categories))
        blocks = [np.array(block).reshape(-1) for block in listed]
        return cls(column, np.concatenate([*blocks, np.full(1, np.nan)]))

    @property
    def size(self) -> int:
        return len(self.column)

    def between(self, start: int, stop: int, odd: set[str]) -> NDArray[Any]:
        found: NDArray[Any] = self.numbers[self.column.codes[start:stop]]
        return found.reshape(-1, 1)


@open_rows.register(pd.Series)
@open_rows.register(pd.Index)
def _of_series(data: Any) -> object:
    return _of_values(data.array)


@open_rows.register(pd.api.extensions.ExtensionArray)
def _of_extension_array(data: Any) -> object:
    return _of_values(data)


def _of_values(values: Any) -> object:
    kind = values.dtype
    if isinstance(kind, pd.ArrowDtype):
        return values.__arrow_array__()
    if isinstance(kind, pd.CategoricalDtype):
        return _NumberOfEach.of(values)
    if isinstance(kind, pd.StringDtype):
        raise DataError(no_numbers("text"))
    if isinstance(kind, pd.SparseDtype):
        require_numbers(kind.subtype)
        return _Converted(values)
    if isinstance(values, pd.arrays.NumpyExtensionArray):
        return values.to_numpy()
    if kind.kind in "biuf":
        return _Nullable(values)
    words = {"M": "dates", "m": "durations"}
    raise DataError(no_numbers(words.get(kind.kind, f"values of type {type(kind).__name__}")))


@open_rows.register(pd.DataFrame)
def _of_frame(data: Any) -> NamedColumns:
    return NamedColumns(list(data.columns), lambda place: data.iloc[:, place], len(data))


@attrs.frozen(eq=False, repr=False)
class _Extended(TypedValues):
    """A column of one of pandas' own types, as objects."""

    def between(self, start: int, stop: int) -> NDArray[Any]:
        piece = self.column[start:stop]
        if isinstance(piece, pd.arrays.FloatingArray):
            floats: NDArray[Any] = piece.to_numpy(dtype=piece.dtype.numpy_dtype, na_value=np.nan)
            return floats
        return np.asarray(piece, dtype=object)

    def require_fit(self, categories: Categories) -> None:
        if self.column.dtype.kind != "f":  # as in _Floats
            super().require_fit(categories)


@attrs.frozen(eq=False, repr=False)
class _Floats(ArrayValues):
    """A column of floats, which fits any categories: none of text is found in it.

    pandas makes floats of a column of text in which all cells are missing. So a refusal would tell
    whether any person has a key. ``is_text`` stays, since ids of blocks are told apart by it.
    """

    def require_fit(self, categories: Categories) -> None:
        pass


@attrs.frozen(eq=False, repr=False)
class _Categorical(Values):
    """A column that lists its different values.

    Attributes:
        column: As pandas has it.
        listed: The different values.
    """

    column: Any
    listed: Values

    @property
    def is_text(self) -> bool | None:
        """Open where no value is listed: pandas makes float64 of the values of an empty column."""
        return self.listed.is_text if self.listed.size else None

    @property
    def unfit(self) -> str:
        return self.listed.unfit

    @property
    def levels(self) -> list[Any]:
        """With the types of numpy: what can be an id depends on them."""
        return list(self.listed.between(0, self.listed.size))

    @property
    def size(self) -> int:
        return len(self.column)

    def between(self, start: int, stop: int) -> NDArray[Any]:
        places: NDArray[Any] = self.column.codes[start:stop]
        return places

    def require_fit(self, categories: Categories) -> None:
        if self.listed.size:
            self.listed.require_fit(categories)


@open_values.register(pd.Series)
@open_values.register(pd.Index)
def _values_of_series(column: Any) -> Values:
    values = column.array
    kind = values.dtype
    if isinstance(kind, pd.ArrowDtype):
        return values_of(values.__arrow_array__())
    if isinstance(kind, pd.CategoricalDtype):
        return _Categorical(values, values_of(kind.categories))
    if isinstance(kind, pd.StringDtype):
        return _Extended(values, True)
    if isinstance(values, pd.arrays.NumpyExtensionArray):
        array = values.to_numpy()
        return _Floats(array) if array.dtype.kind == "f" else open_values(array)
    if kind.kind in "biuf":
        return _Extended(values, False)
    if isinstance(values, pd.arrays.DatetimeArray) and values.tz is None:
        return DateValues(values, False, np.asarray)
    return _Extended(values, None, f"dtype {kind}")


@take.register(pd.Series)
@take.register(pd.Index)
def _rows_of_column(container: Any, places: RowPlaces) -> Any:
    """Copies, as every ``take`` gives: of all rows in their order, pandas gives a view."""
    found = container.take(places)
    return found.copy(deep=True) if len(found) == len(container) else found


@take.register(pd.api.extensions.ExtensionArray)
def _rows_of_array(container: Any, places: RowPlaces) -> Any:
    return container.take(places)
