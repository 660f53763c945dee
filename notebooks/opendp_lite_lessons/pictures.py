"""Pictures that a lesson draws by hand, in the style of dp.plotting."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from opendp_lite.plotting import alt_text, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Series: TypeAlias = Mapping[str, tuple[Sequence[float], Sequence[float]]]
_EPSILONS: Final = (0.1, 0.2, 0.5, 1, 2, 5)
_NONE: Final[Series] = MappingProxyType({})
_FEW: Final = 20


def describe_pictures() -> None:
    """Lets each picture that a notebook shows from now on carry its words, for a page or slides."""
    # A page cannot slide, so slide_epsilon draws one picture.
    sys.modules["ipywidgets"] = None
    inline = import_module("matplotlib_inline.backend_inline")
    inline._fetch_figure_metadata = lambda figure: {
        "image/png": {"alt": " ".join(alt_text(ax) for ax in figure.axes)}
    }


def draw_lines(
    series: Series,
    title: str,
    x: str,
    y: str,
    message: str,
    *,
    marks: Series = _NONE,
    levels: Sequence[float] = (),
    ax: Axes | None = None,
    **settings: Any,
) -> Axes:
    """Draws a line for each name, from its places and its heights, with marks if they are few.

    The message says what there is to see, for readers who do not see it. What is in ``marks`` has
    no line, and ``levels`` are dotted lines across. A name that begins with "_" is not in the
    legend. Settings are those of ``Axes.set``: ``xscale="log"``, say.
    """
    axes = canvas.axes_of(ax)
    for turn, (name, (places, heights)) in enumerate(series.items()):
        style = canvas.marked_style if len(places) <= _FEW else canvas.line_style
        axes.plot(places, heights, label=name, **style(turn))
    for turn, (name, (places, heights)) in enumerate(marks.items()):
        look = {**canvas.marked_style(turn), "linestyle": ""}
        axes.plot(places, heights, label=name, **look)
    for level in levels:
        axes.axhline(level, color=canvas.GREY, linestyle=":", linewidth=1)
    axes.set(**settings)
    several = len(axes.get_legend_handles_labels()[0]) > 1
    return canvas.dress(axes, title, x, y, message, legend=several)


def slide_epsilon(draw: Callable[[float], object]) -> None:
    """Draws a picture again for each epsilon that the reader slides to.

    Without ipywidgets there is no slider, and the picture is that of epsilon = 1.
    """
    if find_spec("ipywidgets") is None:
        draw(1)
    else:
        widgets = import_module("ipywidgets")
        slider = widgets.SelectionSlider(options=_EPSILONS, value=1)

        def show(epsilon: float) -> None:
            draw(epsilon)

        widgets.interact(show, epsilon=slider)
