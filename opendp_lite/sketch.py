"""A small picture of a convex set, as points between -1 and 1."""

from __future__ import annotations

from math import cos, exp, pi, sin
from typing import Final

import attrs

Point = tuple[float, float]
_CORNERS: Final = 48


@attrs.frozen
class Sketch:
    """What a picture of a pipeline shows of a domain; y points up.

    Args:
        name: The shape in a word or two, for those who do not see it.
        outline: The corners of a filled shape.
        lines: Pairs of ends.
        dots: Single points.
    """

    name: str
    outline: tuple[Point, ...] = ()
    lines: tuple[tuple[Point, Point], ...] = ()
    dots: tuple[Point, ...] = ()


AXES: Final = (((-0.95, -0.8), (1.0, -0.8)), ((-0.8, -0.95), (-0.8, 1.0)))
"""The axes of a corner, where nothing is negative."""

CROSS: Final = (((-1.0, 0.0), (1.0, 0.0)), ((0.0, -1.0), (0.0, 1.0)))
"""The axes through the middle."""


def arc(middle: Point, radius: float, first: float, last: float) -> tuple[Point, ...]:
    """Points of a circle, from one share of a turn to another.

    Example:
        >>> arc((0, 0), 1, 0, 0.25)[0]
        (1.0, 0.0)
    """
    angles = (2 * pi * (first + (last - first) * k / _CORNERS) for k in range(_CORNERS + 1))
    return tuple((middle[0] + radius * cos(a), middle[1] + radius * sin(a)) for a in angles)


LINE: Final = Sketch("an interval", lines=(((-0.8, 0.0), (0.8, 0.0)),), dots=((-0.8, 0), (0.8, 0)))
SQUARE: Final = Sketch("a box", ((-0.7, -0.7), (0.7, -0.7), (0.7, 0.7), (-0.7, 0.7)), CROSS)
DIAMOND: Final = Sketch("an l1 ball", ((0.8, 0), (0, 0.8), (-0.8, 0), (0, -0.8)), CROSS)
DISC: Final = Sketch("a ball", arc((0, 0), 0.75, 0, 1), CROSS)
QUARTER: Final = Sketch(
    "a non-negative ball", ((-0.8, -0.8), *arc((-0.8, -0.8), 1.5, 0, 0.25)), AXES
)
TRIANGLE: Final = Sketch("a simplex", ((-0.8, -0.8), (0.75, -0.8), (-0.8, 0.75)), AXES)
CORNERS: Final = Sketch(
    "corners of a simplex", lines=AXES, dots=((-0.8, -0.8), (0.6, -0.8), (-0.8, 0.6))
)
SCATTER: Final = Sketch(
    "finitely many points",
    lines=AXES,
    dots=((-0.5, 0.3), (-0.1, -0.4), (0.2, 0.6), (0.45, 0.0), (0.7, -0.5)),
)
PLANE: Final = Sketch(
    "everything",
    lines=(
        *CROSS,
        *(((x, 0.75 * y), (x, y)) for x in (-1.0, 1.0) for y in (-1.0, 1.0)),
        *(((0.75 * x, y), (x, y)) for x in (-1.0, 1.0) for y in (-1.0, 1.0)),
    ),
)
TABLE: Final = Sketch(
    "a table",
    lines=(
        *(((-0.8, y), (0.8, y)) for y in (-0.7, -0.23, 0.23, 0.7)),
        *(((x, -0.7), (x, 0.7)) for x in (-0.8, 0.0, 0.8)),
    ),
)
BODY: Final = Sketch("a convex set", arc((0, 0), 0.75, 0.05, 0.8), CROSS)
ARROW: Final = Sketch(
    "a vector",
    lines=(
        *AXES,
        ((-0.8, -0.8), (0.7, 0.6)),
        ((0.7, 0.6), (0.25, 0.5)),
        ((0.7, 0.6), (0.5, 0.15)),
    ),
)
NUMBER: Final = Sketch(
    "a number",
    lines=(((-1.0, 0.0), (1.0, 0.0)), *(((x, -0.15), (x, 0.15)) for x in (-0.7, 0.0, 0.7))),
    dots=((0.35, 0),),
)
BELL: Final = Sketch(
    "noise",
    tuple((k / 12 - 1, 1.6 * exp(-5 * (k / 12 - 1) ** 2) - 0.8) for k in range(25)),
    lines=(((-1.0, -0.8), (1.0, -0.8)),),
)
