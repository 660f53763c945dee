"""Work that is sent to other processes, and what comes back: a summary or a refusal, as values."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial, reduce
from importlib.metadata import PackageNotFoundError, version
from platform import python_version_tuple
from typing import Any, Final

import attrs

from opendp_lite.engines.blocks import Blocks, OfBlocks
from opendp_lite.engines.deferred import identity
from opendp_lite.engines.quiet import QUIET
from opendp_lite.engines.reduced import Job, Merge
from opendp_lite.errors import DataError, OpenDPLiteError

_SAME: Final = ("opendp_lite", "numpy")
"""Packages of which the same version gives the same integers."""
_FAILED: Final = (
    "a part of the rows could not be read: the library that gives it, or a function of yours, "
    "failed; go through it once without dp to see why"
)
_FULL: Final = "a part of the rows does not fit into the memory of its worker; make parts smaller"


@cache
def installed() -> dict[str, str]:
    """The versions that must be the same wherever rows are folded; looked up once."""
    found = {"Python": ".".join(python_version_tuple()[:2])}
    for package in _SAME:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "no"
    return found


@attrs.frozen
class Outcome:
    """The summary of some rows, or the words that refuse them.

    A refusal is a value: raised on a worker, it would be logged there with a part of the rows.
    """

    summary: Any = None
    refusal: str | None = None

    def value(self) -> Any:
        """The summary; raises ``DataError`` in its place."""
        if self.refusal is not None:
            raise DataError(self.refusal)
        return self.summary


def outcome_of(work: Callable[[], Any]) -> Outcome:
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


@attrs.frozen(eq=False, repr=False)
class _Part(Blocks):
    """A part of some rows, where it lies."""

    place: int = attrs.field(kw_only=True)

    @property
    def part(self) -> int:
        return self.place


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
    def of(cls, rows: OfBlocks, job: Job, merge: Merge, dumps: Callable[[Any], bytes]) -> SentWork:
        """The work for the parts of these rows, pickled by a function."""
        return cls(dumps((attrs.evolve(rows, given=Blocks(tuple)), job, merge)), installed())

    def of_part(self, part: int, pieces: Iterable[Any]) -> Outcome:
        """The summary of a part of the rows, which comes in pieces.

        Args:
            part: Its place among the parts; the same each time that it is computed.
            pieces: Its rows.
        """
        here = installed()
        if here != self.made_with:
            return Outcome(refusal=_differ(self.made_with, here))
        return outcome_of(partial(self._summary, part, pieces))

    def merged(self, outcomes: Sequence[Outcome]) -> Outcome:
        """One outcome of several; of several refusals, always the same one."""
        refusals = [each.refusal for each in outcomes if each.refusal is not None]
        if refusals:
            return Outcome(refusal=min(refusals))
        return outcome_of(partial(self._merged, [each.summary for each in outcomes]))

    def _summary(self, part: int, pieces: Iterable[Any]) -> Any:
        rows, job, _ = pickle.loads(self.code)
        return job(attrs.evolve(rows, given=_Part(partial(identity, pieces), None, place=part)))

    def _merged(self, summaries: Sequence[Any]) -> Any:
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
