"""Releases by group: 1e7 rows of 1000 groups in one pass, beside numpy's counting."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from compare import Row, at_most, compared, power
from numpy.typing import NDArray

import opendp_lite as dp

SIZE, GROUPS = 10_000_000, 1000
ROUNDS = 7


def rows() -> Iterator[Row]:
    """Counts, clipped sums and means of each group."""
    random = np.random.default_rng(0)
    keys, values = random.integers(0, GROUPS, SIZE), random.normal(50, 20, SIZE)
    column, all_keys = dp.select("x"), range(GROUPS)
    count = dp.count() >> dp.laplace(epsilon=1)
    total = column >> dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=1)
    peers = {
        "counts": (count, "np.bincount", partial(np.bincount, keys, minlength=GROUPS)),
        "clipped sums": (total, "np.bincount of np.clip", partial(_summed, keys, values)),
        "means": (column >> dp.mean(0, 100, epsilon=1), "both", partial(_both, keys, values)),
    }
    for name, (pipeline, words, peer) in peers.items():
        yield compared(
            f"{name} of {GROUPS} groups of {power(SIZE)} rows",
            partial(dp.by("k", all_keys, pipeline), {"k": keys, "x": values}),
            words,
            peer,
            at_most(2.0),
            rounds=ROUNDS,
            items=(SIZE, SIZE),
            item="row",
        )


def _summed(keys: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.bincount(keys, np.clip(values, 0, 100), GROUPS)


def _both(keys: NDArray[np.int64], values: NDArray[np.float64]) -> object:
    return np.bincount(keys, minlength=GROUPS), _summed(keys, values)
