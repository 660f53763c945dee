"""What ``explain()`` gives: a table of the steps, and the result in words."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import inf
from typing import Final

import attrs

from opendp_lite.explain.svg_picture import svg_picture
from opendp_lite.explain.text_picture import in_columns, text_picture, wrap_text
from opendp_lite.explain.trace import Explained, Line

_TITLES: Final = Line("step", "domain", "metric", "multiplier", "distance")
_STYLE: Final = "text-align:left;padding:2px 14px 2px 0"


@attrs.frozen(repr=False)
class Explanation:
    """A pipeline in words: a line for each step, then the result.

    It prints as text of at most 100 columns. A notebook shows the same text. ``words in
    explanation`` asks whether it says them, on one line or on two.

    Args:
        lines: One for each step.
        closing: The result, then the reasons for it.

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

    @classmethod
    def of(cls, explained: Explained) -> Explanation:
        """The explanation of what is said of a pipeline."""
        lines = tuple(line for each in explained.passages for line in each.lines())
        return cls(lines, explained.closing)

    def splitlines(self) -> list[str]:
        """The lines of the text."""
        return [
            *in_columns([_TITLES, *self.lines]),
            *(line for each in self.closing for line in wrap_text(each)),
        ]

    def __str__(self) -> str:
        return "\n".join(self.splitlines())

    def __repr__(self) -> str:
        return str(self)

    def __contains__(self, words: str) -> bool:
        return words in "\n".join([*in_columns([_TITLES, *self.lines], inf), *self.closing])

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


@attrs.frozen(eq=False, repr=False)
class Drawing:
    """A pipeline as a picture: a box for each step, and the distance at each arrow.

    It prints as text of at most 100 columns. A notebook shows the picture.

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

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<div>{self.svg}</div>"

    def in_notebook(self) -> str:
        """The picture, and below it the table of ``explain()``, which opens on a click."""
        table = Explanation.of(self.explained).as_html()
        more = "<summary>Each step with its domain, metric and distance</summary>"
        return f"<div>{self.svg}<details>{more}{table}</details></div>"
