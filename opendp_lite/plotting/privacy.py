"""The (epsilon, delta) curves of pipelines, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import exp
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import beta

from opendp_lite.base.errors import ParameterError
from opendp_lite.engines.data.fold import Floats
from opendp_lite.measures.profile import Profile
from opendp_lite.numbers.exact import nearest
from opendp_lite.pipeline.core import AnyPrivate
from opendp_lite.plotting import canvas
from opendp_lite.testing.audits import Audit, CountedTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_POINTS: Final = 81
# The delta at the foot of the picture.
_LEAST: Final = 1e-9
# Where curves that reach zero leave the picture.
_BELOW: Final = _LEAST / 1e3
_ROOM: Final = 1.1


def privacy_curves(
    pipelines: Mapping[str, AnyPrivate],
    *,
    d_in: object = 1,
    most: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws the delta that holds at each epsilon, a line for each pipeline.

    A lower line protects better. Where lines cross, neither pipeline is better than the other. No
    data is read.

    Args:
        pipelines: By the names for the legend.
        d_in: How far apart neighbouring datasets are.
        most: The largest epsilon; by default where all deltas are below 1e-6.
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes, with a logarithmic delta from 1e-9 to 1. A line that leaves the picture at its
        foot goes on below; of a pure loss it reaches 0.

    Raises:
        ParameterError: If matplotlib is not installed, or if the pipelines have different
            neighbours: their losses then do not compare.

    Example:
        >>> import opendp_lite as dp
        >>> laplace, gaussian = dp.laplace(epsilon=1), dp.gaussian(rho=0.1)
        >>> both = {"Laplace": dp.count() >> laplace, "Gaussian": dp.count() >> gaussian}
        >>> ax = dp.plotting.privacy_curves(both)
        >>> ax.get_yscale(), len(ax.lines)
        ('log', 2)
    """
    neighbours = canvas.same_neighbours(pipelines, d_in, "privacy_curves")
    profiles = {name: each.privacy_profile(d_in) for name, each in pipelines.items()}
    last = max(map(_end, profiles.values())) * _ROOM if most is None else most
    axes = canvas.axes_of(ax)
    for place, (name, profile) in enumerate(profiles.items()):
        points = {Fraction(each) for each in np.linspace(0, last, _POINTS)}
        if profile.pure is not None:
            points |= {profile.pure * (1 - Fraction(1, 10**9)), profile.pure}
        epsilons = sorted(points)
        deltas = [max(nearest(profile.delta(each)), _BELOW) for each in epsilons]
        axes.plot(list(map(float, epsilons)), deltas, label=name, **canvas.line_style(place))
    axes.set(yscale="log", ylim=(_LEAST, 1.2), xlim=(0, last))
    return canvas.dress(axes, f"Privacy curves: protects {neighbours}", "epsilon", "delta")


def _end(profile: Profile) -> float:
    return nearest(profile.epsilon(max(Fraction(1, 10**6), profile.least_delta)))


_TRADEOFF_CURVE_POINTS: Final = 201
_LEVELS: Final = 120
_TRADEOFF_CURVE_LEAST: Final = Fraction(1, 10**6)
_MISS: Final = 0.01
_NONE: Final[Mapping[str, Audit]] = MappingProxyType({})


def tradeoff_curve(
    pipelines: Mapping[str, AnyPrivate],
    *,
    audits: Mapping[str, Audit] = _NONE,
    d_in: object = 1,
    ax: Axes | None = None,
) -> Axes:
    """Draws how well anybody can tell whether one row is in the data.

    A test says "in" or "not in" of a release. It errs in two ways, and the line is the least that
    it misses at each share of false alarms. A line nearer the diagonal protects better.

    Args:
        pipelines: By the names for the legend.
        audits: What ``dp.audit`` returned, by the names of the pipelines. Each test that it counted
            is a point. Where an audit fails, it is the ``audit`` of the ``AssertionError``.
        d_in: How many rows are in question together.
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes. Each point has 99 % intervals of its two shares. A point surely below its line
        refutes the claim. A point above it proves nothing.

    Raises:
        ParameterError: If matplotlib is not installed, if the pipelines have different neighbours,
            or if an audit has no pipeline.

    Example:
        >>> import opendp_lite as dp
        >>> total = dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1)
        >>> found = dp.audit(total, [0.0] * 9, [0.0] * 9 + [1.0], releases=1000)
        >>> ax = dp.plotting.tradeoff_curve({"sum": total}, audits={"sum": found})
        >>> ax.get_ylabel()
        'type II error: misses of the row'
    """
    neighbours = canvas.same_neighbours(pipelines, d_in, "tradeoff_curve")
    for name in audits:
        if name not in pipelines:
            raise ParameterError(
                f"tradeoff_curve: the audit {name!r} has no pipeline; there are {list(pipelines)}"
            )
    axes = canvas.axes_of(ax, canvas.EQUAL_SIDES)
    ends = np.array([0.0, 1.0])
    axes.plot(ends, 1 - ends, color=canvas.GREY, linestyle=":", label="a coin: nothing is told")
    alphas = np.linspace(0, 1, _TRADEOFF_CURVE_POINTS) ** 2
    alphas = np.unique(np.concatenate([alphas, 1 - alphas]))
    for place, (name, pipeline) in enumerate(pipelines.items()):
        style = canvas.line_style(place)
        missed = _miss(pipeline.privacy_profile(d_in), alphas)
        axes.plot(alphas, missed, label=f"{name}: claim", **style)
        if name in audits:
            _draw_points(axes, audits[name].tests, f"{name}: audit", place)
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    title = f"Telling apart: {neighbours}"
    alarms, misses = "type I error: false alarms", "type II error: misses of the row"
    return canvas.dress(axes, title, alarms, misses, beside=True)


def _miss(profile: Profile, alphas: Floats) -> Floats:
    """As ``least_missed``, for many shares of false alarms and a grid of epsilons.

    Any epsilon gives a bound, so the line is nowhere above that of ``tradeoff``.
    """
    last = profile.epsilon(max(_TRADEOFF_CURVE_LEAST, profile.least_delta))
    levels = {last * each / _LEVELS for each in range(_LEVELS + 1)}
    if profile.pure is not None:
        levels.add(profile.pure)
    found = np.zeros(len(alphas))
    for level in levels:
        kept, grown = 1 - nearest(profile.delta(level)), exp(nearest(level))
        found = np.maximum(found, np.maximum(kept - grown * alphas, (kept - alphas) / grown))
    return found


def _draw_points(axes: Axes, tests: tuple[CountedTest, ...], name: str, place: int) -> None:
    points = sorted((each.false_positives, each.false_negatives, each.releases) for each in tests)
    if not points:
        return
    x, y = (np.array([_share(each[side], each[2]) for each in points]).T for side in (0, 1))
    style = canvas.marked_style(place)
    axes.errorbar(
        x[0],
        y[0],
        xerr=np.abs(x[1:] - x[0]),
        yerr=np.abs(y[1:] - y[0]),
        fmt="none",
        ecolor=style["color"],
        elinewidth=1,
    )
    marks = {**style, "linestyle": "", "markersize": 6, "markeredgecolor": canvas.ink(axes)}
    axes.plot(x[0], y[0], label=name, **marks)


def _share(hits: int, count: int) -> tuple[float, float, float]:
    """A share with its Clopper-Pearson interval."""
    low = float(beta.ppf(_MISS / 2, hits, count - hits + 1)) if hits else 0.0
    high = float(beta.isf(_MISS / 2, hits + 1, count - hits)) if hits < count else 1.0
    return hits / count, low, high
