"""A pipeline step by step: what an explanation and a picture say of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple

import attrs

from opendp_lite.measures.budgets import Loss
from opendp_lite.metrics.distances import Distance
from opendp_lite.numbers.exact import format_number
from opendp_lite.numbers.norms import Norms
from opendp_lite.spaces.maps import PrivacyMap, StabilityMap
from opendp_lite.spaces.space import Space


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


@attrs.frozen
class Line:
    """One step: what comes out of it, and how far the data's distance pushes that."""

    step: str
    domain: str
    metric: str
    multiplier: str
    distance: str

    def cells(self) -> tuple[str, ...]:
        return (self.step, self.domain, self.metric, self.multiplier, self.distance)


@attrs.frozen(eq=False)
class TraceStep:
    """A step of a bound pipeline, ready to say what becomes of a distance between data.

    The text of ``step`` is made when it is shown, and so is that of ``domain``.

    Args:
        step: As it was typed.
        domain: What comes out of it.
        map: From the start of the pipeline that it was typed in to here; None where none is known.
        space: The space that it leads to; None for a release.
        role: What it does with private data.
        depth: The number of steps that it is a part of.
    """

    step: object
    domain: Callable[[], str]
    map: StabilityMap | PrivacyMap | None = None
    space: Space[Any] | None = None
    role: Role = Role.DATA
    depth: int = 0

    def indent(self) -> TraceStep:
        """The same step as a part of another."""
        return attrs.evolve(self, depth=self.depth + 1)

    @property
    def heading(self) -> str:
        """The step as it is typed, with three dots for each pipeline in it."""
        return str(getattr(self.step, "heading", self.step))


class Passage(NamedTuple):
    """A step, and the distances before and after it; None where none is known."""

    step: TraceStep
    arriving: Distance | Loss | None
    leaving: Distance | Loss | None

    @property
    def words(self) -> str:
        """What leaves it, in words."""
        known = self.step.map
        return "" if known is None else known.words(self.leaving)

    def line(self) -> Line:
        """The line of a table."""
        step, known = self.step, self.step.map
        name = "" if known is None else type(known.target).__name__
        multiplier = "" if step.space is None else _multiplier(self.arriving, self.leaving)
        heading = f"{'  ' * step.depth}{step.heading}"
        return Line(heading, step.domain(), name, multiplier, self.words)


def passages(steps: Sequence[TraceStep], distance: Distance | None) -> Iterator[Passage]:
    """What becomes of a distance, step by step.

    The parts of a step come before it. What arrives at it arrives at the first step of each part.
    """
    starts: list[Distance | Loss | None] = [distance]
    here: list[Distance | Loss | None] = [None]
    for step in steps:
        while len(starts) <= step.depth:
            starts.append(here[-1])
            here.append(here[-1])
        del starts[step.depth + 1 :], here[step.depth + 1 :]
        if step.role is Role.PART:
            here[-1] = starts[-1]
        arriving = here[-1]
        if step.map is not None:
            here[-1] = step.map(starts[-1])
        yield Passage(step, arriving, here[-1])


def _multiplier(before: Distance | Loss | None, here: Distance | Loss | None) -> str:
    if not isinstance(before, Fraction) or before == 0:
        return ""
    if isinstance(here, Fraction):
        return f"x {format_number(here / before)}"
    return f"x ({here * (1 / before)})" if isinstance(here, Norms) else ""


def at_start(space: Space[Any]) -> TraceStep:
    """The start of a pipeline."""
    return TraceStep(space, space.domain.words, StabilityMap(space.metric), space)


def at_space(space: Space[Any], step: object, stability_map: StabilityMap) -> TraceStep:
    """A transformation into a space."""
    return TraceStep(step, space.domain.words, stability_map, space)


def at_release(
    step: object, privacy_map: PrivacyMap, role: Role = Role.NOISE, noise: str = ""
) -> TraceStep:
    """A measurement, or a conversion of its loss."""
    words = f"release with {noise}" if noise else "release"
    return TraceStep(step, lambda: words, privacy_map, role=role)


def at_part(name: str) -> TraceStep:
    """The name of a part, above its steps."""
    return TraceStep(f"{name}:", str, role=Role.PART)


def side_by_side(parts: Mapping[str, Sequence[TraceStep]]) -> tuple[TraceStep, ...]:
    """The traces of parts below their names."""
    return tuple(
        step
        for name, trace in parts.items()
        for step in (at_part(name), *(each.indent() for each in trace))
    )


def after_noise(step: object) -> TraceStep:
    """A function of the release."""
    return TraceStep(step, lambda: "post-processing", role=Role.RELEASE)


def with_result(trace: Sequence[TraceStep], words: str) -> tuple[TraceStep, ...]:
    """A trace in which one line stands for all functions of the release."""
    kept = (each for each in trace if each.role is not Role.RELEASE or each.map)
    return (*kept, after_noise(words))


def waiting(step: object, role: Role) -> TraceStep:
    """A step that was given no space, so no distance of it is known."""
    return TraceStep(step, str, role=role)


@attrs.frozen(eq=False)
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

    @property
    def closing(self) -> tuple[str, ...]:
        """The lines below the steps."""
        whose = f" for {self.start}" if self.start else ""
        result = f"{self.kind}{whose}: {self.result}"
        return (result, *(f"because {self.because}".splitlines() if self.because else ()))
