"""Who errs least at equal loss, task by task: the first table of docs/accuracy.md.

diffprivlib is run where it is installed. Others are published formulas, drawn with plain floats.
"""

from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from math import factorial
from typing import Any

import columns
import numpy as np
from compare import Row, choose_rows

import opendp_lite as dp
from opendp_lite.bases.strategies import Tree
from opendp_lite.estimators.distributions.cumulative import isotonic

RUNS, SEED = 200, 5
Floats = np.ndarray
Make = Callable[[int], tuple[Any, Any]]
"""The errors of ours and of the other, of so many runs."""


def sized(rows: int, count: int = 1) -> Any:
    """A row is replaced: what diffprivlib protects where it divides by the number of rows."""
    return dp.records(columns=count, size=rows, metric=dp.ChangeOneDistance())


def normal(rows: int) -> Floats:
    return np.random.default_rng(SEED).normal(50, 10, rows).clip(0, 100)


def lognormal(rows: int) -> Floats:
    return np.random.default_rng(SEED).lognormal(3, 0.6, rows).clip(0, 100)


def repeat(runs: int, work: Callable[[], Any], true: Any) -> Floats:
    return np.array([np.asarray(work()) - true for _ in range(runs)], dtype=float)


def tools() -> Any:
    return import_module("diffprivlib.tools")


def mean(rows: int, loose: float, runs: int) -> tuple[Floats, Floats]:
    """One column; with bounds of the other that are so many times too wide, none of ours."""
    data = normal(rows)
    ours = dp.mean(0, 100, epsilon=1, confidence=None)
    if loose > 1:
        ours = dp.mean(epsilon=1, confidence=None)
    pipeline, bounds = sized(rows) >> ours, (50 - 50 * loose, 50 + 50 * loose)
    theirs = partial(tools().mean, data, epsilon=1, bounds=bounds)
    return (
        repeat(runs, partial(pipeline, data), data.mean()),
        repeat(runs, theirs, data.mean()),
    )


def variance(rows: int, runs: int) -> tuple[Floats, Floats]:
    data = normal(rows)
    pipeline = sized(rows) >> dp.variance(0, 100, epsilon=1, confidence=None)
    theirs = partial(tools().var, data, epsilon=1, bounds=(0, 100))
    return repeat(runs, partial(pipeline, data), data.var()), repeat(runs, theirs, data.var())


def ranks(data: Floats, shares: Floats, found: Floats) -> Floats:
    """How many rows each quantile is off."""
    return np.searchsorted(np.sort(data), found, side="right") - shares * len(data)


def median_rank(rows: int, runs: int) -> tuple[Floats, Floats]:
    data, half = lognormal(rows), np.array([0.5])
    pipeline = dp.private_quantile(0.5, bounds=(0, 100), epsilon=1, confidence=None)
    theirs = partial(tools().quantile, data, 0.5, epsilon=1, bounds=(0, 100))
    off = [
        [ranks(data, half, work()) for _ in range(runs)]
        for work in (partial(pipeline, data), theirs)
    ]
    return np.array(off[0]), np.array(off[1])


def deciles(rows: int, epsilon: float, worst: bool, runs: int) -> tuple[Floats, Floats]:
    """Nine deciles beside JointExp: the mean or the worst rank error."""
    data, shares = lognormal(rows), np.arange(1, 10) / 10
    pipeline = dp.private_quantile(shares, bounds=(0, 100), epsilon=epsilon, confidence=None)
    joint = JointExp(data, shares, epsilon)
    off = [
        np.abs([ranks(data, shares, np.asarray(work())) for _ in range(runs)])
        for work in (partial(pipeline, data), joint.draw)
    ]
    return tuple(each.max(axis=1) if worst else each.mean(axis=1) for each in off)


class JointExp:
    """Gillenwater, Joseph and Kulesza 2021: all quantiles by one exponential mechanism.

    Several may lie between two neighbouring rows: ordered, they have one k-th! of the volume.
    """

    def __init__(self, data: Floats, shares: Floats, epsilon: float) -> None:
        self.ends = np.concatenate([[0.0], np.sort(data), [100.0]])
        gaps = np.diff(np.concatenate([[0.0], shares, [1.0]]))
        rate = epsilon / 2 / (2 * (1 - gaps.min()))
        count, lengths = np.arange(len(data) + 1), np.diff(self.ends)
        self.steps = [np.exp(-rate * np.abs(count - len(data) * gap)) for gap in gaps]
        self.random = np.random.default_rng(SEED)
        below = np.subtract.outer(count, count)
        self.found: list[dict[int, Floats]] = [{}]
        for done in range(1, len(shares) + 1):
            groups = {}
            for together in range(1, done + 1):
                first = done - together
                into = self.steps[0]
                if first:
                    weights = np.where(below > 0, self.steps[first][np.abs(below)], 0.0)
                    into = weights @ sum(self.found[first].values())
                within = np.prod([self.steps[each][0] for each in range(first + 1, done)])
                groups[together] = into * lengths**together / factorial(together) * within
            self.found.append(groups)

    def draw(self) -> Floats:
        done, at, values = len(self.found) - 1, len(self.ends) - 1, []
        while done:
            groups, places = self.found[done], np.arange(len(self.ends) - 1)
            if at == len(places):
                onward = self.steps[done][::-1]
            else:
                onward = np.where(places < at, self.steps[done][np.abs(at - places)], 0.0)
            weights = np.array([groups[size] * onward for size in groups])
            chosen = self.random.choice(weights.size, p=weights.reshape(-1) / weights.sum())
            size, at = chosen // len(places) + 1, chosen % len(places)
            values += sorted(self.random.uniform(*self.ends[at : at + 2], size), reverse=True)
            done -= size
        return np.array(values[::-1])


class BaseFour(Tree):
    """Blocks of four cells, of sixteen, and so on."""

    sizes = tuple(4**level for level in range(6))


def cdf(rows: int, epsilon: float, runs: int) -> tuple[Floats, Floats]:
    """The mean error of shares up to 1024 edges, beside a tree of base four made to rise."""
    data, edges = lognormal(rows), np.linspace(0, 100, 1025)
    true = np.searchsorted(np.sort(data), edges, side="right")[1:] / rows
    counts = np.diff(np.concatenate([[0.0], true])) * rows
    pipeline, tree = dp.cdf(0, 100, epsilon=epsilon, confidence=None), BaseFour(1024)
    random, off = np.random.default_rng(SEED), []
    for _ in range(runs):
        ours = pipeline(data).cdf(edges[1:]).value
        noisy = tree.products(counts) + random.laplace(0, len(tree.sizes) / epsilon, tree.terms)
        rising = np.cumsum(tree.counts(noisy))
        theirs = isotonic(rising / rising[-1]).clip(0, 1)
        off.append([np.abs(each - true).mean() for each in (ours, theirs)])
    return tuple(np.array(off).T)


def health(runs: int) -> tuple[Floats, Floats]:
    """RAND's ten columns with bounds of each, in half widths, beside one mean for each column."""
    data, bounds = columns.real("rand_hie"), columns.own("rand_hie")
    halves, count = np.diff(bounds).T / 2, data.shape[1]
    together = sized(len(data), count) >> dp.multivariate_mean(bounds, rho=0.5, confidence=None)
    alone = [
        sized(len(data)) >> dp.mean(*pair, rho=0.5 / count, confidence=None) for pair in bounds
    ]

    def each() -> Floats:
        return np.array([one(data[:, place]) for place, one in enumerate(alone)])

    true = data.mean(axis=0)
    return tuple(
        np.linalg.norm(repeat(runs, work, true) / halves, axis=1)
        for work in (partial(together, data), each)
    )


def pure_columns(rows: int, runs: int) -> tuple[Floats, Floats]:
    """Eight normal columns within -100 and 100."""
    data = np.random.default_rng(SEED).normal(3, 1, (rows, 8))
    ours = sized(rows, 8) >> dp.multivariate_mean(100, epsilon=1, confidence=None)
    theirs = partial(tools().mean, data, epsilon=1, bounds=(-100, 100), axis=0)
    true = data.mean(axis=0)
    return tuple(
        np.linalg.norm(repeat(runs, work, true), axis=1) for work in (partial(ours, data), theirs)
    )


def slopes(rows: int, runs: int) -> tuple[Floats, Floats]:
    """y = 20 + 0.5 a + 0.2 b and noise of 10; the errors of both slopes."""
    random = np.random.default_rng(SEED)
    x = random.uniform(0, 100, (rows, 2))
    y = (20 + x @ [0.5, 0.2] + random.normal(0, 10, rows)).clip(0, 100)
    pairs = {"y": (0, 100), "a": (0, 100), "b": (0, 100)}
    fit = dp.linear_regression("y", ["a", "b"], pairs, epsilon=1)
    model = import_module("diffprivlib.models").LinearRegression
    table = {"y": y, "a": x[:, 0], "b": x[:, 1]}
    true = np.linalg.lstsq(np.column_stack([x, np.ones(rows)]), y, rcond=None)[0][:2]

    def ours() -> list[float]:
        found = fit(table)
        return [found["a"].value, found["b"].value]

    def theirs() -> Floats:
        bounds = {"bounds_X": (0, 100), "bounds_y": (0, 100)}
        return model(epsilon=1, **bounds).fit(x, y).coef_

    return repeat(runs, ours, true), repeat(runs, theirs, true)


PEER = "diffprivlib"
TASKS: dict[str, tuple[Callable[..., tuple[Any, Any]], str]] = {
    "mean in bounds, 1000 rows, epsilon 1": (partial(mean, 1000, 1), PEER),
    "mean without bounds, 1000 rows, epsilon 1": (
        partial(mean, 1000, 20),
        f"{PEER}, bounds 20 times too wide",
    ),
    "mean without bounds, 10000 rows, epsilon 1": (
        partial(mean, 10_000, 20),
        f"{PEER}, bounds 20 times too wide",
    ),
    "variance, 1000 rows, epsilon 1": (partial(variance, 1000), PEER),
    "variance, 10000 rows, epsilon 1": (partial(variance, 10_000), PEER),
    "median, 1000 rows, epsilon 1: ranks": (partial(median_rank, 1000), PEER),
    "nine deciles, 1000 rows, epsilon 1: mean rank": (
        partial(deciles, 1000, 1, False),
        "JointExp",
    ),
    "nine deciles, 1000 rows, epsilon 1: worst rank": (
        partial(deciles, 1000, 1, True),
        "JointExp",
    ),
    "nine deciles, 1000 rows, epsilon 0.2: worst rank": (
        partial(deciles, 1000, 0.2, True),
        "JointExp",
    ),
    "shares up to 1024 edges, 1000 rows, epsilon 0.1": (
        partial(cdf, 1000, 0.1),
        "base-4 tree, made to rise",
    ),
    "shares up to 1024 edges, 20000 rows, epsilon 1": (
        partial(cdf, 20_000, 1),
        "base-4 tree, made to rise",
    ),
    "10 columns of RAND with bounds of each, rho 0.5": (health, "one dp.mean for each column"),
    "8 columns, loose bound, 1000 rows, epsilon 1": (partial(pure_columns, 1000), PEER),
    "8 columns, loose bound, 20000 rows, epsilon 1": (partial(pure_columns, 20_000), PEER),
    "two slopes of a regression, 10000 rows, epsilon 1": (partial(slopes, 10_000), PEER),
}


def rows(options: Namespace) -> Iterator[Row]:
    """Root mean square errors; a ratio below 1 says that ours is smaller."""

    def of_task(name: str) -> Row:
        make, peer = TASKS[name]
        pair = make(options.runs or RUNS)
        ours, theirs = (float(np.sqrt(np.mean(np.square(each)))) for each in pair)
        return Row(name, f"{ours:.3g}", peer, f"{theirs:.3g}", f"{ours / theirs:.2g}")

    yield from choose_rows([(name, of_task) for name in TASKS], options.only, options.seconds)
