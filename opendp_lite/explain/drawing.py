"""What ``explain()`` and ``draw()`` give: a table of the steps, and a picture, within a width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from itertools import zip_longest
from math import inf
from textwrap import wrap
from typing import Final, TypeVar

import attrs

from opendp_lite.base.errors import OpenDPLiteError
from opendp_lite.display.formatting import printable
from opendp_lite.explain.svg_picture import svg_picture
from opendp_lite.explain.trace import Explained, Line, Passage

WIDTH: Final = 80
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
        if most <= least[place]:
            # A word must break: one of the widest column, and none of a title beside it.
            return True, -most, 0
        return False, lines(place, most - 1) - lines(place, most), -most

    while sum(wide) > room:
        wide[min(range(len(wide)), key=cost)] -= 1
    return wide


def _longest_word(text: str) -> int:
    indent = len(text) - len(text.lstrip()) + _HANG
    first, *others = [len(word) for word in text.split()] or [0]
    return max(first + indent - _HANG, *(indent + each for each in others), 1)


_TITLES: Final = Line("step", "domain", "metric", "multiplier", "distance")
_HEAD: Final = ("step: what comes out, its metric", "multiplier", "distance")
_STYLE: Final = "text-align:left;padding:2px 14px 2px 0"


@attrs.frozen(repr=False)
class Explanation:
    """A pipeline in words: a line for each step, then the result.

    It prints as text of at most 80 columns. A notebook shows the same text. ``words in
    explanation`` asks whether it says them, on one line or on two.

    Args:
        lines: One for each step.
        closing: The result, then the reasons for it.
        where: What runs where, for the data that ``explain(data=...)`` was given.

    Example:
        >>> import opendp_lite as dp
        >>> told = (dp.count() >> dp.laplace(epsilon=1)).explain()
        >>> told.closing[0]
        'loss for adding or removing one row: epsilon = 1 (pure differential privacy)'
        >>> "dp.count()" in told
        True
    """

    lines: tuple[Line, ...]
    closing: tuple[str, ...]
    where: tuple[str, ...] = ()

    @classmethod
    def of(cls, explained: Explained, where: tuple[str, ...] = ()) -> Explanation:
        """The explanation of what is said of a pipeline."""
        lines = tuple(line for each in explained.passages for line in each.lines())
        return cls(lines, explained.closing, where)

    def splitlines(self) -> list[str]:
        """The lines of the text."""
        return [
            *in_columns(self._rows()),
            *(line for each in (*self.closing, *self.where) for line in wrap_text(each)),
        ]

    def __str__(self) -> str:
        return "\n".join(self.splitlines())

    __repr__ = __str__

    def __contains__(self, words: str) -> bool:
        return words in "\n".join([*in_columns(self._rows(), inf), *self.closing, *self.where])

    def _rows(self) -> list[Sequence[str]]:
        """The table for a terminal: five columns side by side have no room in 80 letters."""
        return [_HEAD, *map(Line.in_three, self.lines)]

    def _repr_html_(self) -> str:
        return f"<pre style='line-height:1.3;overflow-x:auto'>{escape(str(self))}</pre>"

    def as_html(self) -> str:
        """A table for notebooks, and the lines below it."""
        head = "".join(f"<th style='{_STYLE}'>{title}</th>" for title in _TITLES)
        body = "".join(f"<tr>{_row(line)}</tr>" for line in self.lines)
        foot = "".join(
            f"<div style='white-space:pre-wrap'>{escape(text)}</div>" for text in self.closing
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


def _row(cells: Sequence[str]) -> str:
    step, *others = map(escape, cells)
    code = f"<td style='{_STYLE}'><code style='white-space:pre-wrap'>{step}</code></td>"
    return code + "".join(f"<td style='{_STYLE}'>{each}</td>" for each in others)


_DOWN: Final = " |"
_INSIDE: Final = " |   "
_MOST: Final = 46
_NARROW: Final = 26


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
            yield from wrap_text(f" +-- {name}".rstrip(), width)
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


@attrs.frozen(eq=False, repr=False)
class Drawing:
    """A pipeline as a picture: a box for each step, and the distance at each arrow.

    It prints as text of at most 80 columns. A notebook shows the picture.

    Args:
        explained: What is said of the pipeline.

    Example:
        >>> import opendp_lite as dp
        >>> drawing = (dp.count() >> dp.laplace(epsilon=1)).draw()
        >>> drawing
        adding or removing one row
         |
        [ dp.records() ]           rows
         |  1
        [ dp.count() ]             one whole number
         |  1.0
        [ dp.laplace(epsilon=1) ]  release
         |
        loss: epsilon = 1 (pure differential privacy)
        >>> drawing.svg[:4]
        '<svg'
    """

    explained: Explained

    @property
    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        return svg_picture(self.explained)

    def __str__(self) -> str:
        return "\n".join(text_picture(self.explained))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<div>{self.svg}</div>"

    def in_notebook(self) -> str:
        """The picture, and below it the table of ``explain()``, which opens on a click."""
        table = Explanation.of(self.explained).as_html()
        more = "<summary>Each step with its domain, metric and distance</summary>"
        return f"<div>{self.svg}<details>{more}{table}</details></div>"


E = TypeVar("E", bound=OpenDPLiteError)
_START: Final = "  "
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
        joined = f" >> {link}" if at else link
        if at and len(lines[-1]) + len(joined) > width:
            lines.append(_START)
            marks.append("")
        lines[-1] += joined
        if at == place:
            marks[-1] = f"{' ' * (len(lines[-1]) - len(link))}{'^' * len(link)}"
    return [each for pair in zip(lines, marks, strict=True) for each in pair if each]


def _short(link: str) -> str:
    """A link, without its arguments where it is long: these may be data, given by mistake."""
    shown = printable(link)
    return shown if len(shown) <= _LONGEST else f"{shown.partition('(')[0][:_LONGEST]}(...)"
