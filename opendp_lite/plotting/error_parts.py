"""The error of a mean, split into clipping, sampling and noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import hypot, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from opendp_lite.core import Private
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.distributions.answers import numbers_of
from opendp_lite.exact import Number, exact, nearest
from opendp_lite.plotting.canvas import axes_of, dressed, ink, with_unit
from opendp_lite.plotting.error_lines import noise_error, rising
from opendp_lite.plotting.palette import marked_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def error_parts(
    public_data: ArrayLike,
    estimator: Callable[[float, float], Private[Any, Any, Any]],
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
    for place, (name, errors) in enumerate(
        zip(("clipping", "sampling", "noise"), parts.T, strict=True)
    ):
        axes.plot(places, errors, label=name, **marked_style(place))
    whole = [hypot(*each) for each in parts]
    style: dict[str, Any] = {"color": ink(axes), "linewidth": 4, "alpha": 0.35, "zorder": 1.5}
    axes.plot(places, whole, label="the whole", **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    top = max(whole)
    axes.set_ylim(top / 1e3, top * 1.5)
    title = f"Error of a mean on public data, {len(values)} rows"
    return dressed(
        axes, title, with_unit("upper bound", unit), with_unit("error of the mean", unit)
    )


def _parts(
    values: Any, estimator: Callable[[float, float], Any], lower: float, upper: float
) -> tuple[float, float, float]:
    """The errors from clipping, sampling and noise."""
    clipped = np.clip(values, lower, upper)
    mean, spread = float(clipped.mean()), float(clipped.std(ddof=1))
    noise = noise_error(estimator(lower, upper), len(values), mean, spread)
    return abs(mean - float(values.mean())), spread / sqrt(len(values)), noise
