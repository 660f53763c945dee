"""The error of sums of many columns, plain and centred: the table of docs/intervals.md."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np
from compare import Row

import opendp_lite as dp

COLUMNS = (2, 10, 100, 1000)
NUMBERS = 40_000
"""Released for each figure, in so many releases as that takes; their errors are averaged."""
FEWEST = 400
ROWS = 50


def error(pipeline: Any, columns: int) -> float:
    """The root mean square error of a column, over many releases."""
    rows = np.full((ROWS, columns), 0.3)
    runs = max(NUMBERS // columns, FEWEST)
    off = [np.asarray(pipeline(rows)) - ROWS * 0.3 for _ in range(runs)]
    return float(np.sqrt(np.mean(np.square(off))))


def rows() -> Iterator[Row]:
    """A row for each budget and number of columns."""
    for columns in COLUMNS:
        box = dp.records(columns=columns) >> dp.clamp(0, 1)
        noises = {"gaussian, rho = 0.5": dp.gaussian(rho=0.5), "laplace": dp.laplace(epsilon=1)}
        noises["l2_mechanism, epsilon = 1"] = dp.measurements.l2_mechanism(epsilon=1)
        plain = {name: error(box >> dp.sum() >> each, columns) for name, each in noises.items()}
        first, *others = plain
        for names, budget in (([first], {"rho": 0.5}), (others, {"epsilon": 1})):
            theirs, name = min((plain[each], each) for each in names)
            ours = error(box >> dp.centered_sum(**budget), columns)
            wanted = (sqrt(columns) + 1) / 2 if "rho" in budget else theirs
            met = ours < 1.1 * wanted
            yield Row(
                f"{columns} columns",
                f"{ours:.3g}",
                name,
                f"{theirs:.3g}",
                f"{ours / theirs:.2f}",
                f"<= {wanted:.3g}",
                met,
            )
