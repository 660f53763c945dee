"""The error of estimators against the number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from opendp_lite.core import Private
from opendp_lite.exact import Number
from opendp_lite.plotting.canvas import axes_of, dressed, with_unit
from opendp_lite.plotting.error_lines import draw_errors, noise_error, rising

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def error_by_rows(
    estimators: Mapping[str, Private[Any, Any, Any]],
    rows: Iterable[int],
    *,
    guess: Number,
    spread: Number = 0,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draws the error to expect from the noise against the number of rows.

    No data is read: all numbers are public guesses, as for ``dp.expected_error``.

    Args:
        estimators: Means of one column, by the names for the legend.
        rows: The numbers of rows.
        guess: About where the mean may lie.
        spread: The standard deviation of the values, for an estimator that samples rows.
        unit: Of the values, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes, both logarithmic.

    Raises:
        ParameterError: If there are fewer than two numbers of rows, or if matplotlib is not
            installed.
        SpaceError: If an estimator is not a mean of one column.

    Example:
        >>> import opendp_lite as dp
        >>> means = {"mean": dp.mean(0, 100, epsilon=1)}
        >>> ax = dp.plotting.error_by_rows(means, [100, 1000], guess=40, unit="years")
        >>> ax.get_ylabel()
        'root mean square error (years)'
    """
    places = rising(rows, "error_by_rows: rows")
    axes = axes_of(ax)
    draw_errors(axes, estimators, places, lambda each, n: noise_error(each, n, guess, spread))
    axes.set_xscale("log")
    axes.set_yscale("log")
    title = f"Error from the noise, for a mean of {guess}"
    return dressed(axes, title, "number of rows", with_unit("root mean square error", unit))
