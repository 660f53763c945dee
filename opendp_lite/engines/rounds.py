"""Releases on their way: each asks for summaries of rows, and all that wait share one pass.

A release is a coroutine here: it yields what it asks for and is sent that. ``answer`` takes one to
its end. ``together`` makes one of several, which go round by round. ``in_turns`` makes one of a
function that asks deep within, by ``ask_for``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextvars import ContextVar, copy_context
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import Final, TypeAlias, TypeVar, cast

import numpy as np

from opendp_lite.base.frozen import IN_BROWSER
from opendp_lite.engines.data.fold import Summary
from opendp_lite.engines.rows import AnyRequest, FoldRequest, summaries

Result = TypeVar("Result")
Rounds: TypeAlias = Generator[tuple[AnyRequest, ...], list[object], Result]
"""Work on its way: it asks for summaries of rows, is sent them, and returns a result."""
Going: TypeAlias = Rounds[object]
"""A release on its way."""

# Releases that wait for each other at once: each may keep a thread, and a summary of 130 kB.
_MOST_WAITING: Final = 64
# How a release that waits for others is told what it asks for.
_ASKING: ContextVar[Callable[[AnyRequest], object] | None] = ContextVar("asking", default=None)


class Elsewhere:
    """What stands in the place of rows on other machines: a law asks for summaries of them."""

    __slots__ = ()


def answer(going: Rounds[Result]) -> Result:
    """What a release comes to, once it was told all that it asked for."""
    try:
        asked = next(going)
        while True:
            asked = going.send(summaries(asked))
    except StopIteration as ended:
        found: Result = ended.value
        return found
    finally:
        going.close()  # Rows that cannot be read leave no thread behind that waits for them.


def together(several: Sequence[Going]) -> Rounds[list[object]]:
    """Releases that wait for each other, so that what they ask for next takes one pass."""
    results: list[object] = []
    for start in range(0, len(several), _MOST_WAITING):
        results += yield from _in_rounds(several[start : start + _MOST_WAITING])
    return results


def _in_rounds(several: Sequence[Going]) -> Rounds[list[object]]:
    results: list[object] = [None] * len(several)
    told: dict[int, list[object] | None] = dict.fromkeys(range(len(several)))
    try:
        while told:
            asked: dict[int, tuple[AnyRequest, ...]] = {}
            for place, found in told.items():
                going = several[place]
                try:
                    asked[place] = next(going) if found is None else going.send(found)
                except StopIteration as ended:
                    results[place] = ended.value
            all_asked = tuple(ask for asks in asked.values() for ask in asks)
            found_of_all = iter((yield all_asked) if asked else [])
            told = {place: list(islice(found_of_all, len(asks))) for place, asks in asked.items()}
    finally:
        for each in several:
            each.close()
    return results


def ask_for(ask: FoldRequest[Summary]) -> Summary:
    """A further summary of rows: at once, or with what other releases wait for."""
    asking = _ASKING.get()
    found = summaries((ask,))[0] if asking is None else asking(ask)
    return cast(Summary, found)


# How long a release that has failed waits for its thread.
_SECONDS: Final = 1.0


def in_turns(work: Callable[[], object]) -> Going:
    """Work that calls ``ask_for``, on its way: in a thread, which runs while this one waits.

    Samplers that choose among numbers on other machines ask deep within. As coroutines all of them
    would be slower where the numbers are here. Without threads the work asks at once, so that its
    passes are its own.
    """
    if IN_BROWSER:
        with np.errstate(all="ignore"):
            return work()
    turns: SimpleQueue[AnyRequest | tuple[object] | BaseException] = SimpleQueue()
    answers: SimpleQueue[Sequence[object]] = SimpleQueue()

    def asking(ask: AnyRequest) -> object:
        turns.put(ask)
        (found,) = answers.get()
        return found

    def run() -> None:
        _ASKING.set(asking)
        try:
            with np.errstate(all="ignore"):
                turns.put((work(),))
        except BaseException as problem:
            turns.put(problem)

    thread = Thread(target=copy_context().run, args=(run,), daemon=True)
    thread.start()
    try:
        while isinstance(turn := turns.get(), FoldRequest):
            answers.put((yield (turn,)))
    finally:
        # Ends a thread that still waits: it cannot unpack this. It is not waited for longer, since
        # it may need what another release holds that has not been closed yet.
        answers.put(())
        thread.join(_SECONDS)
    if isinstance(turn, BaseException):
        raise turn
    return turn[0]
