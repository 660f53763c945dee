"""Columns of text within a width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise, zip_longest
from textwrap import wrap
from typing import Final, TypeVar

import attrs

from opendp_lite.base.errors import OpenDPLiteError
from opendp_lite.display.formatting import printable
from opendp_lite.display.pictures import BELL, Sketch
from opendp_lite.explain.trace import Explained, Passage, Role

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
        for line in zip_longest(*map(wrapped, row, wide), fillvalue="")
    ]


def wrapped(text: str, width: int = WIDTH) -> list[str]:
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
        return sum(len(wrapped(cell, most)) for cell in columns[place])

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


@attrs.frozen
class DrawnStep:
    """A step.

    Args:
        title: As it is typed.
        words: What comes out of it.
        arriving: The distance of what comes in, in words; empty where none is known.
        leaving: The distance of what comes out, or the loss.
        role: What it does with private data.
        sketch: The shape of what comes out; None for a function of a release.
        branches: The parts inside of it.
    """

    title: str
    words: str
    arriving: str
    leaving: str
    role: Role
    sketch: Sketch | None
    branches: tuple[NodeBranch, ...]

    def sentences(self) -> Iterator[str]:
        """The step in words, for those who do not see the picture: first the parts inside."""
        for branch in self.branches:
            yield f"Inside, {branch.name}:" if branch.name else "Inside:"
            for node in branch.nodes:
                yield from node.sentences()
        shape = f" ({self.sketch.name})" if self.sketch else ""
        comes = f" gives {self.words}{shape}" if self.words else ""
        reach = f", {self.leaving}" if self.leaving else ""
        yield f"{self.title}{comes}{reach}."


@attrs.frozen
class NodeBranch:
    """Steps inside of another, with the name of the part."""

    name: str
    nodes: tuple[DrawnStep, ...]


def nodes(passages: Sequence[Passage], arriving: str = "") -> tuple[DrawnStep, ...]:
    """The steps at the least depth, each with the deeper ones before it inside of it."""
    found: list[DrawnStep] = []
    inside: list[Passage] = []
    base = min((each.step.depth for each in passages), default=0)
    for each in passages:
        if each.step.depth > base:
            inside.append(each)
            continue
        found.append(_node(each, inside, arriving))
        arriving, inside = found[-1].leaving, []
    return (*found, *nodes(inside, arriving)) if inside else tuple(found)


def _node(passage: Passage, inside: Sequence[Passage], arriving: str) -> DrawnStep:
    step = passage.step
    sketch = BELL if step.role is Role.NOISE else None
    return DrawnStep(
        title=step.heading,
        words=step.domain(),
        arriving=arriving,
        leaving=passage.words,
        role=step.role,
        sketch=sketch if step.space is None else step.space.domain.sketch(),
        branches=tuple(_branches(inside, arriving)),
    )


def _branches(passages: Sequence[Passage], arriving: str) -> Iterator[NodeBranch]:
    """The parts of a step: one without a name, unless names stand above them."""
    base = min((each.step.depth for each in passages), default=0)
    starts = [
        place
        for place, (step, *_) in enumerate(passages)
        if step.role is Role.PART and step.depth == base
    ]
    cuts = sorted({0, *starts, len(passages)})
    for first, last in pairwise(cuts):
        named = first in starts
        name = passages[first].step.heading.removesuffix(":") if named else ""
        yield NodeBranch(name, nodes(passages[first + named : last], arriving))


_DOWN: Final = " |"
_PART: Final = " +-- "
_INSIDE: Final = " |   "
_MOST: Final = 60
_NARROW: Final = 30


def text_picture(nodes: Sequence[DrawnStep], told: Explained, width: int = WIDTH) -> list[str]:
    """Lines of at most ``width`` columns: each step in brackets, each distance at an arrow."""
    first = [*wrapped(told.start, width), _DOWN] if told.start else []
    last = wrapped(f"{told.kind}: {told.result}", width)
    return [*first, *_chain(nodes, width), _DOWN, *last]


def _chain(nodes: Sequence[DrawnStep], width: int) -> Iterator[str]:
    boxes = [wrapped(f"[ {node.title} ]", min(width, _MOST)) for node in nodes]
    margin = max((len(line) for box in boxes for line in box), default=0) + 2
    for place, (node, box) in enumerate(zip(nodes, boxes, strict=True)):
        if place:
            yield from _arrow(node.arriving, width)
        for branch in node.branches:
            yield from wrapped(f"{_PART}{branch.name}".rstrip(), width)
            inner = width - len(_INSIDE)
            yield from (_INSIDE + line for line in _arrow(branch.nodes[0].arriving, inner))
            yield from (_INSIDE + line for line in _chain(branch.nodes, inner))
        yield from _box(box, node.words, margin, width)


def _arrow(words: str, width: int) -> list[str]:
    if not words:
        return [_DOWN]
    return [f"{_DOWN}  {line}" for line in wrapped(words, width - len(_DOWN) - 2)]


def _box(box: Sequence[str], words: str, margin: int, width: int) -> Iterator[str]:
    """A step, and what comes out of it to its right, or below it where there is no room."""
    beside = width - margin >= _NARROW
    *before, last = box
    yield from before
    if beside:
        first, *rest = wrapped(words, width - margin)
        yield f"{last:<{margin}}{first}".rstrip()
        yield from (" " * margin + line for line in rest)
    else:
        yield last
        yield from wrapped(f"  {words}", width) if words else ()


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
