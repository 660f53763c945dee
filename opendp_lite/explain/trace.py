"""A pipeline step by step: what an explanation and a picture say of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeAlias

import attrs

from opendp_lite.display import pictures
from opendp_lite.measures.budgets import Loss
from opendp_lite.metrics.distances import Distance
from opendp_lite.numbers.exact import format_number
from opendp_lite.numbers.norms import Norms
from opendp_lite.spaces.domains import Domain
from opendp_lite.spaces.space import PrivacyMap, Space, StabilityMap

Reach: TypeAlias = Distance | Loss | None
"""A distance, or what is lost at one; None where none is known."""


class Role(Enum):
    """What a step does with private data."""

    DATA = "private data"
    """It leads to data that is private still."""
    NOISE = "noise"
    """It makes a release."""
    RELEASE = "release"
    """It works on a release alone."""
    PART = "part"
    """It is none: the name of a part, above its steps."""


class Line(NamedTuple):
    """One step: what comes out of it, and how far the data's distance pushes that."""

    step: str
    domain: str
    metric: str
    multiplier: str
    distance: str

    def in_three(self) -> tuple[str, str, str]:
        """The step with what comes out of it, the multiplier and the distance."""
        told = ", ".join(filter(None, [self.domain, self.metric]))
        # What is in brackets (the kind of loss, the norms that are equal) the metric says.
        distance, _, _ = self.distance.partition(" (")
        return f"{self.step}: {told}" if told else self.step, self.multiplier, distance


@attrs.frozen(eq=False)
class TraceStep:
    """A step of a bound pipeline, ready to say what becomes of a distance between data.

    The text of ``step`` is made when it is shown.

    Args:
        step: As it was typed.
        says: What comes out of it, where that is no space.
        map: From the start of the pipeline that it was typed in to here; None where none is known.
        space: The space that it leads to; None for a release.
        role: What it does with private data.
        parts: The steps that it is made of.
    """

    step: object
    says: str = ""
    map: StabilityMap | PrivacyMap | None = None
    space: Space[Domain] | None = None
    role: Role = Role.DATA
    parts: tuple[TraceStep, ...] = ()

    @property
    def heading(self) -> str:
        """The step as it is typed, with three dots for each pipeline in it."""
        return str(getattr(self.step, "heading", self.step))

    @property
    def domain(self) -> str:
        """What comes out of it, in words."""
        return self.says if self.space is None else self.space.domain.words()

    @property
    def sketch(self) -> pictures.Sketch | None:
        """The shape of what comes out; None for a function of a release."""
        if self.space is not None:
            return self.space.domain.sketch()
        return pictures.BELL if self.role is Role.NOISE else None


class Passage(NamedTuple):
    """A step, and the distances before and after it; None where none is known.

    Args:
        step: The step.
        before: The distance of what comes in.
        after: The distance of what comes out, or the loss.
        arriving: What the step before it says of its distance, in words.
        inside: Its parts, each with the distances there.
    """

    step: TraceStep
    before: Reach
    after: Reach
    arriving: str
    inside: tuple[Passage, ...]

    @property
    def leaving(self) -> str:
        """What leaves it, in words; empty where no distance of it is known."""
        return "" if self.step.map is None else self.step.map.words(self.after)

    @property
    def branches(self) -> Iterator[tuple[str, Sequence[Passage]]]:
        """Its parts by their names; those without one together."""
        if unnamed := [each for each in self.inside if each.step.role is not Role.PART]:
            yield "", unnamed
        for each in self.inside:
            if each.step.role is Role.PART:
                yield each.step.heading.removesuffix(":"), each.inside

    def sentences(self) -> Iterator[str]:
        """The step in words, for those who do not see a picture: first the parts inside."""
        for name, passages in self.branches:
            yield f"Inside, {name}:" if name else "Inside:"
            for each in passages:
                yield from each.sentences()
        shape = f" ({self.step.sketch.name})" if self.step.sketch else ""
        comes = f" gives {self.step.domain}{shape}" if self.step.domain else ""
        reach = f", {self.leaving}" if self.leaving else ""
        yield f"{self.step.heading}{comes}{reach}."

    def lines(self, depth: int = 0) -> Iterator[Line]:
        """The lines of a table: those of its parts, then its own. A name stands above its part."""
        step, known = self.step, self.step.map
        metric = "" if known is None else type(known.target).__name__
        multiplier = "" if step.space is None else _multiplier(self.before, self.after)
        heading = f"{'  ' * depth}{step.heading}"
        own = Line(heading, step.domain, metric, multiplier, self.leaving)
        parts = [line for each in self.inside for line in each.lines(depth + 1)]
        yield from [own, *parts] if step.role is Role.PART else [*parts, own]


def _pass_through(
    steps: Sequence[TraceStep], start: Reach, here: Reach, arriving: str = ""
) -> tuple[Passage, ...]:
    """What becomes of a distance, step by step.

    What arrives at a step arrives at the first step of each of its parts.
    """
    found = []
    for step in steps:
        inside = _pass_through(step.parts, here, here, arriving)
        after = here if step.map is None else step.map(start)
        found.append(Passage(step, here, after, arriving, inside))
        if step.role is not Role.PART:
            here, arriving = after, found[-1].leaving
    return tuple(found)


def walk(steps: Sequence[TraceStep]) -> Iterator[TraceStep]:
    """All steps, each after its parts."""
    for each in steps:
        yield from walk(each.parts)
        yield each


def _multiplier(before: Reach, here: Reach) -> str:
    if not isinstance(before, Fraction) or before == 0:
        return ""
    if isinstance(here, Fraction):
        return f"x {format_number(here / before)}"
    if not isinstance(here, Norms):
        return ""
    if here.l1 is not None and here.l1 == here.linf:
        return f"x {format_number(here.l1 / before)}"
    return f"x ({here * (1 / before)})"


def side_by_side(parts: Mapping[str, tuple[TraceStep, ...]]) -> tuple[TraceStep, ...]:
    """The traces of parts below their names."""
    return tuple(TraceStep(f"{name}:", role=Role.PART, parts=each) for name, each in parts.items())


def trace_function(step: object) -> TraceStep:
    """A function of the release."""
    return TraceStep(step, "post-processing", role=Role.RELEASE)


def with_result(trace: Sequence[TraceStep], words: str) -> tuple[TraceStep, ...]:
    """A trace in which one line stands for all functions of the release."""
    return (*_leave_functions_out(trace), trace_function(words))


def _leave_functions_out(trace: Sequence[TraceStep]) -> tuple[TraceStep, ...]:
    left = [each for each in trace if each.role is not Role.RELEASE or each.map]
    return tuple(
        [attrs.evolve(e, parts=_leave_functions_out(e.parts)) if e.parts else e for e in left]
    )


@attrs.frozen(eq=False, slots=False)
class Explained:
    """All that is said of a pipeline for inputs at one distance.

    Args:
        steps: From the space to the last.
        distance: Of the inputs, exactly.
        start: The distance in words: "adding or removing one row", say; empty without a space.
        kind: Of the result: "loss" or "distance"; or that it is not known.
        result: In words.
        because: Why it is this; empty where nothing is to be said.
    """

    steps: tuple[TraceStep, ...]
    distance: Distance | None
    start: str
    kind: str
    result: str
    because: str

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """The steps, and what becomes of the distance."""
        return _pass_through(self.steps, self.distance, None)

    @property
    def closing(self) -> tuple[str, ...]:
        """The lines below the steps."""
        whose = f" for {self.start}" if self.start else ""
        result = f"{self.kind}{whose}: {self.result}"
        return (result, *(f"because {self.because}".splitlines() if self.because else ()))
