"""Histograms: the error of a bin over runs, and the time of 1e7 rows beside numpy's counting."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import sqrt

import numpy as np
from compare import Row, at_most, compared, power

import opendp_lite as dp

BINS = 16
RUNS = 2000
ERRORS = {
    "epsilon 1": ({"epsilon": 1}, None, 1.44),
    "epsilon 1, rows replaced": ({"epsilon": 1}, 100, 2.88),
    "rho 0.5": ({"rho": 0.5}, None, 1.01),
    "rho 0.5, rows replaced": ({"rho": 0.5}, 100, sqrt(2) * 1.01),
    "epsilon 1, delta 1e-6": ({"epsilon": 1, "delta": 1e-6}, None, 1.44),
}
"""The budget, the number of rows where it is public, and the target."""
SPARE = 1.02
"""For the doubt of so many runs: three standard errors."""
SIZE, CATEGORIES = 10_000_000, 1000
ROUNDS = 7
TIMES = {"declared": 4.0, "unknown": 10.0}


def errors() -> Iterator[Row]:
    """The root mean square error of a bin, for each budget."""
    for words, (budget, size, target) in ERRORS.items():
        metric = None if size is None else dp.ChangeOneDistance()
        release = dp.records(size=size, metric=metric) >> dp.histogram(
            categories=range(BINS), **budget
        )
        data = np.arange(100.0) % BINS
        true = np.bincount(data.astype(np.int64), minlength=BINS)
        found = np.array([release(data).counts - true for _ in range(RUNS)])
        error = sqrt((found.astype(np.float64) ** 2).mean())
        cells = f"{BINS} bins, {words}", f"{error:.3f} a bin", "", "", ""
        yield Row(*cells, f"<= {target:.2f}", error <= target * SPARE)


def rows() -> Iterator[Row]:
    """Errors, and times of whole numbers, floats and text."""
    yield from errors()
    whole = np.random.default_rng(0).integers(0, CATEGORIES, SIZE)
    declared = dp.table() >> dp.histogram("a", categories=range(CATEGORIES), epsilon=1)
    unknown = dp.table() >> dp.histogram("a", epsilon=1, delta=1e-6)
    for kind, data in (("whole numbers", whole), ("floats", whole.astype(np.float64))):
        for name, release in (("declared", declared), ("unknown", unknown)):
            yield compared(
                f"{CATEGORIES} {name} categories of {power(SIZE)} {kind}",
                partial(release, {"a": data}),
                "np.bincount",
                partial(np.bincount, whole, minlength=CATEGORIES),
                at_most(TIMES[name]),
                rounds=ROUNDS,
                items=(SIZE, SIZE),
                item="row",
            )
