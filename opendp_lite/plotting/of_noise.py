"""What noise does: the law of it, and how far off releases are to be expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import hypot, inf, isinf, sqrt
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.bodies.box import Box
from opendp_lite.display.formatting import percent
from opendp_lite.engines.data.fold import Floats
from opendp_lite.estimators.distributions.answers import numbers_of
from opendp_lite.estimators.means.mean import expected_error
from opendp_lite.measurements.noise import gaussian
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import Number, confidence_of, exact, nearest, positive, round_up
from opendp_lite.pipeline.core import AnyPrivate
from opendp_lite.pipeline.questions import brief
from opendp_lite.plotting import canvas
from opendp_lite.samplers.law import Law
from opendp_lite.spaces.space import records
from opendp_lite.transformations.bounding import center, clamp, clip_to_norm, scale
from opendp_lite.transformations.entries import simplex_augment
from opendp_lite.transformations.sums import sum

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_POINTS: Final = 401
_FEW_STEPS: Final = 120
# The picture is so many times as wide as the interval.
_REACH: Final = 1.6


def noise_probabilities(
    pipeline: AnyPrivate, *, confidence: Number = 0.95, unit: str = "", ax: Axes | None = None
) -> Axes:
    """Draws how probable each noise is, and how far off a release may be.

    The probabilities are exact: they are those that the sampler draws from. No data is read.

    Args:
        pipeline: One that ends in additive noise. What follows the noise is not drawn.
        confidence: The noise lies within the drawn interval with this probability.
        unit: Of the numbers, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes. Each different law of a composed release has a line. Where few values are possible
        the line shows a probability for each. Where there are many it shows the density: the
        probability of a value over the distance to the next.

    Raises:
        SpaceError: If the mechanism does not declare the law of its noise.
        ParameterError: If matplotlib is not installed, or ``confidence`` is no probability.

    Example:
        >>> import opendp_lite as dp
        >>> ax = dp.plotting.noise_probabilities(dp.count() >> dp.laplace(epsilon=1), unit="rows")
        >>> ax.get_xlabel()
        'noise (rows)'
    """
    laws = list(dict.fromkeys(pipeline.bound.facts.laws))
    if not laws:
        raise SpaceError(
            "noise_probabilities is for pipelines that end in noise of a declared law, such as "
            f"dp.laplace(epsilon=1); {brief(pipeline)} declares none"
        )
    share = confidence_of(confidence, "noise_probabilities: confidence")
    widths = [law.half_width(1 - share) for law in laws]
    reach = _REACH * float(max(widths))
    steps = [_steps(law, reach) for law in laws]
    whole = all(len(each) <= _FEW_STEPS for each in steps)
    axes, said = canvas.axes_of(ax, canvas.WIDE), []
    for place, (law, width, each) in enumerate(zip(laws, widths, steps, strict=True)):
        step, style, bound = 2.0**law.exponent, canvas.line_style(place), round_up(width)
        heights = np.exp(law.log_probability(each, Fraction(0))) / (1 if whole else step)
        if whole:
            axes.vlines(each * step, 0, heights, color=style["color"], linewidth=1.5)
        look = {**canvas.marked_style(place), "linestyle": ""} if whole else style
        deviation = f"standard deviation {law.standard_deviation:.4g}"
        axes.plot(each * step, heights, label=deviation, **look)
        said.append(f"at least {percent(nearest(share))} within ±{bound:.4g}")
        axes.axvspan(-bound, bound, label=said[-1], **canvas.tint(axes, place))
        for end in (-bound, bound):
            axes.axvline(end, color=style["color"], linestyle=":", linewidth=1)
    axes.set_ylim(bottom=0)
    seen = "probability" if whole else canvas.with_unit("probability density", canvas.per(unit))
    title, message = "Noise of the release", " and ".join(said)
    return canvas.dress(axes, title, canvas.with_unit("noise", unit), seen, message, beside=True)


def _steps(law: Law, reach: float) -> Floats:
    """Grid points from one end of the picture to the other: all of them where they are few."""
    last = max(int(reach / 2.0**law.exponent), 1)
    if 2 * last < _FEW_STEPS:
        return np.arange(-last, last + 1, dtype=np.float64)
    return np.unique(np.linspace(-last, last, _POINTS).round())


_POWERS: Final = {
    "no scaling": inf,
    "budget split evenly": 0.0,
    "least l1 error (p = 1)": 1.0,
    "least l2 error (p = 2)": 2.0,
}
_TURN: Final = np.linspace(0, 2 * np.pi, 201)


def noise_shapes(
    spreads: Sequence[Number] = (4, 1), *, rho: Number = 0.5, unit: str = "", ax: Axes | None = None
) -> Axes:
    """Draws the noise of one budget in two columns, for the ways in which PLAN may scale them.

    Args:
        spreads: How far a row moves each of the two columns, or their standard deviations: public.
        rho: The budget of both columns together.
        unit: Of the values, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes: for each way the ellipse of one standard deviation. All of them lose ``rho``.

    Raises:
        ParameterError: If there are not two positive spreads, or if matplotlib is not installed.

    Proof:
        Aumueller, Lebeda, Nelson, Pagh 2024, lemmas C.2 and C.3 and figure 6: column i of spread D
        is divided by s = D^(2/(p+2)) sqrt(sum D^(2p/(p+2))), which gives the noise the least p-th
        moment. Then sum (D / s)^2 = 1, so Gaussian noise of deviation s / sqrt(2 rho) loses rho.

    Example:
        >>> import opendp_lite as dp
        >>> ax = dp.plotting.noise_shapes((4, 1))
        >>> ax.get_legend_handles_labels()[1][0]
        'no scaling'
    """
    if len(spreads) != 2:
        raise ParameterError(f"noise_shapes draws two columns, got {len(spreads)} spreads")
    given = np.array([nearest(positive(each, "noise_shapes: spreads")) for each in spreads])
    loss = nearest(positive(rho, "rho"))
    axes, said = canvas.axes_of(ax, canvas.WIDE), []
    for place, (name, power) in enumerate(_POWERS.items()):
        first, second = noise_deviations(given, power) / sqrt(2 * loss)
        said.append(f"{name} {first:.3g} and {second:.3g}")
        axes.plot(
            first * np.cos(_TURN), second * np.sin(_TURN), label=name, **canvas.line_style(place)
        )
    axes.set_aspect("equal")
    across, up = (canvas.with_unit(f"noise, column of spread {each:g}", unit) for each in given)
    axes.margins(0.08)
    title = f"One standard deviation of noise at rho = {loss:g}"
    message = f"Deviations of the two columns: {'; '.join(said)}"
    return canvas.dress(axes, title, across, up, message, beside=True)


def noise_deviations(spreads: Floats, power: float) -> Floats:
    """The scales s of columns at rho = 1/2, for the least moment of this power."""
    if isinf(power):
        return np.full(len(spreads), float(np.linalg.norm(spreads)))
    shaped: Floats = spreads ** (2 / (power + 2))
    return shaped * float(np.linalg.norm(spreads / shaped))


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
    axes = canvas.axes_of(ax, canvas.EQUAL_SIDES)
    corner = np.array([width, 0.0, -width, 0.0, width])
    turned = np.array([0.0, width, 0.0, -width, 0.0])
    filled: canvas.Style = {"facecolor": canvas.ORANGE, "alpha": canvas.opacity(axes)}
    axes.fill(corner, turned, label="what the noise hides: l1 ball", **filled)
    axes.plot(corner, turned, color=canvas.ORANGE, linewidth=1)
    axes.plot(
        [0, width], [0, 0], color=canvas.VERMILION, linewidth=3, label="rows of the sum alone"
    )
    axes.plot([0, width], [width, 0], color=canvas.BLUE, linewidth=3, label="rows on the simplex")
    style: canvas.Style = {"color": canvas.GREEN, "markeredgecolor": canvas.ink(axes), "zorder": 4}
    axes.plot(*points.T, "o", label="example rows", **style)
    for value, point in zip(values, points, strict=True):
        words, place = f"x = {value:g}", (point[0], point[1])
        axes.annotate(words, place, (8, 4), textcoords="offset points", fontsize="small")
    axes.set_aspect("equal")
    title = f"Values from L = {low:g} to U = {high:g} on a simplex"
    message = f"Every row lies {width:g} from the origin in l1, on the edge of what the noise hides"
    across, up = canvas.with_unit("x - L", unit), canvas.with_unit("U - x", unit)
    return canvas.dress(axes, title, across, up, message, beside=True)


_BITS: Final = 2**20
# How many radii the third panel goes up, so that its legend stands above the circle.
_ROOM: Final = 1.7


def plan_steps(
    public_rows: ArrayLike,
    *,
    rho: Number = 0.5,
    kept: Number = 0.9,
    seed: int = 0,
    unit: str = "",
    ax: Sequence[Axes] | None = None,
) -> Sequence[Axes]:
    """Draws how PLAN brings rows of two columns to a private mean, in four panels.

    THE ROWS MUST BE PUBLIC OR MADE UP. They are drawn as they are, and nothing is protected. The
    centre, the spreads and the radius are exact here. ``dp.estimators.plan_mean`` estimates them in
    private, from the same budget.

    Args:
        public_rows: Rows of two columns that nobody needs to protect.
        rho: The budget of the sum.
        kept: The share of the rows that clipping leaves as they are.
        seed: Of the noise: the picture is the same at each call.
        unit: Of the values, such as "years".
        ax: Four pairs of axes; by default those of a new figure, two by two.

    Returns:
        The four pairs of axes: the rows with their mean, the rows centred and scaled, the clipped
        rows, and the rows with the noisy mean.

    Raises:
        ParameterError: If the rows are not finite pairs, if there are not four axes, or if
            matplotlib is not installed.

    Proof:
        Aumueller, Lebeda, Nelson, Pagh 2024, algorithm 1 and figure 1, with p = 2.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> made_up = np.random.default_rng(0).normal([3, -1], [4, 1], (200, 2))
        >>> panels = dp.plotting.plan_steps(made_up)
        >>> [panel.get_title() for panel in panels][:2]
        ['(a) public rows', '(b) centred and scaled']
    """
    rows = numbers_of(public_rows, "plan_steps: public_rows")
    if rows.ndim != 2 or rows.shape[1] != 2 or not np.isfinite(rows).all() or len(rows) <= 1:
        raise ParameterError(
            f"plan_steps: public_rows must be finite rows of two columns, got shape {rows.shape}"
        )
    panels = canvas.new_axes(2, 2, (7.6, 6.2)).ravel() if ax is None else ax
    if len(panels) != 4:
        raise ParameterError(f"plan_steps draws on four axes, got {len(panels)}")
    middle, shape = np.median(rows, axis=0), np.sqrt(rows.std(axis=0) + rows.std(axis=0).mean())
    shape = np.round(shape * _BITS) / _BITS
    scaled = (rows - middle) / shape
    lengths = np.linalg.norm(scaled, axis=1)
    radius = float(np.quantile(lengths, nearest(exact(kept, "plan_steps: kept"))))
    clipped = scaled * np.minimum(1, radius / np.maximum(lengths, radius / _BITS))[:, None]
    steps = center(tuple(middle)) >> scale(tuple(1 / shape)) >> clip_to_norm(radius) >> sum()
    space = records(columns=2, size=len(rows), metric=ChangeOneDistance())
    noisy = (space >> steps >> gaussian(rho=rho)).insecure_release(rows, seed)
    released = middle + shape * np.asarray(noisy.value) / len(rows)
    first, second, third, last = panels
    _dots(first, rows, canvas.BLUE, "rows")
    _spot(first, rows.mean(axis=0), "*", canvas.ORANGE, "mean of the rows")
    _dots(second, rows - middle, canvas.BLUE, "centred")
    _dots(second, scaled, canvas.ORANGE, "and scaled")
    _dots(third, clipped, canvas.ORANGE, "clipped")
    circle = radius * np.cos(_TURN), radius * np.sin(_TURN)
    third.plot(*circle, color=canvas.ink(third), linestyle="--", label="radius")
    _dots(last, rows, canvas.BLUE, "rows")
    _spot(last, rows.mean(axis=0), "*", canvas.ORANGE, "mean of the rows")
    _spot(last, released, "P", canvas.GREEN, "private mean")
    off, wide = np.abs(released - rows.mean(axis=0)), rows.std(axis=0)
    beyond = (lengths > radius).sum()
    said = {
        "(a) public rows": f"{len(rows)} rows of spreads {wide[0]:.3g} and {wide[1]:.3g}",
        "(b) centred and scaled": f"The columns are divided by {shape[0]:.3g} and {shape[1]:.3g}",
        "(c) clipped": f"{beyond} rows beyond the radius {radius:.3g} are moved onto it",
        "(d) private mean": f"The private mean is off by {off[0]:.3g} and {off[1]:.3g}",
    }
    for panel, (title, message) in zip(panels, said.items(), strict=True):
        panel.set_aspect("equal", "datalim")
        own = unit if panel is first or panel is last else ""
        across, up = (canvas.with_unit(f"{name} column", own) for name in ("first", "second"))
        canvas.dress(panel, title, across, up, message)
    third.update_datalim([(0, _ROOM * radius)])
    third.autoscale_view()
    return panels


def _dots(axes: Axes, points: Floats, color: str, name: str) -> None:
    marker = "o" if color == canvas.BLUE else "x"
    axes.plot(*points.T, marker, color=color, markersize=3, alpha=0.5, label=name)


def _spot(axes: Axes, point: Floats, marker: str, color: str, name: str) -> None:
    style: canvas.Style = {"color": color, "markersize": 13, "markeredgecolor": canvas.ink(axes)}
    axes.plot(*point, marker, label=name, zorder=5, **style)


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
    axes, errors = canvas.axes_of(ax), {}
    for turn, (name, estimator) in enumerate(estimators.items()):
        errors[name] = [error_at(estimator, each) for each in places]
        axes.plot(places, errors[name], label=name, **canvas.marked_style(turn))
    axes.set(xscale=scale, yscale=scale)
    if scale == "linear":
        axes.set_ylim(bottom=0)
    least = [min(errors, key=lambda name: errors[name][at]) for at in range(len(places))]
    best = [f"{name} at {least.count(name)} of {len(least)} places" for name in sorted(set(least))]
    message = f"The least error has {' and '.join(best)}"
    return canvas.dress(axes, *words, canvas.with_unit("root mean square error", unit), message)


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
    words = f"Error from the noise, for {n} rows", canvas.with_unit("true mean", unit)
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
    axes = canvas.axes_of(ax)
    for place, name in enumerate(("clipping", "sampling", "noise")):
        axes.plot(places, parts[:, place], label=name, **canvas.marked_style(place))
    whole = [hypot(*each) for each in parts]
    style: canvas.Style = {"color": canvas.ink(axes), "linewidth": 4, "alpha": 0.35, "zorder": 1.5}
    axes.plot(places, whole, label="the whole", **style)
    axes.set(xscale="log", yscale="log")
    top = max(whole)
    axes.set_ylim(top / 1e3, top * 1.5)
    title = f"Error of a mean on public data, {len(values)} rows"
    message = f"The whole is least, {min(whole):.3g}, at {places[whole.index(min(whole))]:.4g}"
    across, up = canvas.with_unit("upper bound", unit), canvas.with_unit("error of the mean", unit)
    return canvas.dress(axes, title, across, up, message)


def _parts(
    values: Floats, estimator: Callable[[float, float], AnyPrivate], lower: float, upper: float
) -> tuple[float, float, float]:
    """The errors from clipping, sampling and noise."""
    clipped = np.clip(values, lower, upper)
    mean, spread = float(clipped.mean()), float(clipped.std(ddof=1))
    noise = noise_error(estimator(lower, upper), len(values), mean, spread)
    return abs(mean - float(values.mean())), spread / sqrt(len(values)), noise
