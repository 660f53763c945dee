"""A bound pipeline in words: one line a step, and the same as an HTML table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import attrs

_TITLES = ("step", "domain", "metric", "multiplier", "distance")


@attrs.frozen
class Line:
    """One step: what comes out of it, and how far one unit of privacy pushes that."""

    step: str
    domain: str
    metric: str
    multiplier: str
    distance: str

    def cells(self) -> tuple[str, ...]:
        return (self.step, self.domain, self.metric, self.multiplier, self.distance)


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
    head = "".join(f"<th style='text-align:left'>{title}</th>" for title in _TITLES)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td style='text-align:left'>{_cell(j, cell)}</td>"
            for j, cell in enumerate(line.cells())
        )
        + "</tr>"
        for line in lines
    )
    foot = "".join(f"<div>{escape(text)}</div>" for text in closing)
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}</div>"


def _cell(column: int, text: str) -> str:
    return escape(text) if column else f"<code>{escape(text)}</code>"
