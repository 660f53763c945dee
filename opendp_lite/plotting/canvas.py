"""Colours and line styles that colour-blind readers and grey printers can tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from opendp_lite.base.errors import ParameterError, find_library
from opendp_lite.engines.data.fold import Floats
from opendp_lite.pipeline.core import AnyPrivate

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.container import Container

Style: TypeAlias = dict[str, Any]
"""Words of matplotlib's own, such as colours and widths, by its names for them."""

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


BARS: Final = len(_HATCHES)
"""How many kinds of bars differ."""


def line_style(place: int) -> Style:
    """The colour and the dashes of the line at this place: 35 differ."""
    return {
        "color": _COLOURS[place % len(_COLOURS)],
        "linestyle": _LINES[place % len(_LINES)],
        "linewidth": 1.8,
    }


def marked_style(place: int) -> Style:
    """As ``line_style``, with a mark on each point."""
    return {**line_style(place), "marker": _MARKERS[place % len(_MARKERS)], "markersize": 5}


def bar_style(place: int) -> Style:
    """The colour and the hatch of the bars at this place."""
    return {
        "facecolor": _COLOURS[place % len(_COLOURS)],
        "hatch": _HATCHES[place % len(_HATCHES)],
        "edgecolor": "white",
        "linewidth": 0,
    }


_SIZE: Final = (6.0, 3.8)
WIDE: Final = (7.6, 3.8)
"""With room for a legend beside the picture."""

EQUAL_SIDES: Final = (6.1, 3.8)
"""As ``WIDE``, beside a picture as high as it is wide."""

# The sum of red, green and blue of a middle grey.
_DARK: Final = 1.5


def axes_of(ax: Axes | None, size: tuple[float, float] = _SIZE) -> Axes:
    """The axes that were given, else those of a new figure.

    Raises:
        ParameterError: If matplotlib is not installed.
    """
    return cast("Axes", new_axes(size=size) if ax is None else ax)


def new_axes(rows: int = 1, columns: int = 1, size: tuple[float, float] = _SIZE) -> Any:
    """A new figure with one pair of axes, or an array of so many rows and columns.

    Raises:
        ParameterError: If matplotlib is not installed.
    """
    pyplot = find_library("matplotlib.pyplot", "dp.plotting needs matplotlib", "plot")
    return pyplot.subplots(rows, columns, figsize=size, layout="constrained")[1]


def dress(
    ax: Axes,
    title: str,
    x: str,
    y: str,
    message: str,
    *,
    legend: bool = True,
    beside: bool = False,
    handles: Sequence[Artist | Container] = (),
) -> Axes:
    """The axes with a title, labels, a light grid, and a legend: on the picture or beside it.

    The legend has all that is labelled, or these handles alone. The message is what a reader is to
    see, in a sentence: ``alt_text`` says it.
    """
    ax.set_title(title, fontsize="medium")
    ax.set_label(message)
    ax.set(xlabel=x, ylabel=y)
    ax.grid(visible=True, color=ink(ax), alpha=0.12, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if legend:
        style: Style = {"fontsize": "small", "framealpha": 0.85, "edgecolor": "none"}
        if beside:
            style |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
        ax.legend(handles=handles or ax.get_legend_handles_labels()[0], **style)
    return ax


def ink(ax: Axes) -> str:
    """The colour of the words on the axes: black, or light in a dark style of matplotlib."""
    return str(ax.xaxis.label.get_color())


def tint(ax: Axes, place: int = 0) -> Style:
    """The look of a filled area around the line at this place."""
    return {"color": line_style(place)["color"], "alpha": opacity(ax), "linewidth": 0}


def opacity(ax: Axes) -> float:
    """How opaque a filled area is: more so on a dark ground, where a light tint does not show."""
    ground = np.asarray(ax.get_facecolor(), dtype=np.float64)
    return 0.2 if ground[:3].sum() > _DARK else 0.4


def two_sided(ax: Axes) -> Any:
    """A scale of colours with the ground at 0: vermilion below, blue above."""
    colors = import_module("matplotlib.colors").LinearSegmentedColormap
    return colors.from_list("two sided", [VERMILION, ax.get_facecolor(), BLUE])


def with_unit(words: str, unit: str) -> str:
    """A label with its unit in parentheses, where there is one."""
    return f"{words} ({unit})" if unit else words


def per(unit: str) -> str:
    """The unit of a density, where there is one."""
    return f"1 / {unit}" if unit else ""


def same_neighbours(pipelines: Mapping[str, AnyPrivate], d_in: object, who: str) -> str:
    """What the pipelines protect, in words.

    Raises:
        ParameterError: If there is none, or if they protect different things.
    """
    words = {name: each.neighbours(d_in) for name, each in pipelines.items()}
    if not words:
        raise ParameterError(f"{who} needs a pipeline, as in {{'Laplace': pipeline}}")
    if len(set(words.values())) > 1:
        listed = "; ".join(f"{name}: {each}" for name, each in words.items())
        raise ParameterError(
            f"{who} compares losses between the same neighbours, got {listed}; bind the pipelines "
            "to one space"
        )
    return next(iter(words.values()))


_FEW: Final = 12
# How many points are said of a line of more.
_SAID: Final = 5
# Of the largest: what floats left of a zero.
_NEAR_ZERO: Final = 1e-13


def alt_text(ax: Axes) -> str:
    """Says what axes show, from what is drawn on them.

    Use it as the text alternative of the saved picture.

    Args:
        ax: Axes of any function here, or your own.

    Returns:
        The title, what there is to see, both axes, and for each labelled line or set of bars its
        numbers: all of them where they are few, else five. Your own axes say what there is to see
        if you call ``ax.set_label("...")``.

    Example:
        >>> import opendp_lite as dp
        >>> curve = {"count": dp.count() >> dp.laplace(epsilon=1)}
        >>> print(dp.plotting.alt_text(dp.plotting.privacy_curves(curve)))  # doctest: +ELLIPSIS
        Privacy curves: protects adding or removing one row. At delta = 1e-06: count 1. Horiz...
    """
    words = [ax.get_title(), str(ax.get_label()).rstrip(".")]
    words += [_axis("Horizontal", ax.xaxis), _axis("Vertical", ax.yaxis)]
    upright = bool(_names(ax.yaxis))
    words += [
        _say_points(str(line.get_label()), np.asarray(line.get_xydata(), dtype=np.float64), upright)
        for line in ax.lines
        if _is_named(line)
    ]
    words += [_say_container(each) for each in ax.containers if _is_named(each)]
    areas = [each for each in (*ax.collections, *ax.patches) if _is_named(each)]
    words += [f"Also: {each}" for each in dict.fromkeys(area.get_label() for area in areas)]
    words += [] if ax.images else [text.get_text().replace("\n", " ") for text in ax.texts]
    return ". ".join(each.replace("\n", ", ") for each in words if each) + "."


def _is_named(artist: Artist | Container) -> bool:
    label = str(artist.get_label() or "")
    return bool(label) and not label.startswith("_")


def _axis(which: str, axis: Axis) -> str:
    label, names = axis.get_label_text(), _names(axis)
    said = f"{which} axis: {label}" if label else f"{which} axis"
    if names:
        more = " and more" if len(names) > _FEW else ""
        return f"{said}{'' if label else ':'} {', '.join(names[:_FEW])}{more}"
    low, high = axis.get_view_interval()
    scale = ", logarithmic" if axis.get_scale() == "log" else ""
    return f"{said}, from {low:.4g} to {high:.4g}{scale}"


def _names(axis: Axis) -> list[str]:
    """The words at the ticks of an axis; none where they are numbers."""
    ticks = [each.get_text() for each in axis.get_ticklabels()]
    is_words = axis.get_scale() == "linear" and any(
        letter.isalpha() for each in ticks for letter in each
    )
    return ticks if is_words else []


def _say_points(label: str, points: Floats, upright: bool) -> str:
    shown = points[np.isfinite(points).all(axis=1)]
    shown = np.where(np.abs(shown) < _NEAR_ZERO * np.abs(shown).max(axis=0), 0.0, shown)
    if len(shown) <= _FEW and upright:
        return f"{label}: {', '.join(f'{x:.4g}' for x in shown[:, 0])}"
    if len(shown) > _FEW:
        shown = shown[np.linspace(0, len(shown) - 1, _SAID).round().astype(np.int64)]
    return f"{label}: {', '.join(f'{y:.4g} at {x:.4g}' for x, y in shown)}"


def _say_container(container: Any) -> str:
    """The heights of bars, or the ends of intervals."""
    label = container.get_label()
    if hasattr(container, "datavalues"):
        shown = [f"{value:.6g}" for value in container.datavalues]
    else:
        side = 0 if container.has_xerr else 1
        ends = [np.asarray(each)[:, side] for each in container.lines[2][0].get_segments()]
        shown = [f"{low:.6g} to {high:.6g}" for low, high in ends]
    more = f" and {len(shown) - _FEW} more" if len(shown) > _FEW else ""
    return f"{label}: {', '.join(shown[:_FEW])}{more}"
