"""A private median of a million numbers, against sorting them and against OpenDP's; deciles."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import opendp.prelude as odp
from compare import Row, at_most, compared, faster, power
from peers import opendp_name

import opendp_lite as dp

SIZE = 1_000_000
BOUND = 100.0
CANDIDATES = 1000
ROUNDS = 11
SORTS = 2.0
EPSILON = 1.0


def rows() -> Iterator[Row]:
    """The median on a lattice, and among candidates."""
    data = np.random.default_rng().normal(0.0, 2.0, SIZE)
    median = dp.records() >> dp.private_quantile(0.5, bounds=(-BOUND, BOUND), epsilon=EPSILON)
    work = f"private_quantile(0.5), {power(SIZE)} rows"
    yield compared(
        work,
        partial(median, data),
        "np.sort(x)",
        partial(np.sort, data),
        at_most(SORTS),
        rounds=ROUNDS,
    )
    deciles = dp.private_quantile(
        [i / 10 for i in range(1, 10)], bounds=(-BOUND, BOUND), epsilon=EPSILON
    )
    yield compared(
        f"private_quantile of nine deciles, {power(SIZE)} rows",
        partial(dp.records() >> deciles, data),
        "nine medians",
        lambda: [median(data) for _ in range(9)],
        at_most(SORTS),
        rounds=ROUNDS,
    )
    points = np.linspace(-BOUND, BOUND, CANDIDATES)
    among = dp.records() >> dp.private_quantile(0.5, candidates=points, epsilon=EPSILON)
    theirs = _opendp_median(points)
    yield compared(
        f"{work}, {CANDIDATES} candidates",
        partial(among, data),
        f"{opendp_name()}, {CANDIDATES} candidates",
        partial(theirs, data),
        faster(1),
        rounds=ROUNDS,
    )


def _opendp_median(points: np.ndarray) -> odp.Measurement:
    space = odp.vector_domain(odp.atom_domain(T=float, nan=False)), odp.symmetric_distance()
    return odp.m.make_private_quantile(
        *space, odp.max_divergence(), points.tolist(), 0.5, scale=1 / EPSILON
    )
