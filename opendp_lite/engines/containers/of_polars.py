"""Columns and frames of polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import polars as pl

from opendp_lite.base.errors import DataError
from opendp_lite.engines.columns import ColumnBlocks, StoredPart
from opendp_lite.engines.data.arrays import ColumnRows, array_rows, no_numbers
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.open_data import open_rows
from opendp_lite.engines.data.source import Source
from opendp_lite.engines.data.table import NamedColumns, RowPlaces, take
from opendp_lite.engines.data.values import SAMPLE, Values, do_repeat, open_values

_TEXT = (pl.String, pl.Binary, pl.Categorical, pl.Enum)


def _numbers(piece: pl.Series) -> np.ndarray:
    """A column, in one chunk or several; null is NaN."""
    return piece.cast(pl.Float64, strict=False).to_numpy()


@open_rows.register
def _of_series(data: pl.Series) -> Source:
    kind = data.dtype
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return ColumnRows(data, _numbers)
    if kind == pl.Object:
        return array_rows(data.to_numpy())
    if kind in _TEXT:
        raise DataError(no_numbers("text"))
    if kind in (pl.Date, pl.Datetime):
        raise DataError(no_numbers("dates"))
    raise DataError(no_numbers(f"values of type {kind.base_type().__name__}"))


@open_rows.register
def _of_frame(data: pl.DataFrame) -> NamedColumns:
    return NamedColumns(data.columns, data.to_series, len(data))


def _objects(piece: pl.Series) -> np.ndarray:
    return np.fromiter(piece, object, len(piece))


@open_values.register
def _values_of_series(column: pl.Series) -> Values:
    kind = column.dtype
    if kind in (pl.String, pl.Categorical, pl.Enum):
        return _values_of_text(column)
    if kind.is_numeric() or kind == pl.Boolean:
        array = pl.Series.to_numpy if kind.is_float() else _objects
        return Values(column, array, is_text=False)
    if kind == pl.Date or (isinstance(kind, pl.Datetime) and kind.time_zone is None):
        return Values.of_dates(column, kind == pl.Date, pl.Series.to_numpy)
    barred = "" if kind in (pl.Object, pl.Null) else f"type {kind}"
    return Values(column, _objects, unfit=barred)


def _values_of_text(column: pl.Series) -> Values:
    """Text as places among the different ones, which polars finds; as it is where few repeat."""
    begin = column.head(SAMPLE)
    if do_repeat(begin.n_unique(), len(begin)):
        levels = column.drop_nulls().unique().cast(pl.String)
        if do_repeat(len(levels), len(column)):
            places = column.cast(pl.Enum(levels)).to_physical().cast(pl.Int32).fill_null(-1)
            return Values.of_texts(places.to_numpy(), levels.to_list())
    return Values(column.cast(pl.String), _objects, is_text=True)


@attrs.frozen(eq=False, repr=False)
class _Query(StoredPart):
    """A lazy frame, which is collected anew for each pass, a batch at a time."""

    frame: pl.LazyFrame

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.frame.collect_schema())

    def empty(self) -> pl.DataFrame:
        return self.frame.collect_schema().to_frame()

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        picked = self.frame.select(names or self.names[:1])
        yield from picked.collect_batches(chunk_size=rows)


@open_rows.register
def _of_lazy_frame(data: pl.LazyFrame) -> Blocks:
    return ColumnBlocks.of([_Query(data)])


@take.register
def _rows_of_series(container: pl.Series, places: RowPlaces) -> pl.Series:
    return container.gather(places)
