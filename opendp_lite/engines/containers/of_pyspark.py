"""Frames of Spark, folded in its Python workers as Arrow batches."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from inspect import signature
from typing import Any, ClassVar, Final

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

    frame: Any

    @property
    def columns(self) -> int:
        return len(self.frame.columns)

    def empty(self) -> Any:
        return to_arrow_schema(self.frame.schema, **_ZONE).empty_table()

    def only(self, names: Sequence[str]) -> _Frame:
        places = [place for place, name in enumerate(self.frame.columns) if name in names]
        return _Frame(self.frame.select(*(self.frame[place] for place in places or [0])))

    def dumps(self, work: Any) -> bytes:
        found: bytes = cloudpickle.dumps(work)
        return found

    def outcome(self, work: SentWork) -> Outcome:
        """Merged on the workers to a few rows, and those here; an empty frame may have none."""
        found = self.frame.mapInArrow(partial(_of_part, work), _SCHEMA)
        merged = found.repartition(_FEW).mapInArrow(partial(_merge, work), _SCHEMA)
        outcomes = [pickle.loads(bytes(row[_COLUMN])) for row in merged.collect()]
        return work.merged(outcomes) if outcomes else work.of_part(0, ())


def _of_part(work: SentWork, batches: Iterator[Any]) -> Iterator[Any]:
    yield _as_batch(work.of_part(TaskContext.get().partitionId(), _join(batches)))


def _join(batches: Iterator[Any]) -> Iterator[Any]:
    """The same rows in fewer batches: Spark's have 10 000 rows, and each is opened anew."""
    held: list[Any] = []
    entries = 0
    for batch in batches:
        held.append(batch)
        entries += batch.num_rows * max(1, batch.num_columns)
        if entries >= BATCH_ENTRIES:
            yield arrow.Table.from_batches(held).combine_chunks()
            held, entries = [], 0
    if held:
        yield arrow.Table.from_batches(held).combine_chunks()


def _merge(work: SentWork, batches: Iterator[Any]) -> Iterator[Any]:
    cells = [cell for batch in batches for cell in batch[_COLUMN].to_pylist()]
    if cells:
        yield _as_batch(work.merged([pickle.loads(cell) for cell in cells]))


def _as_batch(outcome: Outcome) -> Any:
    return arrow.record_batch([arrow.array([pickle.dumps(outcome)], arrow.binary())], [_COLUMN])


@open_rows.register(sql.DataFrame)
def _of_frame(data: Any) -> Blocks:
    return DistributedRows.of(_Frame(data))
