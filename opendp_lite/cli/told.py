"""What a command has to tell."""

from __future__ import annotations

from collections.abc import Callable

import attrs


def _nothing() -> None:
    """Writes no file."""


@attrs.frozen
class Told:
    """The text of a result, and what writes its file."""

    text: str
    write: Callable[[], None] = _nothing
