"""The error of a mean without bounds, beside that with the best bounds in hindsight."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from functools import partial
from math import inf, sqrt
from pathlib import Path

import numpy as np
from compare import Choice, Row

import opendp_lite as dp

Floats = np.ndarray
Draw = Callable[[np.random.Generator, int], Floats]
LAWS: dict[str, Draw] = {
    "normal(50, 10)": lambda g, n: g.normal(50, 10, n),
    "normal(1e6, 1)": lambda g, n: g.normal(1e6, 1, n),
    "lognormal": lambda g, n: g.lognormal(0, 1, n),
    "t3": lambda g, n: g.standard_t(3, n),
    "0/1, 30 % ones": lambda g, n: (g.random(n) < 0.3).astype(float),
    "90 % zeros": lambda g, n: np.where(g.random(n) < 0.9, 0.0, g.exponential(10, n)),
    "uniform": lambda g, n: g.uniform(0, 1.1, n),
    "1 to 5": lambda g, n: g.integers(1, 6, n).astype(float),
    "constant": lambda g, n: np.full(n, 42.0),
}
LOSSES = {"rho=0.1": {"rho": 0.1}, "rho=0.5": {"rho": 0.5}, "epsilon=1": {"epsilon": 1}}
MOST = {300: inf, 1000: 2.5, 10_000: 1.5, 1_000_000: 1.5}
RUNS = {300: 200, 1000: 200, 10_000: 200, 1_000_000: 12}
TABLES, SEED = 20, 9
MANY = 10**6
"""Long tails differ so much that the runs are then on the tables which the best bounds fit."""
FAR, NEGLIGIBLE = 5.0, 1e-9
"""A run has failed where its error is more than so many medians of all errors, and so large."""
VISITS_MOST = 0.031
SHARES = np.concatenate([[0.0], np.logspace(-7, -0.4, 45)])
REPLACE = dp.ChangeOneDistance()


def deviation(lower: Floats, upper: Floats, mean: float, loss: str, replaced: bool) -> Floats:
    """Of the noise of ``dp.mean`` in these bounds, times the number of rows."""
    half, off = (upper - lower) / 2, np.abs(mean - (lower + upper) / 2)
    budget = LOSSES[loss]
    if "epsilon" in budget:
        pure = np.sqrt(8) * half if replaced else np.sqrt(3.33 * half**2 + 5.44 * off**2)
        return np.asarray(pure / budget["epsilon"])
    return np.asarray((2 * half if replaced else half + off) / sqrt(2 * budget["rho"]))


def risks(law: Draw, rows: int, loss: str, replaced: bool, runs: int) -> tuple[Floats, Floats]:
    """Mean square errors of ``dp.mean`` over pairs of bounds, which fit all tables of a law.

    Bounds that fit one table alone could be next to its mean, and err by nothing. In the second
    array what is clipped on one side makes up for nothing on the other.
    """
    generator = np.random.default_rng(SEED)
    tables = [np.sort(law(generator, rows)) for _ in range(TABLES if rows < MANY else runs)]
    together = np.sort(np.concatenate(tables))
    last = len(together) - 1
    lowers = np.unique(together[(SHARES * last).astype(int)])
    uppers = np.unique(together[((1 - SHARES) * last).astype(int)])
    short = np.array(
        [
            [np.maximum(low - t[: np.searchsorted(t, low)], 0).sum() for low in lowers]
            for t in tables
        ]
    )
    long = np.array(
        [[(t[np.searchsorted(t, high) :] - high).sum() for high in uppers] for t in tables]
    )
    low, high = lowers[:, None], uppers[None, :]
    noise = deviation(low, high, float(together.mean()), loss, replaced) ** 2
    noise[low >= high] = inf
    clipped = np.mean((short[:, :, None] - long[:, None, :]) ** 2, axis=0)
    apart = np.mean(short**2, axis=0)[:, None] + np.mean(long**2, axis=0)[None, :]
    return (clipped + noise) / rows**2, (apart + noise) / rows**2


def in_hindsight(law: Draw, rows: int, loss: str, replaced: bool, runs: int) -> float:
    """The least root mean square error of ``dp.mean`` over bounds."""
    least = float(risks(law, rows, loss, replaced, runs)[0].min())
    return sqrt(least) if least < inf else 0.0


def each_tail_alone(name: str, runs: int | None, law: str, loss: str, replaced: bool) -> Row:
    """The error of bounds that are best if both tails are not known to be alike."""
    whole, apart = risks(LAWS[law], MANY, loss, replaced, runs or RUNS[MANY])
    found, best = sqrt(float(whole.flat[apart.argmin()])), sqrt(float(whole.min()))
    return Row(
        name, f"{found:.3g}", "best bounds", f"{best:.3g}", f"{found / best:.2f}", "", met=True
    )


def compared(
    name: str, wanted: int | None, shape: str, rows: int, loss: str, replaced: bool
) -> Row:
    """The error over that in hindsight on fresh tables, and the failed runs on one table."""
    law, runs = LAWS[shape], wanted or RUNS[rows]
    space = dp.records(size=rows, metric=REPLACE) if replaced else dp.records()
    try:
        mean = space >> dp.mean(**LOSSES[loss])
    except dp.ParameterError:
        return Row(name, "refused", "", "", "", "", True)
    generator = np.random.default_rng(5 if rows < MANY else SEED)

    def error(table: np.ndarray, seed: int) -> float:
        return abs(mean.insecure_release(table, seed).value - float(table.mean()))

    fresh = np.array([error(law(generator, rows), seed) for seed in range(runs)])
    found, best = sqrt(np.mean(fresh**2)), in_hindsight(law, rows, loss, replaced, runs)
    table = law(generator, rows)
    again = np.array([error(table, seed) for seed in range(runs)])
    failed = int((again > max(FAR * float(np.median(again)), NEGLIGIBLE)).sum())
    ratio = found / best if best else 0.0
    targeted = "rho" in LOSSES[loss]
    return Row(
        name,
        f"{found:.3g}",
        "best bounds",
        f"{best:.3g}",
        f"{ratio:.2f}",
        f"<= {MOST[rows]:g}x, {failed} of {runs} failed" if targeted else f"{failed} of {runs} far",
        not targeted or (ratio <= MOST[rows] and not failed),
    )


def visits(name: str) -> Row:
    """Doctor visits of 20 190 person-years."""
    with (Path(__file__).parents[2] / "docs/data/rand_hie.csv").open() as file:
        data = np.array([float(row["mdvis"]) for row in csv.DictReader(file)])
    mean = dp.mean(rho=0.5)
    off = [mean.insecure_release(data, seed).value - data.mean() for seed in range(200)]
    found = sqrt(np.mean(np.square(off)))
    target = f"<= {VISITS_MOST}"
    return Row(name, f"{found:.3g}", "", "", "", target, found <= VISITS_MOST)


def rows(choice: Choice) -> Iterator[Row]:
    """A row for each law, number of rows, loss and neighbour relation."""
    return choice.of(_all(choice.runs))


def _all(runs: int | None) -> Iterator[tuple[str, Callable[[str], Row]]]:
    yield "doctor visits, rho=0.5", visits
    for count in RUNS:
        for loss in LOSSES:
            for replaced in (False, True):
                words = f"n = {count:g}, {loss}, {'replaced' if replaced else 'added or removed'}"
                for law in LAWS:
                    made = partial(
                        compared,
                        wanted=runs,
                        shape=law,
                        rows=count,
                        loss=loss,
                        replaced=replaced,
                    )
                    yield f"{law}, {words}", made
    for loss in LOSSES:
        alone = partial(each_tail_alone, runs=runs, law="t3", loss=loss, replaced=True)
        yield f"bounds that are best for each tail alone, t3, n = {MANY:g}, {loss}, replaced", alone
