"""Noise on a vector of 100 000 entries, against OpenDP and against numpy's insecure floats."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from compare import Row, at_most, compared, faster, power
from peers import SCALE, opendp_name, opendp_noise

import opendp_lite as dp

ENTRIES = 100_000
ROUNDS = 31
FEW_ROUNDS = 5
TIMES_FASTER = {"gaussian": (1000, 1000), "laplace": (500, 200)}
TIMES_SLOWER = {"gaussian": 1.3, "laplace": 0.9}


def rows(opendp_entries: int) -> Iterator[Row]:
    """Two rows against OpenDP and one against numpy, for each noise."""
    generator = np.random.default_rng()
    floats = generator.normal(0.0, 100.0, ENTRIES)
    entries = {float: floats, int: generator.integers(-100, 100, ENTRIES)}
    ours: dict[str, Any] = {
        "gaussian": dp.vector(ENTRIES) >> dp.gaussian(scale=SCALE),
        "laplace": dp.vector(ENTRIES, dp.metrics.L1Distance()) >> dp.laplace(scale=SCALE),
    }
    theirs = {"gaussian": generator.normal, "laplace": generator.laplace}
    note = (
        f"noise: both times are for one entry; OpenDP's vectors had {opendp_entries} entries, "
        f"the others {ENTRIES}"
    )
    for kind, measurement in ours.items():
        for (entry, data), bound in zip(entries.items(), TIMES_FASTER[kind], strict=True):
            peer = opendp_noise(kind, entry, vector=True)
            given = data[:opendp_entries].astype(np.float64 if entry is float else np.int32)
            yield compared(
                f"{kind}, {entry.__name__} vector of {power(ENTRIES)}",
                partial(measurement, data),
                f"{opendp_name()}, {entry.__name__} vector",
                partial(peer, given),
                faster(bound),
                rounds=FEW_ROUNDS,
                items=(ENTRIES, opendp_entries),
                item="entry",
                note=note,
            )
        yield compared(
            f"{kind}, float vector of {power(ENTRIES)}",
            partial(measurement, floats),
            f"numpy Generator.{theirs[kind].__name__}",
            partial(theirs[kind], 0.0, SCALE, ENTRIES),
            at_most(TIMES_SLOWER[kind]),
            rounds=ROUNDS,
            items=(ENTRIES, ENTRIES),
            item="entry",
            note=note,
        )
