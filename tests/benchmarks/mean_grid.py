"""How far off the mean of one column is, beside simplex_mean: the tables of docs/mean.md."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from compare import Row, power

import opendp_lite as dp
from opendp_lite.estimators.parts.request import Scenario

LOSSES = {
    "rho": (0.01, 0.05, 0.1, 0.5, 1, 5),
    "epsilon": (0.05, 0.1, 0.2, 0.5, 1, 2, 5),
}
ROWS = (10, 20, 50, 100, 300, 1000, 10_000, 1_000_000)
MEANS = (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)
"""With bounds of -1 and 1; the other half is the same by symmetry."""
RUNS = 40_000
COVERED_RUNS = {"rho": 40_000, "epsilon": 4_000}
"""Fewer for a pure loss, whose law is an integral."""
MOST = 1.05
CONFIDENCE = 0.95
COVERED = (0.94, 0.97)
FEWEST_COVERED = 20
SEED = 1


def forecast(release: Any, count: int, mean: float, runs: int) -> Any:
    """Simulated releases."""
    return release.facts.simulate(Scenario(count, mean), runs, np.random.default_rng(SEED))


def errors(release: Any, count: int) -> np.ndarray:
    """The root mean square error at each mean."""
    found = [forecast(release, count, mean, RUNS).mean - mean for mean in MEANS]
    return np.array([np.sqrt(np.mean(each**2)) for each in found])


def coverage(release: Any, count: int, runs: int) -> list[float]:
    """The share of the intervals that hold each mean."""
    shares = []
    for mean in MEANS:
        made = forecast(release, count, mean, runs)
        theta = np.full(runs, float(mean))
        held = made.quotient.fits(theta, made.total, made.rows, CONFIDENCE)
        shares.append(float(np.mean(held)))
    return shares


def beside_simplex(kind: str, loss: float) -> Row:
    """The largest and the smallest ratio to simplex_mean over means and numbers of rows."""
    ours = dp.mean(-1, 1, **{kind: loss}).bound
    theirs = dp.estimators.simplex_mean(-1, 1, **{kind: loss}).bound
    ratios = np.array([errors(ours, count) / errors(theirs, count) for count in ROWS])
    row, column = np.unravel_index(np.argmax(ratios), ratios.shape)
    return Row(
        f"error, {kind} = {loss}",
        f"{ratios.max():.3f} at {power(ROWS[row])} rows, t = {MEANS[column]}",
        "simplex_mean",
        "1",
        f"({ratios.min():.3f}..{ratios.max():.3f}); 1e6 rows: "
        + " ".join(f"{ratio:.3f}" for ratio in ratios[-1]),
        f"<= {MOST}",
        bool(ratios.max() <= MOST),
        f"error: root mean square of {RUNS} releases, bounds of -1 and 1; at 1e6 rows for t = "
        + ", ".join(map(str, MEANS)),
    )


def covered(kind: str, loss: float) -> Row:
    """The least and the largest coverage over means and numbers of rows."""
    release = dp.mean(-1, 1, **{kind: loss}).bound
    runs = COVERED_RUNS[kind]
    counts = [count for count in ROWS if count >= FEWEST_COVERED]
    shares = np.array([coverage(release, count, runs) for count in counts])
    low, high = COVERED
    doubt = 4 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / runs)
    return Row(
        f"coverage, {kind} = {loss}",
        f"{shares.min():.2%}..{shares.max():.2%}",
        "intended",
        f"{CONFIDENCE:.0%}",
        "",
        f"{low:.0%}..{high:.0%}",
        bool(low - doubt * (runs < RUNS) <= shares.min() and shares.max() <= high),
        f"coverage: share of {runs} intervals, for {kind}, that hold the mean",
    )


def rows() -> Iterator[Row]:
    """Errors and coverage, a row for each loss."""
    for measured in (beside_simplex, covered):
        for kind, losses in LOSSES.items():
            yield from map(partial(measured, kind), losses)
