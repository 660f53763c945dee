"""A released cumulative distribution, with the band that holds it."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from opendp_lite.errors import ParameterError
from opendp_lite.estimators.distributions.answers import Answers
from opendp_lite.estimators.distributions.cumulative_distribution import CumulativeDistribution
from opendp_lite.plotting.canvas import axes_of, dressed, percent, shade, with_unit
from opendp_lite.plotting.palette import line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Band = tuple[Any, Any, str]


def cdf_curve(release: Answers, *, unit: str = "", ax: Axes | None = None) -> Axes:
    """Draws the share of rows up to each number, as it was released.

    Args:
        release: Of ``dp.cdf`` or ``dp.estimators.basis_distribution``. Only it is drawn.
        unit: Of the numbers, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes. The band holds the whole curve at the confidence that was asked for. A release
        without a confidence has a band of one standard error of the noise to either side.

    Raises:
        ParameterError: If this is no such release, or if matplotlib is not installed.

    Example:
        >>> import opendp_lite as dp
        >>> ages = [23, 31, 38, 45, 52, 67] * 1000
        >>> found = dp.cdf(0, 100, epsilon=1, cells=64, confidence=0.95)(ages)
        >>> dp.plotting.cdf_curve(found, unit="years").get_ylabel()
        'share of rows'
    """
    if not isinstance(release, Answers):
        raise ParameterError(
            "cdf_curve draws a release of dp.cdf or dp.estimators.basis_distribution, never data; "
            f"got a {type(release).__name__}"
        )
    axes, edges = axes_of(ax), release.edges
    low, high, words = _band(release, edges)
    color = line_style(0)["color"]
    style: dict[str, Any] = {"color": color, "alpha": shade(axes), "linewidth": 0}
    axes.fill_between(_around(edges), low, high, label=words, **style)
    axes.plot(edges, release.cdf(edges).value, label="released share", **line_style(0))
    axes.set_ylim(-0.02, 1.02)
    title = "Share of rows up to each number"
    return dressed(axes, title, with_unit("number", unit), "share of rows")


def _around(edges: Any) -> Any:
    """Just before and just after each edge: a bound may jump there."""
    found = [edges, np.nextafter(edges[:-1], np.inf), np.nextafter(edges[1:], -np.inf)]
    return np.sort(np.concatenate(found))


@singledispatch
def _band(release: Answers, edges: Any) -> Band:
    """One standard error to either side."""
    found = release.cdf(_around(edges))
    low, high = found.value - found.standard_error, found.value + found.standard_error
    return low.clip(0, 1), high.clip(0, 1), "± one standard error of the noise"


@_band.register
def _sure(release: CumulativeDistribution, edges: Any) -> Band:
    if release.confidence is None:
        return _band.dispatch(Answers)(release, edges)
    low, high = release.band(_around(edges))
    return low, high, f"{percent(release.confidence)} band for the whole curve"
