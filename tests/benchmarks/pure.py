"""Means of many columns for epsilon = 1: the tables of docs/means.md."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from math import sqrt

import numpy as np
from columns import COURSE, Cell, of_table, own, real
from compare import Row, choose_rows
from numpy.typing import NDArray

import opendp_lite as dp

RUNS, SEED = 25, 1
Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Floats]


def normal(generator: np.random.Generator, rows: int, columns: int) -> Floats:
    return generator.normal(3, 1, (rows, columns))


def exponential(generator: np.random.Generator, rows: int, columns: int) -> Floats:
    return generator.exponential(1, (rows, columns))


def lognormal(generator: np.random.Generator, rows: int, columns: int) -> Floats:
    return generator.lognormal(0, 1, (rows, columns))


def ones(generator: np.random.Generator, rows: int, columns: int) -> Floats:
    """0/1, 2 % ones."""
    return (generator.random((rows, columns)) < 0.02).astype(float)


def skewed(generator: np.random.Generator, rows: int, columns: int) -> Floats:
    """By turns exponential, lognormal, gamma, 0/1 with 5 % ones, and counts; of several widths."""
    found = np.empty((rows, columns))
    for place in range(0, columns, 5):
        wide = 1 + place / 6
        laws = (
            generator.exponential(wide, rows),
            wide * generator.lognormal(0, 1, rows),
            generator.gamma(0.5, 2 * wide, rows),
            wide * (generator.random(rows) < 0.05),
            generator.poisson(0.7 * wide, rows),
        )
        found[:, place : place + 5] = np.column_stack(laws)[:, : columns - place]
    return found


def group(generator: np.random.Generator, rows: int, columns: int) -> Floats:
    """2 % of the rows at the bound."""
    found = normal(generator, rows, columns)
    found[: rows // 50] = 100
    return found


ERRORS: tuple[tuple[str, Draw, int, int, int], ...] = (
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
INTERVALS: tuple[tuple[str, Draw, int, int], ...] = (
    ("normal", normal, 3, 1000),
    ("normal", normal, 8, 4000),
    ("exponential", exponential, 3, 1000),
    ("exponential", exponential, 3, 5000),
    ("lognormal", lognormal, 3, 1000),
    ("lognormal", lognormal, 3, 5000),
    ("lognormal", lognormal, 8, 20_000),
    ("0/1, 2 % ones", ones, 3, 1000),
    ("0/1, 2 % ones", ones, 3, 5000),
    ("skewed", skewed, 17, 14_165),
)


def spaces(columns: int, rows: int) -> tuple[dp.Space[dp.Rows], dp.Space[dp.Rows]]:
    """A row replaced, and one added or removed."""
    sized = dp.records(columns=columns, size=rows, metric=dp.ChangeOneDistance())
    return sized, dp.records(columns=columns)


def error_row(name: str, draw: Draw, columns: int, bound: int, rows: int, runs: int) -> Row:
    """The median and the worst distance of all columns together, beside noise of the bounds."""
    texts = []
    for space in spaces(columns, rows):
        mean, generator, errors = (
            space >> dp.multivariate_mean(bound, epsilon=1, confidence=None),
            _random(),
            [],
        )
        for _ in range(runs):
            data = draw(generator, rows, columns)
            true = data.clip(-bound, bound).mean(axis=0)
            errors.append(float(np.linalg.norm(mean(data) - true)))
        texts.append(f"{np.median(errors):.3g}, {max(errors):.3g}")
    box = 2 * bound / rows * sqrt(columns * (columns + 1) * (columns + 2) / 3)
    return Row(name, texts[0], "a row added", texts[1], "", f"noise of the bounds: {box:.3g}")


def best_in_hindsight(rows: Floats, moved: int) -> float:
    """The error of the best box around the true mean, with noise of that box."""
    away, columns, found = np.abs(rows - rows.mean(axis=0)), rows.shape[1], []
    for share in np.geomspace(1e-4, 0.5, 40):
        wide = np.quantile(away, 1 - share, axis=0)
        bias = np.linalg.norm((rows - rows.mean(axis=0)).clip(-wide, wide).mean(axis=0))
        noise = moved / len(rows) * sqrt((columns + 1) * (columns + 2) / 3) * np.linalg.norm(wide)
        found.append(float(np.hypot(bias, noise)))
    return min(found)


def course_row(name: str, table: str, runs: int) -> Row:
    """Of 5000 rows of a course's table in bounds of each column: medians, over the best."""
    cell, texts = Cell(of_table(table, 5000), own(table)), []
    for space, moved in zip(spaces(real(table).shape[1], 5000), (2, 1), strict=True):
        mean, generator, errors, best = (
            space >> dp.multivariate_mean(cell.bound, epsilon=1),
            _random(),
            [],
            [],
        )
        for _ in range(runs):
            data = cell.inside(cell.draw(generator))
            off = (np.array(list(map(float, mean(data)))) - data.mean(axis=0)) / cell.units
            errors.append(float(np.linalg.norm(off)))
            best.append(best_in_hindsight(data / cell.units, moved))
        middle = np.median(errors)
        texts.append(f"{middle:.3g}, {middle / np.median(best):.2f} of the best in hindsight")
    return Row(name, texts[0], "a row added", texts[1])


def interval_row(name: str, draw: Draw, columns: int, rows: int, runs: int) -> Row:
    """How often intervals hold the population's mean, and half their median width."""
    true, texts = draw(_random(), 2_000_000, columns).mean(axis=0), []
    for space in spaces(columns, rows):
        mean = space >> dp.multivariate_mean(1000, epsilon=1, confidence=0.95)
        generator, held, wide = _random(), [], []
        for _ in range(runs):
            for each, at in zip(mean(draw(generator, rows, columns)), true, strict=True):
                held.append(each.interval[0] <= at <= each.interval[1])
                wide.append(each.interval[1] - each.interval[0])
        texts.append(f"{np.mean(held):.0%} ({np.median(wide) / 2:.2g})")
    return Row(name, texts[0], "a row added", texts[1])


def _random() -> np.random.Generator:
    return np.random.default_rng(SEED)


def rows(options: Namespace) -> Iterator[Row]:
    """Errors, and how often intervals hold, which take ten times as long."""
    runs = options.runs or RUNS
    works: list[tuple[str, Callable[[str], Row]]] = []
    for law, draw, columns, bound, size in ERRORS:
        make = partial(error_row, draw=draw, columns=columns, bound=bound, rows=size, runs=runs)
        works.append((f"{columns} {law}, bound {bound}, {size} rows", make))
    for table in COURSE if real(COURSE[0]) is not None else ():
        works.append((f"{table} of a course", partial(course_row, table=table, runs=runs)))
    for law, draw, columns, size in INTERVALS:
        told = partial(interval_row, draw=draw, columns=columns, rows=size, runs=runs)
        works.append((f"{columns} {law}, {size} rows, intervals", told))
    yield from choose_rows(works, options.only, options.seconds)
