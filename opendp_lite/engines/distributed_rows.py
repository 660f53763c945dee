"""Rows in partitions on other machines: folds run there, and only their summaries travel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final, NoReturn

import attrs

from opendp_lite.engines.blocks import Blocks, OfBlocks
from opendp_lite.engines.columns import Dataset
from opendp_lite.engines.door import opened
from opendp_lite.engines.quiet import QUIET, attempted
from opendp_lite.engines.reduced import Job, Merge
from opendp_lite.engines.sent_work import Outcome, SentWork
from opendp_lite.engines.table import Column
from opendp_lite.errors import DataError

_NOT_SENT: Final = (
    "a function of the pipeline cannot be sent to another process; write it so that pickle takes it"
)


class Partitions(ABC):
    """Rows in the hands of a library that computes on other machines."""

    library: ClassVar[str]
    """Its name, for a refusal."""

    @property
    @abstractmethod
    def columns(self) -> int:
        """How many there are."""

    @abstractmethod
    def empty(self) -> Any:
        """A container as the partitions are, with their types and without rows."""

    @abstractmethod
    def only(self, names: Sequence[str]) -> Partitions:
        """The same with some columns of a table alone, and with one at least."""

    @abstractmethod
    def dumps(self, work: Any) -> bytes:
        """Pickles work, with the functions that a person wrote."""

    @abstractmethod
    def outcome(self, work: SentWork) -> Outcome:
        """Has work done where each partition lies, and its outcomes merged to one."""


@attrs.frozen(eq=False, repr=False)
class DistributedRows(Blocks):
    """Rows in partitions on other machines. They are never loaded here."""

    partitions: Partitions = attrs.field(kw_only=True)

    @classmethod
    def of(cls, partitions: Partitions, names: tuple[str, ...] | None) -> DistributedRows:
        """The rows of some partitions, with these columns; with all if ``names`` is None."""
        columns = max(1, partitions.columns if names is None else len(names))
        refused = partial(_not_loaded, partitions.library)
        return cls(refused, columns, None, names, partitions=partitions)

    def require(self, columns: Sequence[Column] | None) -> None:
        with QUIET:
            empty = attempted(self.partitions.empty, self._failed("describe"))
            if columns is None:
                opened(empty, self.names)
            else:
                Dataset(empty, self.names, None).columns(tuple(columns))

    def only(self, columns: Sequence[Column] | None) -> Blocks:
        names = tuple(dict.fromkeys(column.name for column in columns or ()))
        if columns is None or None in names:
            return self
        return attrs.evolve(self, partitions=self.partitions.only(list(map(str, names))))

    @property
    def library(self) -> str:
        return self.partitions.library

    def summary(self, rows: OfBlocks, job: Job, merge: Merge) -> Any:
        send = partial(SentWork.of, rows, job, merge, self.partitions.dumps)
        run = partial(self.partitions.outcome, attempted(send, _NOT_SENT))
        return attempted(run, self._failed("compute")).value()

    def _failed(self, verb: str) -> str:
        library = self.library
        return (
            f"{library} could not {verb} the data: a step before dp or a worker failed; {verb} it "
            f"with {library} alone to see why, and install opendp_lite on each worker"
        )


def _not_loaded(library: str) -> NoReturn:
    raise DataError(
        f"the rows are in a collection of {library} and are not loaded here, since they may not "
        "fit into memory; end the pipeline in a step that adds rows up, such as sum or count"
    )
