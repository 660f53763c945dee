"""A pipeline step by step: what an explanation and a picture say of each."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from typing import Any

import attrs

from opendp_lite.engines.deferred import identity
from opendp_lite.exact import format_number
from opendp_lite.measures.measure import Measure
from opendp_lite.norms import Norms
from opendp_lite.spaces import Space

Map = Callable[[Any], Any]


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

    ``before`` and ``map_from_input`` give the distance before and after it; ``words`` shows the
    latter. The text of ``step`` is made when it is shown, and so is that of ``domain``. ``space``
    is the space that it leads to; None for a release. ``depth`` counts the steps that it is a part
    of.
    """

    step: object
    domain: Callable[[], str]
    metric: str
    before: Map
    map_from_input: Map
    words: Callable[[Any], str]
    space: Space[Any] | None = None
    role: Role = Role.DATA
    depth: int = 0

    def preceded_by(self, first: Map) -> TraceStep:
        """The same step once a map goes before."""
        before, later = self.before, self.map_from_input
        return attrs.evolve(
            self, before=lambda d: before(first(d)), map_from_input=lambda d: later(first(d))
        )

    def indented(self) -> TraceStep:
        """The same step as a part of another."""
        return attrs.evolve(self, depth=self.depth + 1)

    @property
    def heading(self) -> str:
        """The step as it is typed, with three dots for each pipeline in it."""
        return str(getattr(self.step, "heading", self.step))

    def line(self, distance: Any) -> Line:
        """The line for data at this distance."""
        here = self.map_from_input(distance)
        multiplier = _multiplier(self.before(distance), here)
        step = f"{'  ' * self.depth}{self.heading}"
        return Line(step, self.domain(), self.metric, multiplier, self.words(here))


def _multiplier(before: Any, here: Any) -> str:
    if not isinstance(before, Fraction) or before == 0:
        return ""
    if isinstance(here, Fraction):
        return f"x {format_number(here / before)}"
    return f"x ({here * (1 / before)})" if isinstance(here, Norms) else ""


def _no_multiplier(distance: Any) -> None:
    """Where a multiplier makes no sense."""


def at_space(
    space: Space[Any],
    step: object = None,
    before: Map = _no_multiplier,
    map_from_input: Map = identity,
) -> TraceStep:
    """The start of a pipeline, or a transformation into a space."""
    metric = space.metric
    return TraceStep(
        space if step is None else step,
        space.domain.words,
        type(metric).__name__,
        before,
        map_from_input,
        lambda distance: str(metric.show(distance)),
        space,
    )


def at_release(
    measure: Measure[Any], step: object, privacy_map: Map, role: Role = Role.NOISE
) -> TraceStep:
    """A measurement, or a conversion of its loss."""
    name = type(measure).__name__
    return TraceStep(
        step, lambda: "release", name, _no_multiplier, privacy_map, measure.words, role=role
    )


def _without_distance(step: object, words: str, role: Role) -> TraceStep:
    return TraceStep(step, lambda: words, "", _no_multiplier, identity, lambda _: "", role=role)


def at_part(name: str) -> TraceStep:
    """The name of a part, above its steps."""
    return _without_distance(f"{name}:", "", Role.PART)


def after_noise(step: object) -> TraceStep:
    """A function of the release."""
    return _without_distance(step, "post-processing", Role.RELEASE)


def waiting(step: object, role: Role) -> TraceStep:
    """A step that was given no space, so no distance of it is known."""
    return _without_distance(step, "", role)


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
    distance: Any
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
