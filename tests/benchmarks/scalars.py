"""One release of one number from a pipeline that is already bound, against OpenDP."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from compare import Row, compared, faster
from peers import SCALE, opendp_name, opendp_noise, opendp_sum

import opendp_lite as dp

ROWS = 100
LOWER, UPPER = 0.0, 1.0
ROUNDS = 21
NOISES: dict[str, Any] = {"gaussian": dp.gaussian, "laplace": dp.laplace}


def rows() -> Iterator[Row]:
    """A bare number and a sum of a hundred rows, for each noise."""
    data = np.random.default_rng().random(ROWS)
    for kind, noise in NOISES.items():
        bare = dp.scalar() >> noise(scale=SCALE)
        bare_peer = opendp_noise(kind, float, vector=False)
        yield compared(
            f"scalar() >> {kind}, one release",
            partial(bare, 3.0),
            f"{opendp_name()}, float",
            partial(bare_peer, 3.0),
            faster(1),
            rounds=ROUNDS,
        )
        total = dp.records() >> dp.clamp(LOWER, UPPER) >> dp.sum() >> noise(scale=SCALE)
        total_peer = opendp_sum(kind, LOWER, UPPER, ROWS)
        yield compared(
            f"clamp >> sum >> {kind}, {ROWS} rows, one release",
            partial(total, data),
            f"{opendp_name()}, sized",
            partial(total_peer, data),
            faster(1),
            rounds=ROUNDS,
        )
