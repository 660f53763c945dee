"""Released counts, distributions and estimates, with their intervals."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import date
from functools import singledispatch
from itertools import combinations, pairwise
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.display import formatting
from opendp_lite.engines.data.fold import Floats
from opendp_lite.estimators.columns.components import Correlation
from opendp_lite.estimators.columns.regression import Regression
from opendp_lite.estimators.distributions.answers import Answers
from opendp_lite.estimators.distributions.cumulative import CumulativeDistribution
from opendp_lite.estimators.distributions.histograms import Histogram, label
from opendp_lite.numbers.exact import Number, exact, nearest, whole
from opendp_lite.plotting import canvas
from opendp_lite.releases.estimate import Estimate
from opendp_lite.releases.estimates import ByGroup, Estimates
from opendp_lite.releases.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_PAIR: Final = 2
_LONG: Final = 60
_MOST_TICKS: Final = 40


def _refuse_data(which: str, given: object, kind: type) -> None:
    if not isinstance(given, kind):
        raise ParameterError(f"{which}, never data; got a {type(given).__name__}")


def histogram_bars(
    histogram: Histogram, *, joint: bool = False, unit: str = "", ax: Axes | None = None
) -> Axes:
    """Draws the counts of a released histogram as bars, with their intervals.

    Only the release is drawn. A noisy count may be negative, and its bar then hangs below zero.

    Args:
        histogram: A release of ``dp.histogram``.
        joint: Whether the intervals are those that hold for all counts at once.
        unit: Of the values in bins, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes. Bins stand at their edges. Of two columns the second makes groups of bars, each
        with a colour and a hatch; if it has more than seven keys, ``heat_map`` draws them.

    Raises:
        ParameterError: If ``joint`` is asked for and the keys were not declared, or if matplotlib
            is not installed.

    Example:
        >>> import opendp_lite as dp
        >>> counts = dp.histogram(edges=[0, 30, 60, 90], epsilon=1)([23, 31, 38, 45, 52, 67] * 100)
        >>> ax = dp.plotting.histogram_bars(counts, unit="years")
        >>> [bar.get_height() for bar in ax.patches] == list(counts.counts)
        True
    """
    _refuse_data("histogram_bars draws a release of dp.histogram", histogram, Histogram)
    ends = histogram.joint_intervals if joint else histogram.intervals
    grouped = histogram.axes is not None and len(histogram.axes) == _PAIR
    if grouped:
        down, across = cast(tuple[Sequence[Hashable], ...], histogram.axes)
        if len(across) > canvas.BARS:
            return heat_map(histogram, joint=joint, ax=ax)
        axes, named = canvas.axes_of(ax, canvas.WIDE), histogram.columns[0]
        names = [f"{histogram.columns[1]}: {label(key)}" for key in across]
        places, widths = _name(axes, [label(key) for key in down])
    else:
        axes, names, named = canvas.axes_of(ax), ["released count"], ", ".join(histogram.columns)
        places, widths = _place(axes, histogram.categories, len(histogram.columns))
    counts = histogram.counts.reshape(-1, len(names))
    off = np.abs(ends.reshape(*counts.shape, 2) - counts[..., None])
    widths = widths / len(names)
    lines: canvas.Style = {"ecolor": canvas.ink(axes), "elinewidth": 1.4, "capsize": 3}
    for place, name in enumerate(names):
        at = places + (place - (len(names) - 1) / 2) * widths
        style = {**canvas.bar_style(place), "linewidth": 0.8}
        axes.bar(at, counts[:, place], widths, label=name, **style)
        both = at, counts[:, place], off[:, place].T
        axes.errorbar(*both, fmt="none", label=f"{name}, interval", **lines)
    axes.axhline(0, color=canvas.ink(axes), alpha=0.7, linewidth=0.8)
    kind = "all at once" if joint else "each by itself"
    title = f"Released counts, {formatting.percent(histogram.confidence)} intervals ({kind})"
    across_label = canvas.with_unit(named or "value", unit)
    handles = axes.containers[::2]
    legend: canvas.Style = {"legend": grouped, "beside": True, "handles": handles}
    return canvas.dress(axes, title, across_label, "rows", _say_extremes(histogram), **legend)


def heat_map(histogram: Histogram, *, joint: bool = False, ax: Axes | None = None) -> Axes:
    """Draws the counts of two columns as coloured cells.

    Only the release is drawn. Counts below zero have a colour of their own. A dot marks a cell
    whose interval holds zero: there may be nobody in it.

    Args:
        histogram: A release of ``dp.histogram`` for two columns of declared keys.
        joint: Whether the intervals are those that hold for all counts at once.
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes, the first column down and the second across, with a scale of colours beside it.

    Raises:
        ParameterError: If it is no such release, or if matplotlib is not installed.

    Example:
        >>> import opendp_lite as dp
        >>> survey = {"sex": ["f", "m"] * 500, "age": [20, 30, 40, 50] * 250}
        >>> keys = [["f", "m"], [20, 30, 40, 50]]
        >>> step = dp.histogram(["sex", "age"], categories=keys, epsilon=1)
        >>> dp.plotting.heat_map((dp.table() >> step)(survey)).get_xlabel()
        'age'
    """
    if histogram.axes is None or len(histogram.axes) != _PAIR:
        raise ParameterError(
            'heat_map draws a histogram of two columns, as of dp.histogram(["sex", "city"], '
            f"categories=[...]); got one of {len(histogram.columns)}"
        )
    (down, across), grid = histogram.axes, histogram.grid()
    ends = (histogram.joint_intervals if joint else histogram.intervals).reshape(*grid.shape, 2)
    axes = canvas.axes_of(ax, canvas.WIDE)
    most = float(np.abs(grid).max()) or 1.0
    image = axes.imshow(grid, cmap=canvas.two_sided(axes), vmin=-most, vmax=most, aspect="auto")
    bar = axes.figure.colorbar(image, ax=axes, label="rows")
    bar.ax.set_ylim(min(float(grid.min()), 0.0), most)
    rows, columns = np.nonzero((ends[..., 0] <= 0) & (ends[..., 1] >= 0))
    dots: canvas.Style = {"color": canvas.ink(axes), "markersize": 3, "linestyle": ""}
    axes.plot(columns, rows, "o", label="_nobody", **dots)
    _name(axes, [label(key) for key in across])
    shown = range(0, len(down), 1 + (len(down) - 1) // _MOST_TICKS)
    axes.set_yticks(list(shown), [label(down[each]) for each in shown])
    title = (
        f"Released counts; dots: {formatting.percent(histogram.confidence)} intervals that hold 0"
    )
    message = f"{_say_extremes(histogram)}. The intervals of {len(rows)} of {grid.size} hold 0"
    canvas.dress(axes, title, histogram.columns[1], histogram.columns[0], message, legend=False)
    axes.grid(visible=False)
    return axes


def _say_extremes(histogram: Histogram) -> str:
    keys, counts = histogram.categories, histogram.counts
    if not len(counts):
        return "No key was found"
    ends = (("Most rows", int(np.argmax(counts))), ("Fewest rows", int(np.argmin(counts))))
    return ". ".join(
        f"{name}: {_text(keys[at], len(histogram.columns))} with {counts[at]:.6g}"
        for name, at in ends
    )


def _place(axes: Axes, keys: Sequence[Hashable], columns: int) -> tuple[Floats, Floats]:
    """Where the bar of each key stands, and how wide it is: bins of one column at their place."""
    spans = [span for span in map(_span, keys) if span is not None]
    if columns > 1 or len(spans) < len(keys):
        return _name(axes, [_text(key, columns) for key in keys])
    edges = sorted({end for span in spans for end in span})
    axes.set_xticks(edges[:: 1 + (len(edges) - 1) // _MOST_TICKS])
    low, high = np.reshape(spans, (-1, 2)).T
    return (low + high) / 2, high - low


def _name(axes: Axes, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Names places side by side: where they are, and how wide bars may be there."""
    shown = range(0, len(names), 1 + (len(names) - 1) // _MOST_TICKS)
    long = sum(len(names[each]) + 2 for each in shown) > _LONG
    turned: canvas.Style = {"rotation": 40, "ha": "right"} if long else {}
    axes.set_xticks(list(shown), [names[each] for each in shown], **turned)
    return np.arange(len(names), dtype=np.float64), np.full(len(names), 0.8)


def _span(key: Hashable) -> tuple[float, float] | None:
    """The ends of a bin; None for any other key."""
    if not isinstance(key, tuple) or len(key) != _PAIR:
        return None
    if not all(isinstance(end, Real) and isfinite(end) for end in key):
        return None
    low, high = map(float, key)
    return low, high


def _text(key: Hashable, columns: int) -> str:
    return ", ".join(map(label, key)) if columns > 1 and isinstance(key, tuple) else label(key)


Band: TypeAlias = tuple[Floats, Floats, str]
_OF_A_COLUMN: Final = "draws a release of dp.cdf or dp.estimators.basis_distribution"
_ONE_ERROR: Final = "± one standard error of the noise"


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
    _refuse_data(f"cdf_curve {_OF_A_COLUMN}", release, Answers)
    axes, edges = canvas.axes_of(ax), release.edges
    # Just before and just after each edge: a bound may jump there.
    beside = np.nextafter(edges[:-1], np.inf), np.nextafter(edges[1:], -np.inf)
    around = np.sort(np.concatenate([edges, *beside]))
    low, high, words = _band(release, around)
    axes.fill_between(around, low, high, label=words, **canvas.tint(axes))
    axes.plot(edges, release.cdf(edges).value, label="released share", **canvas.line_style(0))
    axes.set_ylim(-0.02, 1.02)
    title, half = "Share of rows up to each number", edges[release.cdf(edges).value >= 0.5]
    message = f"Half of the rows lie up to {half[0]:.4g}" if len(half) else "Noise hides the rows"
    return canvas.dress(axes, title, canvas.with_unit("number", unit), "share of rows", message)


def _band(release: Answers, places: Floats) -> Band:
    """The band for the whole curve where there is one, or one standard error to either side."""
    confidence = getattr(release, "confidence", None)
    if confidence is not None:
        low, high = cast(CumulativeDistribution, release).band(places)
        return low, high, f"{formatting.percent(confidence)} band for the whole curve"
    found = release.cdf(places)
    low, high = found.value - found.standard_error, found.value + found.standard_error
    return low.clip(0, 1), high.clip(0, 1), _ONE_ERROR


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
    _refuse_data(f"density_curve {_OF_A_COLUMN}", release, Answers)
    most = whole(cells, "density_curve: cells", least=1)
    edges = release.edges
    ends = np.unique(np.linspace(0, len(edges) - 1, most + 1).round().astype(np.int64))
    wide = edges[ends]

    def inside(middles: Floats) -> Floats:
        cells = np.searchsorted(wide, middles) - 1
        found: Floats = (cells == np.arange(len(wide) - 1)[:, None]).astype(np.float64)
        return found

    widths = np.diff(wide)
    heights = np.diff(release.cdf(wide).value).clip(0) / widths
    errors = release.expectation(inside).standard_error / widths
    axes, doubled = canvas.axes_of(ax), np.repeat(wide, 2)[1:-1]
    low, high = (np.repeat(ends, 2) for ends in ((heights - errors).clip(0), heights + errors))
    axes.fill_between(doubled, low, high, label=_ONE_ERROR, **canvas.tint(axes))
    axes.plot(doubled, np.repeat(heights, 2), label="released density", **canvas.line_style(0))
    axes.set_ylim(bottom=0)
    title = f"Where the rows lie, in {len(widths)} steps"
    seen, top = canvas.with_unit("density of the rows", canvas.per(unit)), int(heights.argmax())
    message = f"Rows are densest from {wide[top]:.4g} to {wide[top + 1]:.4g}"
    return canvas.dress(axes, title, canvas.with_unit("number", unit), seen, message)


# From so many rows on some have no name, and lines are thinner.
_MANY: Final = 21
_MANY_ACROSS: Final = 9

Named = tuple[str, Estimate]


def estimate_intervals(
    release: Result | Mapping[Any, Any] | Sequence[Any],
    *,
    public_truth: Number | None = None,
    unit: str = "",
    percent: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draws each released number as a dot on its interval: the means of groups, say.

    Args:
        release: An estimate, several of them in a list, or estimates by group or by name; also the
            slopes of a regression, or correlations. Ask for them with ``confidence=0.95`` when you
            release. Only the release is drawn.
        public_truth: What all of them estimate, PUBLIC OR MADE UP: it is drawn as it is. Of many
            releases of one made-up table you see how many intervals miss it.
        unit: Of the numbers, such as "years".
        percent: Whether they are shares, to be drawn times 100.
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes, the first number at the top. Groups by dates or by rising numbers, three or more,
        stand from left to right. Each interval holds by itself. Those that miss ``public_truth``
        have another colour, and are dashed. One without an end is dotted.

    Raises:
        ParameterError: If a number came without its interval, or if matplotlib is not installed.

    Example:
        >>> import opendp_lite as dp
        >>> mean = dp.select("age") >> dp.mean(0, 100, epsilon=1, confidence=0.95)
        >>> survey = {"sex": ["f", "m"] * 500, "age": [30, 50] * 500}
        >>> found = (dp.table() >> dp.by("sex", ["f", "m"], mean))(survey)
        >>> ax = dp.plotting.estimate_intervals(found, unit="years")
        >>> [tick.get_text() for tick in ax.get_yticklabels()]
        ['f', 'm']
    """
    found = list(_name_step(release, ""))
    times, unit = (100.0, unit or "%") if percent else (1.0, unit)
    values = times * np.array([each.value for _, each in found])
    ends = times * np.array([each.interval for _, each in found]).reshape(-1, 2)
    across = isinstance(release, ByGroup) and _rise([*release])
    height = 3.4 if across else min(1.1 + 0.32 * max(len(found), 3), 7.0)
    axes, wide = canvas.axes_of(ax, (6.0, height)), 2 if len(found) < _MANY else 1
    along, beside = (axes.axvline, axes.axhline) if across else (axes.axhline, axes.axvline)
    places, off = np.arange(len(found), dtype=np.float64), np.abs(ends.T - values)
    x, y = (places, values) if across else (values, places)
    confidences = sorted({each.confidence for _, each in found})
    title = f"Released values with {' and '.join(map(formatting.percent, confidences))} intervals"
    order = np.argsort(ends[:, 0] - ends[:, 1], kind="stable")
    widest, narrowest = (
        f"{found[at][0]}, {ends[at, 0]:.4g} to {ends[at, 1]:.4g}" for at in order[[0, -1]]
    )
    message = f"Widest: {widest}. Narrowest: {narrowest}"
    missed = np.zeros(len(found), dtype=bool)
    if public_truth is not None:
        truth = times * nearest(exact(public_truth, "estimate_intervals: public_truth"))
        missed = (ends[:, 0] > truth) | (ends[:, 1] < truth)
        beside(truth, color=canvas.ink(axes), linewidth=1, label="_truth")
        title += f": {missed.sum()} of {len(found)} miss {truth:.4g}"
        message = (
            f"About {sum(1 - each.confidence for _, each in found):.3g} are to miss it by chance"
        )
    # An end at infinity has no place: an interval without one would pass for a dot that is certain.
    endless = ~(np.isfinite(ends[:, 0]) & np.isfinite(ends[:, 1]))
    for place in places[endless]:
        along(place, color=canvas.BLUE, linewidth=wide, linestyle=":", label="_endless")
    for color, name, chosen in (
        (canvas.BLUE, "interval", ~missed & ~endless),
        (canvas.VERMILION, "interval that misses", missed & ~endless),
    ):
        if chosen.any():
            lines: canvas.Style = {"ecolor": color, "elinewidth": wide, "capsize": 2 * wide}
            lines["yerr" if across else "xerr"] = off[:, chosen]
            drawn = axes.errorbar(x[chosen], y[chosen], fmt="none", label=name, **lines)
            drawn.lines[2][0].set_linestyle("-" if color == canvas.BLUE else (0, (3, 1)))
    dots: canvas.Style = {"color": canvas.BLUE, "markeredgecolor": canvas.ink(axes)}
    axes.plot(x, y, "o", label="released value", markersize=3 * wide, **dots)
    # Every label of many would lie on the next: a trend reads by one in so many.
    named = slice(None, None, 1 + len(found) // (_MANY_ACROSS if across else _MANY))
    names = [
        f"{name} (endless)" if far else name for (name, _), far in zip(found, endless, strict=True)
    ]
    titles = canvas.with_unit("estimate", unit), ""
    if across:
        axes.set_xticks(places[named], names[named])
        axes.set_xlim(-0.5, len(found) - 0.5)
        titles = cast(ByGroup[Any], release).column, titles[0]
    else:
        axes.set_yticks(places[named], names[named])
        axes.set_ylim(len(found) - 0.5, -0.5)
    return canvas.dress(axes, title, *titles, message, legend=False)


def _rise(keys: Sequence[Any]) -> bool:
    """Whether keys are dates or numbers that rise, as those of a trend do."""
    kinds = {*map(type, keys)}
    of_a_kind = len(kinds) == 1 and issubclass(kinds.pop(), int | date)
    return of_a_kind and len(keys) > _PAIR and all(a < b for a, b in pairwise(keys))


@singledispatch
def _name_step(release: object, name: str) -> Iterator[Named]:
    """The estimates in a release, each with its name."""
    what = f"the release {name!r}" if name else "the release"
    raise ParameterError(
        f"estimate_intervals: {what} is a {type(release).__name__} without an interval; add "
        "confidence=0.95 to the step when you release"
    )


@_name_step.register
def _one(release: Estimate, name: str) -> Iterator[Named]:
    yield name, release


@_name_step.register(list)
def _in_a_list(release: Sequence[object], name: str) -> Iterator[Named]:
    return _map_rows(dict(enumerate(release, start=1)), name)


@_name_step.register
def _several(release: Estimates, name: str) -> Iterator[Named]:
    names = release.names or tuple(map(str, range(len(release))))
    for own, each in zip(names, release, strict=True):
        yield _join(name, own), each


@_name_step.register
def _groups(release: ByGroup, name: str) -> Iterator[Named]:  # type: ignore[type-arg]
    # A pair is a key of two columns here, and no bin.
    columns = release.column.count(", ") + 1
    for key, each in release.items():
        yield from _name_step(each, _join(name, _text(key, columns)))


@_name_step.register
def _slopes(release: Regression, name: str) -> Iterator[Named]:
    # Without the intercept, which has another unit and is far from all slopes as a rule.
    for own in release.names[:-1]:
        yield _join(name, own), release[own]


@_name_step.register
def _pairs(release: Correlation, name: str) -> Iterator[Named]:
    for pair in combinations(release.names, 2):
        yield _join(name, ", ".join(pair)), release[pair]


@_name_step.register
def _map_rows(release: Mapping, name: str) -> Iterator[Named]:  # type: ignore[type-arg]
    for key, each in release.items():
        # The groups of a part that is named so are rows of one table, by their keys alone.
        own = "" if key == "by" and isinstance(each, ByGroup) else label(key)
        yield from _name_step(each, _join(name, own))


def _join(first: str, second: str) -> str:
    return ", ".join(filter(None, [first, second]))
