"""Scalable pictures as text: elements, each with what a person wrote escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import chain
from math import cos, exp, isfinite, isnan, pi, sin
from numbers import Real
from typing import Final

import attrs

from opendp_lite.display.formatting import escape

INK_BLUE: Final = "#2f7fb8"
INK_ORANGE: Final = "#b86a00"
INK_GREEN: Final = "#00856a"
"""Colours that colour-blind readers tell apart, on light and on dark."""


def tag(name: str, inside: str = "", /, **attributes: object) -> str:
    """An element around others. An underscore in a name stands for a hyphen.

    Example:
        >>> tag("line", x1=0.123, stroke_width=2)
        '<line x1="0.12" stroke-width="2"/>'
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{told}>{inside}</{name}>" if inside else f"<{name}{told}/>"


def line(d: str, **look: object) -> str:
    """A line along a path, in the colour of the text around the picture if ``look`` has none."""
    return tag("path", d=d, **{"fill": "none", "stroke": "currentColor", **look})


def text(words: str, x: float, y: float, **attributes: object) -> str:
    """A line of text, escaped.

    Example:
        >>> text("a < b", 1, 2)
        '<text x="1" y="2">a &lt; b</text>'
    """
    return tag("text", escape(words), x=x, y=y, **attributes)


def picture(inside: str, width: float, height: float, title: str, description: str) -> str:
    """A whole picture with its text alternative, as wide as it is or as there is room.

    It takes the colour of the text around it, so it fits a light and a dark page.
    """
    told = "\n".join([title, description])
    # Imported only here: OpenSSL takes two milliseconds, and a release draws nothing.
    digest = import_module("hashlib").sha256(f"{told}{inside}".encode()).hexdigest()
    name = f"opendp-lite-{digest[:12]}"
    alternative = tag("title", escape(title), id=f"{name}-t") + tag(
        "desc", escape(description), id=f"{name}-d"
    )
    return tag(
        "svg",
        alternative + inside,
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_labelledby=f"{name}-t {name}-d",
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        width=width,
        height=height,
        style="max-width:100%;height:auto;font-family:system-ui,sans-serif",
        fill="currentColor",
    )


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return escape(str(value))


_WIDTH: Final = 160
_HEIGHT: Final = 16
_EDGE: Final = 5.0
_MIDDLE: Final = _HEIGHT / 2
_BAR: Final = 10
_CAP: Final = 3.0


@attrs.frozen
class Spot:
    """A released number with the ends of its interval, which are the number where there is none.

    Args:
        value: The number.
        low: The lower end.
        high: The upper end.
    """

    value: float
    low: float
    high: float


@attrs.frozen
class Scale:
    """The numbers at the left and at the right end of a picture.

    Args:
        low: At the left end.
        high: At the right end.
    """

    low: float
    high: float

    @classmethod
    def around(cls, spots: Iterable[Spot], *also: float) -> Scale:
        """The least scale with all finite ends of these, and with some numbers more.

        Example:
            >>> Scale.around([Spot(3, 1, 5), Spot(float("nan"), 2, float("inf"))], 0)
            Scale(low=0, high=5)
        """
        ends = [end for spot in spots for end in (spot.value, spot.low, spot.high)]
        found = [end for end in (*ends, *also) if isfinite(end)] or [0.0]
        return cls(min(found), max(found))

    def share(self, number: float) -> float:
        """Where a number lies from 0 to 1; one beyond the scale lies at its end.

        Example:
            >>> Scale(-1e308, 1e308).share(5e307), Scale(0, 2).share(float("inf"))
            (0.75, 1.0)
        """
        wide = self.high / 2 - self.low / 2
        if wide == 0:
            return 0.5
        return min(max((number / 2 - self.low / 2) / wide, 0.0), 1.0)

    def title(self) -> str:
        """The column's title: both ends, as text of HTML."""
        ends = "".join(f"<span>{end:.4g}</span>" for end in (self.low, self.high))
        style = f"display:flex;justify-content:space-between;gap:1em;min-width:{_WIDTH}px"
        return f"<div style='{style}'>{ends}</div>"

    def bar(self, spot: Spot) -> str:
        """A bar from zero to the number, with its interval. The scale has to hold zero."""
        if isnan(spot.value):
            return ""
        zero, end = self._x(0), self._x(spot.value)
        drawn = tag(
            "rect",
            x=min(zero, end),
            y=_MIDDLE - _BAR / 2,
            width=abs(end - zero),
            height=_BAR,
            fill=INK_BLUE,
        )
        axis = line(f"M{zero:.1f} 0V{_HEIGHT}", stroke_opacity=0.5)
        return self._frame(drawn + axis + self._whiskers(spot), spot)

    def dot(self, spot: Spot) -> str:
        """The number as a dot on its interval."""
        if isnan(spot.value):
            return ""
        axis = line(f"M{_EDGE:g} {_MIDDLE:g}H{_WIDTH - _EDGE:g}", stroke_opacity=0.35)
        drawn = tag("circle", cx=self._x(spot.value), cy=_MIDDLE, r=3.5, fill=INK_ORANGE)
        return self._frame(axis + self._whiskers(spot) + drawn, spot)

    def _x(self, number: float) -> float:
        return _EDGE + (_WIDTH - 2 * _EDGE) * self.share(number)

    def _whiskers(self, spot: Spot) -> str:
        if isnan(spot.low) or isnan(spot.high) or spot.low == spot.high:
            return ""
        low, high = self._x(spot.low), self._x(spot.high)
        cap = f"{_MIDDLE - _CAP:g}v{2 * _CAP:g}"
        ends = "".join(
            f"M{x:.1f} {cap}"
            for x, end in ((low, spot.low), (high, spot.high))
            if self.low <= end <= self.high
        )
        return line(f"M{low:.1f} {_MIDDLE:g}H{high:.1f}{ends}", stroke_width=1.5)

    def _frame(self, drawn: str, spot: Spot) -> str:
        interval = f", interval {spot.low:.4g} to {spot.high:.4g}"
        title = f"{spot.value:.4g}{interval if spot.low < spot.high else ''}"
        scale = f"On a scale from {self.low:.4g} to {self.high:.4g}."
        return picture(drawn, _WIDTH, _HEIGHT, title, scale)


def spots_of(releases: Iterable[object]) -> Sequence[Spot] | None:
    """Released numbers as a picture places them; None where one of them is none.

    Example:
        >>> spots_of([3]), spots_of([3, "three"])
        ([Spot(value=3.0, low=3.0, high=3.0)], None)
    """
    found: list[Spot] = []
    for release in releases:
        if (own := getattr(release, "spot", None)) is not None:
            found.append(own())
        elif isinstance(release, Real):
            number = float(release)
            found.append(Spot(number, number, number))
        else:
            return None
    return found


_BAND_WIDTH: Final = 380
_BAND_HEIGHT: Final = 130
_LEFT: Final = 70.0
_RIGHT: Final = _BAND_WIDTH - 10.0
_TOP: Final = 10.0
_BOTTOM: Final = _BAND_HEIGHT - 26.0
_SIZE: Final = 11
_LONGEST: Final = 24
_MOST: Final = 1000


def band_picture(
    places: Sequence[float], spots: Sequence[Spot], ends: tuple[str, str], title: str, words: str
) -> str:
    """A line of numbers, and the band of their intervals.

    Args:
        places: Where each number stands from left to right, rising.
        spots: The numbers. Those that are no number are left out.
        ends: What stands below the left and the right end.
        title: Of the picture.
        words: More of it for those who do not see it.

    Returns:
        The picture. Its scale holds zero.
    """
    wide, tall = Scale(places[0], places[-1]), Scale.around(spots, 0.0)
    known = [
        (_LEFT + (_RIGHT - _LEFT) * wide.share(place), spot)
        for place, spot in zip(places, spots, strict=True)
        if not any(map(isnan, (spot.value, spot.low, spot.high)))
    ]

    def height(number: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * tall.share(number)

    def path(corners: Iterator[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{x:.1f} {height(y):.1f}" for x, y in corners) if known else ""

    below = ((x, spot.low) for x, spot in known)
    above = ((x, spot.high) for x, spot in reversed(known))
    band = tag("path", d=path(chain(below, above)), fill=INK_BLUE, fill_opacity=0.3)
    zero = line(f"M{_LEFT:g} {height(0):.1f}H{_RIGHT:g}", stroke_opacity=0.5)
    values = line(path((x, spot.value) for x, spot in known), stroke=INK_BLUE, stroke_width=1.2)
    text_until = partial(text, font_size=_SIZE, text_anchor="end")
    said = [
        text(_short(ends[0]), _LEFT, _BAND_HEIGHT - 8, font_size=_SIZE),
        text_until(_short(ends[1]), _RIGHT, _BAND_HEIGHT - 8),
        *(
            text_until(f"{number:.4g}", _LEFT - 6, height(number) + 4)
            for number in sorted({tall.low, tall.high})
        ),
    ]
    scales = f"From {ends[0]} to {ends[1]}, on a scale from {tall.low:.4g} to {tall.high:.4g}."
    drawn = band + zero + values + "".join(said)
    return picture(drawn, _BAND_WIDTH, _BAND_HEIGHT, title, f"{scales} {words}")


def step_picture(spots: Sequence[Spot], names: Sequence[str], title: str) -> str:
    """Numbers side by side, each as wide as the others: the first thousand of them."""
    shown = spots[:_MOST]
    places = [end for place in range(len(shown)) for end in (place, place + 1)]
    twice = [spot for spot in shown for _ in range(2)]
    about = f"{title}, the first {_MOST}" if len(spots) > _MOST else title
    ends = names[0], names[len(shown) - 1]
    return band_picture(places, twice, ends, about, "The band shows the intervals.")


def _short(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"


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
    lines=(*AXES, ((-0.8, -0.8), (0.7, 0.6)), ((0.7, 0.6), (0.25, 0.5)), ((0.7, 0.6), (0.5, 0.15))),
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
