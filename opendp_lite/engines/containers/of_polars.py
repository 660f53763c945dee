"""Columns and frames of polars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from math import ldexp
from queue import Full, Queue
from threading import Event, Thread
from typing import Any, ClassVar, Final

import attrs
import numpy as np
import polars as pl
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError
from opendp_lite.engines.columns import ColumnBlocks, StoredPart
from opendp_lite.engines.data import arrays, blocks, expressions, open_data, source, table
from opendp_lite.engines.data.values import SAMPLE, Values, do_repeat, open_values

_TEXTS = (pl.String, pl.Categorical, pl.Enum)
_TEXT = (*_TEXTS, pl.Binary)
# Seconds until a query looks again whether its batches are still wanted.
_WAIT: Final = 0.1


def _numbers(piece: pl.Series) -> np.ndarray:
    """A column, in one chunk or several; null is NaN."""
    return piece.cast(pl.Float64, strict=False).to_numpy()


@open_data.open_rows.register
def _of_series(data: pl.Series) -> source.Source:
    kind = data.dtype
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return arrays.ColumnRows(data, _numbers)
    if kind == pl.Object:
        return arrays.array_rows(data.to_numpy())
    if kind in _TEXT:
        raise DataError(arrays.no_numbers("text"))
    if kind in (pl.Date, pl.Datetime):
        raise DataError(arrays.no_numbers("dates"))
    raise DataError(arrays.no_numbers(f"values of type {kind.base_type().__name__}"))


@open_data.open_rows.register
def _of_frame(data: pl.DataFrame) -> table.NamedColumns:
    return table.NamedColumns(data.columns, data.to_series, len(data))


def _objects(piece: pl.Series) -> np.ndarray:
    return np.fromiter(piece, object, len(piece))


@open_values.register
def _values_of_series(named: pl.Series) -> Values:
    # Its own methods would take a name such as ^a.*$ for a pattern.
    column = named.alias("")
    kind = column.dtype
    if kind in _TEXTS:
        return _values_of_text(column)
    if kind.is_numeric() or kind == pl.Boolean:
        array = pl.Series.to_numpy if kind.is_float() else _objects
        return Values(column, array, is_text=False)
    if kind == pl.Date or (isinstance(kind, pl.Datetime) and kind.time_zone is None):
        return Values.of_dates(column, kind == pl.Date, pl.Series.to_numpy)
    if kind in (pl.Object, pl.Null):
        return Values(column, _objects)
    return Values(column, _objects, unfit=f"type {kind}", lacking=_find_nulls)


def _find_nulls(piece: pl.Series) -> NDArray[np.bool_]:
    return piece.is_null().to_numpy()


def _values_of_text(column: pl.Series) -> Values:
    """Text as places among the different ones, which polars finds; as it is where few repeat."""
    begin = column.head(SAMPLE)
    first = begin.drop_nulls().unique().cast(pl.String)
    if do_repeat(len(first), len(begin)):
        # Mostly the first rows have all texts, and to look for others takes as long as the places.
        levels, found = first, column.cast(pl.Enum(first), strict=False)
        if found.null_count() > column.null_count():
            levels = column.drop_nulls().unique().cast(pl.String)
            found = column.cast(pl.Enum(levels))
        if do_repeat(len(levels), len(column)):
            places = found.to_physical().cast(pl.Int32).fill_null(-1)
            return Values.of_texts(places.to_numpy(), levels.to_list())
    return Values(column.cast(pl.String), _objects, is_text=True)


@attrs.frozen(eq=False, repr=False)
class _Query(StoredPart, expressions.Engine):
    """A lazy frame, which is collected anew for each pass: by groups, or a batch at a time."""

    library: ClassVar[str] = "polars"

    frame: pl.LazyFrame

    @classmethod
    def public(cls, _: None, columns: Mapping[str, list[Any]]) -> _Query:
        kinds = {"x": pl.Float64, "i": pl.Int64, "k": pl.String}
        return cls(pl.LazyFrame(columns, kinds))

    def _column(self, name: str) -> tuple[pl.Expr, pl.DataType]:
        """By its place: polars would take a name such as ^a.*$ for a pattern."""
        schema = self.frame.collect_schema()
        return pl.nth(list(schema).index(name)), schema[name]

    def number(self, name: str) -> pl.Expr | None:
        column, kind = self._column(name)
        # Cast as for a block, so that each type has the same floats.
        fits = kind.is_numeric() or kind == pl.Boolean
        return column.cast(pl.Float64, strict=False).fill_nan(None) if fits else None

    def key(self, name: str, kind: type) -> pl.Expr | None:
        column, found = self._column(name)
        if kind is str:
            return column.cast(pl.String).cast(pl.Binary) if found in _TEXTS else None
        fits = found.is_integer() and found not in (pl.UInt64, pl.Int128, pl.UInt128)
        return column.cast(pl.Int64) if fits else None

    def clip(self, value: pl.Expr, low: float, high: float) -> pl.Expr:
        return value.clip(low, high)

    def choose(self, condition: pl.Expr, value: pl.Expr) -> pl.Expr:
        return pl.when(condition).then(value)

    def is_there(self, value: pl.Expr) -> pl.Expr:
        return value.is_not_null()

    def among(self, key: pl.Expr, values: Sequence[Any]) -> pl.Expr:
        return key.is_in(values)

    def total(self, raised: pl.Expr, exponent: int) -> pl.Expr:
        """In 128 bits: a sum of 64 bits would wrap without a word.

        From one step to the next the bits of such floats count up by one. To read them costs
        nothing, where scaling and casting are passes over the column. NaN would count as a huge
        number: it is null from the first column on, and no expression makes one.
        """
        origin = int(np.float64(ldexp(1.5, 52 + exponent)).view(np.int64))
        return (raised.reinterpret(dtype=pl.Int64) - origin).cast(pl.Int128).sum()

    def count(self, value: pl.Expr) -> pl.Expr:
        return value.count()

    def ask(
        self, keys: expressions.DeclaredKeys, wanted: Sequence[pl.Expr]
    ) -> Iterator[tuple[Any, ...]]:
        numbers = [each.alias(f"number {place}") for place, each in enumerate(wanted)]
        told = [key.alias(f"key {place}") for place, (key, _) in enumerate(keys)]
        # To look for the declared keys in each row would be slower than groups that are not asked.
        found = self.frame.group_by(told).agg(numbers) if keys else self.frame.select(numbers)
        try:
            answers = found.collect(engine="streaming")
        except pl.exceptions.PanicException:
            # No ``Exception``, and it may quote a value.
            raise RuntimeError("polars panicked") from None
        yield from answers.iter_rows()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.frame.collect_schema())

    def empty(self) -> pl.DataFrame:
        return self.frame.collect_schema().to_frame()

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        columns = [self._column(name)[0] for name in names or self.names[:1]]
        yield from _give_batches(self.frame.select(columns), rows)


def _give_batches(frame: pl.LazyFrame, rows: int) -> Iterator[pl.DataFrame]:
    """The batches of a query, each computed while the one before is worked on.

    ``collect_batches`` would give no more of them, and say nothing, where a worker of polars
    panics: then one row takes all others with it. ``sink_batches`` raises that.
    """
    ready = Queue[pl.DataFrame | None](maxsize=1)
    left, failed = Event(), list[Exception]()

    def hand(batch: pl.DataFrame | None) -> bool:
        """Waits until there is room; whether nobody asks for more, which stops the query."""
        while not left.is_set():
            with suppress(Full):
                ready.put(batch, timeout=_WAIT)
                return False
        return True

    def compute() -> None:
        try:
            frame.sink_batches(hand, chunk_size=rows)
        except Exception as problem:
            failed.append(problem)
        except BaseException:
            failed.append(RuntimeError("polars panicked"))
        finally:
            hand(None)

    # A daemon: what interrupts a release may be kept, and with it a generator that never ends.
    Thread(target=compute, daemon=True).start()
    try:
        while (batch := ready.get()) is not None:
            yield batch
    finally:
        left.set()
    for problem in failed:
        raise problem


@open_data.open_rows.register
def _of_lazy_frame(data: pl.LazyFrame) -> blocks.Blocks:
    if not hasattr(data, "sink_batches"):
        raise DataError(
            f"a lazy frame needs polars 1.34 or newer, this is {pl.__version__}; update polars, or "
            "collect() the frame first"
        )
    return ColumnBlocks.of([_Query(data)])


@table.take.register
def _rows_of_series(container: pl.Series, places: table.RowPlaces) -> pl.Series:
    return container.gather(places)
