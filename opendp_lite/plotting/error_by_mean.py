"""The error of estimators against the true mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from opendp_lite.core import Private
from opendp_lite.exact import Number
from opendp_lite.plotting.canvas import axes_of, dressed, with_unit
from opendp_lite.plotting.error_lines import draw_errors, noise_error, rising

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def error_by_mean(
    estimators: Mapping[str, Private[Any, Any, Any]],
    means: Iterable[Number],
    *,
    n: int,
    spread: Number = 0,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draws the error to expect from the noise against the true mean.

    It shows which estimator suits a mean near the middle of the bounds, and which one near an end.
    No data is read: all numbers are public guesses, as for ``dp.expected_error``.

    Args:
        estimators: Means of one column, by the names for the legend.
        means: Where in the bounds the mean may lie.
        n: About how many rows there may be.
        spread: The standard deviation of the values, for an estimator that samples rows.
        unit: Of the values, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes. The error starts at 0, so that heights compare.

    Raises:
        ParameterError: If there are fewer than two means, if one lies outside of the bounds, or if
            matplotlib is not installed.
        SpaceError: If an estimator is not a mean of one column.

    Example:
        >>> import opendp_lite as dp
        >>> means = {"mean": dp.mean(0, 100, epsilon=1)}
        >>> dp.plotting.error_by_mean(means, [0, 50, 100], n=1000).get_xlabel()
        'true mean'
    """
    places = rising(means, "error_by_mean: means")
    axes = axes_of(ax)
    draw_errors(axes, estimators, places, lambda each, at: noise_error(each, n, at, spread))
    axes.set_ylim(bottom=0)
    title = f"Error from the noise, for {n} rows"
    return dressed(
        axes, title, with_unit("true mean", unit), with_unit("root mean square error", unit)
    )
