"""Arrow columns, tables and streams, and what speaks the protocol of Arrow streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias
from weakref import WeakSet

import numpy as np
import pyarrow as arrow  # type: ignore[import-untyped]
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError
from opendp_lite.engines.data import arrays, blocks, fold, open_data, source, table
from opendp_lite.engines.data.values import SAMPLE, Values, do_repeat, open_values

_Column: TypeAlias = arrow.Array | arrow.ChunkedArray
_EXACT_DIGITS: Final = 15
_EXACT_SCALE: Final = 22
# In a day.
_MILLISECONDS: Final = 86_400_000
# Types of which Arrow picks no rows, and those that hold the same.
_COPIED: Final = {
    arrow.string_view(): arrow.large_string(),
    arrow.binary_view(): arrow.large_binary(),
}
# The readers that were gone through, or begun.
_BEGUN: Final[WeakSet[arrow.RecordBatchReader]] = WeakSet()


def value_type(kind: arrow.DataType) -> arrow.DataType:
    """The type of the values, of a column that lists its different ones too."""
    return kind.value_type if arrow.types.is_dictionary(kind) else kind


def is_text(kind: arrow.DataType) -> bool:
    """Whether the values of a type are text."""
    kind, types = value_type(kind), arrow.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_number(kind: arrow.DataType) -> bool:
    types = arrow.types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in tests)


def _list_none(piece: arrow.ChunkedArray) -> arrow.ChunkedArray:
    """The same column with each value in its row."""
    return piece.cast(value_type(piece.type)) if arrow.types.is_dictionary(piece.type) else piece


def _numbers(piece: arrow.ChunkedArray) -> np.ndarray:
    """A column, in one chunk or several; null is NaN."""
    piece = _list_none(piece)
    if arrow.types.is_decimal(piece.type):
        return _nearest(piece)
    if piece.type != arrow.float64():
        piece = piece.cast(arrow.float64(), safe=False)
    return np.asarray(piece.to_numpy(zero_copy_only=False))


def _nearest(decimals: arrow.ChunkedArray) -> np.ndarray:
    """The float next to each decimal; Arrow's own cast is off by a last place in one of seven.

    A whole number and a power of ten that are both exact as floats have a quotient that is rounded
    once. Others are read as text.
    """
    kind = decimals.type
    digits, scale = kind.precision, kind.scale
    if digits > _EXACT_DIGITS or not 0 <= scale <= _EXACT_SCALE:
        numbers = decimals.cast(arrow.string()).cast(arrow.float64())
        return np.asarray(numbers.to_numpy(zero_copy_only=False))
    decimals = decimals.cast(arrow.decimal128(digits, scale))
    if isinstance(decimals, arrow.ChunkedArray):
        decimals = decimals.combine_chunks()
    whole = arrow.Array.from_buffers(
        arrow.decimal128(digits, 0), len(decimals), decimals.buffers(), offset=decimals.offset
    )
    steps: fold.Floats = whole.cast(arrow.float64()).to_numpy(zero_copy_only=False)
    power: float = 10.0**scale
    return steps / power


@open_data.open_rows.register
def _of_column(data: _Column) -> source.Source:
    require_numeric(data.type)
    return arrays.ColumnRows(data, _numbers)


@open_data.open_rows.register
def _of_table(data: arrow.Table | arrow.RecordBatch) -> table.NamedColumns:
    return table.NamedColumns(data.schema.names, data.column, data.num_rows)


def _objects(piece: arrow.ChunkedArray) -> np.ndarray:
    return np.fromiter(list_values(_list_none(piece)), object, len(piece))


def _numbers_or_objects(piece: arrow.ChunkedArray) -> np.ndarray:
    """An array of numbers, where what is missing is none of them or NaN."""
    piece = _list_none(piece)
    whole = piece.null_count == 0 and not arrow.types.is_decimal(piece.type)
    if whole or arrow.types.is_floating(piece.type):
        return np.asarray(piece.to_numpy(zero_copy_only=False))
    return _objects(piece)


def list_values(piece: arrow.ChunkedArray) -> Sequence[Any]:
    """The values as Python has them; text with bytes that are no UTF-8 is no reason to refuse."""
    try:
        found: Sequence[Any] = piece.to_pylist()
        return found
    except UnicodeDecodeError:
        raw = piece.cast(arrow.large_binary()).to_pylist()
        return [None if each is None else each.decode("utf-8", "replace") for each in raw]


@open_values.register
def _values_of_column(column: _Column) -> Values:
    column = _copy_views(column)
    types, kind = arrow.types, value_type(column.type)
    if is_text(kind):
        return _values_of_text(column)
    if types.is_date(kind) or (types.is_timestamp(kind) and kind.tz is None):
        return Values.of_dates(column, types.is_date(kind), _dates)
    if _is_number(kind):
        return Values(column, _numbers_or_objects, is_text=False)
    if types.is_null(kind):
        return Values(column, _numbers_or_objects)
    return Values(column, _numbers_or_objects, unfit=f"type {kind}", lacking=_find_nulls)


def _find_nulls(piece: _Column) -> NDArray[np.bool_]:
    """Which values are missing; Arrow casts no dictionary of lists to the lists."""
    if isinstance(piece, arrow.ChunkedArray):
        return np.concatenate([np.zeros(0, np.bool_), *map(_find_nulls, piece.chunks)])
    if not arrow.types.is_dictionary(piece.type):
        return np.asarray(piece.is_null())
    places = piece.indices.cast(arrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    found: NDArray[np.bool_] = np.append(_find_nulls(piece.dictionary), True)[places]
    return found


def _values_of_text(column: _Column) -> Values:
    """Text as places among the different ones, which Arrow finds; as it is where it hardly repeats.

    Texts are told apart by their bytes. Two that are no UTF-8 may be one text, as they were.
    """
    encoded = column = _without_null_in_dictionaries(column)
    if not arrow.types.is_dictionary(column.type):
        begin = column.slice(0, SAMPLE).cast(arrow.large_string())
        if do_repeat(len(begin.unique()), len(begin)):
            encoded = column.dictionary_encode()
    # Arrow 18 refuses to join no chunks, and a refusal would tell that a part has no rows.
    if isinstance(encoded, arrow.ChunkedArray) and encoded.num_chunks:
        encoded = encoded.unify_dictionaries().combine_chunks()
    if not isinstance(encoded, arrow.DictionaryArray) or not do_repeat(
        len(encoded.dictionary), len(encoded)
    ):
        return Values(column, _objects, is_text=True)
    places = encoded.indices.cast(arrow.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Values.of_texts(places, list_values(encoded.dictionary))


def _without_null_in_dictionaries(column: _Column) -> _Column:
    """Chunks as plain text if a dictionary of one lists null, as a missing value can make it.

    Arrow cannot join such dictionaries, and no refusal may tell of a missing value.
    """
    if not isinstance(column, arrow.ChunkedArray) or not arrow.types.is_dictionary(column.type):
        return column
    listed = any(each.dictionary.null_count for each in column.chunks)
    return column.cast(column.type.value_type) if listed else column


def _dates(piece: arrow.ChunkedArray) -> np.ndarray:
    """A date is a date however its type counts it; numpy's own cast fails for the first ones."""
    piece = _list_none(piece)
    found = np.asarray(piece.to_numpy(zero_copy_only=False))
    if not arrow.types.is_date64(piece.type):
        return found
    days = (found.astype(np.int64) // _MILLISECONDS).astype("M8[D]")
    return np.where(np.isnat(found), np.datetime64("NaT", "D"), days)


@open_data.open_rows.register
def _of_reader(data: arrow.RecordBatchReader) -> blocks.Blocks:
    """A reader can be gone through once: the second time is refused, in this pipeline or another.

    A reader that is used up would give no rows, and a release of those would look like any other.
    """
    return blocks.Blocks(partial(_begin, data), columns=len(data.schema.names))


def _begin(reader: arrow.RecordBatchReader) -> Iterator[Any]:
    if reader in _BEGUN:
        raise DataError(blocks.GONE_THROUGH)
    _BEGUN.add(reader)
    return batches_of(reader)


def batches_of(reader: arrow.RecordBatchReader) -> Iterator[Any]:
    """Its batches, or one without rows: that there is none is no reason to take other types."""
    yield next(reader, reader.schema.empty_table())
    yield from reader


def blocks_of_stream(data: object) -> blocks.Blocks:
    """Those of a container that exports a new Arrow stream whenever it is asked.

    They are of unknown width: how many columns there are, only a stream says.
    """
    return blocks.Blocks(
        lambda: batches_of(arrow.RecordBatchReader.from_stream(data)), columns=None
    )


def require_numeric(kind: arrow.DataType) -> None:
    """Raises ``DataError`` for a type of which no value is a number."""
    types, kind = arrow.types, value_type(kind)
    if _is_number(kind) or types.is_null(kind):
        return
    name = str(kind).partition("<")[0].partition("[")[0]
    if "string" in name or "utf8" in name or "binary" in name:
        raise DataError(arrays.no_numbers("text"))
    if types.is_date(kind) or types.is_timestamp(kind):
        raise DataError(arrays.no_numbers("dates"))
    raise DataError(arrays.no_numbers(f"values of type {name}"))


@table.take.register
def _rows_of_column(container: _Column, places: table.RowPlaces) -> _Column:
    whole = _without_null_in_dictionaries(_copy_views(container))
    return whole.take(arrow.array(places))


def _copy_views(column: _Column) -> _Column:
    """A column as Arrow picks rows of it, whatever a dictionary of it lists."""
    kind = _COPIED.get(value_type(column.type))
    if kind is None:
        return column
    whole = arrow.types.is_dictionary(column.type)
    return column.cast(arrow.dictionary(column.type.index_type, kind) if whole else kind)
