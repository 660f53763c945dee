"""Frames of Spark, folded in its Python workers as Arrow batches."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from inspect import signature
from typing import ClassVar, Final

import attrs
import pyarrow as arrow  # type: ignore[import-untyped]
from pyspark import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    TaskContext,
    cloudpickle,
    sql,
)
from pyspark.sql.pandas.types import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    to_arrow_schema,
)

from opendp_lite.engines.columns import BATCH_ENTRIES
from opendp_lite.engines.containers.elsewhere import DistributedRows, Outcome, Partitions, SentWork
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.open_data import open_rows

_Batches = Iterator[arrow.RecordBatch]
# Tasks that merge outcomes, whatever the number of partitions.
_FEW: Final = 2
_COLUMN: Final = "outcome"
_SCHEMA: Final = f"{_COLUMN} binary"
# What newer versions of Spark want to know of a column of times.
_ZONE: Final = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


@attrs.frozen(eq=False, repr=False)
class _Frame(Partitions):
    """A frame, whose partitions come in batches."""

    library: ClassVar[str] = "Spark"

    frame: sql.DataFrame

    @property
    def columns(self) -> int:
        return len(self.frame.columns)

    def empty(self) -> arrow.Table:
        return to_arrow_schema(self.frame.schema, **_ZONE).empty_table()

    def only(self, names: Sequence[str]) -> _Frame:
        places = [place for place, name in enumerate(self.frame.columns) if name in names]
        return _Frame(self.frame.select(*(self.frame[place] for place in places or [0])))

    def dumps(self, work: object) -> bytes:
        return bytes(cloudpickle.dumps(work))

    def outcome(self, work: SentWork) -> Outcome:
        """Merged on the workers to a few rows, and those here; an empty frame may have none."""
        found = self.frame.mapInArrow(partial(_of_part, work), _SCHEMA)
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
    return DistributedRows.of(_Frame(data))
