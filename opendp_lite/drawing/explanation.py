"""What ``explain()`` gives: a table of the steps, and the result in words."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import inf
from typing import Final

import attrs

from opendp_lite.drawing.text_columns import in_columns, wrapped
from opendp_lite.explain import Explained, Line

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
        lines = tuple(step.line(explained.distance) for step in explained.steps)
        return cls(lines, explained.closing)

    def splitlines(self) -> list[str]:
        """The lines of the text."""
        return [
            *in_columns(self._cells()),
            *(line for each in self.closing for line in wrapped(each)),
        ]

    def __str__(self) -> str:
        return "\n".join(self.splitlines())

    def __repr__(self) -> str:
        return str(self)

    def __contains__(self, words: str) -> bool:
        return words in "\n".join([*in_columns(self._cells(), inf), *self.closing])

    def _repr_html_(self) -> str:
        return f"<pre style='line-height:1.3;overflow-x:auto'>{escape(str(self))}</pre>"

    def as_html(self) -> str:
        """A table for notebooks, and the lines below it."""
        head = "".join(f"<th style='{_STYLE}'>{title}</th>" for title in _TITLES.cells())
        body = "".join(f"<tr>{_row(line.cells())}</tr>" for line in self.lines)
        foot = "".join(
            f"<div style='white-space:pre-wrap'>{escape(text)}</div>" for text in self.closing
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"

    def _cells(self) -> list[tuple[str, ...]]:
        return [line.cells() for line in (_TITLES, *self.lines)]


def _row(cells: Sequence[str]) -> str:
    step, *others = map(escape, cells)
    code = f"<td style='{_STYLE}'><code style='white-space:pre-wrap'>{step}</code></td>"
    return code + "".join(f"<td style='{_STYLE}'>{each}</td>" for each in others)
