"""The mean of at most three rows of each person, against the first three rows in pandas."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from compare import Row, at_most, compared, power

import opendp_lite as dp

UPPER = 9.0
PEOPLE, ROWS_OF_EACH, KEPT = 2_000_000, 5, 3
ROUNDS = 3
TIMES_SLOWER = 4
TEXT_SHARE = 10
"""Of so many people one is in the table with ids of text."""
PIPELINE = (
    dp.records(columns=["id", "x"], person="id")
    >> dp.bound_contributions(KEPT)
    >> dp.select("x")
    >> dp.mean(0, UPPER, epsilon=1)
)


def in_pandas(frame: pd.DataFrame) -> object:
    """The mean without noise, of rows that are not chosen at random."""
    kept = frame.groupby("id", sort=False).head(KEPT)
    return kept["x"].clip(0, UPPER).mean()


def rows() -> Iterator[Row]:
    """A row for ids that are whole numbers, and one for text."""
    generator = np.random.default_rng()
    for words, share in (("whole numbers", 1), ("text", TEXT_SHARE)):
        people = PEOPLE // share
        size = people * ROWS_OF_EACH
        ids = generator.integers(0, people, size)
        frame = pd.DataFrame({"id": ids, "x": generator.lognormal(size=size)})
        if share > 1:
            frame["id"] = pd.Series(list(map(str, ids)), dtype=object)
        yield compared(
            f"bound_contributions({KEPT}) >> mean, ids are {words}, {power(size)} rows",
            partial(PIPELINE, frame),
            f"groupby.head({KEPT}) in pandas",
            partial(in_pandas, frame),
            at_most(TIMES_SLOWER),
            rounds=ROUNDS,
            items=(size, size),
            item="row",
            note="ours chooses at random",
        )
