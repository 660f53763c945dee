"""A private sum of one column, against numpy's own clip and sum, OpenDP and diffprivlib.

Types and strides are timed at 1e6 rows, and 1e7 rows also on one thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from unittest.mock import patch

import numpy as np
from compare import Row, at_most, compared, faster, power
from peers import SCALE, diffprivlib_tools, opendp_name, opendp_sum

import opendp_lite as dp

LOWER, UPPER = -2.0, 2.0
ROUNDS = 21
FEW_ROUNDS = 7
TIMES_SLOWER = {1_000_000: 1.15, 10_000_000: 1.0}
TYPES = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")
TYPED = 1_000_000
TYPED_SLOWER = 1.3
MANY = 10_000_000
MANY_SLOWER = 0.6
BOUNDS = (0, 100)
OPENDP_TIMES_FASTER = 8
DIFFPRIVLIB_TIMES_FASTER = 3


def in_numpy(data: np.ndarray) -> object:
    """The sum without noise."""
    return np.clip(data, LOWER, UPPER).sum()


def clipped(data: np.ndarray) -> object:
    """The sum between the bounds of the rows about types, without noise."""
    return np.clip(data, *BOUNDS).sum()


def ways() -> Iterator[tuple[str, np.ndarray]]:
    """Columns of each type and of some strides."""
    values = np.random.default_rng().normal(50.0, 40.0, 2 * TYPED)
    for name in TYPES:
        kind = np.dtype(name)
        limits = np.iinfo(kind) if kind.kind in "iu" else np.finfo(np.float64)
        held = values > BOUNDS[1] / 2 if name == "bool" else values.clip(limits.min, limits.max)
        yield name, held[:TYPED].astype(kind)
    yield "x[::2]", values[::2]
    yield "x[::-1]", values[:TYPED][::-1]


def rows() -> Iterator[Row]:
    """Three rows for each size, one for each type and way to lie, and one on one thread."""
    yield from sizes()
    pipeline = dp.records() >> dp.clamp(*BOUNDS) >> dp.sum() >> dp.gaussian(rho=0.5)
    for name, column in ways():
        yield compared(
            f"the same, {power(TYPED)} rows, {name}",
            partial(pipeline, column),
            "np.clip(x, L, U).sum()",
            partial(clipped, column),
            at_most(TYPED_SLOWER),
            rounds=ROUNDS,
            items=(TYPED, TYPED),
            item="row",
        )
    data = np.random.default_rng().normal(50.0, 40.0, MANY)
    with patch("opendp_lite.engines.data.source._PROCESSORS", 1):
        yield compared(
            f"the same, {power(MANY)} rows, one thread",
            partial(pipeline, data),
            "np.clip(x, L, U).sum()",
            partial(clipped, data),
            at_most(MANY_SLOWER),
            rounds=ROUNDS,
            items=(MANY, MANY),
            item="row",
        )


def sizes() -> Iterator[Row]:
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
