"""A mean without bounds: its error beside that of the best bounds, far groups, its intervals."""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from math import inf, sqrt
from pathlib import Path

import numpy as np
from compare import Row, choose_rows
from scipy.special import ndtr

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
BULKS: dict[str, Draw] = {
    **{name: draw for name, draw in LAWS.items() if name not in ("normal(1e6, 1)", "constant")},
    "Pareto 2.5": lambda g, n: g.pareto(2.5, n),
    "exponential(10)": lambda g, n: g.exponential(10, n),
    "gamma(2), negative": lambda g, n: -g.gamma(2, 500, n),
    "0/1, 5 % ones": lambda g, n: (g.random(n) < 0.05).astype(float),
    "0/1, 2 % ones": lambda g, n: (g.random(n) < 0.02).astype(float),
}
FARS = {"2 doublings": 200.0, "7 doublings": 5000.0, "at 2^20": 2.0**20 + 50}
HELD = 0.93
LOSSES = {"rho=0.1": {"rho": 0.1}, "rho=0.5": {"rho": 0.5}, "epsilon=1": {"epsilon": 1}}
MOST = {300: inf, 1000: 2.5, 10_000: 1.5, 100_000: 1.5, 1_000_000: 1.5}
RUNS = {300: 200, 1000: 200, 10_000: 200, 100_000: 200, 1_000_000: 80}
TABLES, SEED = 40, 10
"""Runs are spread evenly over these tables. The best bounds fit all of them together."""
POOLED = 10**5
"""About so many values are gone through for bounds."""
FAR, NEGLIGIBLE = 5.0, 1e-9
"""A run has failed where its error is more than so many medians of all errors, and so large."""
VISITS_MOST = 0.031
ERRORS = np.linspace(0, 10, 4001)
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


def table(shape: str, rows: int, number: int) -> Floats:
    """One of the tables, always the same."""
    return LAWS[shape](np.random.default_rng([SEED, number]), rows)


@dataclass(frozen=True)
class Bounds:
    """What ``dp.mean`` errs in pairs of bounds, times the number of rows, over all tables."""

    noise: Floats
    short: Floats
    long: Floats

    @classmethod
    @cache
    def of(cls, shape: str, rows: int, loss: str, replaced: bool) -> Bounds:
        """Bounds that fit one table alone could be next to its mean, and err by nothing."""
        pooled = min(max(POOLED // rows, 1), TABLES)
        values = np.sort(np.concatenate([table(shape, rows, each) for each in range(pooled)]))
        last = len(values) - 1
        lowers = np.unique(values[(SHARES * last).astype(int)])
        uppers = np.unique(values[((1 - SHARES) * last).astype(int)])
        short, long = [], []
        for each in range(TABLES):
            known = np.sort(table(shape, rows, each))
            below, above = np.searchsorted(known, lowers), np.searchsorted(known, uppers)
            sums = np.append(0.0, np.cumsum(known))
            short.append(below * lowers - sums[below])
            long.append(sums[-1] - sums[above] - (rows - above) * uppers)
        low, high = lowers[:, None], uppers[None, :]
        noise = deviation(low, high, float(values.mean()), loss, replaced)
        noise[low >= high] = inf
        return cls(noise, np.array(short), np.array(long))

    def best(self) -> tuple[float, Floats]:
        """The noise, and what is clipped from each table, in the best bounds for all of them."""
        clipped = np.mean((self.short[:, :, None] - self.long[:, None, :]) ** 2, axis=0)
        return self._at(clipped)

    def best_for_each_tail(self) -> tuple[float, Floats]:
        """The same if one side is not known to make up for the other."""
        apart = np.mean(self.short**2, axis=0)[:, None] + np.mean(self.long**2, axis=0)
        return self._at(apart)

    def _at(self, clipped: Floats) -> tuple[float, Floats]:
        low, high = np.unravel_index(np.argmin(clipped + self.noise**2), self.noise.shape)
        noise = float(self.noise[low, high])
        if noise == inf:
            return 0.0, np.zeros(TABLES)
        return noise, self.short[:, low] - self.long[:, high]


def root_mean_square(noise: float, clipped: Floats) -> float:
    """Of noise beside what is clipped."""
    return sqrt(noise**2 + float(np.mean(clipped**2)))


def failing(noise: float, clipped: Floats) -> float:
    """The probability that a run fails in such bounds, by normal noise."""
    if noise == 0:
        return 0.0
    off = clipped / noise

    def within(errors: Floats) -> Floats:
        return np.asarray((ndtr(errors[:, None] - off) - ndtr(-errors[:, None] - off)).mean(axis=1))

    errors = ERRORS * (1 + np.abs(off).max())
    middle = errors[np.searchsorted(within(errors), 0.5)]
    return float(1 - within(np.array([FAR * middle]))[0])


def each_tail_alone(name: str, law: str, rows: int, loss: str, replaced: bool) -> Row:
    """The error of bounds that are best if both tails are not known to be alike."""
    bounds = Bounds.of(law, rows, loss, replaced)
    found, best = (
        root_mean_square(*each) / rows for each in (bounds.best_for_each_tail(), bounds.best())
    )
    return Row(name, f"{found:.3g}", "best bounds", f"{best:.3g}", f"{found / best:.2f}")


def compare_bounds(
    name: str, wanted: int | None, shape: str, rows: int, loss: str, replaced: bool
) -> Row:
    """The error and the failed runs beside those in hindsight."""
    runs = wanted or RUNS[rows]
    space = dp.records(size=rows, metric=REPLACE) if replaced else dp.records()
    mean = space >> dp.mean(**LOSSES[loss], confidence=None)
    errors = np.array([])
    for number in range(min(runs, TABLES)):
        values = table(shape, rows, number)
        truth = float(values.mean())
        found = [mean.insecure_release(values, seed).value for seed in range(number, runs, TABLES)]
        errors = np.append(errors, np.abs(np.array(found) - truth))
    failed = int((errors > max(FAR * float(np.median(errors)), NEGLIGIBLE)).sum())
    noise, clipped = Bounds.of(shape, rows, loss, replaced).best()
    found, best = sqrt(np.mean(errors**2)), root_mean_square(noise, clipped) / rows
    ratio = found / best if best else 0.0
    targeted = "rho" in LOSSES[loss]
    words = f"{failed} of {runs} failed"
    if targeted:
        expected = runs * failing(noise, clipped)
        words = f"<= {MOST[rows]:g}x, {words}, {expected:.2g} expected of best bounds"
    texts = f"{found:.3g}", "best bounds", f"{best:.3g}", f"{ratio:.2f}", words
    return Row(name, *texts, not targeted or (ratio <= MOST[rows] and not failed))


def far_group(
    name: str, wanted: int | None, far: float, rows: int, loss: str, replaced: bool
) -> Row:
    """How often the interval holds a mean with a far group of as many rows as are surely found."""
    runs = wanted or RUNS[rows]
    space = dp.records(size=rows, metric=REPLACE) if replaced else dp.records()
    mean = space >> dp.mean(**LOSSES[loss], sampling=False)
    plain = mean.insecure_release(table("normal(50, 10)", rows, 0), 0).value
    if plain.hidden_rows is None:
        return Row(name, "too few rows")
    held, found, hidden = 0, 0, 0
    for seed in range(runs):
        values, random = table("normal(50, 10)", rows, seed), np.random.default_rng([1, seed])
        hidden = max(hidden, plain.hidden_rows)
        values[:hidden] = 50 + (far - 50) * random.normal(1, 0.04, hidden)
        release, truth = mean.insecure_release(values, seed).value, float(values.mean())
        hidden = release.hidden_rows or hidden
        held += release.interval[0] <= truth <= release.interval[1]
        found += abs(release.value - truth) < (truth - 50) / 2
    words = f"found in {found / runs:.0%}"
    return Row(
        name,
        f"held in {held / runs:.1%}",
        f"{hidden} rows",
        words,
        "",
        ">= 93 %",
        held >= HELD * runs,
    )


def holds_all(name: str, wanted: int | None, law: str, rows: int, loss: str) -> Row:
    """How often intervals hold the mean of all values, and how wide they are."""
    runs, mean = wanted or RUNS[rows], dp.mean(**LOSSES[loss])
    truth = float(
        np.mean([BULKS[law](np.random.default_rng([3, n]), 10**6).mean() for n in range(20)])
    )
    held, clipped, endless, ratios = 0, 0, 0, []
    for seed in range(runs):
        values = BULKS[law](np.random.default_rng([2, seed]), rows)
        found = mean.insecure_release(values, seed).value
        held += found.interval[0] <= truth <= found.interval[1]
        if found.clipped_interval is None:
            endless += 1
            continue
        low, high = found.clipped_interval
        clipped += low <= truth <= high
        ratios.append((found.interval[1] - found.interval[0]) / (high - low))
    ratio = f"{np.median(ratios):.2f}" if ratios else ""
    words = f"clipped: {clipped / runs:.1%}", f"{endless} endless"
    return Row(name, f"held in {held / runs:.1%}", *words, ratio, ">= 93 %", held >= HELD * runs)


def visits(name: str) -> Row:
    """Doctor visits of 20 190 person-years."""
    with (Path(__file__).parents[2] / "docs/data/rand_hie.csv").open() as file:
        data = np.array([float(row["mdvis"]) for row in csv.DictReader(file)])
    mean = dp.mean(rho=0.5, confidence=None)
    off = [mean.insecure_release(data, seed).value - data.mean() for seed in range(200)]
    found = sqrt(np.mean(np.square(off)))
    target, met = f"<= {VISITS_MOST}", found <= VISITS_MOST
    return Row(name, f"{found:.3g}", target=target, met=met)


def rows(options: Namespace) -> Iterator[Row]:
    """A row for each law, number of rows, loss and neighbour relation."""
    return choose_rows(_all(options.runs), options.only, options.seconds)


def _all(runs: int | None) -> Iterator[tuple[str, Callable[[str], Row]]]:
    yield "doctor visits, rho=0.5", visits
    for count in RUNS:
        for loss in LOSSES:
            for replaced in (False, True):
                words = f"n = {count:g}, {loss}, {'replaced' if replaced else 'added or removed'}"
                for law in LAWS:
                    case = {"shape": law, "rows": count, "loss": loss, "replaced": replaced}
                    yield f"{law}, {words}", partial(compare_bounds, wanted=runs, **case)
    for count in (1000, 10_000, 100_000):
        for loss in LOSSES:
            for words, far in FARS.items():
                for replaced in (False, True):
                    case = {"far": far, "rows": count, "loss": loss, "replaced": replaced}
                    kind = "replaced" if replaced else "added or removed"
                    made = partial(far_group, wanted=runs, **case)
                    yield f"far group {words}, n = {count:g}, {loss}, {kind}", made
            for law in BULKS:
                made = partial(holds_all, wanted=runs, law=law, rows=count, loss=loss)
                yield f"interval of {law}, n = {count:g}, {loss}", made
    for count in (10_000, 1_000_000):
        for loss in LOSSES:
            alone = partial(each_tail_alone, law="t3", rows=count, loss=loss, replaced=True)
            words = f"t3, n = {count:g}, {loss}, replaced"
            yield f"bounds that are best for each tail alone, {words}", alone
