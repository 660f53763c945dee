"""What pipelines lose: neighbours that look alike, curves of losses, and budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import singledispatch
from math import exp
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from scipy.special import betainccinv, betaincinv

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.display.formatting import percent
from opendp_lite.engines.data.fold import Floats
from opendp_lite.explain.trace import Role
from opendp_lite.measures.budgets import AnyBudget, Loss, numbers_of
from opendp_lite.measures.profile import Profile
from opendp_lite.numbers.exact import Number, exact, nearest
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import AnyPrivate
from opendp_lite.pipeline.questions import brief
from opendp_lite.plotting import canvas
from opendp_lite.sessions.ledger.entries import EntryState
from opendp_lite.sessions.ledger.ledgers import Ledger
from opendp_lite.sessions.sessions import Release
from opendp_lite.testing.audits import Audit, CountedTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# In standard deviations, to each side of the two exact answers.
_REACH: Final = 3
_STEPS: Final = 601


def neighbour_releases(
    pipeline: AnyPrivate, *, at: Number | None = None, unit: str = "", ax: Axes | None = None
) -> Axes:
    """Draws how probable each release is without one row, and with it.

    The row moves the exact answer as far as any row can. The probabilities are exact: they are
    those that the sampler draws from. No data is read.

    Args:
        pipeline: One that ends in noise on one number.
        at: The release whose two probabilities are compared, counted from the exact answer without
            the row. By default it is one standard deviation below.
        unit: Of the numbers, such as "years".
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes. A line joins the two probabilities of the release ``at``. Under a pure epsilon
        none is more than e^epsilon times the other, wherever you look.

    Raises:
        SpaceError: If the pipeline does not end in noise of a declared law on one number.
        ParameterError: If matplotlib is not installed.

    Example:
        >>> import opendp_lite as dp
        >>> ax = dp.plotting.neighbour_releases(dp.count() >> dp.laplace(epsilon=1), at=-1)
        >>> ax.texts[0].get_text()
        '2.72 times\\nas probable\\nwithout the row'
    """
    laws, move = pipeline.bound.facts.laws, _find_move(pipeline)
    if len(laws) != 1 or move is None:
        raise SpaceError(
            "neighbour_releases is for pipelines that end in noise on one number, such as "
            f"dp.count() >> dp.laplace(epsilon=1); got {brief(pipeline)}"
        )
    law, step, deviation = laws[0], 2.0 ** laws[0].exponent, laws[0].standard_deviation
    shift = round(move / step)
    spot = round((-deviation if at is None else nearest(exact(at, "at"))) / step)
    left, right = -_REACH * deviation / step, (move + _REACH * deviation) / step
    places = np.unique(np.linspace(left, right, _STEPS).round())
    few = len(places) < _STEPS
    look: canvas.Style = {"drawstyle": "steps-mid"} if few else {}
    axes, unit_height = canvas.axes_of(ax), 1.0 if few else step
    for turn, name in enumerate(("without the row", "with the row")):
        heights = np.exp(law.log_probability(places - turn * shift, Fraction(0))) / unit_height
        filled: canvas.Style = {**canvas.tint(axes, turn), **({"step": "mid"} if few else {})}
        axes.fill_between(places * step, heights, **filled)
        axes.plot(places * step, heights, label=name, **look, **canvas.line_style(turn))
    pair = law.log_probability(np.array([spot, spot - shift], dtype=np.float64), Fraction(0))
    which = "out" if pair[0] > pair[1] else ""
    times = f"{exp(abs(pair[0] - pair[1])):.3g} times"
    style: canvas.Style = {"color": canvas.ink(axes), "marker": "o", "markersize": 5, "zorder": 4}
    axes.plot([spot * step] * 2, np.exp(pair) / unit_height, label="_ratio", **style)
    highest = (spot * step, float(np.exp(pair.max())) / unit_height)
    side = "left" if 2 * spot >= shift else "right"
    beside: canvas.Style = {"textcoords": "offset points", "ha": side, "fontsize": "small"}
    words, away = f"{times}\nas probable\nwith{which} the row", 8 if side == "left" else -8
    axes.annotate(words, highest, (away, 3), **beside)
    axes.margins(x=0, y=0.25)
    axes.set_ylim(bottom=0)
    across = canvas.with_unit("release, from the exact answer without the row", unit)
    up = "probability" if few else canvas.with_unit("probability density", canvas.per(unit))
    title = f"Releases of two neighbours: {pipeline.neighbours()}"
    message = f"A release of {spot * step:.4g} is {times} as probable with{which} the row"
    return canvas.dress(axes, title, across, up, message)


def _find_move(pipeline: AnyPrivate) -> float | None:
    """How far one unit of privacy moves the one number that noise is added to."""
    before, start = None, pipeline.bound.input_space
    for each in pipeline.bound.trace:
        if each.role is Role.NOISE:
            break
        before = None if each.map is None else each.map(start.unit)
    # As far in each norm: there is one number.
    move = before.linf if isinstance(before, Norms) and before.l1 == before.linf else None
    return None if move is None else nearest(move)


Payments: TypeAlias = list[tuple[str, Loss]]


def budget_bar(paid: Iterable[Release[Any]] | Ledger, *, ax: Axes | None = None) -> Axes:
    """Draws which share of a budget each release took, and what is left.

    Args:
        paid: What ``ask(...)`` of a session returned, or a ledger. Only prices and notes are drawn.
        ax: Axes to draw on; by default those of a new figure.

    Returns:
        The axes, with a bar in parts. Payments with the same note are one part. Under ``dp.mu``
        the shares are those of the squares, which add up.

    Raises:
        ParameterError: If it is neither, if nothing was paid, or if matplotlib is not installed.

    Example:
        >>> import opendp_lite as dp
        >>> ask = dp.session([31, 45, 52] * 100, budget=dp.epsilon(1))
        >>> paid = [ask(dp.count() >> dp.laplace(epsilon=0.25), note="rows")]
        >>> dp.plotting.budget_bar(paid).get_legend_handles_labels()[1]
        ['rows: 25 %', 'left: 75 %']
    """
    payments, budget = _payments(paid)
    whole, parts = numbers_of(budget.loss)[0], dict[str, Fraction]()
    for name, price in payments:
        parts[name] = parts.get(name, Fraction(0)) + numbers_of(price)[0] / whole
    # Beside the parts and none of them: a note may be "left" too.
    rest = 1 - sum(parts.values(), Fraction(0))
    axes, start = canvas.axes_of(ax, (7.6, 1.6)), 0.0
    for place, (name, part) in enumerate([*parts.items(), ("left", rest)]):
        share, words = float(part), f"{name}: {percent(float(f'{float(100 * part):.3g}') / 100)}"
        left: canvas.Style = {"facecolor": canvas.GREY, "alpha": canvas.opacity(axes)}
        look = left if place == len(parts) else {**canvas.bar_style(place), "linewidth": 0.8}
        axes.barh([0], [share], left=start, label=words, **look)
        start += share
    axes.set_yticks([0], ["paid"])
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda share, _: percent(round(share, 3)))
    said = [str(each.get_label()) for each in axes.containers]
    title, message = f"A budget of {budget.words()}", f"Shares: {', '.join(said)}"
    canvas.dress(axes, title, "share of the budget", "", message, beside=True)
    axes.grid(visible=False, axis="y")
    return axes


@singledispatch
def _payments(paid: Any) -> tuple[Payments, AnyBudget]:
    """What was paid, for what, and the budget."""
    releases = [each for each in paid if isinstance(each, Release)]
    if not releases or not releases[0].payer.bounded:
        raise ParameterError(
            "budget_bar draws a ledger, or releases of dp.session in a list: budget_bar([age, sex])"
        )
    named = [(each.note or f"release {each.number}", each.price) for each in releases]
    return named, releases[-1].receipt.budget


@_payments.register
def _of_ledger(paid: Ledger) -> tuple[Payments, AnyBudget]:
    entries = [each for each in paid.entries() if each.state is EntryState.RESERVED]
    if not entries:
        raise ParameterError("budget_bar: nothing was paid from this ledger yet")
    measure = paid.file.measure
    named = [(each.note or f"entry {each.number}", each.cost(measure)) for each in entries]
    return named, paid.budget


# The delta at the foot of the picture.
_LEAST: Final = 1e-9
# Where curves that reach zero leave the picture.
_BELOW: Final = _LEAST / 1e3


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
    last = max(map(_end, profiles.values())) * 1.1 if most is None else most
    axes = canvas.axes_of(ax)
    for place, (name, profile) in enumerate(profiles.items()):
        points = {Fraction(each) for each in np.linspace(0, last, 81)}
        if profile.pure is not None:
            points |= {profile.pure * (1 - Fraction(1, 10**9)), profile.pure}
        epsilons = sorted(points)
        deltas = [max(nearest(profile.delta(each)), _BELOW) for each in epsilons]
        axes.plot(list(map(float, epsilons)), deltas, label=name, **canvas.line_style(place))
    axes.set(yscale="log", ylim=(_LEAST, 1.2), xlim=(0, last))
    ends = ", ".join(f"{name} {_end(each):.4g}" for name, each in profiles.items())
    title, message = f"Privacy curves: protects {neighbours}", f"At delta = {float(_SMALL)}: {ends}"
    return canvas.dress(axes, title, "epsilon", "delta", message)


def _end(profile: Profile) -> float:
    return nearest(profile.epsilon(max(_SMALL, profile.least_delta)))


_LEVELS: Final = 120
_SMALL: Final = Fraction(1, 10**6)
_ALARMS: Final = 0.05
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
    alphas = np.linspace(0, 1, 201) ** 2
    alphas = np.unique(np.concatenate([alphas, 1 - alphas]))
    said = []
    for place, (name, pipeline) in enumerate(pipelines.items()):
        style = canvas.line_style(place)
        missed = _miss(pipeline.privacy_profile(d_in), alphas)
        said.append(f"{np.interp(_ALARMS, alphas, missed):.1%} ({name})")
        axes.plot(alphas, missed, label=f"{name}: claim", **style)
        if name in audits:
            _draw_points(axes, audits[name].tests, f"{name}: audit", place)
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    title = f"Telling apart: {neighbours}"
    alarms, misses = "type I error: false alarms", "type II error: misses of the row"
    message = f"With {percent(_ALARMS)} false alarms a test misses about {', '.join(said)} or more"
    return canvas.dress(axes, title, alarms, misses, message, beside=True)


def _miss(profile: Profile, alphas: Floats) -> Floats:
    """As ``least_missed``, for many shares of false alarms and a grid of epsilons.

    Any epsilon gives a bound, so the line is nowhere above that of ``tradeoff``.
    """
    last = profile.epsilon(max(_SMALL, profile.least_delta))
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
    up, across = (np.abs(each[1:] - each[0]) for each in (y, x))
    axes.errorbar(x[0], y[0], up, across, "none", ecolor=style["color"], elinewidth=1)
    marks = {**style, "linestyle": "", "markersize": 6, "markeredgecolor": canvas.ink(axes)}
    axes.plot(x[0], y[0], label=name, **marks)


def _share(hits: int, count: int) -> tuple[float, float, float]:
    """A share with its Clopper-Pearson interval."""
    low = float(betaincinv(hits, count - hits + 1, _MISS / 2)) if hits else 0.0
    high = float(betainccinv(hits + 1, count - hits, _MISS / 2)) if hits < count else 1.0
    return hits / count, low, high
