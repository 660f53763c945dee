"""Means of many columns for epsilon = 1: the table of docs/means.md. About ten minutes.

python tests/benchmarks/pure.py        # 200 releases of each cell
python tests/benchmarks/pure.py 20     # a quick look
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import sqrt

import numpy as np
from numpy.typing import NDArray

import opendp_lite as dp

# Intervals take as long as ten releases.
SKIPPED = 8
Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Floats]


def normal(generator: np.random.Generator, rows: int, columns: int) -> Floats:
    return generator.normal(3, 1, (rows, columns))


def exponential(generator: np.random.Generator, rows: int, columns: int) -> Floats:
    return generator.exponential(1, (rows, columns))


def lognormal(generator: np.random.Generator, rows: int, columns: int) -> Floats:
    return generator.lognormal(0, 1, (rows, columns))


def group(generator: np.random.Generator, rows: int, columns: int) -> Floats:
    """2 % of the rows at the bound."""
    found = normal(generator, rows, columns)
    found[: rows // 50] = 100
    return found


CELLS: tuple[tuple[str, Draw, int, int, int], ...] = (
    ("normal", normal, 8, 100, 200),
    ("normal", normal, 8, 100, 1000),
    ("normal", normal, 8, 100, 4000),
    ("normal", normal, 8, 100, 20_000),
    ("normal", normal, 16, 100, 4000),
    ("normal", normal, 8, 5, 4000),
    ("exponential", exponential, 8, 100, 20_000),
    ("lognormal", lognormal, 8, 100, 20_000),
    ("normal, 2 % at 100", group, 8, 100, 4000),
    ("normal, 2 % at 100", group, 8, 100, 20_000),
)


def table(runs: int) -> None:
    """Prints a row for each cell as it is done."""
    print("| columns | bound, rows | replaced | held | added | held | noise of the bounds |")
    print("|---|---|---|---|---|---|---|")
    for name, draw, columns, bound, rows in CELLS:
        sized = dp.records(columns=columns, size=rows, metric=dp.ChangeOneDistance())
        texts = []
        for space in (sized, dp.records(columns=columns)):
            mean = space >> dp.multivariate_mean(bound, epsilon=1)
            told = space >> dp.multivariate_mean(bound, epsilon=1, confidence=0.95)
            generator, errors, held = np.random.default_rng(0), [], []
            centre = draw(generator, 1_000_000, columns).mean(axis=0)
            for run in range(runs):
                data = draw(generator, rows, columns)
                true = data.clip(-bound, bound).mean(axis=0)
                errors.append(float(np.linalg.norm(mean(data) - true)))
                if run % SKIPPED == 0:
                    pairs = zip(told(data), centre, strict=True)
                    held += [each.interval[0] <= at <= each.interval[1] for each, at in pairs]
            texts += [f"{np.median(errors):.3g}, {max(errors):.3g}", f"{np.mean(held):.0%}"]
        box = 2 * bound / rows * sqrt(columns * (columns + 1) * (columns + 2) / 3)
        first = f"| {columns} {name} | {bound}, {rows} |"
        print(first, f"{texts[0]} | {texts[1]} | {texts[2]} | {texts[3]} | {box:.3g} |", flush=True)


if __name__ == "__main__":
    table(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
