"""Columns of text within a width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest
from textwrap import wrap
from typing import Final, TypeVar

from opendp_lite.base.errors import OpenDPLiteError
from opendp_lite.display.formatting import printable
from opendp_lite.explain.trace import Explained, Passage

WIDTH: Final = 100
"""How wide text for a terminal may be."""
_GAP: Final = "  "
_HANG: Final = 2


def in_columns(rows: Sequence[Sequence[str]], width: float = WIDTH) -> list[str]:
    """Lines with the cells of each row side by side. What is too wide goes on below.

    Example:
        >>> in_columns([["step", "domain"], ["dp.clamp(0, 1)", "rows in Box(0, 1)"]], width=27)
        ['step            domain', 'dp.clamp(0, 1)  rows in', '                  Box(0, 1)']
    """
    columns = list(zip(*rows, strict=True))
    wide = _widths(columns, width - len(_GAP) * (len(columns) - 1))
    return [
        _GAP.join(cell.ljust(most) for cell, most in zip(line, wide, strict=True)).rstrip()
        for row in rows
        for line in zip_longest(*map(wrap_text, row, wide), fillvalue="")
    ]


def wrap_text(text: str, width: int = WIDTH) -> list[str]:
    """A line, or several of which all but the first stand further to the right."""
    indent = min(len(text) - len(text.lstrip()), width // 2)
    first, later = (" " * min(each, width - 1) for each in (indent, indent + _HANG))
    lines = wrap(
        text.strip(), width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False
    )
    return lines or [""]


def _widths(columns: Sequence[Sequence[str]], room: float) -> list[int]:
    """A width for each column: the next to give way is the one that makes fewest lines of it."""
    wide = [max(map(len, column)) for column in columns]
    least = [max(map(_longest_word, column)) for column in columns]

    @cache
    def lines(place: int, most: int) -> int:
        return sum(len(wrap_text(cell, most)) for cell in columns[place])

    def cost(place: int) -> tuple[bool, int, int]:
        most = wide[place]
        return most <= least[place], lines(place, most - 1) - lines(place, most), -most

    while sum(wide) > room:
        wide[min(range(len(wide)), key=cost)] -= 1
    return wide


def _longest_word(text: str) -> int:
    indent = len(text) - len(text.lstrip()) + _HANG
    first, *others = [len(word) for word in text.split()] or [0]
    return max(first + indent - _HANG, *(indent + each for each in others), 1)


_DOWN: Final = " |"
_PART: Final = " +-- "
_INSIDE: Final = " |   "
_MOST: Final = 60
_NARROW: Final = 30


def text_picture(told: Explained, width: int = WIDTH) -> list[str]:
    """Lines of at most ``width`` columns: each step in brackets, each distance at an arrow."""
    first = [*wrap_text(told.start, width), _DOWN] if told.start else []
    last = wrap_text(f"{told.kind}: {told.result}", width)
    return [*first, *_chain(told.passages, width), _DOWN, *last]


def _chain(passages: Sequence[Passage], width: int) -> Iterator[str]:
    boxes = [wrap_text(f"[ {each.step.heading} ]", min(width, _MOST)) for each in passages]
    margin = max((len(line) for box in boxes for line in box), default=0) + 2
    for place, (each, box) in enumerate(zip(passages, boxes, strict=True)):
        if place:
            yield from _arrow(each.arriving, width)
        for name, inside in each.branches:
            yield from wrap_text(f"{_PART}{name}".rstrip(), width)
            inner = width - len(_INSIDE)
            yield from (_INSIDE + line for line in _arrow(inside[0].arriving, inner))
            yield from (_INSIDE + line for line in _chain(inside, inner))
        yield from _box(box, each.step.domain, margin, width)


def _arrow(words: str, width: int) -> list[str]:
    if not words:
        return [_DOWN]
    return [f"{_DOWN}  {line}" for line in wrap_text(words, width - len(_DOWN) - 2)]


def _box(box: Sequence[str], words: str, margin: int, width: int) -> Iterator[str]:
    """A step, and what comes out of it to its right, or below it where there is no room."""
    beside = width - margin >= _NARROW
    *before, last = box
    yield from before
    if beside:
        first, *rest = wrap_text(words, width - margin)
        yield f"{last:<{margin}}{first}".rstrip()
        yield from (" " * margin + line for line in rest)
    else:
        yield last
        yield from wrap_text(f"  {words}", width) if words else ()


E = TypeVar("E", bound=OpenDPLiteError)
_JOIN: Final = " >> "
_START: Final = "  "
_CARET: Final = "^"
_LONGEST: Final = 60


def pointing(problem: E, links: Sequence[str], place: int) -> E:
    """Puts the chain below a refusal, with a line of carets under the link that broke it.

    Example:
        >>> from opendp_lite.base.errors import SpaceError
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
