"""A bound pipeline in words: one line a step, and the same as an HTML table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from html import escape
from typing import Any

import attrs

from opendp_lite.exact import plain
from opendp_lite.norms import Norms

_TITLES = ("step", "domain", "metric", "multiplier", "distance")
_STYLE = "text-align:left;padding:2px 14px 2px 0"
Reach = Callable[[Any], Any]


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
class Arrow:
    """A step of a bound pipeline, ready to say what becomes of a distance between data.

    ``before`` and ``reach`` give the distance before and after it; ``words`` shows the latter.
    The text of ``step`` is made when it is shown, and so is that of ``domain``.
    """

    step: object
    domain: Callable[[], str]
    metric: str
    before: Reach
    reach: Reach
    words: Callable[[Any], str]
    indent: str = ""

    def after(self, first: Reach) -> Arrow:
        """The same step once a map goes before."""
        before, reach = self.before, self.reach
        return attrs.evolve(
            self, before=lambda d: before(first(d)), reach=lambda d: reach(first(d))
        )

    def inside(self) -> Arrow:
        """The same step as a part of another."""
        return attrs.evolve(self, indent=f"  {self.indent}")

    def line(self, distance: Any) -> Line:
        """What it says for data at this distance."""
        here = self.reach(distance)
        multiplier = _multiplier(self.before(distance), here)
        step = f"{self.indent}{self.step}"
        return Line(step, self.domain(), self.metric, multiplier, self.words(here))


def _multiplier(before: Any, here: Any) -> str:
    if not isinstance(before, Fraction) or before == 0:
        return ""
    if isinstance(here, Fraction):
        return f"x {plain(here / before)}"
    return f"x ({here * (1 / before)})" if isinstance(here, Norms) else ""


def lines(arrows: Iterable[Arrow], distance: Any) -> list[Line]:
    """A line for each step."""
    return [arrow.line(distance) for arrow in arrows]


def as_text(lines: Sequence[Line], closing: Sequence[str]) -> str:
    """Aligned columns, then the closing lines.

    >>> print(as_text([Line("sum()", "vector of 1", "NormDistance", "x 2", "l1 2")], ["loss 1"]))
    step   domain       metric        multiplier  distance
    sum()  vector of 1  NormDistance  x 2         l1 2
    loss 1
    """
    table = [_TITLES, *(line.cells() for line in lines)]
    widths = [max(len(row[j]) for row in table) for j in range(len(_TITLES))]
    rows = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join([*rows, *closing])


def as_html(lines: Sequence[Line], closing: Sequence[str]) -> str:
    """The same as a table for notebooks."""
    head = "".join(f"<th style='{_STYLE}'>{title}</th>" for title in _TITLES)
    body = "".join(
        f"<tr>{''.join(_cell(j, cell) for j, cell in enumerate(line.cells()))}</tr>"
        for line in lines
    )
    foot = "".join(f"<div>{escape(text)}</div>" for text in closing)
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}</div>"


def _cell(column: int, text: str) -> str:
    inner = escape(text) if column else f"<code style='white-space:pre'>{escape(text)}</code>"
    return f"<td style='{_STYLE}'>{inner}</td>"
