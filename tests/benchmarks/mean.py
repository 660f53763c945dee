"""The mean of one column, against numpy's own clip and mean."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from compare import Row, at_most, compared, power

import opendp_lite as dp

LOWER, UPPER = 0.0, 100.0
SIZE = 10_000_000
ROUNDS = 15
TIMES_SLOWER = 2
RELEASES = {
    "rho=0.5": dp.mean(LOWER, UPPER, rho=0.5),
    "epsilon=0.5": dp.mean(LOWER, UPPER, epsilon=0.5),
    "rho=0.5, confidence=0.95": dp.mean(LOWER, UPPER, rho=0.5, confidence=0.95),
}


def in_numpy(data: np.ndarray) -> object:
    """The mean without noise."""
    return np.clip(data, LOWER, UPPER).mean()


def rows() -> Iterator[Row]:
    """A row for each setting."""
    data = np.random.default_rng().normal(50.0, 20.0, SIZE)
    for words, release in RELEASES.items():
        yield compared(
            f"mean({words}), {power(SIZE)} rows",
            partial(release.bound, data),
            "np.clip(x, L, U).mean()",
            partial(in_numpy, data),
            at_most(TIMES_SLOWER),
            rounds=ROUNDS,
            items=(SIZE, SIZE),
            item="row",
            note="ours also leaves out NaN, of which there is none, and counts",
        )
