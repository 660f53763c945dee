"""The text after an experiment: each estimator beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import mean, median, stdev

from opendp_lite.reproduce.plan_estimators import EMPIRICAL, OURS, estimators_of
from opendp_lite.reproduce.plan_published import PUBLISHED
from opendp_lite.reproduce.plan_settings import Error, PlanDataset, PlanExperiment
from opendp_lite.reproduce.plan_table import Result

CellKey = tuple[PlanDataset, str, float]


def errors_by_cell(results: Iterable[Result], error: Error) -> dict[CellKey, list[float]]:
    """The errors of all runs of each estimator on each dataset at each rho."""
    found: dict[CellKey, list[float]] = {}
    for each in results:
        key = (each.run.dataset, each.run.estimator, each.run.rho)
        value = each.error_true if error == "true" else each.error_empirical
        found.setdefault(key, []).append(value)
    return found


def comparison(experiment: PlanExperiment, rhos: Sequence[float], results: Iterable[Result]) -> str:
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
    return aligned(lines)


def variances(rhos: Sequence[float], results: Iterable[Result]) -> str:
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
    return (
        f"{aligned(lines)}\n+- is one standard error of the mean over the runs: Monte Carlo error."
    )


def _standard_error(values: Sequence[float]) -> str:
    return f"{stdev(values) / sqrt(len(values)):.3f}" if len(values) > 1 else ""


def _by_setting(item: tuple[CellKey, list[float]]) -> tuple[float, float]:
    (data, _, rho), _ = item
    return rho, data.alpha


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns of text, all but the first to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
