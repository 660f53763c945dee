"""What ``draw()`` gives: a pipeline as a picture, and as text."""

from __future__ import annotations

from functools import cached_property

import attrs

from opendp_lite.drawing.explanation import Explanation
from opendp_lite.drawing.node import Node, nodes
from opendp_lite.drawing.svg_picture import svg_picture
from opendp_lite.drawing.text_picture import text_picture
from opendp_lite.explain import Explained


@attrs.frozen(eq=False, repr=False, slots=False)
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

    @cached_property
    def _nodes(self) -> tuple[Node, ...]:
        return nodes(self.explained.steps, self.explained.distance)

    @property
    def svg(self) -> str:
        """The picture as the text of an SVG file."""
        return svg_picture(self._nodes, self.explained)

    def __str__(self) -> str:
        return "\n".join(text_picture(self._nodes, self.explained))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<div>{self.svg}</div>"

    def in_notebook(self) -> str:
        """The picture, and below it the table of ``explain()``, which opens on a click."""
        table = Explanation.of(self.explained).as_html()
        more = "<summary>Each step with its domain, metric and distance</summary>"
        return f"<div>{self.svg}<details>{more}{table}</details></div>"
