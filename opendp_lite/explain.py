"""A bound pipeline in words: one line a step, and the same as an HTML table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from html import escape
from typing import Any

import attrs

from opendp_lite.engines.deferred import identity
from opendp_lite.exact import format_number
from opendp_lite.measures.measure import Measure
from opendp_lite.norms import Norms
from opendp_lite.spaces import Space

_TITLES = ("step", "domain", "metric", "multiplier", "distance")
_STYLE = "text-align:left;padding:2px 14px 2px 0"
Map = Callable[[Any], Any]


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
    is the space that it leads to; None for a release.
    """

    step: object
    domain: Callable[[], str]
    metric: str
    before: Map
    map_from_input: Map
    words: Callable[[Any], str]
    space: Space[Any] | None = None
    indent: str = ""

    def preceded_by(self, first: Map) -> TraceStep:
        """The same step once a map goes before."""
        before, later = self.before, self.map_from_input
        return attrs.evolve(
            self, before=lambda d: before(first(d)), map_from_input=lambda d: later(first(d))
        )

    def indented(self) -> TraceStep:
        """The same step as a part of another."""
        return attrs.evolve(self, indent=f"  {self.indent}")

    def line(self, distance: Any) -> Line:
        """The line for data at this distance."""
        here = self.map_from_input(distance)
        multiplier = _multiplier(self.before(distance), here)
        step = f"{self.indent}{getattr(self.step, 'heading', self.step)}"
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


def at_release(measure: Measure[Any], step: object, privacy_map: Map) -> TraceStep:
    """A measurement."""
    name = type(measure).__name__
    return TraceStep(step, lambda: "release", name, _no_multiplier, privacy_map, measure.words)


def at_part(name: str) -> TraceStep:
    """The name of a part, above its steps."""
    return TraceStep(f"{name}:", str, "", _no_multiplier, identity, lambda _: "")


def after_noise(step: object) -> TraceStep:
    """A function of the release."""
    return TraceStep(step, lambda: "post-processing", "", _no_multiplier, identity, lambda _: "")


def as_text(steps: Iterable[TraceStep], distance: Any, closing: Sequence[str]) -> str:
    """Aligned columns, then the closing lines."""
    table = [_TITLES, *(step.line(distance).cells() for step in steps)]
    widths = [max(len(row[j]) for row in table) for j in range(len(_TITLES))]
    rows = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join([*rows, *closing])


def as_html(steps: Iterable[TraceStep], distance: Any, closing: Sequence[str]) -> str:
    """The same as a table for notebooks."""
    head = "".join(f"<th style='{_STYLE}'>{title}</th>" for title in _TITLES)
    body = "".join(
        f"<tr>{''.join(_cell(j, cell) for j, cell in enumerate(step.line(distance).cells()))}</tr>"
        for step in steps
    )
    foot = "".join(f"<div>{escape(text)}</div>" for text in closing)
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}</div>"


def _cell(column: int, text: str) -> str:
    inner = escape(text) if column else f"<code style='white-space:pre'>{escape(text)}</code>"
    return f"<td style='{_STYLE}'>{inner}</td>"
