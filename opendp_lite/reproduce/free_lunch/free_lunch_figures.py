"""The paper's figures, with ours in them. Needs ``opendp_lite[plot]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from opendp_lite.reproduce.figure_style import RULES, write
from opendp_lite.reproduce.free_lunch.free_lunch_cells import FreeLunchCell
from opendp_lite.reproduce.free_lunch.free_lunch_rows import Floats
from opendp_lite.reproduce.free_lunch.free_lunch_settings import ROWS, FreeLunchDataset
from opendp_lite.reproduce.free_lunch.noise_laws import NoiseLaw

_DASHED: Final[Mapping[str, Any]] = {
    "color": "#0072B2",
    "linestyle": (0, (4, 1.5)),
    "linewidth": 1.2,
}
_SOLID: Final[Mapping[str, Any]] = {"color": "#0072B2", "linewidth": 2.2}
_STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "plug-in": {"color": "#E69F00", "linewidth": 2.2},
    "simplex": {"color": "#009E73"},
    "center": {"color": "#CC79A7", "linestyle": (0, (5, 2.5))},
    "resize": {"color": "0.2", "linestyle": (0, (1, 1.7))},
    "three-quarters": _DASHED,
    "recentred": _SOLID,
    "core-1": _DASHED,
    "core-2.35": _SOLID,
}
_PLACES: Final[Sequence[Any]] = ("outside lower left", "outside lower right")
_CENTER: Final[Sequence[Any]] = ("outside lower center",)
_STEPS: Final = (1, 2, 5, 10)
_BINS: Final = 600
_SPREADS: Final = 2.0
_SMOOTH: Final = 0.9
_FEWEST: Final = 5
_POINTS: Final = 300


def figure_2(cells: Sequence[FreeLunchCell]) -> Figure:
    """The density of the estimates of one dataset under one noise."""
    figure = Figure(figsize=(6.2, 4.2), layout="constrained")
    axes = figure.subplots()
    _densities(axes, cells)
    axes.set_xlabel("estimate of the mean")
    axes.set_ylabel("density")
    setting = cells[0].setting
    title = f"{setting.dataset.title}, {ROWS} rows: estimates under {_noise(cells)}"
    figure.suptitle(f"{title}\n{_runs(cells)} releases of each", fontsize=10)
    _legends(figure, cells)
    return figure


def figure_3(cells: Sequence[FreeLunchCell]) -> Figure:
    """A row of axes for each dataset: for each noise the densities and tails of the errors."""
    found: dict[FreeLunchDataset, dict[NoiseLaw, list[FreeLunchCell]]] = {}
    for cell in cells:
        by_law = found.setdefault(cell.setting.dataset, {})
        by_law.setdefault(cell.setting.law, []).append(cell)
    width = 2 * len({cell.setting.law for cell in cells})
    figure = Figure(figsize=(2.6 * width, 2.25 * len(found) + 1.3), layout="constrained")
    grid = figure.subplots(len(found), width, squeeze=False)
    for line, (dataset, by_law) in zip(grid, found.items(), strict=True):
        for density, tail, mine in zip(line[::2], line[1::2], by_law.values(), strict=True):
            _densities(density, mine)
            _tails(tail, mine)
            density.set_xlabel("estimate")
            tail.set_xlabel("absolute error")
        line[0].set_ylabel(dataset.title.replace(", ", ",\n", 1))
    first = next(iter(found.values()))
    for (density, tail), mine in zip(grid[0].reshape(-1, 2), first.values(), strict=True):
        density.set_title(f"{_noise(mine)}:\ndensity of the estimates")
        tail.set_title(f"{_noise(mine)}:\nshare of larger errors")
    figure.suptitle(f"Means of {ROWS} rows, {_runs(cells)} releases of each", fontsize=10)
    _legends(figure, cells)
    return figure


FIGURES: Final[Mapping[str, Callable[[Sequence[FreeLunchCell]], Figure]]] = {
    "figure2": figure_2,
    "figure3": figure_3,
}
"""By the name of the experiment; table 1 has none."""


def draw(name: str, cells: Sequence[FreeLunchCell], paths: Sequence[Path]) -> None:
    """Draws the figure of an experiment and writes it to every path, by its ending."""
    with mpl.rc_context(RULES):
        write(FIGURES[name](cells), paths)


def _runs(cells: Sequence[FreeLunchCell]) -> str:
    return f"{len(cells[0].estimates):,}".replace(",", " ")


def _noise(cells: Sequence[FreeLunchCell]) -> str:
    setting = cells[0].setting
    return f"{setting.law.name} noise, {setting.law.symbol} = {setting.loss:g}"


def _densities(axes: Axes, cells: Sequence[FreeLunchCell]) -> None:
    mean = cells[0].setting.dataset.mean
    reach = _SPREADS * max(cell.squared.found for cell in cells)
    axes.axvline(mean, color="0.6", linewidth=0.8, zorder=0)
    for cell in cells:
        places, heights = _density(cell.estimates, mean - reach, mean + reach)
        axes.plot(places, heights, **_STYLES[cell.estimator.name])
    axes.set_xlim(mean - reach, mean + reach)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    axes.grid(visible=True)


def _density(estimates: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Smooths a histogram of narrow bins by a normal density.

    Its width, 0.9 min(deviation, quartile range / 1.34) / n^(1/5), suits laws near the normal
    (Silverman 1986). Bins beyond the ends keep the smoothing from losing mass there.
    """
    margin = (high - low) / 2
    counts, edges = np.histogram(estimates, _BINS, (low - margin, high + margin))
    width = edges[1] - edges[0]
    quartiles = np.quantile(estimates, (0.25, 0.75))
    spread = min(estimates.std(), float(np.diff(quartiles)[0]) / 1.34)
    smooth = max(_SMOOTH * spread / len(estimates) ** 0.2, width)
    kernel = np.exp(-((np.arange(1 - _BINS // 2, _BINS // 2) * width / smooth) ** 2) / 2)
    heights = np.convolve(counts, kernel / kernel.sum(), "same") / (len(estimates) * width)
    places = (edges[1:] + edges[:-1]) / 2
    shown = (places >= low) & (places <= high)
    return places[shown], heights[shown]


def _tails(axes: Axes, cells: Sequence[FreeLunchCell]) -> None:
    runs = len(cells[0].estimates)
    for cell in cells:
        errors = np.sort(np.abs(cell.estimates - cell.setting.dataset.mean))
        last = runs - min(_FEWEST, runs)
        beyond = np.geomspace(runs, runs - last, _POINTS).round().astype(int)
        places = np.unique(runs - beyond)
        axes.plot(errors[places], 1 - places / runs, **_STYLES[cell.estimator.name])
    axes.set_yscale("log")
    axes.set_xlim(left=0)
    axes.set_ylim(top=1.3)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    axes.grid(visible=True)


def _legends(figure: Figure, cells: Sequence[FreeLunchCell]) -> None:
    """A legend for each noise, below its panels: the estimators differ."""
    laws = list(dict.fromkeys(cell.setting.law for cell in cells))
    places = _PLACES[: len(laws)] if len(laws) > 1 else _CENTER
    for law, place in zip(laws, places, strict=True):
        mine = [cell for cell in cells if cell.setting.law == law]
        ordered = sorted({cell.estimator: None for cell in mine}, key=lambda each: each.ours)
        handles = [Line2D([], [], label=each.label, **_STYLES[each.name]) for each in ordered]
        title = _noise(mine) if len(laws) > 1 else None
        figure.legend(handles=handles, loc=place, ncols=2, frameon=False, title=title)
