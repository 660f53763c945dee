"""Frames of Spark, folded in its Python workers as Arrow batches."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any, ClassVar, Final

import attrs
import pyarrow as arrow  # type: ignore[import-untyped]
from pyspark import TaskContext, cloudpickle, sql  # type: ignore[import-not-found,import-untyped,unused-ignore]
from pyspark.sql import functions  # type: ignore[import-not-found,import-untyped,unused-ignore]
from pyspark.sql.pandas.types import to_arrow_schema  # type: ignore[import-not-found,import-untyped,unused-ignore]

from opendp_lite.engines.columns import BATCH_ENTRIES
from opendp_lite.engines.containers.elsewhere import DistributedRows, Outcome, SentWork
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.expressions import DeclaredKeys, Engine, lower, to_key
from opendp_lite.engines.data.open_data import open_rows

_INTS: Final = frozenset({"tinyint", "smallint", "int", "bigint"})
_FLOATS: Final = frozenset({"float", "double"})
# Decimals come in blocks: Arrow and Spark do not round all of them to the same floats.
_NUMBERS: Final = _INTS | _FLOATS | {"boolean"}
_Batches = Iterator[arrow.RecordBatch]
# Of rows up to 2^51 in size 2^36 have a sum of 2^53 places of 2^34. More come in batches.
_MOST_ROWS: Final = 2**36
# Tasks that merge outcomes, whatever the number of partitions.
_FEW: Final = 2
_COLUMN: Final = "outcome"
_SCHEMA: Final = f"{_COLUMN} binary"
# What newer versions of Spark want to know of a column of times.
_ZONE: Final = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


@attrs.frozen(eq=False, repr=False)
class _Frame(DistributedRows, Engine):
    """A frame, which adds up itself, or whose partitions come in batches."""

    library: ClassVar[str] = "Spark"
    sums: ClassVar[bool] = True

    @property
    def session(self) -> sql.SparkSession:
        return self.held.sparkSession

    @classmethod
    def public(cls, session: sql.SparkSession, columns: Mapping[str, list[Any]]) -> _Frame:
        listed = [
            functions.array(*map(functions.lit, each)).alias(name) for name, each in columns.items()
        ]
        rows = functions.inline(functions.arrays_zip(*columns))
        # In two partitions, as other rows: what is known beforehand might be computed beforehand.
        frame = session.range(1).select(*listed).select(rows).repartition(2)
        return cls.of(frame, len(columns))

    @property
    def _by_place(self) -> sql.DataFrame:
        """Columns named by their places: Spark would read dots and another case in a name."""
        return self.held.toDF(*(f"column {place}" for place in range(len(self.held.columns))))

    def _column(self, name: str) -> tuple[sql.Column, str]:
        place = self.held.columns.index(name)
        return functions.col(f"column {place}"), self.held.schema[place].dataType.simpleString()

    def number(self, name: str) -> sql.Column | None:
        column, kind = self._column(name)
        if kind not in _NUMBERS:
            return None
        number = column.cast("double")
        # A fifth quicker than a condition, which Spark works out anew for each branch of a clip.
        missing = functions.lit(None).cast("double")
        return functions.nanvl(number, missing) if kind in _FLOATS else number

    def key(self, name: str, kind: type) -> sql.Column | None:
        column, found = self._column(name)
        if kind is int:
            return column.cast("bigint") if found in _INTS else None
        if found == "string":
            return column
        # By its bytes, whatever collation the type has.
        return column.cast("binary") if found.startswith("string ") else None

    def clip(self, value: sql.Column, low: float, high: float) -> sql.Column:
        """By comparisons, which leave NULL as it is; ``least`` and ``greatest`` would skip it."""
        return functions.when(value < low, low).when(value > high, high).otherwise(value)

    def choose(self, condition: sql.Column, value: sql.Column) -> sql.Column:
        return functions.when(condition, value)

    def is_there(self, value: sql.Column) -> sql.Column:
        return value.isNotNull()

    def among(self, key: sql.Column, values: Sequence[Any]) -> sql.Column:
        return _to_bytes(key, values).isin(*values)

    def total(self, raised: sql.Column, exponent: int) -> sql.Column:
        """In three floats of 17 bits, of whose sums no rounding takes anything up to 2^36 rows.

        Sums of whole numbers of 64 bits would need two casts of each row, which cost more.
        """
        rest = lower(raised, exponent)
        parts = list[sql.Column]()
        for place in (2.0**34, 2.0**17):
            # Rounds to whole places, as ``total_of`` does to whole steps; then each is exact.
            part = (rest + 1.5 * 2**52 * place) - 1.5 * 2**52 * place
            parts.append(functions.sum(part) * (1 / place))
            rest = rest - part
        # Whole numbers up to 2^53 by now. Cast at once, a float is its shortest decimal.
        high, middle, low = (each.cast("bigint") for each in (*parts, functions.sum(rest)))
        steps = (high.cast("decimal(38, 0)") * 2**17 + middle) * 2**17 + low
        few = functions.count("*") <= _MOST_ROWS
        return functions.when(few, steps).otherwise(functions.raise_error("too many rows"))

    def count(self, value: sql.Column) -> sql.Column:
        return functions.count(value)

    def ask(self, keys: DeclaredKeys, wanted: Sequence[sql.Column]) -> Iterator[tuple[Any, ...]]:
        numbers = [each.alias(f"number {place}") for place, each in enumerate(wanted)]
        frame = self._by_place
        told = [key.alias(f"key {place}") for place, (key, _) in enumerate(keys)]
        if keys:
            frame = frame.groupBy(*told)
            numbers.insert(0, functions.count("*").alias("rows"))
        found = frame.agg(*numbers)
        # No more groups come here than there are declared. A condition on the keys alone would be
        # looked at before, for each row.
        for place, (_, values) in enumerate(keys):
            listed = list(map(to_key, values))
            key = _to_bytes(functions.col(f"key {place}"), listed)
            found = found.withColumn(f"key {place}", key)
            found = found.where(functions.when(functions.col("rows") > 0, key.isin(*listed)))
        for row in found.drop("rows").collect():
            yield tuple(bytes(cell) if isinstance(cell, bytearray) else cell for cell in row)

    def empty(self) -> arrow.Table:
        return to_arrow_schema(self.held.schema, **_ZONE).empty_table()

    def pick(self, names: Sequence[str]) -> sql.DataFrame:
        own = self.held.columns
        places = [place for place, name in enumerate(own) if name in names]
        picked = (functions.col(f"column {place}").alias(own[place]) for place in places or [0])
        return self._by_place.select(*picked)

    def dumps(self, work: object) -> bytes:
        return bytes(cloudpickle.dumps(work))

    def outcome(self, work: SentWork) -> Outcome:
        """Merged on the workers to a few rows, and those here; an empty frame may have none."""
        found = self.held.mapInArrow(partial(_of_part, work), _SCHEMA)
        merged = found.repartition(_FEW).mapInArrow(partial(_merge, work), _SCHEMA)
        outcomes = [pickle.loads(bytes(row[_COLUMN])) for row in merged.collect()]
        return work.merge(outcomes) if outcomes else work.of_part(0, ())


def _to_bytes(key: sql.Column, values: Sequence[Any]) -> sql.Column:
    """A key as its values are: text as bytes, which no collation reads."""
    return key.cast("binary") if isinstance(values[0], bytes) else key


def _of_part(work: SentWork, batches: _Batches) -> _Batches:
    yield _as_batch(work.of_part(TaskContext.get().partitionId(), _join(batches)))


def _join(batches: _Batches) -> Iterator[arrow.Table]:
    """The same rows in fewer batches: Spark's have 10 000 rows, and each is opened anew."""
    held: list[arrow.RecordBatch] = []
    entries = 0
    for batch in batches:
        held.append(batch)
        entries += batch.num_rows * max(1, batch.num_columns)
        if entries >= BATCH_ENTRIES:
            yield arrow.Table.from_batches(held).combine_chunks()
            held, entries = [], 0
    if held:
        yield arrow.Table.from_batches(held).combine_chunks()


def _merge(work: SentWork, batches: _Batches) -> _Batches:
    cells = [cell for batch in batches for cell in batch[_COLUMN].to_pylist()]
    if cells:
        yield _as_batch(work.merge([pickle.loads(cell) for cell in cells]))


def _as_batch(outcome: Outcome) -> arrow.RecordBatch:
    return arrow.record_batch([arrow.array([pickle.dumps(outcome)], arrow.binary())], [_COLUMN])


@open_rows.register
def _of_frame(data: sql.DataFrame) -> Blocks:
    return _Frame.of(data, len(data.columns))
