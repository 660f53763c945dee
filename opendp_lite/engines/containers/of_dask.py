"""Collections of dask: what their kinds have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import attrs
import cloudpickle  # type: ignore[import-not-found,import-untyped,unused-ignore]
from dask.delayed import Delayed, delayed  # type: ignore[import-not-found,import-untyped,unused-ignore]

from opendp_lite.engines.containers.elsewhere import Outcome, Partitions, SentWork

# How many outcomes a task merges.
_FAN: Final = 16


@attrs.frozen(eq=False, repr=False)
class DaskPartitions(Partitions):
    """A collection of dask, of which each partition is one block."""

    library: ClassVar[str] = "dask"

    collection: Any

    @abstractmethod
    def delay(self) -> Sequence[Delayed]:
        """The partitions, each to be computed."""

    def dumps(self, work: object) -> bytes:
        return bytes(cloudpickle.dumps(work))

    def outcome(self, work: SentWork) -> Outcome:
        of_part = delayed(_of_part, pure=False)
        merge = delayed(_merge, pure=False)
        sent = delayed(work, pure=False)
        level = [of_part(sent, *each) for each in enumerate(self.delay())]
        while len(level) > 1:
            starts = range(0, len(level), _FAN)
            level = [merge(sent, level[start : start + _FAN]) for start in starts]
        found: Outcome = level[0].compute()
        return found


def _of_part(work: SentWork, part: int, rows: object) -> Outcome:
    return work.of_part(part, [rows])


def _merge(work: SentWork, outcomes: Sequence[Outcome]) -> Outcome:
    return work.merge(outcomes)
