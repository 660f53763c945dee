"""A private sum of rows clipped in the Euclidean norm, against the same in numpy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from compare import Row, at_most, compared, power
from peers import SCALE

import opendp_lite as dp

SHAPES = {(100_000, 100): 0.8, (1_000, 10_000): 1.0, (100, 100_000): 1.0}
"""How many times slower each shape of data may be."""
ALONE = 100_000
ALONE_SLOWER = 2.0
ROUNDS = 15


def rows() -> Iterator[Row]:
    """A row for each shape, of which half of the rows are longer than the radius; one of one."""
    generator = np.random.default_rng()
    for (count, columns), slower in SHAPES.items():
        radius = float(np.sqrt(columns))
        data = generator.normal(size=(count, columns))
        yield compared(
            f"{power(count)} x {power(columns)}, clip_to_norm >> sum >> gaussian",
            partial(pipeline(columns, radius), data),
            "np.linalg.norm form",
            partial(in_numpy, data, radius, generator),
            at_most(slower),
            rounds=ROUNDS,
            items=(data.size, data.size),
            item="entry",
        )
    yield compared(
        f"1 x {power(ALONE)}, clip_to_norm >> sum >> gaussian",
        partial(pipeline(ALONE, 1.0), generator.normal(size=(1, ALONE))),
        "numpy Generator.normal",
        partial(generator.normal, 0.0, SCALE, ALONE),
        at_most(ALONE_SLOWER),
        rounds=ROUNDS,
        items=(ALONE, ALONE),
        item="entry",
    )


def pipeline(columns: int, radius: float) -> Any:
    """The release that is timed."""
    space = dp.records(columns=columns)
    return space >> dp.clip_to_norm(radius) >> dp.sum() >> dp.gaussian(scale=SCALE)


def in_numpy(data: np.ndarray, radius: float, generator: np.random.Generator) -> object:
    """The same with floats."""
    norms = np.linalg.norm(data, axis=1)
    clipped = data * np.minimum(1.0, radius / norms)[:, None]
    return clipped.sum(axis=0) + generator.normal(0.0, SCALE, data.shape[1])
