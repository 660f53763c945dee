"""What watches the questions of programs: nothing, or a falsifier that replays them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from opendp_lite.errors import SpaceError

Answer = TypeVar("Answer")


class Witness(ABC):
    """Sees each question that a program asks, and each program that runs.

    Whatever answers a program's questions goes through it: ``adaptive``, ``above_threshold``,
    sessions.
    """

    @abstractmethod
    def answered(self, query: Any, price: Any, answer: Callable[[], Answer]) -> Answer:
        """The answer to a question.

        Args:
            query: What was asked.
            price: What was paid for it, or what else belongs to the question.
            answer: Makes the answer.
        """

    @abstractmethod
    def ran(self, program: Callable[[], Answer]) -> Answer:
        """The result of a program."""


class _Nobody(Witness):
    """Lets everything happen."""

    def answered(self, query: Any, price: Any, answer: Callable[[], Answer]) -> Answer:
        return answer()

    def ran(self, program: Callable[[], Answer]) -> Answer:
        return program()


_WITNESS: Final[ContextVar[Witness]] = ContextVar("witness", default=_Nobody())  # noqa: B039


def answered(query: Any, price: Any, answer: Callable[[], Answer]) -> Answer:
    """The answer to a question, seen by the witness of what runs now.

    The answer is made once at most, however often the witness asks for it: it was paid for once.
    """
    return _WITNESS.get().answered(query, price, _once(answer))


def ran(program: Callable[[], Answer]) -> Answer:
    """The result of a program, seen by the witness of what runs now."""
    return _WITNESS.get().ran(program)


def watched(witness: Witness, work: Callable[[], Answer]) -> Answer:
    """Does some work that a witness sees."""
    token = _WITNESS.set(witness)
    try:
        return work()
    finally:
        _WITNESS.reset(token)


def _once(answer: Callable[[], Answer]) -> Callable[[], Answer]:
    """The same, which a second call refuses."""
    left = [answer]

    def made() -> Answer:
        try:
            make = left.pop()
        except IndexError:
            raise SpaceError("a witness asks for an answer a second time; ask again") from None
        return make()

    return made
