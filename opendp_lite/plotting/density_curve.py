"""The density of a released distribution, with its standard errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from opendp_lite.errors import ParameterError
from opendp_lite.estimators.distributions.answers import Answers
from opendp_lite.exact import whole
from opendp_lite.plotting.canvas import axes_of, dressed, per, shade, with_unit
from opendp_lite.plotting.palette import line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def density_curve(
    release: Answers, *, cells: int = 32, unit: str = "", ax: Axes | None = None
) -> Axes:
    """Draws where the rows lie, as it was released.

    Args:
        release: Of ``dp.cdf`` or ``dp.estimators.basis_distribution``. Only it is drawn.
        cells: How many steps the line has at most. Neighbouring cells of the release are joined:
            many narrow ones would show little but noise.
        unit: Of the numbers, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes, with one standard error of the noise to either side of each step. A share that
        noise made negative counts as none.

    Raises:
        ParameterError: If this is no such release, or if matplotlib is not installed.

    Example:
        >>> import opendp_lite as dp
        >>> ages = [23, 31, 38, 45, 52, 67] * 1000
        >>> found = dp.cdf(0, 100, epsilon=1, cells=64)(ages)
        >>> dp.plotting.density_curve(found, cells=8, unit="years").get_ylabel()
        'density of the rows (1 / years)'
    """
    if not isinstance(release, Answers):
        raise ParameterError(
            "density_curve draws a release of dp.cdf or dp.estimators.basis_distribution, never "
            f"data; got a {type(release).__name__}"
        )
    most = whole(cells, "density_curve: cells", least=1)
    edges = release.edges
    ends = np.unique(np.linspace(0, len(edges) - 1, most + 1).round().astype(np.int64))
    wide = edges[ends]

    def inside(middles: Any) -> Any:
        return (np.searchsorted(wide, middles) - 1 == np.arange(len(wide) - 1)[:, None]) * 1.0

    widths = np.diff(wide)
    heights = np.diff(release.cdf(wide).value).clip(0) / widths
    errors = release.expectation(inside).standard_error / widths
    axes, style = axes_of(ax), line_style(0)
    doubled, (low, high) = np.repeat(wide, 2)[1:-1], (heights - errors, heights + errors)
    axes.fill_between(
        doubled,
        np.repeat(low.clip(0), 2),
        np.repeat(high, 2),
        color=style["color"],
        alpha=shade(axes),
        linewidth=0,
        label="± one standard error of the noise",
    )
    axes.plot(doubled, np.repeat(heights, 2), label="released density", **style)
    axes.set_ylim(bottom=0)
    title = f"Where the rows lie, in {len(widths)} steps"
    seen = with_unit("density of the rows", per(unit))
    return dressed(axes, title, with_unit("number", unit), seen)
