"""The values of one column as they are: text, numbers, anything that can be a category."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import attrs
import numpy as np
from numpy import ma
from numpy.typing import NDArray

from opendp_lite.engines.door import register_libraries
from opendp_lite.errors import DataError


class Values(ABC):
    """A column in memory, of which any range can be read as it is."""

    @property
    @abstractmethod
    def is_text(self) -> bool | None:
        """Whether the type says that the column is text, or that it is not; None if it is open."""

    @property
    def known(self) -> Sequence[Any] | None:
        """The different values, where the container lists them; a place below 0 is missing."""
        return None

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of rows."""

    @abstractmethod
    def between(self, start: int, stop: int) -> NDArray[Any]:
        """Some of the values; where there are ``known`` ones, their places among them."""


@attrs.frozen(eq=False, repr=False)
class ArrayValues(Values):
    """The values of a numpy array."""

    array: NDArray[Any]

    @property
    def is_text(self) -> bool | None:
        return None if self.array.dtype.kind == "O" else self.array.dtype.kind == "U"

    @property
    def size(self) -> int:
        return len(self.array)

    def between(self, start: int, stop: int) -> NDArray[Any]:
        piece = self.array[start:stop]
        if isinstance(piece, ma.MaskedArray):
            objects = piece.data.astype(object)
            objects[ma.getmaskarray(piece)] = None
            return objects
        return piece


@attrs.frozen(eq=False, repr=False)
class TypedValues(Values):
    """A column of a library's own type."""

    column: Any
    text: bool | None

    @property
    def size(self) -> int:
        return len(self.column)

    @property
    def is_text(self) -> bool | None:
        return self.text


@singledispatch
def open_values(column: Any) -> Values:
    """Opens one column as its values. A library's columns are registered by its own file."""
    raise DataError(f"values of type {type(column).__name__} cannot be read as categories")


@open_values.register
def _of_array(column: np.ndarray) -> Values:
    if column.ndim != 1:
        raise DataError("a column of a table has one dimension")
    if column.dtype.kind == "T":
        column = column.astype(object)
    if column.dtype.kind not in "biufUO":
        raise DataError(
            f"values of dtype {column.dtype} cannot be categories, keys or ids; write them as "
            "text or as numbers"
        )
    return ArrayValues(column)


@open_values.register(list)
@open_values.register(tuple)
def _of_list(column: Any) -> Values:
    return ArrayValues(np.fromiter(column, dtype=object, count=len(column)))


def values_of(column: Any) -> Values:
    """As ``open_values``, once the libraries that the type comes from have registered theirs."""
    register_libraries(type(column))
    return open_values(column)


def is_column(data: Any) -> bool:
    """Whether something is one column, and no table."""
    register_libraries(type(data))
    known = open_values.dispatch(type(data)) is not open_values.dispatch(object)
    return known and getattr(data, "ndim", 1) == 1 and not any(map(_is_row, data[:1]))


def _is_row(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray)
