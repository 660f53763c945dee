"""Work that is sent to other processes, and what comes back: a summary or a refusal, as values."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial, reduce
from platform import python_version_tuple
from typing import Any, Final, NoReturn, Self

import attrs
import numpy as np

from opendp_lite.base.errors import DataError, OpenDPLiteError
from opendp_lite.base.version import find_version
from opendp_lite.engines.columns import Dataset
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.expressions import Engine
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.data.open_data import open_source
from opendp_lite.engines.data.source import QUIET, Merge, attempt
from opendp_lite.engines.data.table import Column

_FAILED: Final = (
    "a part of the rows could not be read: the library that gives it, or a function of yours, "
    "failed; go through it once without dp to see why"
)
_FULL: Final = "a part of the rows does not fit into the memory of its worker; make parts smaller"


@cache
def find_versions() -> dict[str, str]:
    """The versions of which the same ones give the same integers; looked up once."""
    python = ".".join(python_version_tuple()[:2])
    return {"Python": python, "opendp_lite": find_version(), "numpy": np.__version__}


@attrs.frozen
class Outcome:
    """The summary of some rows, or the words that refuse them.

    A refusal is a value: raised on a worker, it would be logged there with a part of the rows.
    """

    summary: object = None
    refusal: str | None = None

    def value(self) -> Any:
        """The summary; raises ``DataError`` in its place."""
        if self.refusal is not None:
            raise DataError(self.refusal)
        return self.summary


def outcome_of(work: Callable[[], object]) -> Outcome:
    """What work gives, whatever happens; nothing is raised, shown or logged."""
    try:
        with QUIET:
            return Outcome(work())
    except OpenDPLiteError as problem:
        return Outcome(refusal=str(problem))
    except MemoryError:
        return Outcome(refusal=_FULL)
    except Exception:
        return Outcome(refusal=_FAILED)


@attrs.frozen(repr=False)
class SentWork:
    """A job for each part of some rows, and how two summaries merge.

    Attributes:
        code: The job, the rows that it goes through, and the merge, pickled.
        made_with: The versions of the process that releases.
    """

    code: bytes
    made_with: dict[str, str]

    @classmethod
    def of(
        cls, rows: Any, job: Callable[..., object], merge: Merge, dumps: Callable[[object], bytes]
    ) -> SentWork:
        """The work for the parts of these rows, pickled by a function."""
        return cls(dumps((attrs.evolve(rows, given=Blocks(tuple)), job, merge)), find_versions())

    def of_part(self, part: int, pieces: Iterable[object]) -> Outcome:
        """The summary of a part of the rows, which comes in pieces.

        Args:
            part: Its place among the parts; the same each time that it is computed.
            pieces: Its rows.
        """
        here = find_versions()
        if here != self.made_with:
            return Outcome(refusal=_differ(self.made_with, here))
        return outcome_of(partial(self._summary, part, pieces))

    def merge(self, outcomes: Sequence[Outcome]) -> Outcome:
        """One outcome of several; of several refusals, always the same one."""
        refusals = [each.refusal for each in outcomes if each.refusal is not None]
        if refusals:
            return Outcome(refusal=min(refusals))
        return outcome_of(partial(self._merge_summaries, [each.summary for each in outcomes]))

    def _summary(self, part: int, pieces: Iterable[object]) -> object:
        rows, job, _ = pickle.loads(self.code)
        return job(attrs.evolve(rows, given=Blocks(partial(identity, pieces), None), part=part))

    def _merge_summaries(self, summaries: Sequence[object]) -> object:
        _, _, merge = pickle.loads(self.code)
        while len(summaries) > 1:
            pairs = [summaries[place : place + 2] for place in range(0, len(summaries), 2)]
            summaries = [reduce(merge, pair) for pair in pairs]
        return summaries[0]


def _differ(there: dict[str, str], here: dict[str, str]) -> str:
    """Names the versions that differ; both are public."""
    pairs = [
        f"{name} {there[name]} here and {here.get(name)} on a worker"
        for name in there
        if there[name] != here.get(name)
    ]
    return f"the versions differ: {', '.join(pairs)}; install the same ones on all machines"


_NOT_SENT: Final = (
    "a function of the pipeline cannot be sent to another process; write it so that pickle takes it"
)


@attrs.frozen(eq=False, repr=False)
class DistributedRows(Blocks):
    """Rows in partitions of a library that computes on other machines. They are never loaded here.

    ``held`` is what the library calls them: a frame, say.
    """

    held: Any = attrs.field(kw_only=True)

    @classmethod
    def of(cls, held: Any, columns: int) -> Self:
        """The rows of what has so many columns."""
        return cls(partial(_not_loaded, cls.library), max(1, columns), held=held)

    @abstractmethod
    def empty(self) -> object:
        """A container as the partitions are, with their types and without rows."""

    @abstractmethod
    def pick(self, names: Sequence[str]) -> Any:
        """What is held with some columns of a table alone, and with one at least."""

    @abstractmethod
    def dumps(self, work: object) -> bytes:
        """Pickles work, with the functions that a person wrote."""

    @abstractmethod
    def outcome(self, work: SentWork) -> Outcome:
        """Has work done where each partition lies, and its outcomes merged to one."""

    def require(self, columns: Sequence[Column] | None, names: Sequence[str] | None) -> None:
        with QUIET:
            empty = attempt(self.empty, self._fail("describe"))
            if columns is None:
                open_source(empty)
            else:
                Dataset(empty, None if names is None else tuple(names), None).columns(
                    tuple(columns)
                )

    def only(self, columns: Sequence[Column] | None) -> Blocks:
        names = tuple(dict.fromkeys(column.name for column in columns or ()))
        if columns is None or None in names:
            return self
        return attrs.evolve(self, held=self.pick(list(map(str, names))))

    @property
    def engine(self) -> Engine | None:
        """What computes expressions of their columns, if they do."""
        return self if isinstance(self, Engine) else None

    def summary(self, rows: object, job: Callable[..., object], merge: Merge) -> Any:
        send = partial(SentWork.of, rows, job, merge, self.dumps)
        run = partial(self.outcome, attempt(send, _NOT_SENT))
        return attempt(run, self._fail("compute")).value()

    def _fail(self, verb: str) -> str:
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
