"""The private error of means of many columns, against docs/errata.md, 4.2."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from compare import Clock, Row, at_most, show

import opendp_lite as dp

RHO = 0.5
RUNS = 20
FAILURE_RUNS = 200
FAR_OFF = 5
"""A run over so many times the median is a failure."""
MOST = {"plan_plus_mean": 1.15, "plan_mean": 1.15, "iome_mean": 1.25}


@dataclass(frozen=True)
class Cell:
    """An experiment: normal rows, and the errors that the table has for it.

    ``known`` are the errors of plan_plus_mean where rows are replaced and where they are added or
    removed, of plan_mean ("authors' algo, correct privacy") and of iome_mean.
    """

    rows: int
    columns: int
    skew: float
    mean: float
    known: tuple[float, float, float, float]

    @property
    def variances(self) -> np.ndarray:
        """(d / i)^skew."""
        return (self.columns / np.arange(1.0, self.columns + 1)) ** self.skew

    @property
    def bound(self) -> float:
        """M as in the published code: 25 sqrt(d) for A, 50 d sqrt(sigma_max) for B and C."""
        if self.mean == 0:
            return 25 * self.columns**0.5
        return float(50 * self.columns * self.variances.max() ** 0.25)

    def data(self) -> np.ndarray:
        """The rows, of a fixed seed."""
        generator = np.random.default_rng(0)
        return generator.normal(self.mean, np.sqrt(self.variances), (self.rows, self.columns))


CELLS = {
    "A16": Cell(4000, 16, 0, 0, (0.0103, 0.0055, 0.0148, 0.0126)),
    "A128": Cell(4000, 128, 0, 0, (0.0718, 0.0373, 0.0931, 0.0806)),
    "A512": Cell(4000, 512, 0, 0, (0.2871, 0.1421, 0.4754, 0.3154)),
    "B0": Cell(10_000, 512, 0, 10, (0.1108, 0.0569, 0.1459, 0.1281)),
    "B1": Cell(10_000, 512, 1, 10, (0.2193, 0.1131, 0.3149, 0.4105)),
    "B2": Cell(10_000, 512, 2, 10, (0.92, 0.570, 1.671, 6.74)),
    "C256": Cell(10_000, 256, 2, 10, (0.427, 0.272, 0.757, 2.34)),
}


def rows(options: Namespace) -> Iterator[Row]:
    """Four rows for each experiment, one more with ``failures``."""
    runs = options.runs or RUNS
    for name in options.experiments or CELLS:
        cell = CELLS[name]
        data = cell.data()
        free = dp.records(columns=cell.columns)
        fixed = dp.records(columns=cell.columns, size=cell.rows, metric=dp.ChangeOneDistance())
        work = [
            ("plan_plus_mean", fixed, dp.estimators.plan_plus_mean),
            ("plan_plus_mean", free, dp.estimators.plan_plus_mean),
            ("plan_mean", fixed, dp.estimators.plan_mean),
            ("iome_mean", fixed, dp.estimators.iome_mean),
        ]
        for (kind, space, make), known in zip(work, cell.known, strict=True):
            relation = "replace-one" if space is fixed else "add/remove"
            bound = space >> make(cell.bound, rho=RHO)
            found, duration = errors(bound, data, runs)
            yield line(f"{name}, {kind}, {relation}", median(found), duration, known, MOST[kind])
        if options.failures:
            bound = fixed >> dp.estimators.plan_plus_mean(cell.bound, rho=RHO)
            yield failed(name, errors(bound, data, FAILURE_RUNS)[0])


def errors(bound: Callable[[Any], Any], data: np.ndarray, runs: int) -> tuple[list[float], float]:
    """The l2 distances of releases to the mean of the data, and the seconds of a release."""
    mean, start = data.mean(axis=0), Clock.read()
    found = [float(np.linalg.norm(bound(data) - mean)) for _ in range(runs)]
    return found, (Clock.read() - start) / runs


def line(work: str, error: float, duration: float, known: float, most: float) -> Row:
    """The row of an estimator and the table's column for it."""
    target = at_most(most)
    ratio = target.ratio(error, known)
    return Row(
        work,
        f"{error:.4g} in {show(duration)}",
        "docs/errata.md 4.2",
        f"{known:.4g}",
        f"{ratio:.3g}",
        target.words(),
        target.met(ratio),
        f"plan: the median private error of a run at rho = {RHO}, and the time of a run",
    )


def failed(name: str, found: Sequence[float]) -> Row:
    """How many runs are far off."""
    limit = FAR_OFF * median(found)
    count = sum(error > limit for error in found)
    words = f"{name}, plan_plus_mean, runs over {FAR_OFF} medians"
    return Row(words, f"{count} of {len(found)}", target="0", met=count == 0)
