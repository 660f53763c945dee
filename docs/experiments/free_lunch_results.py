"""The text, the table and the figures after an experiment, with the printed errors beside ours."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, Final

import attrs
import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

import opendp_lite as dp
from free_lunch_estimators import ErrorEntry, FreeLunchCell
from free_lunch_experiments import DEDUCED, ROWS, Floats, FreeLunchDataset, NoiseLaw
from layout import RULES, align, write_figure

_WIDTH: Final = 100
_FAR: Final = 3
"""Standard errors: of 48 errors one is farther off by chance in 12 % of all tables."""
_UNKNOWN: Final = "no reason is known"


@attrs.frozen
class Kind:
    """One of the two errors of a cell."""

    title: str
    of: Callable[[FreeLunchCell], ErrorEntry]


_KINDS: Final = (
    Kind("mean absolute error", lambda cell: cell.absolute),
    Kind("root mean squared error", lambda cell: cell.squared),
)


def describe_errors(cells: Sequence[FreeLunchCell]) -> str:
    """A block for each kind of error, then remarks on the differences."""
    blocks = [_block(kind, cells) for kind in _KINDS]
    printed = [cell for cell in cells if cell.squared.printed is not None]
    if printed:
        blocks.append(fill(_agreement(printed), _WIDTH))
    blocks += [fill(f"* {why}:", _WIDTH) + "\n" + found for why, found in _differences(printed)]
    if printed:
        blocks += [fill(each, _WIDTH) for each in DEDUCED]
    return "\n\n".join(blocks)


def _block(kind: Kind, cells: Sequence[FreeLunchCell]) -> str:
    columns = list(dict.fromkeys((cell.setting.dataset, cell.setting.law) for cell in cells))
    found = {(cell.estimator, cell.setting.dataset, cell.setting.law): cell for cell in cells}
    lines = [
        [kind.title, *(f"{dataset.name} " for dataset, _ in columns)],
        ["", *(f"{law.name} " for _, law in columns)],
    ]
    for estimator in sorted({cell.estimator: None for cell in cells}, key=lambda each: each.ours):
        row = [found.get((estimator, *column)) for column in columns]
        printed = [_show_printed(cell, kind) for cell in row]
        if any(printed):
            lines.append([f"{estimator.label}, printed", *printed])
        lines.append(
            [
                "  here" if any(printed) else estimator.label,
                *(_show_found(cell, kind) for cell in row),
            ]
        )
    return align(lines)


def _show_printed(cell: FreeLunchCell | None, kind: Kind) -> str:
    value = None if cell is None else kind.of(cell).printed
    return "" if value is None else f"{value:.4f} "


def _show_found(cell: FreeLunchCell | None, kind: Kind) -> str:
    if cell is None:
        return ""
    return f"{kind.of(cell).found:.4f}{'*' if _is_off(kind.of(cell)) else ' '}"


def _is_off(entry: ErrorEntry) -> bool:
    """Whether it lies farther from the printed value than Monte Carlo errors do: a star."""
    return abs(entry.standard_errors or 0.0) > _FAR


def _agreement(cells: Sequence[FreeLunchCell]) -> str:
    off = {
        f"{_name(cell)}, {kind.title}": abs(kind.of(cell).standard_errors or 0.0)
        for cell in cells
        for kind in _KINDS
    }
    starred = sum(_is_off(kind.of(cell)) for cell in cells for kind in _KINDS)
    near = {name: each for name, each in off.items() if each <= _FAR}
    rule = f"within {_FAR} standard errors of the printed ones: Monte Carlo error, theirs included"
    said = [f"{len(near)} of {len(off)} errors lie {rule}."]
    if near:
        farthest = max(near, key=lambda name: near[name])
        said.append(f"The farthest of them ({farthest}) is {near[farthest]:.1f} off.")
    if starred:
        have = "has" if starred == 1 else f"{starred} have"
        said.append(f"The other {have} a star.")
    return " ".join(said)


def _name(cell: FreeLunchCell) -> str:
    return f"{cell.setting.dataset.name}, {cell.setting.law.name}, {cell.estimator.label}"


def _differences(cells: Sequence[FreeLunchCell]) -> list[tuple[str, str]]:
    """Why errors have stars, with the differences."""
    found: dict[str, list[list[str]]] = {}
    for cell in cells:
        if any(_is_off(kind.of(cell)) for kind in _KINDS):
            lines = found.setdefault(cell.unexplained or _UNKNOWN, [])
            lines.append([f"  {_name(cell)}", *(_off(kind.of(cell)) for kind in _KINDS)])
    title = ["  above the printed value", *(f"{kind.title}  " for kind in _KINDS)]
    return [(why, align([title, *lines])) for why, lines in found.items()]


def _off(entry: ErrorEntry) -> str:
    return f"{entry.percent:+.1f} %, {entry.standard_errors:+.1f} standard errors"


FIELDS: Final = (
    "dataset",
    "mechanism",
    "estimator",
    "loss",
    "runs",
    "error",
    "found",
    "standard_error",
    "expected",
    "printed",
    "percent",
    "standard_errors",
    "explained",
    "note",
)


def refuse_others(path: Path) -> None:
    """Raises ``DataError`` if a file of another kind would be overwritten."""
    if not path.exists():
        return
    with path.open("rb") as stream:
        first = stream.readline()
    if first != (",".join(FIELDS) + "\n").encode():
        raise dp.DataError(
            f"{str(path)!r} is not a table of these errors: its first line is another; give "
            "another folder with --out, or move the file away"
        )


def write_table(path: Path, cells: Sequence[FreeLunchCell]) -> None:
    """Overwrites the table. The same command gives the same table."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(FIELDS)
        for cell in cells:
            writer.writerows(_lines(cell))


def _lines(cell: FreeLunchCell) -> Iterator[tuple[object, ...]]:
    setting = cell.setting
    names = (setting.dataset.name, setting.law.name, cell.estimator.name)
    for kind, entry in (("mean absolute", cell.absolute), ("root mean squared", cell.squared)):
        yield (*names, setting.loss, entry.runs, kind, *_numbers(entry), *_why(cell))


def _numbers(entry: ErrorEntry) -> tuple[str, ...]:
    numbers = (entry.found, entry.standard_error, entry.expected, entry.printed)
    off = (entry.percent, entry.standard_errors)
    return (
        *("" if number is None else f"{number:.6g}" for number in numbers),
        *("" if number is None else f"{number:.2f}" for number in off),
    )


def _why(cell: FreeLunchCell) -> tuple[str, str]:
    if cell.squared.printed is None:
        return "", ""
    return ("yes", "") if cell.unexplained is None else ("no", cell.unexplained)


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


def draw_errors(name: str, cells: Sequence[FreeLunchCell], paths: Sequence[Path]) -> None:
    """Draws the figure of an experiment and writes it to every path, by its ending."""
    with mpl.rc_context(RULES):
        write_figure(FIGURES[name](cells), paths)


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
