"""What a key of a row costs: sums by text, in the containers that hold text."""

from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from compare import Row, at_most, compare

import opendp_lite as dp

ROWS = 500_000
KEYS = [f"key {place}" for place in range(50)]


def rows(options: Namespace) -> Iterator[Row]:
    """Sums by 40 of 50 keys, beside the library's own; then by ids, each of them in one row."""
    draw = np.random.default_rng(1)
    texts, x = np.array(KEYS, dtype=object)[draw.integers(0, 50, ROWS)], draw.random(ROWS)
    ids = np.array([f"person {place}" for place in draw.permutation(ROWS)], dtype=object)
    total = dp.select("x") >> dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(rho=1)
    release = dp.by("k", KEYS[:40], total)
    for what, cells in (("texts", texts), ("ids", ids)):
        table = pa.table({"k": pa.array(cells), "x": x})
        frame = table.to_pandas()
        own: dict[str, tuple[Any, Any]] = {
            "Arrow": (table, _by_arrow),
            "Arrow dictionary": (
                table.set_column(0, "k", table["k"].combine_chunks().dictionary_encode()),
                _by_arrow,
            ),
            "polars": (pl.from_arrow(table), _by_polars),
            "pandas": (frame, _by_pandas),
            "pandas category": (frame.assign(k=pd.Categorical(frame["k"])), _by_pandas),
        }
        for name, (data, peer) in own.items():
            yield compare(
                (f"`by` on {what}, {name}", partial(release, data)),
                ("its own sum by text", partial(peer, data)),
                at_most(2),
                rounds=7,
                size=ROWS,
            )


def _by_arrow(table: pa.Table) -> object:
    return table.group_by("k").aggregate([("x", "sum")])


def _by_polars(frame: pl.DataFrame) -> object:
    return frame.group_by("k").agg(pl.col("x").sum())


def _by_pandas(frame: pd.DataFrame) -> object:
    return frame.groupby("k", observed=True)["x"].sum()
