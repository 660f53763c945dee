"""A private sum of rows clipped in the Euclidean norm, against the same in numpy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from compare import Row, at_most, compared, power
from peers import SCALE

import opendp_lite as dp

ROWS, COLUMNS = 100_000, 100
RADIUS = 10.0
ROUNDS = 15
TIMES_SLOWER = 1.2


def rows() -> Iterator[Row]:
    """One row: about half of the data's rows are longer than the radius."""
    generator = np.random.default_rng()
    data = generator.normal(size=(ROWS, COLUMNS))
    space = dp.records(columns=COLUMNS)
    pipeline = space >> dp.clip_to_norm(RADIUS) >> dp.sum() >> dp.gaussian(scale=SCALE)

    def in_numpy() -> object:
        norms = np.linalg.norm(data, axis=1)
        clipped = data * np.minimum(1.0, RADIUS / norms)[:, None]
        return clipped.sum(axis=0) + generator.normal(0.0, SCALE, COLUMNS)

    yield compared(
        f"{power(ROWS)} x {COLUMNS}, clip_to_norm >> sum >> gaussian",
        partial(pipeline, data),
        "np.linalg.norm form",
        in_numpy,
        at_most(TIMES_SLOWER),
        rounds=ROUNDS,
        items=(data.size, data.size),
        item="entry",
    )
