"""This process: a fork of it would spend again what this one spends."""

from __future__ import annotations

import os
from functools import partial
from typing import Final

import attrs

from opendp_lite.errors import SpaceError

_FORKS: Final[list[None]] = []
"""One for each fork that led to this process: a fork may get the number of the process it copies,
where that has ended, or in a namespace of its own."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=partial(_FORKS.append, None))


def this_process() -> tuple[int, int]:
    """Its number, and how many forks led to it."""
    return os.getpid(), len(_FORKS)


@attrs.frozen
class OwnProcess:
    """The process that made this.

    Args:
        name: What answers in it alone, for a refusal.
        number: Of the process, and of forks that led to it.
    """

    name: str
    number: tuple[int, int] = attrs.field(factory=this_process, init=False)

    @property
    def is_here(self) -> bool:
        """Whether it is this process, and not one that this one is a fork of."""
        return this_process() == self.number

    def require(self) -> None:
        """Refuses another process, such as a fork of this one."""
        if not self.is_here:
            raise SpaceError(
                f"{self.name} answers only in the process that runs the program. A fork of it has "
                "a copy of the budget, and neither would know what the other spends. Use threads, "
                f"or call {self.name} before the fork"
            )
