"""A private sum of one column, against numpy's own clip and sum, OpenDP and diffprivlib."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from compare import Row, at_most, compared, faster, power
from peers import SCALE, diffprivlib_tools, opendp_name, opendp_sum

import opendp_lite as dp

LOWER, UPPER = -2.0, 2.0
ROUNDS = 21
FEW_ROUNDS = 7
TIMES_SLOWER = {1_000_000: 2.0, 10_000_000: 1.0}
OPENDP_TIMES_FASTER = 8
DIFFPRIVLIB_TIMES_FASTER = 3


def in_numpy(data: np.ndarray) -> object:
    """The sum without noise."""
    return np.clip(data, LOWER, UPPER).sum()


def rows() -> Iterator[Row]:
    """Three rows for each size."""
    generator = np.random.default_rng()
    pipeline = dp.records() >> dp.clamp(LOWER, UPPER) >> dp.sum() >> dp.gaussian(scale=SCALE)
    tools = diffprivlib_tools()
    for size, slower in TIMES_SLOWER.items():
        data = generator.normal(0.0, 2.0, size)
        work = f"clamp >> sum >> gaussian, {power(size)} rows"
        yield compared(
            work,
            partial(pipeline, data),
            "np.clip(x, L, U).sum()",
            partial(in_numpy, data),
            at_most(slower),
            rounds=ROUNDS,
            items=(size, size),
            item="row",
        )
        peer = opendp_sum("gaussian", LOWER, UPPER, size)
        yield compared(
            work,
            partial(pipeline, data),
            f"{opendp_name()}, sized",
            partial(peer, data),
            faster(OPENDP_TIMES_FASTER),
            rounds=FEW_ROUNDS,
            items=(size, size),
            item="row",
        )
        yield compared(
            work,
            partial(pipeline, data),
            "diffprivlib.tools.sum",
            partial(tools.sum, data, epsilon=1.0, bounds=(LOWER, UPPER)),
            faster(DIFFPRIVLIB_TIMES_FASTER),
            rounds=FEW_ROUNDS,
            items=(size, size),
            item="row",
            note="diffprivlib's sum has Laplace noise; with so many rows the noise costs nothing",
        )
