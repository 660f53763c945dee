"""Lines of errors, which the pictures of estimators share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import hypot, sqrt
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from opendp_lite.base.errors import ParameterError
from opendp_lite.engines.data.fold import Floats
from opendp_lite.estimators.distributions.answers import numbers_of
from opendp_lite.estimators.means.mean import expected_error
from opendp_lite.numbers.exact import Number, exact, nearest
from opendp_lite.pipeline.core import AnyPrivate
from opendp_lite.plotting.canvas import Style, axes_of, dress, ink, marked_style, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

AnyEstimator = TypeVar("AnyEstimator")


def draw_errors(
    estimators: Mapping[str, AnyEstimator],
    places: Sequence[float],
    error_at: Callable[[AnyEstimator, float], float],
    words: tuple[str, str],
    unit: str,
    ax: Axes | None,
    scale: str = "log",
) -> Axes:
    """The axes with a line for each estimator: its error at each place."""
    axes, errors = axes_of(ax), {}
    for turn, (name, estimator) in enumerate(estimators.items()):
        errors[name] = [error_at(estimator, each) for each in places]
        axes.plot(places, errors[name], label=name, **marked_style(turn))
    axes.set(xscale=scale, yscale=scale)
    if scale == "linear":
        axes.set_ylim(bottom=0)
    least = [min(errors, key=lambda name: errors[name][at]) for at in range(len(places))]
    best = [f"{name} at {least.count(name)} of {len(least)} places" for name in sorted(set(least))]
    message = f"The least error has {' and '.join(best)}"
    return dress(axes, *words, with_unit("root mean square error", unit), message)


def rising(given: Iterable[Number], name: str) -> list[float]:
    """Numbers in order, at least two.

    Raises:
        ParameterError: If there are fewer.
    """
    found = sorted({nearest(exact(each, name)) for each in given})
    if len(found) <= 1:
        raise ParameterError(f"{name} needs two numbers or more to draw a line, got {found}")
    return found


def noise_error(estimator: Any, n: float, guess: Number, spread: Number) -> float:
    """As ``expected_error``, for a number of rows that may come as a float."""
    return expected_error(estimator, n=int(n), guess=guess, spread=spread)


def error_by_loss(
    estimators: Mapping[str, Callable[[float], AnyPrivate]],
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
    words = f"Error from the noise, for {n} rows and a mean of {guess}", f"privacy loss ({loss})"
    return draw_errors(
        estimators, places, lambda make, e: noise_error(make(e), n, guess, spread), words, unit, ax
    )


def error_by_mean(
    estimators: Mapping[str, AnyPrivate],
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
    words = f"Error from the noise, for {n} rows", with_unit("true mean", unit)
    return draw_errors(
        estimators, places, lambda e, at: noise_error(e, n, at, spread), words, unit, ax, "linear"
    )


def error_by_rows(
    estimators: Mapping[str, AnyPrivate],
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
    words = f"Error from the noise, for a mean of {guess}", "number of rows"
    return draw_errors(
        estimators, places, lambda each, n: noise_error(each, n, guess, spread), words, unit, ax
    )


def error_parts(
    public_data: ArrayLike,
    estimator: Callable[[float, float], AnyPrivate],
    *,
    lower: Number,
    uppers: Iterable[Number],
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draws how much of a mean's error is from clipping, from sampling and from noise.

    THE DATA MUST BE PUBLIC OR MADE UP. This reads the data itself and protects nothing. Use it on
    simulated rows, or on an earlier public table, to choose bounds for private rows.

    Args:
        public_data: Numbers that nobody needs to protect: as many as there will be rows.
        estimator: A function from the lower and the upper bound to a mean of one column.
        lower: The lower bound.
        uppers: The upper bounds to compare.
        unit: Of the values, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes. Clipping is how far the mean of the clipped values lies from that of the values.
        Sampling is the standard error of the clipped mean if the rows are a random sample. Noise is
        the ``dp.expected_error`` of the estimator. The whole is the root of their squares.

    Raises:
        ParameterError: If the data is not two finite numbers or more, if an upper bound is not
            above ``lower``, or if matplotlib is not installed.
        SpaceError: If the estimator is not a mean of one column.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> incomes = np.random.default_rng(0).lognormal(10, 1, 5000)  # made up
        >>> ax = dp.plotting.error_parts(
        ...     incomes,
        ...     lambda lower, upper: dp.mean(lower, upper, epsilon=0.1),
        ...     lower=0,
        ...     uppers=[50_000, 100_000, 200_000, 400_000],
        ... )
        >>> [line.get_label() for line in ax.lines]
        ['clipping', 'sampling', 'noise', 'the whole']
    """
    values = numbers_of(public_data, "error_parts: public_data").ravel()
    if len(values) <= 1 or not np.isfinite(values).all():
        raise ParameterError("error_parts: public_data must be two finite numbers or more")
    places, least = rising(uppers, "error_parts: uppers"), nearest(exact(lower, "lower"))
    if places[0] <= least:
        raise ParameterError(f"error_parts: uppers must be above lower={least:g}, got {places[0]}")
    parts = np.array([_parts(values, estimator, least, upper) for upper in places])
    axes = axes_of(ax)
    for place, name in enumerate(("clipping", "sampling", "noise")):
        axes.plot(places, parts[:, place], label=name, **marked_style(place))
    whole = [hypot(*each) for each in parts]
    style: Style = {"color": ink(axes), "linewidth": 4, "alpha": 0.35, "zorder": 1.5}
    axes.plot(places, whole, label="the whole", **style)
    axes.set(xscale="log", yscale="log")
    top = max(whole)
    axes.set_ylim(top / 1e3, top * 1.5)
    title = f"Error of a mean on public data, {len(values)} rows"
    message = f"The whole is least, {min(whole):.3g}, at {places[whole.index(min(whole))]:.4g}"
    across, up = with_unit("upper bound", unit), with_unit("error of the mean", unit)
    return dress(axes, title, across, up, message)


def _parts(
    values: Floats, estimator: Callable[[float, float], AnyPrivate], lower: float, upper: float
) -> tuple[float, float, float]:
    """The errors from clipping, sampling and noise."""
    clipped = np.clip(values, lower, upper)
    mean, spread = float(clipped.mean()), float(clipped.std(ddof=1))
    noise = noise_error(estimator(lower, upper), len(values), mean, spread)
    return abs(mean - float(values.mean())), spread / sqrt(len(values)), noise
