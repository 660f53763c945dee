"""Colours and line styles that colour-blind readers and grey printers can tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

ORANGE: Final = "#E69F00"
SKY: Final = "#56B4E9"
GREEN: Final = "#009E73"
BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
"""Those of Okabe and Ito 2008, *Color universal design*, without yellow: it fades on white."""

GREY: Final = "0.45"
"""In the place of their black, which does not show on a dark ground."""

_COLOURS: Final = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY)
_LINES: Final = ("-", (0, (5, 2)), (0, (1, 1.3)), (0, (5, 1.5, 1, 1.5)), (0, (9, 3)))
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
_HATCHES: Final = ("", "///", "...", "\\\\\\", "xx", "--", "++")


def line_style(place: int) -> Mapping[str, Any]:
    """The colour and the dashes of the line at this place: 35 differ."""
    return {
        "color": _COLOURS[place % len(_COLOURS)],
        "linestyle": _LINES[place % len(_LINES)],
        "linewidth": 1.8,
    }


def marked_style(place: int) -> Mapping[str, Any]:
    """As ``line_style``, with a mark on each point."""
    return {**line_style(place), "marker": _MARKERS[place % len(_MARKERS)], "markersize": 5}


def bar_style(place: int) -> Mapping[str, Any]:
    """The colour and the hatch of the bars at this place."""
    return {
        "facecolor": _COLOURS[place % len(_COLOURS)],
        "hatch": _HATCHES[place % len(_HATCHES)],
        "edgecolor": "white",
        "linewidth": 0,
    }
