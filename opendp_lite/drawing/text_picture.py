"""A pipeline as a picture of letters, for terminals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from opendp_lite.drawing.node import Node
from opendp_lite.drawing.text_columns import WIDTH, wrapped
from opendp_lite.explain import Explained

_DOWN: Final = " |"
_PART: Final = " +-- "
_INSIDE: Final = " |   "
_MOST: Final = 60
_NARROW: Final = 30


def text_picture(nodes: Sequence[Node], told: Explained, width: int = WIDTH) -> list[str]:
    """Lines of at most ``width`` columns: each step in brackets, each distance at an arrow."""
    first = [*wrapped(told.start, width), _DOWN] if told.start else []
    last = wrapped(f"{told.kind}: {told.result}", width)
    return [*first, *_chain(nodes, width), _DOWN, *last]


def _chain(nodes: Sequence[Node], width: int) -> Iterator[str]:
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
