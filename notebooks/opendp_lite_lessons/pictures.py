"""Pictures that a lesson draws by hand, in the style of dp.plotting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from opendp_lite.plotting import alt_text, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def describe_pictures() -> None:
    """Lets each picture that a notebook shows from now on carry its words."""
    inline = import_module("matplotlib_inline.backend_inline")
    inline._fetch_figure_metadata = lambda figure: {
        "image/png": {"alt": " ".join(alt_text(ax) for ax in figure.axes)}
    }


def draw_lines(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    title: str,
    x: str,
    y: str,
    message: str,
    **settings: Any,
) -> Axes:
    """Draws a line with marks for each name, from its places and its heights.

    The message says what there is to see, for readers who do not see it. Settings are those of
    ``Axes.set``: ``xscale="log"``, say.
    """
    axes = canvas.new_axes()
    for turn, (name, (places, heights)) in enumerate(series.items()):
        axes.plot(places, heights, label=name, **canvas.marked_style(turn))
    axes.set(**settings)
    return canvas.dress(axes, title, x, y, message)
