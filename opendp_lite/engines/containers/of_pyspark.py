"""Frames of Spark, folded in its Python workers as Arrow batches."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from functools import partial, partialmethod
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
class _SparkSql:
    """An expression of a row, as text.

    An operation on a column of pyspark is a call of Java, which takes a millisecond: of a sum they
    took as long as 5e6 rows.
    """

    text: str

    def _with(self, sign: str, other: _SparkSql | float) -> _SparkSql:
        said = other.text if isinstance(other, _SparkSql) else _double(other)
        return _SparkSql(f"({self.text} {sign} {said})")

    __add__, __sub__ = partialmethod(_with, "+"), partialmethod(_with, "-")
    __mul__ = partialmethod(_with, "*")
    __lt__, __le__ = partialmethod(_with, "<"), partialmethod(_with, "<=")
    __gt__, __ge__ = partialmethod(_with, ">"), partialmethod(_with, ">=")
    __and__, __or__ = partialmethod(_with, "AND"), partialmethod(_with, "OR")


def _double(value: float) -> str:
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def _is_key_of(key: str, values: Sequence[object]) -> str:
    """Whether a key is one of these: text as bytes, which no collation reads."""
    if isinstance(values[0], bytes):
        key = f"CAST({key} AS BINARY)"
    listed = (
        f"X'{each.hex()}'" if isinstance(each, bytes) else f"CAST('{each}' AS BIGINT)"
        for each in values
    )
    return f"{key} IN ({', '.join(listed)})"


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

    def _column(self, name: str) -> tuple[str, str]:
        place = self.held.columns.index(name)
        return f"`column {place}`", self.held.schema[place].dataType.simpleString()

    def number(self, name: str) -> _SparkSql | None:
        column, kind = self._column(name)
        if kind not in _NUMBERS:
            return None
        number = f"CAST({column} AS DOUBLE)"
        # A fifth quicker than a condition, which Spark works out anew for each branch of a clip.
        return _SparkSql(f"nanvl({number}, CAST(NULL AS DOUBLE))" if kind in _FLOATS else number)

    def key(self, name: str, kind: type) -> _SparkSql | None:
        column, found = self._column(name)
        if kind is int:
            return _SparkSql(f"CAST({column} AS BIGINT)") if found in _INTS else None
        if found == "string":
            return _SparkSql(column)
        # By its bytes, whatever collation the type has.
        return _SparkSql(f"CAST({column} AS BINARY)") if found.startswith("string ") else None

    def clip(self, value: _SparkSql, low: float, high: float) -> _SparkSql:
        """By comparisons, which leave NULL as it is; ``least`` and ``greatest`` would skip it."""
        least, most = _double(low), _double(high)
        below, above = value < low, value > high
        return _SparkSql(
            f"CASE WHEN {below.text} THEN {least} WHEN {above.text} THEN {most} "
            f"ELSE {value.text} END"
        )

    def choose(self, condition: _SparkSql, value: _SparkSql) -> _SparkSql:
        return _SparkSql(f"CASE WHEN {condition.text} THEN {value.text} END")

    def is_there(self, value: _SparkSql) -> _SparkSql:
        return _SparkSql(f"({value.text} IS NOT NULL)")

    def among(self, key: _SparkSql, values: Sequence[object]) -> _SparkSql:
        return _SparkSql(_is_key_of(key.text, values))

    def total(self, raised: _SparkSql, exponent: int) -> _SparkSql:
        """In three floats of 17 bits, of whose sums no rounding takes anything up to 2^36 rows.

        Sums of whole numbers of 64 bits would need two casts of each row, which cost more.
        """
        rest, parts = lower(raised, exponent), list[str]()
        for place in (2.0**34, 2.0**17):
            # Rounds to whole places, as ``total_of`` does to whole steps; then each is exact.
            part = (rest + 1.5 * 2**52 * place) - 1.5 * 2**52 * place
            parts.append(f"sum({part.text}) * {_double(1 / place)}")
            rest = rest - part
        # Whole numbers up to 2^53 by now. Cast at once, a float is its shortest decimal.
        wholes = (f"CAST({each} AS BIGINT)" for each in (*parts, f"sum({rest.text})"))
        high, middle, low = (f"CAST({each} AS DECIMAL(38, 0))" for each in wholes)
        return _SparkSql(
            f"CASE WHEN count(*) <= {_MOST_ROWS} "
            f"THEN ({high} * {2**17} + {middle}) * {2**17} + {low} "
            "ELSE raise_error('too many rows') END"
        )

    def count(self, value: _SparkSql) -> _SparkSql:
        return _SparkSql(f"count({value.text})")

    def ask(self, keys: DeclaredKeys, wanted: Sequence[_SparkSql]) -> Iterator[tuple[Any, ...]]:
        numbers = [f"{each.text} AS `number {place}`" for place, each in enumerate(wanted)]
        frame = self._by_place
        told = [f"{key.text} AS `key {place}`" for place, (key, _) in enumerate(keys)]
        if keys:
            frame = frame.groupBy(*map(functions.expr, told))
            numbers.insert(0, "count(*) AS rows")
        found = frame.agg(*map(functions.expr, numbers))
        # No more groups come here than there are declared. A condition on the keys alone would be
        # looked at before, for each row.
        for place, (_, values) in enumerate(keys):
            listed = list(map(to_key, values))
            if isinstance(listed[0], bytes):
                found = found.withColumn(f"key {place}", found[f"key {place}"].cast("binary"))
            among = _is_key_of(f"`key {place}`", listed)
            found = found.where(f"CASE WHEN rows > 0 THEN {among} END")
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
