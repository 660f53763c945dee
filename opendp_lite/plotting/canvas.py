"""Axes to draw on: a reader's own, or new ones of matplotlib, which is imported here alone."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from opendp_lite.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE: Final = (6.0, 3.8)
WIDE: Final = (7.6, 3.8)
"""With room for a legend beside the picture."""

EQUAL_SIDES: Final = (6.1, 3.8)
"""As ``WIDE``, beside a picture as high as it is wide."""

_DARK: Final = 1.5
"""The sum of red, green and blue of a middle grey."""


def axes_of(ax: Axes | None, size: tuple[float, float] = _SIZE) -> Axes:
    """The axes that were given, else those of a new figure.

    Raises:
        ParameterError: If matplotlib is not installed.
    """
    found: Axes = new_axes(size=size) if ax is None else ax
    return found


def new_axes(rows: int = 1, columns: int = 1, size: tuple[float, float] = _SIZE) -> Any:
    """A new figure with one pair of axes, or an array of so many rows and columns.

    Raises:
        ParameterError: If matplotlib is not installed.
    """
    try:
        pyplot = import_module("matplotlib.pyplot")
    except ImportError:
        raise ParameterError(
            "dp.plotting needs matplotlib, which is not installed; type: "
            'pip install "opendp_lite[plot]"'
        ) from None
    return pyplot.subplots(rows, columns, figsize=size, layout="constrained")[1]


def dressed(
    ax: Axes,
    title: str,
    x: str,
    y: str,
    *,
    legend: bool = True,
    beside: bool = False,
    handles: Sequence[Any] = (),
) -> Axes:
    """The axes with a title, labels, a light grid, and a legend: on the picture or beside it.

    The legend has all that is labelled, or these handles alone.
    """
    ax.set_title(title, fontsize="medium")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.grid(visible=True, color=ink(ax), alpha=0.12, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if legend:
        style: dict[str, Any] = {"fontsize": "small", "framealpha": 0.85, "edgecolor": "none"}
        if beside:
            style |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
        ax.legend(handles=handles or ax.get_legend_handles_labels()[0], **style)
    return ax


def ink(ax: Axes) -> str:
    """The colour of the words on the axes: black, or light in a dark style of matplotlib."""
    return str(ax.xaxis.label.get_color())


def shade(ax: Axes) -> float:
    """How opaque a filled area is: more so on a dark ground, where a light tint does not show."""
    ground: Any = ax.get_facecolor()
    return 0.2 if sum(ground[:3]) > _DARK else 0.4


def with_unit(words: str, unit: str) -> str:
    """A label with its unit in parentheses, where there is one."""
    return f"{words} ({unit})" if unit else words


def per(unit: str) -> str:
    """The unit of a density, where there is one."""
    return f"1 / {unit}" if unit else ""


def percent(share: float) -> str:
    """A share in words.

    Example:
        >>> percent(0.95)
        '95 %'
    """
    return f"{100 * share:.12g} %"
