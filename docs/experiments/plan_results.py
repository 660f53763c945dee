"""The text and the figures after an experiment, laid out like the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, sqrt
from pathlib import Path
from statistics import mean, median, stdev
from textwrap import fill
from typing import Any, Final

import attrs
import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, NullLocator

from layout import RULES, align, write_figure
from plan_estimators import EMPIRICAL, OURS, PUBLISHED, Published, estimators_of
from plan_experiments import RUNS, Axis, Error, PlanDataset, PlanExperiment, Series, Size
from plan_runs import Result

CellKey = tuple[PlanDataset, str, float]


def errors_by_cell(results: Iterable[Result], error: Error) -> dict[CellKey, list[float]]:
    """The errors of all runs of each estimator on each dataset at each rho."""
    found: dict[CellKey, list[float]] = {}
    for each in results:
        key = (each.run.dataset, each.run.estimator, each.run.rho)
        value = each.error_true if error == "true" else each.error_empirical
        found.setdefault(key, []).append(value)
    return found


def compare_errors(
    experiment: PlanExperiment, rhos: Sequence[float], results: Iterable[Result]
) -> str:
    """Median errors relative to ours, a line for each estimator and a column for each rho."""
    ours = next(name for name in OURS if name in experiment.estimators)
    medians = {
        cell: median(values) for cell, values in errors_by_cell(results, "empirical").items()
    }
    lines = [
        ["error to the empirical mean, ours = 1", *(f"rho {rho:g}" for rho in rhos), "below ours"]
    ]
    for name in experiment.estimators:
        if name == EMPIRICAL:
            continue
        ratios = {
            rho: [
                value / medians[data, ours, rho]
                for (data, who, at), value in medians.items()
                if who == name and at == rho
            ]
            for rho in rhos
        }
        every = [ratio for each in ratios.values() for ratio in each]
        wins = "" if name == ours else f"{sum(ratio < 1 for ratio in every)} of {len(every)}"
        label = estimators_of(experiment.name)[name].label
        lines.append([label, *(f"{median(ratios[rho]):.2f}" for rho in rhos), wins])
    return align(lines)


def tabulate_variances(rhos: Sequence[float], results: Iterable[Result]) -> str:
    """Table 2 of the paper: mean relative errors, measured and printed.

    Beside each measured one is its Monte Carlo standard error; none of a single run.
    """
    errors = errors_by_cell(results, "true")
    printed = {(each.dataset, each.estimator, each.rho): each.value for each in PUBLISHED}
    lines = [["rho", "variance", "method", "relative error", "+-", "printed"]]
    for (data, name, rho), values in sorted(errors.items(), key=_by_setting):
        label = estimators_of(data.experiment)[name].label
        theirs = printed.get((data, name, rho))
        shown = "" if theirs is None else f"{theirs:.3f}"
        found = [f"{mean(values):.3f}", _standard_error(values)]
        lines.append([f"{rho:g}", f"{data.alpha:g}", label, *found, shown])
    return f"{align(lines)}\n+- is one standard error of the mean over the runs: Monte Carlo error."


def _standard_error(values: Sequence[float]) -> str:
    return f"{stdev(values) / sqrt(len(values)):.3f}" if len(values) > 1 else ""


def _by_setting(item: tuple[CellKey, list[float]]) -> tuple[float, float]:
    (data, _, rho), _ = item
    return rho, data.alpha


_STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "empirical": {"color": "0.45", "linestyle": ":", "marker": "", "linewidth": 1.4},
    "plan": {"color": "#E69F00", "marker": "s"},
    "plan-unscaled": {"color": "#CC79A7", "marker": "v"},
    "iome": {"color": "#009E73", "marker": "D"},
    "ours": {"color": "#0072B2", "marker": "o", "linewidth": 2.0},
    "ours-add-remove": {"color": "#0072B2", "marker": "", "linestyle": (0, (4, 2))},
}
_TABLE_2: Final = (
    "Table 2 fits errors of the standard deviation: the 0.75 quantile of a normal law lies 0.674 "
    "deviations above its middle, and 1 - 0.674 = 0.326, but 1 - 0.674² = 0.545."
)
_LOSS: Final = "ρ is the loss where one row is replaced; under add/remove it protects less."
_FEW_DECADES: Final = 50
_PANEL_WIDTH, _PANEL_HEIGHT, _MARGIN = 2.15, 2.0, 1.8
_AXES: Final[Mapping[Axis, str]] = {"d": "columns d", "alpha": "skew α"}
_COMPARED: Final[Mapping[Error, str]] = {"true": "true mean", "empirical": "empirical mean"}


@attrs.frozen
class Panel:
    """One pair of axes: a series at one rho, compared with one of the means."""

    series: Series
    rho: float
    error: Error


@attrs.frozen
class _Place:
    """Where a panel stands, what it shows, and whether rho varies from column to column."""

    first_line: bool
    last_line: bool
    first_column: bool
    by_rho: bool
    name: str


def draw_curves(
    experiment: PlanExperiment,
    size: Size,
    rhos: Sequence[float],
    results: Sequence[Result],
    paths: Sequence[Path],
) -> None:
    """Draws the figure of an experiment and writes it to every path, by its ending."""
    with mpl.rc_context(RULES):
        if experiment.name == "plan-variance":
            figure = _variance_figure(experiment, size, rhos, results)
        else:
            figure = _curves_figure(experiment, size, rhos, results)
        write_figure(figure, paths)


def _curves_figure(
    experiment: PlanExperiment, size: Size, rhos: Sequence[float], results: Sequence[Result]
) -> Figure:
    shown = [series for series in experiment.series if series.datasets(size)]
    panels = _panels(shown, rhos)
    height, width = len(panels), len(panels[0])
    figure = Figure(
        figsize=(_PANEL_WIDTH * width + 0.9, _PANEL_HEIGHT * height + _MARGIN), layout="constrained"
    )
    grid = figure.subplots(
        height, width, squeeze=False, sharex=len(rhos) > 1 and "row", sharey=len(rhos) > 1 and "row"
    )
    errors: dict[Error, dict[CellKey, list[float]]] = {
        error: errors_by_cell(results, error) for error in ("true", "empirical")
    }
    names = experiment.estimators
    for line, row in zip(panels, grid, strict=True):
        for panel, axes in zip(line, row, strict=True):
            _fill(axes, panel, size, names, errors[panel.error])
            place = _Place(
                first_line=line == panels[0],
                last_line=line == panels[-1],
                first_column=panel == line[0],
                by_rho=len(rhos) > 1,
                name=panel.series.name_at(size),
            )
            _label(panel, axes, place, experiment)
    marks = [mark for line in panels for panel in line for mark in _marks(panel, size)]
    note = f"{_lines_and_bands(results)} {_LOSS}"
    if any(panel.error == EMPIRICAL for line in panels for panel in line):
        note += " The empirical mean has no error to itself."
    if marks:
        sources = "; ".join(dict.fromkeys(mark.source for mark in marks))
        note = f"{note} Stars, in the colour of their estimator: {sources}."
    _frame(figure, experiment, _curve_handles(experiment, marks), note, rhos)
    return figure


def _lines_and_bands(results: Sequence[Result]) -> str:
    """What the lines and the bands of all curves are."""
    runs = _runs(results)
    if runs == 1:
        return "One run."
    bands = "the quartiles" if runs >= RUNS else "the least and the greatest"
    return f"Lines: medians of {runs} runs; bands: {bands}."


def _runs(results: Sequence[Result]) -> int:
    return 1 + max(each.run.run for each in results)


def _draw_line(axes: Axes, name: str, places: Sequence[float], errors: Any) -> None:
    """The medians of an estimator, and the band around them."""
    low, middle, high = _spread(errors)
    style = dict(_STYLES[name])
    axes.plot(places, middle, **style)
    axes.fill_between(places, low, high, color=style["color"], alpha=0.15, linewidth=0)


def _panels(shown: Sequence[Series], rhos: Sequence[float]) -> list[list[Panel]]:
    """A line for each series and error, a column for each rho; or, at one rho, for each series."""
    if len(rhos) > 1:
        return [
            [Panel(series, rho, error) for rho in rhos]
            for series in shown
            for error in series.errors
        ]
    if len(shown) == 1:
        return [[Panel(shown[0], rhos[0], error) for error in shown[0].errors]]
    most = min(len(series.errors) for series in shown)
    return [[Panel(series, rhos[0], series.errors[at]) for series in shown] for at in range(most)]


def _fill(
    axes: Axes,
    panel: Panel,
    size: Size,
    names: Sequence[str],
    errors: Mapping[CellKey, list[float]],
) -> None:
    datasets = panel.series.datasets(size)
    for name in names:
        rho = inf if name == EMPIRICAL else panel.rho
        found = [(_place(panel, each), errors.get((each, name, rho), [])) for each in datasets]
        known = [(place, values) for place, values in found if values]
        if any(map(any, (values for _, values in known))):
            _draw_line(axes, name, *zip(*known, strict=True))
    for mark in _marks(panel, size):
        axes.plot(_place(panel, mark.dataset), mark.value, **_mark_style(mark.estimator))
    _log_errors(axes)
    axes.grid(visible=True, which="major")
    axes.grid(visible=True, which="minor", axis="y", alpha=0.4)
    if panel.series.axis == "d":
        axes.set_xscale("log", base=2)
        powers = [each.d for each in datasets]
        axes.xaxis.set_major_locator(FixedLocator(powers[:: 2 if len(powers) > 4 else 1]))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(FixedLocator([each.alpha for each in datasets]))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _place(panel: Panel, dataset: PlanDataset) -> float:
    return dataset.d if panel.series.axis == "d" else dataset.alpha


def _marks(panel: Panel, size: Size) -> list[Published]:
    return [
        each
        for each in PUBLISHED
        if (each.rho, each.error) == (panel.rho, panel.error)
        and each.dataset in panel.series.datasets(size)
    ]


def _mark_style(name: str) -> dict[str, Any]:
    face = _STYLES[name]["color"] if name in _STYLES else "white"
    return {
        "marker": "*",
        "markersize": 9,
        "markerfacecolor": face,
        "markeredgecolor": "black",
        "markeredgewidth": 0.7,
        "linestyle": "",
        "zorder": 5,
    }


def _mean_style(colour: str) -> dict[str, Any]:
    edge = {"markeredgecolor": "white", "markeredgewidth": 0.8}
    return {"marker": "o", "markersize": 7, "color": colour, "linestyle": "", "zorder": 4, **edge}


def _label(panel: Panel, axes: Axes, place: _Place, experiment: PlanExperiment) -> None:
    """The labels that no other panel of the row or the column has."""
    series, binary = panel.series, experiment.name == "plan-binary"
    if place.first_line:
        axes.set_title(f"ρ = {panel.rho:g}" if place.by_rho else place.name)
    if place.last_line:
        axes.set_xlabel("ratio of fair bits" if binary else _AXES[series.axis])
    if place.first_column or not place.by_rho:
        norm = "half the ℓ₁ error" if binary else "ℓ₂ error"
        words = f"{norm}\nto the {_COMPARED[panel.error]}"
        several = len(experiment.series) > 1 or series.axis == "alpha"
        axes.set_ylabel(f"{place.name}\n{words}" if several and place.by_rho else words)


def _frame(
    figure: Figure,
    experiment: PlanExperiment,
    handles: Sequence[Line2D],
    note: str,
    rhos: Sequence[float],
) -> None:
    """The title, and a legend below the panels."""
    budget = f", ρ = {rhos[0]:g}" if len(rhos) == 1 else ""
    figure.suptitle(f"{experiment.title}{budget}", fontsize=10)
    width = figure.get_figwidth()
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=max(1, int(width / 2.5)),
        frameon=False,
        title=fill(note, int(width * 16)),
        title_fontsize=8,
    )


def _curve_handles(experiment: PlanExperiment, marks: Sequence[Published]) -> list[Line2D]:
    labels = estimators_of(experiment.name)
    handles = [
        Line2D([], [], label=labels[name].label, **_STYLES[name]) for name in experiment.estimators
    ]
    if marks:
        handles.append(Line2D([], [], label="published", **_mark_style("")))
    return handles


def _variance_figure(
    experiment: PlanExperiment, size: Size, rhos: Sequence[float], results: Sequence[Result]
) -> Figure:
    """A panel for each variance and rho; a line of points for each estimator."""
    datasets = experiment.series[0].datasets(size)
    figure = Figure(
        figsize=(3.4 * len(rhos) + 1.2, 2.1 * len(datasets) + 0.9), layout="constrained"
    )
    grid = figure.subplots(len(datasets), len(rhos), squeeze=False, sharex=True, sharey=True)
    errors = errors_by_cell(results, "true")
    labels = estimators_of(experiment.name)
    names = experiment.estimators[::-1]
    printed = {(each.dataset, each.estimator, each.rho): each.value for each in PUBLISHED}
    for dataset, row in zip(datasets, grid, strict=True):
        for rho, axes in zip(rhos, row, strict=True):
            for place, name in enumerate(names):
                values = errors.get((dataset, name, rho), [])
                colour = "#0072B2" if name == "magnitude" else "0.35"
                axes.plot(values, [place] * len(values), "|", color=colour, alpha=0.3, markersize=8)
                if values:
                    axes.plot(np.mean(values), place, **_mean_style(colour))
                if (dataset, name, rho) in printed:
                    axes.plot(printed[dataset, name, rho], place, **_mark_style(name))
            axes.set_title(f"ρ = {rho:g}, variance {dataset.alpha:g}")
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_ylim(-0.5, len(names) - 0.5)
            axes.grid(visible=True, axis="x")
            axes.set_yticks(range(len(names)), [labels[name].label for name in names])
    for axes in grid[-1]:
        axes.set_xlabel("relative error of the variance")
    handles = [
        Line2D([], [], color="0.35", marker="|", linestyle="", label="a run"),
        Line2D(
            [], [], color="0.35", marker="o", linestyle="", label=f"mean of {_runs(results)} runs"
        ),
        Line2D([], [], **_mark_style(""), label="printed in table 2"),
    ]
    _frame(figure, experiment, handles, _TABLE_2, rhos)
    return figure


def _log_errors(axes: Axes) -> None:
    """A logarithmic axis with plain numbers: at 1, 2 and 5 where it spans few decades."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    steps = (1.0,) if high > _FEW_DECADES * low else (1.0, 2.0, 5.0)
    axes.yaxis.set_major_locator(LogLocator(subs=steps, numticks=12))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def draw_by_rho(
    title: str, labels: Mapping[str, str], results: Sequence[Result], files: Sequence[Path]
) -> None:
    """Error against rho: a line of medians and a band for each estimator."""
    with mpl.rc_context(RULES):
        figure = Figure(figsize=(5.2, 3.6), layout="constrained")
        axes = figure.subplots()
        for name in labels:
            errors: dict[float, list[float]] = {}
            for each in results:
                if each.run.estimator == name:
                    errors.setdefault(each.run.rho, []).append(each.error_empirical)
            rhos = sorted(errors)
            _draw_line(axes, name, rhos, [errors[rho] for rho in rhos])
        axes.set_xscale("log", base=2)
        _log_errors(axes)
        axes.grid(visible=True)
        shown = sorted({each.run.rho for each in results})
        axes.set_xticks(shown, [f"{rho:g}" for rho in shown])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("ρ")
        axes.set_ylabel("half the ℓ₁ error to the shares in the file")
        axes.set_title(fill(title, 70))
        handles = [Line2D([], [], label=label, **_STYLES[name]) for name, label in labels.items()]
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=2,
            frameon=False,
            title=fill(f"{_lines_and_bands(results)} {_LOSS}", 80),
            title_fontsize=8,
        )
        write_figure(figure, files)


def _spread(values: Sequence[Sequence[float]]) -> tuple[Any, Any, Any]:
    """The median of each between the quartiles; of a few values between the ends."""
    found = [
        np.quantile(each, (0.25, 0.5, 0.75) if len(each) >= RUNS else (0, 0.5, 1))
        for each in values
    ]
    low, middle, high = np.array(found).reshape(-1, 3).T
    return low, middle, high
