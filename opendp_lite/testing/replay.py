"""A run of a program on paper: its questions with their answers, and the run once more."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any, Final

import attrs

from opendp_lite.combinators.witness import Answer, Witness, watched
from opendp_lite.core import link_text
from opendp_lite.testing.alike import alike
from opendp_lite.testing.leaves import leaves

_SHORT: Final = 300
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")


@attrs.frozen(eq=False)
class Question:
    """What was asked, what was paid, and what came back.

    Attributes:
        query: What was asked.
        price: What was paid.
        within: What happened while the answer was made: the programs that the query runs.
        result: A copy of the answer.
        refusal: The error that came in its place.
    """

    query: Any
    price: Any
    within: tuple[Question | RanProgram, ...]
    result: Any
    refusal: Exception | None

    def words(self) -> str:
        """What happened."""
        return f"asked {brief(self.query)}"


@attrs.frozen(eq=False)
class RanProgram:
    """A program that ran: what it asked, and a copy of its result or the error that ended it."""

    within: tuple[Question | RanProgram, ...]
    result: Any
    refusal: Exception | None

    def words(self) -> str:
        """What happened."""
        return "ran a program"


def brief(query: Any) -> str:
    """A query as it is typed, without its space, and cut short."""
    text = " >> ".join(map(link_text, query.recipe))
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."


Events = tuple[Question | RanProgram, ...]


class _Recorder(Witness):
    """Writes down what happens."""

    def __init__(self) -> None:
        self.list: list[Question | RanProgram] = []

    def answered(self, query: Any, price: Any, answer: Callable[[], Answer]) -> Answer:
        return self._noted(partial(Question, query, price), answer)

    def ran(self, program: Callable[[], Answer]) -> Answer:
        return self._noted(RanProgram, program)

    def _noted(
        self, event: Callable[..., Question | RanProgram], work: Callable[[], Answer]
    ) -> Answer:
        outer, self.list = self.list, []
        try:
            found = work()
        except Exception as refusal:
            outer.append(event(within=tuple(self.list), refusal=refusal, result=None))
            raise
        else:
            outer.append(event(within=tuple(self.list), refusal=None, result=_copy(found)))
            return found
        finally:
            self.list = outer


def recorded(work: Callable[[], Any]) -> Events:
    """What programs ask while some work is done, with the answers that they get."""
    recorder = _Recorder()
    watched(recorder, work)
    return tuple(recorder.list)


def replayed(work: Callable[[], Any], events: Events) -> str | None:
    """Does the work again with the answers of before.

    Returns:
        Where it departs from before, in words; None where it does not.
    """
    replayer = _Replayer(events)
    try:
        watched(replayer, work)
    except _Departure:
        return replayer.fault
    except Exception as problem:
        return replayer.fault or f"it failed with {type(problem).__name__}, and did not before"
    if replayer.fault is None and replayer.left:
        return f"it ended where it {replayer.left[0].words()} before"
    return replayer.fault


class _Departure(BaseException):
    """A replay has departed; no program should catch it."""


class _Replayer(Witness):
    """Gives the answers of before, as long as the questions are the same."""

    def __init__(self, events: Events) -> None:
        self.left = list(events)
        self.fault: str | None = None

    def answered(self, query: Any, price: Any, answer: Callable[[], Answer]) -> Answer:
        now = f"asked {brief(query)}"
        before = self._next(now)
        if not isinstance(before, Question) or not alike(before.query, query):
            raise self._departed(f"it {now} where it {before.words()} before")
        if not alike(before.price, price):
            raise self._departed(f"it {now} at another price than before")
        if before.within:
            self._within(before, answer)
        if before.refusal is not None:
            raise before.refusal
        found: Answer = _copy(before.result)
        return found

    def ran(self, program: Callable[[], Answer]) -> Answer:
        before = self._next("ran one more program")
        if not isinstance(before, RanProgram):
            raise self._departed(f"it ran a program where it {before.words()} before")
        found: Answer = self._within(before, program)
        if _told(before.result) != _told(found):
            raise self._departed("it asked the same and gave another result")
        return found

    def _next(self, happened: str) -> Question | RanProgram:
        if self.fault is not None:
            raise _Departure
        if not self.left:
            raise self._departed(f"it {happened}, and nothing more before")
        return self.left.pop(0)

    def _within(self, before: Question | RanProgram, work: Callable[[], Any]) -> Any:
        """Does the work of an event, which must ask what it asked and end as it ended."""
        outer, self.left = self.left, list(before.within)
        try:
            found = work()
        except Exception as problem:
            if type(problem) is type(before.refusal):
                self.left = outer
                raise
            name = type(problem).__name__
            raise self._departed(f"it failed with {name}, and did not before") from None
        if self.left:
            raise self._departed(f"it ended where it {self.left[0].words()} before")
        if before.refusal is not None and isinstance(before, RanProgram):
            raise self._departed(f"it did not fail with {type(before.refusal).__name__}")
        self.left = outer
        return found

    def _departed(self, words: str) -> _Departure:
        self.fault = self.fault or words
        return _Departure(words)


def _copy(result: Any) -> Any:
    """A copy; the result itself where it cannot be copied."""
    try:
        return deepcopy(result)
    except Exception:
        return result


def _told(result: Any) -> list[str]:
    """The form of a result and its numbers, as text; of objects without a text the type."""
    parts = (f"{name} {list(numbers)!r}" for name, numbers in leaves(result))
    return [_ADDRESS.sub("", part) for part in parts]
