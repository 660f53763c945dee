"""A released histogram, with its intervals."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from opendp_lite.errors import ParameterError
from opendp_lite.estimators.distributions.histogram_release import Histogram, label
from opendp_lite.plotting.canvas import WIDE, axes_of, dressed, ink, percent, with_unit
from opendp_lite.plotting.palette import bar_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PAIR: Final = 2
_WIDE: Final = 0.8
_LONG: Final = 60
_MOST_TICKS: Final = 40


def histogram_bars(
    histogram: Histogram, *, joint: bool = False, unit: str = "", ax: Axes | None = None
) -> Axes:
    """Draws the counts of a released histogram as bars, with their intervals.

    Only the release is drawn. A noisy count may be negative, and its bar then hangs below zero.

    Args:
        histogram: A release of ``dp.histogram``.
        joint: Whether the intervals are those that hold for all counts at once.
        unit: Of the values in bins, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes. Bins stand at their edges. Of two columns the second makes groups of bars, each
        with a colour and a hatch.

    Raises:
        ParameterError: If ``joint`` is asked for and the keys were not declared, or if matplotlib
            is not installed.

    Example:
        >>> import opendp_lite as dp
        >>> counts = dp.histogram(edges=[0, 30, 60, 90], epsilon=1)([23, 31, 38, 45, 52, 67] * 100)
        >>> ax = dp.plotting.histogram_bars(counts, unit="years")
        >>> [bar.get_height() for bar in ax.patches] == list(counts.counts)
        True
    """
    if not isinstance(histogram, Histogram):
        raise ParameterError(
            "histogram_bars draws a release of dp.histogram, never data; got a "
            f"{type(histogram).__name__}"
        )
    ends = histogram.joint_intervals if joint else histogram.intervals
    if histogram.axes is not None and len(histogram.axes) == _PAIR:
        down, across = histogram.axes
        axes = _side_by_side(axes_of(ax, WIDE), histogram, ends, down, across)
        named, handles = histogram.columns[0], axes.containers[::2]
    else:
        axes = _in_a_row(axes_of(ax), histogram, ends)
        named, handles = ", ".join(histogram.columns), []
    axes.axhline(0, color=ink(axes), alpha=0.7, linewidth=0.8)
    kind = "all at once" if joint else "each by itself"
    title = f"Released counts, {percent(histogram.confidence)} intervals ({kind})"
    across_label = with_unit(named or "value", unit)
    shown = bool(handles)
    return dressed(axes, title, across_label, "rows", legend=shown, beside=True, handles=handles)


def _in_a_row(axes: Axes, histogram: Histogram, ends: Any) -> Axes:
    """A bar for each key: at its place where all keys are bins of one column."""
    keys, columns = histogram.categories, len(histogram.columns)
    spans = [span for span in map(_span, keys) if span is not None]
    if columns == 1 and len(spans) == len(keys):
        places = np.array([(low + high) / 2 for low, high in spans])
        widths = np.array([high - low for low, high in spans])
        edges = sorted({end for span in spans for end in span})
        axes.set_xticks(edges[:: 1 + (len(edges) - 1) // _MOST_TICKS])
    else:
        places, widths = np.arange(len(keys)), np.full(len(keys), _WIDE)
        _name(axes, [_text(key, columns) for key in keys])
    _bars(axes, places, widths, histogram.counts, ends, 0, "released count")
    return axes


def _side_by_side(
    axes: Axes,
    histogram: Histogram,
    intervals: Any,
    down: Sequence[Hashable],
    across: Sequence[Hashable],
) -> Axes:
    """A group of bars for each key of the first column."""
    counts = histogram.grid()
    ends = intervals.reshape(*counts.shape, 2)
    width = _WIDE / len(across)
    for place, key in enumerate(across):
        offset = (place - (len(across) - 1) / 2) * width
        places, widths = np.arange(len(down)) + offset, np.full(len(down), width)
        name = f"{histogram.columns[1]}: {label(key)}"
        _bars(axes, places, widths, counts[:, place], ends[:, place], place, name)
    _name(axes, [label(key) for key in down])
    return axes


def _bars(
    axes: Axes, places: Any, widths: Any, counts: Any, ends: Any, place: int, name: str
) -> None:
    style = {**bar_style(place), "linewidth": 0.8}
    axes.bar(places, counts, widths, label=name, **style)
    off = np.abs(ends.T - counts)
    lines: dict[str, Any] = {"ecolor": ink(axes), "elinewidth": 1.4, "capsize": 3}
    axes.errorbar(places, counts, yerr=off, fmt="none", label=f"{name}, interval", **lines)


def _name(axes: Axes, names: Sequence[str]) -> None:
    shown = range(0, len(names), 1 + (len(names) - 1) // _MOST_TICKS)
    long = sum(len(names[each]) + 2 for each in shown) > _LONG
    turned: dict[str, Any] = {"rotation": 40, "ha": "right"} if long else {}
    axes.set_xticks(list(shown), [names[each] for each in shown], **turned)


def _span(key: Hashable) -> tuple[float, float] | None:
    """The ends of a bin; None for any other key."""
    if not isinstance(key, tuple) or len(key) != _PAIR:
        return None
    if not all(isinstance(end, Real) and isfinite(end) for end in key):
        return None
    low, high = map(float, key)
    return low, high


def _text(key: Hashable, columns: int) -> str:
    return ", ".join(map(label, key)) if columns > 1 and isinstance(key, tuple) else label(key)
