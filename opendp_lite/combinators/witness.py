"""What watches the questions of programs: nothing, or a falsifier that replays them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, TypeVar

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


WITNESS: Final[ContextVar[Witness]] = ContextVar("witness", default=_Nobody())  # noqa: B039
"""The witness of what runs now."""
