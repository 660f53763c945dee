"""The free lunch: rows of one column on a simplex."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from opendp_lite.bodies.box import Box
from opendp_lite.exact import Number, nearest
from opendp_lite.plotting.canvas import EQUAL_SIDES, axes_of, dressed, ink, shade, with_unit
from opendp_lite.plotting.error_lines import rising
from opendp_lite.plotting.palette import BLUE, GREEN, ORANGE, VERMILION
from opendp_lite.spaces import records
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.simplex_augment import simplex_augment

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def simplex_picture(
    lower: Number,
    upper: Number,
    *,
    public_values: Iterable[Number] | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draws why a sum in bounds leaves room for a count at the same loss.

    Each value x becomes the point (x - L, U - x). All points lie on one segment, at the full l1
    distance U - L from the origin. The noise of the sum alone already covers that distance, so the
    second entry costs nothing. Both entries add up to U - L for each row: that is the count.

    Args:
        lower: L.
        upper: U.
        public_values: Example values that are PUBLIC OR MADE UP; they are drawn as they are. By
            default five, evenly from bound to bound.
        unit: Of the values, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes.

    Raises:
        ParameterError: If the bounds do not rise, or if matplotlib is not installed.

    Proof:
        Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), section 4 and figure 1. For Gaussian
        noise the l2 distance is largest at the two ends, where it is U - L too.

    Example:
        >>> import opendp_lite as dp
        >>> ax = dp.plotting.simplex_picture(0, 100, unit="years")
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('x - L (years)', 'U - x (years)')
    """
    low, high = (nearest(each[0]) for each in Box(lower, upper).bounds())
    width = high - low
    given = np.linspace(low, high, 5) if public_values is None else public_values
    values = np.array(rising(given, "simplex_picture: public_values")).clip(low, high)
    rows = (records() >> clamp(lower, upper) >> simplex_augment())(values)
    points = np.asarray(rows).reshape(-1, 2)
    axes = axes_of(ax, EQUAL_SIDES)
    corner = np.array([width, 0.0, -width, 0.0, width])
    turned = np.array([0.0, width, 0.0, -width, 0.0])
    filled: dict[str, Any] = {"facecolor": ORANGE, "alpha": shade(axes)}
    axes.fill(corner, turned, label="what the noise hides: l1 ball", **filled)
    axes.plot(corner, turned, color=ORANGE, linewidth=1)
    axes.plot([0, width], [0, 0], color=VERMILION, linewidth=3, label="rows of the sum alone")
    axes.plot([0, width], [width, 0], color=BLUE, linewidth=3, label="rows on the simplex")
    style: dict[str, Any] = {"color": GREEN, "markeredgecolor": ink(axes), "zorder": 4}
    axes.plot(*points.T, "o", label="example rows", **style)
    for value, point in zip(values, points, strict=True):
        words, place = f"x = {value:g}", (point[0], point[1])
        axes.annotate(words, place, (8, 4), textcoords="offset points", fontsize="small")
    axes.set_aspect("equal")
    title = f"Values from L = {low:g} to U = {high:g} on a simplex"
    return dressed(axes, title, with_unit("x - L", unit), with_unit("U - x", unit), beside=True)
