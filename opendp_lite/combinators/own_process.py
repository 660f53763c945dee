"""The process in which a program runs: a fork of it would have the whole budget again."""

from __future__ import annotations

import os

import attrs

from opendp_lite.errors import SpaceError


@attrs.frozen
class OwnProcess:
    """The process that made this.

    Args:
        name: What answers in it alone, for a refusal.
        number: Of the process.
    """

    name: str
    number: int = attrs.field(factory=os.getpid, init=False)

    def require(self) -> None:
        """Refuses another process, such as a fork of this one."""
        if os.getpid() != self.number:
            raise SpaceError(
                f"{self.name} answers only in the process that runs the program. A fork of it has "
                "a copy of the budget, and neither would know what the other spends. Use threads, "
                f"or call {self.name} before the fork"
            )
