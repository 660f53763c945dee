"""The error of estimators against the privacy loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from opendp_lite.core import Private
from opendp_lite.exact import Number
from opendp_lite.plotting.canvas import axes_of, dressed, with_unit
from opendp_lite.plotting.error_lines import draw_errors, noise_error, rising

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def error_by_loss(
    estimators: Mapping[str, Callable[[float], Private[Any, Any, Any]]],
    losses: Iterable[Number],
    *,
    n: int,
    guess: Number,
    spread: Number = 0,
    loss: str = "epsilon",
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draws the error to expect from the noise against the privacy loss.

    No data is read: all numbers are public guesses, as for ``dp.expected_error``.

    Args:
        estimators: Functions from a loss to a mean of one column, by the names for the legend.
        losses: The losses.
        n: About how many rows there may be.
        guess: About where the mean may lie.
        spread: The standard deviation of the values, for an estimator that samples rows.
        loss: What the losses are: "epsilon" or "rho".
        unit: Of the values, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes, both logarithmic.

    Raises:
        ParameterError: If there are fewer than two losses, or if matplotlib is not installed.
        SpaceError: If an estimator is not a mean of one column.

    Example:
        >>> import opendp_lite as dp
        >>> means = {"mean": lambda loss: dp.mean(0, 100, epsilon=loss)}
        >>> dp.plotting.error_by_loss(means, [0.1, 1], n=1000, guess=40).get_xlabel()
        'privacy loss (epsilon)'
    """
    places = rising(losses, "error_by_loss: losses")
    axes = axes_of(ax)
    draw_errors(axes, estimators, places, lambda make, at: noise_error(make(at), n, guess, spread))
    axes.set_xscale("log")
    axes.set_yscale("log")
    title = f"Error from the noise, for {n} rows and a mean of {guess}"
    return dressed(axes, title, f"privacy loss ({loss})", with_unit("root mean square error", unit))
