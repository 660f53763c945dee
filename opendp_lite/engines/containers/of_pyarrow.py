"""Arrow columns, tables and streams, and what speaks the protocol of Arrow streams."""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from weakref import WeakSet

import attrs
import numpy as np
import pyarrow as arrow  # type: ignore[import-untyped]
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError
from opendp_lite.engines.data.arrays import no_numbers
from opendp_lite.engines.data.blocks import GONE_THROUGH, Blocks
from opendp_lite.engines.data.open_data import open_rows
from opendp_lite.engines.data.source import InMemory, Source
from opendp_lite.engines.data.table import NamedColumns, RowPlaces, take
from opendp_lite.engines.data.values import DateValues, TypedValues, Values, open_values

_EXACT_DIGITS: Final = 15
_EXACT_SCALE: Final = 22
# Types of which Arrow picks no rows, and those that hold the same.
_COPIED: Final = {
    arrow.string_view(): arrow.large_string(),
    arrow.binary_view(): arrow.large_binary(),
}
# The readers that were gone through, or begun.
_BEGUN: Final[WeakSet[Any]] = WeakSet()


@attrs.frozen(eq=False, repr=False)
class _ColumnRows(InMemory):
    """A column, in one chunk or several, cast a slice at a time; null is NaN."""

    column: Any

    @property
    def size(self) -> int:
        return len(self.column)

    def between(self, start: int, stop: int, odd: set[str]) -> NDArray[Any]:
        piece = self.column.slice(start, stop - start)
        if arrow.types.is_dictionary(piece.type):
            piece = piece.cast(piece.type.value_type)
        if arrow.types.is_decimal(piece.type):
            return _nearest(piece).reshape(-1, 1)
        if piece.type != arrow.float64():
            piece = piece.cast(arrow.float64(), safe=False)
        found: NDArray[Any] = piece.to_numpy(zero_copy_only=False)
        return found.reshape(-1, 1)


def _nearest(decimals: Any) -> NDArray[Any]:
    """The float next to each decimal; Arrow's own cast is off by a last place in one of seven.

    A whole number and a power of ten that are both exact as floats have a quotient that is rounded
    once. Others are read as text.
    """
    kind = decimals.type
    digits, scale = kind.precision, kind.scale
    if digits > _EXACT_DIGITS or not 0 <= scale <= _EXACT_SCALE:
        found: NDArray[Any] = (
            decimals.cast(arrow.string()).cast(arrow.float64()).to_numpy(zero_copy_only=False)
        )
        return found
    decimals = decimals.cast(arrow.decimal128(digits, scale))
    if isinstance(decimals, arrow.ChunkedArray):
        decimals = decimals.combine_chunks()
    whole = arrow.Array.from_buffers(
        arrow.decimal128(digits, 0), len(decimals), decimals.buffers(), offset=decimals.offset
    )
    steps: NDArray[np.float64] = whole.cast(arrow.float64()).to_numpy(zero_copy_only=False)
    nearest: NDArray[Any] = steps / 10.0**scale
    return nearest


@open_rows.register(arrow.Array)
@open_rows.register(arrow.ChunkedArray)
def _of_column(data: Any) -> Source:
    require_numeric(data.type)
    return _ColumnRows(data)


@open_rows.register(arrow.Table)
@open_rows.register(arrow.RecordBatch)
def _of_table(data: Any) -> NamedColumns:
    return NamedColumns(data.schema.names, data.column, data.num_rows)


@attrs.frozen(eq=False, repr=False)
class _ColumnValues(TypedValues):
    """A column, in one chunk or several."""

    def between(self, start: int, stop: int) -> NDArray[Any]:
        piece = self.column.slice(start, stop - start)
        if arrow.types.is_dictionary(piece.type):
            piece = piece.cast(piece.type.value_type)
        whole = piece.null_count == 0 and not arrow.types.is_decimal(piece.type)
        if not self.text and (whole or arrow.types.is_floating(piece.type)):
            found: NDArray[Any] = piece.to_numpy(zero_copy_only=False)
            return found
        return np.fromiter(list_values(piece), object, stop - start)


def list_values(piece: Any) -> list[Any]:
    """The values as Python has them; text with bytes that are no UTF-8 is no reason to refuse."""
    try:
        found: list[Any] = piece.to_pylist()
        return found
    except UnicodeDecodeError:
        raw = piece.cast(arrow.large_binary()).to_pylist()
        return [None if each is None else each.decode("utf-8", "replace") for each in raw]


@open_values.register(arrow.Array)
@open_values.register(arrow.ChunkedArray)
def _values_of_column(column: Any) -> Values:
    types, kind = arrow.types, column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _ColumnValues(column, True)
    if types.is_date(kind) or (types.is_timestamp(kind) and kind.tz is None):
        return DateValues(column, types.is_date(kind), partial(_dates, kind))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return _ColumnValues(column, False)
    if types.is_decimal(kind):
        return _ColumnValues(column, False)
    if types.is_null(kind):
        return _ColumnValues(column, None)
    return _ColumnValues(column, None, f"type {kind}")


def _dates(kind: Any, piece: Any) -> NDArray[np.datetime64]:
    """A date is a date however its type counts it."""
    if arrow.types.is_dictionary(piece.type):
        piece = piece.cast(kind)
    found: NDArray[Any] = piece.to_numpy(zero_copy_only=False)
    return found.astype("M8[D]") if arrow.types.is_date(kind) else found


@open_rows.register(arrow.RecordBatchReader)
def _of_reader(data: Any) -> Blocks:
    """A reader can be gone through once: the second time is refused, in this pipeline or another.

    A reader that is used up would give no rows, and a release of those would look like any other.
    """
    return Blocks(partial(_begun, data), columns=len(data.schema.names))


def _begun(reader: Any) -> Any:
    if reader in _BEGUN:
        raise DataError(GONE_THROUGH)
    _BEGUN.add(reader)
    return reader


@attrs.frozen(eq=False, repr=False)
class Stream:
    """A container that exports a new Arrow stream whenever it is asked."""

    container: Any


@open_rows.register
def _of_stream(data: Stream) -> Blocks:
    """Blocks of unknown width: how many columns there are, only a stream says."""
    stream = partial(arrow.RecordBatchReader.from_stream, data.container)
    return Blocks(stream, columns=None)


def require_numeric(kind: Any) -> None:
    """Raises ``DataError`` for a type of which no value is a number."""
    types = arrow.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
        or types.is_null(kind)
    ):
        return
    name = str(kind).partition("<")[0].partition("[")[0]
    if "string" in name or "utf8" in name or "binary" in name:
        raise DataError(no_numbers("text"))
    if types.is_date(kind) or types.is_timestamp(kind):
        raise DataError(no_numbers("dates"))
    raise DataError(no_numbers(f"values of type {name}"))


@take.register(arrow.Array)
@take.register(arrow.ChunkedArray)
def _rows_of_column(container: Any, places: RowPlaces) -> Any:
    copied = _COPIED.get(container.type)
    whole = container if copied is None else container.cast(copied)
    return whole.take(arrow.array(places))
