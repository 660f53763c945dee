"""Collections of dask, and its arrays, folded chunk by chunk where they are computed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import attrs
import cloudpickle  # type: ignore[import-not-found,import-untyped,unused-ignore]
import dask.array as arrays  # type: ignore[import-not-found,import-untyped,unused-ignore]
import numpy as np
from dask.delayed import Delayed, delayed  # type: ignore[import-not-found,import-untyped,unused-ignore]

from opendp_lite.engines.containers.elsewhere import DistributedRows, Outcome, SentWork
from opendp_lite.engines.data.arrays import require_shape
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.open_data import open_rows

# How many outcomes a task merges.
_FAN: Final = 16


@attrs.frozen(eq=False, repr=False)
class DaskPartitions(DistributedRows):
    """A collection of dask, of which each partition is one block."""

    library: ClassVar[str] = "dask"

    @abstractmethod
    def delay(self) -> Sequence[Delayed]:
        """The partitions, each to be computed."""

    def dumps(self, work: object) -> bytes:
        return bytes(cloudpickle.dumps(work))

    def outcome(self, work: SentWork) -> Outcome:
        of_part = delayed(_of_part, pure=False)
        merge = delayed(SentWork.merge, pure=False)
        sent = delayed(work, pure=False)
        level = [of_part(sent, *each) for each in enumerate(self.delay())]
        while len(level) > 1:
            starts = range(0, len(level), _FAN)
            level = [merge(sent, level[start : start + _FAN]) for start in starts]
        found: Outcome = level[0].compute()
        return found


def _of_part(work: SentWork, part: int, rows: object) -> Outcome:
    return work.of_part(part, [rows])


@attrs.frozen(eq=False, repr=False)
class _ArrayChunks(DaskPartitions):
    """An array of one or two dimensions; a chunk holds whole rows."""

    def empty(self) -> np.ndarray:
        return np.empty((0, self.columns or 0), self.held.dtype)

    def pick(self, names: Sequence[str]) -> Any:
        return self.held

    def delay(self) -> Sequence[Delayed]:
        whole = self.held
        if whole.ndim > 1:
            whole = whole.rechunk({1: -1})
        return list(whole.to_delayed().ravel())


@open_rows.register
def _of_array(data: arrays.Array) -> Blocks:
    require_shape(data.ndim)
    return _ArrayChunks.of(data, 1 if data.ndim == 1 else int(data.shape[1]))
