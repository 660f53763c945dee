"""Where a chain of steps broke."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from opendp_lite.drawing.text_columns import WIDTH
from opendp_lite.errors import OpenDPLiteError
from opendp_lite.shown_results import printable

E = TypeVar("E", bound=OpenDPLiteError)
_JOIN: Final = " >> "
_START: Final = "  "
_CARET: Final = "^"
_LONGEST: Final = 60


def pointing(problem: E, links: Sequence[str], place: int) -> E:
    """Puts the chain below a refusal, with a line of carets under the link that broke it.

    Example:
        >>> from opendp_lite.errors import SpaceError
        >>> print(pointing(SpaceError("no"), ["dp.clamp(0, 1)", "dp.sum()"], 1).__notes__[0])
          dp.clamp(0, 1) >> dp.sum()
                            ^^^^^^^^
    """
    problem.add_note("\n".join(chain_lines([_short(link) for link in links], place)))
    return problem


def chain_lines(links: Sequence[str], place: int, width: int = WIDTH) -> list[str]:
    """The chain on lines of at most ``width`` columns, carets under the link at a place."""
    lines, marks = [_START], [""]
    for at, link in enumerate(links):
        joined = f"{_JOIN}{link}" if at else link
        if at and len(lines[-1]) + len(joined) > width:
            lines.append(_START)
            marks.append("")
        lines[-1] += joined
        if at == place:
            marks[-1] = f"{' ' * (len(lines[-1]) - len(link))}{_CARET * len(link)}"
    return [each for pair in zip(lines, marks, strict=True) for each in pair if each]


def _short(link: str) -> str:
    """A link, without its arguments where it is long: these may be data, given by mistake."""
    shown = printable(link)
    return shown if len(shown) <= _LONGEST else f"{shown.partition('(')[0][:_LONGEST]}(...)"
