"""A line of released numbers within its band, as a small picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import isnan
from typing import Final

from opendp_lite.strips import Scale, Spot
from opendp_lite.svg import INK_BLUE, element, picture, text

_WIDTH: Final = 380
_HEIGHT: Final = 130
_LEFT: Final = 70.0
_RIGHT: Final = _WIDTH - 10.0
_TOP: Final = 10.0
_BOTTOM: Final = _HEIGHT - 26.0
_SIZE: Final = 11
_LONGEST: Final = 24
_MOST: Final = 1000
_MORE: Final = "\N{HORIZONTAL ELLIPSIS}"


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
    zero = element(
        "path",
        d=f"M{_LEFT:g} {height(0):.1f}H{_RIGHT:g}",
        stroke="currentColor",
        stroke_opacity=0.5,
    )
    band = element("path", d=path(chain(below, above)), fill=INK_BLUE, fill_opacity=0.3)
    line = element(
        "path",
        d=path((x, spot.value) for x, spot in known),
        fill="none",
        stroke=INK_BLUE,
        stroke_width=1.2,
    )
    said = [
        text(_short(ends[0]), _LEFT, _HEIGHT - 8, font_size=_SIZE),
        text(_short(ends[1]), _RIGHT, _HEIGHT - 8, font_size=_SIZE, text_anchor="end"),
        *(
            text(f"{number:.4g}", _LEFT - 6, height(number) + 4, font_size=_SIZE, text_anchor="end")
            for number in sorted({tall.low, tall.high})
        ),
    ]
    scales = f"From {ends[0]} to {ends[1]}, on a scale from {tall.low:.4g} to {tall.high:.4g}."
    drawn = band + zero + line + "".join(said)
    return picture(drawn, _WIDTH, _HEIGHT, title, f"{scales} {words}")


def step_picture(spots: Sequence[Spot], names: Sequence[str], title: str) -> str:
    """Numbers side by side, each as wide as the others: the first thousand of them."""
    shown = spots[:_MOST]
    places = [end for place in range(len(shown)) for end in (place, place + 1)]
    twice = [spot for spot in shown for _ in range(2)]
    about = f"{title}, the first {_MOST}" if len(spots) > _MOST else title
    ends = names[0], names[len(shown) - 1]
    return band_picture(places, twice, ends, about, "The band shows the intervals.")


def _short(words: str) -> str:
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}{_MORE}"
