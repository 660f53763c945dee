"""A pipeline as a picture sees it: steps in a row, and the parts inside of a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import attrs

from opendp_lite.explain import Role, TraceStep
from opendp_lite.sketch import BELL, Sketch


@attrs.frozen
class Node:
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
    nodes: tuple[Node, ...]


def nodes(steps: Sequence[TraceStep], distance: Any, arriving: str = "") -> tuple[Node, ...]:
    """The steps at the least depth, each with the deeper ones before it inside of it."""
    found: list[Node] = []
    inside: list[TraceStep] = []
    base = min((step.depth for step in steps), default=0)
    for step in steps:
        if step.depth > base:
            inside.append(step)
            continue
        found.append(_node(step, inside, distance, arriving))
        arriving, inside = found[-1].leaving, []
    return (*found, *nodes(inside, distance, arriving)) if inside else tuple(found)


def _node(step: TraceStep, inside: Sequence[TraceStep], distance: Any, arriving: str) -> Node:
    sketch = BELL if step.role is Role.NOISE else None
    return Node(
        title=step.heading,
        words=step.domain(),
        arriving=arriving,
        leaving=step.words(step.map_from_input(distance)),
        role=step.role,
        sketch=sketch if step.space is None else step.space.domain.sketch(),
        branches=tuple(_branches(inside, distance, arriving)),
    )


def _branches(steps: Sequence[TraceStep], distance: Any, arriving: str) -> Iterator[NodeBranch]:
    """The parts of a step: one without a name, unless names stand above them."""
    base = min((step.depth for step in steps), default=0)
    starts = [place for place, step in enumerate(steps) if _names_part(step, base)]
    cuts = sorted({0, *starts, len(steps)})
    for first, last in pairwise(cuts):
        named = first in starts
        name = steps[first].heading.removesuffix(":") if named else ""
        yield NodeBranch(name, nodes(steps[first + named : last], distance, arriving))


def _names_part(step: TraceStep, depth: int) -> bool:
    return step.role is Role.PART and step.depth == depth
