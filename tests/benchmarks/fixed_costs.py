"""What a release, a mean and a pipeline cost whatever the number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from compare import Row, Work, within

import opendp_lite as dp

ROWS = 100
COLUMNS = 10_000
ROUNDS = 21
US, MS = 1e-6, 1e-3


def rows() -> Iterator[Row]:
    """Each against a time of its own."""
    generator = np.random.default_rng()
    data = generator.random(ROWS) * 100
    lower = (-generator.random(COLUMNS)).tolist()
    upper = generator.random(COLUMNS).tolist()

    def columns() -> object:
        inside = dp.records(columns=COLUMNS) >> dp.clamp(lower, upper)
        return (inside >> dp.sum() >> dp.gaussian(rho=1)).bound

    works: list[tuple[str, Work, float]] = [
        ("scalar() >> gaussian", partial(dp.scalar() >> dp.gaussian(scale=10), 3.0), 10 * US),
        (
            f"clamp >> sum >> gaussian, {ROWS} rows",
            partial(dp.records() >> dp.clamp(0, 100) >> dp.sum() >> dp.gaussian(rho=0.5), data),
            30 * US,
        ),
        (f"mean(rho), {ROWS} rows", partial(dp.mean(0, 100, rho=0.5), data), 80 * US),
        (
            f"mean(rho, confidence), {ROWS} rows",
            partial(dp.mean(0, 100, rho=0.5, confidence=0.95), data),
            400 * US,
        ),
        ("mean(rho), built and bound", lambda: dp.mean(0, 100, rho=0.5).bound, 800 * US),
        (f"{COLUMNS} columns with bounds of their own, built", columns, 100 * MS),
    ]
    for name, work, most in works:
        yield within(name, work, most, ROUNDS)
