"""A picture in words, for readers who do not see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW: Final = 12
_NEAR_ZERO: Final = 1e-13
"""Of the largest: what floats left of a zero."""


def alt_text(ax: Axes) -> str:
    """Says what axes show, from what is drawn on them.

    Use it as the text alternative of the saved picture.

    Args:
        ax: Axes of any function here, or your own.

    Returns:
        The title, both axes, and for each labelled line or set of bars its numbers: all of them
        where they are few, else the ends and the extremes.

    Example:
        >>> import opendp_lite as dp
        >>> curve = {"count": dp.count() >> dp.laplace(epsilon=1)}
        >>> print(dp.plotting.alt_text(dp.plotting.privacy_curves(curve)))  # doctest: +ELLIPSIS
        Privacy curves: protects adding or removing one row. Horizontal axis: epsilon, from ...
    """
    words = [ax.get_title().replace("\n", ", "), _axis("Horizontal", ax.xaxis)]
    words.append(_axis("Vertical", ax.yaxis))
    upright = bool(_names(ax.yaxis))
    words += [
        _drawn(str(line.get_label()), np.asarray(line.get_xydata(), dtype=np.float64), upright)
        for line in ax.lines
        if _is_named(line)
    ]
    words += [_held(each) for each in ax.containers if _is_named(each)]
    words += [f"Also: {area.get_label()}" for area in ax.collections if _is_named(area)]
    words += [text.get_text().replace("\n", ", ") for text in ax.texts]
    return ". ".join(each for each in words if each) + "."


def _is_named(artist: Any) -> bool:
    label = str(artist.get_label() or "")
    return bool(label) and not label.startswith("_")


def _axis(which: str, axis: Any) -> str:
    said, names = f"{which} axis: {axis.get_label_text()}", _names(axis)
    if names:
        more = " and more" if len(names) > _FEW else ""
        return f"{said} {', '.join(names[:_FEW])}{more}".replace("  ", " ")
    low, high = axis.get_view_interval()
    scale = ", logarithmic" if axis.get_scale() == "log" else ""
    return f"{said}, from {low:.4g} to {high:.4g}{scale}"


def _names(axis: Any) -> list[str]:
    """The words at the ticks of an axis; none where they are numbers."""
    ticks = [each.get_text() for each in axis.get_ticklabels()]
    is_words = axis.get_scale() == "linear" and any(
        letter.isalpha() for each in ticks for letter in each
    )
    return ticks if is_words else []


def _drawn(label: str, points: Any, upright: bool) -> str:
    shown = points[np.isfinite(points).all(axis=1)]
    shown = np.where(np.abs(shown) < _NEAR_ZERO * np.abs(shown).max(axis=0), 0.0, shown)
    if len(shown) <= _FEW and upright:
        return f"{label}: {', '.join(f'{x:.4g}' for x in shown[:, 0])}"
    if len(shown) <= _FEW:
        pairs = ", ".join(f"{y:.4g} at {x:.4g}" for x, y in shown)
        return f"{label}: {pairs}"
    first, last = shown[0], shown[-1]
    low, high = shown[:, 1].min(), shown[:, 1].max()
    return (
        f"{label}: from {first[1]:.4g} at {first[0]:.4g} to {last[1]:.4g} at {last[0]:.4g}, "
        f"between {low:.4g} and {high:.4g}"
    )


def _held(container: Any) -> str:
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
