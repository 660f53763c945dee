"""How often intervals hold what they are of, in samples of a population. Not timed."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from math import exp, sqrt
from typing import Any

import numpy as np
from compare import Row

import opendp_lite as dp

RUNS = 2000
LEAST, MOST = 0.93, 0.98
Draw = Callable[[np.random.Generator, int], np.ndarray]
Interval = tuple[float, float]
# What is drawn lies in the bounds, so that clipping moves nothing; and its mean.
LAWS: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, n: rng.normal(50, 10, n).clip(0, 100), 50.0),
    "exponential": (lambda rng, n: rng.exponential(10, n).clip(0, 100), 10 * (1 - exp(-10))),
    "lognormal": (lambda rng, n: rng.lognormal(2, 1, n).clip(0, 100), 11.981),
    "2 % ones": (lambda rng, n: rng.binomial(1, 0.02, n).astype(float), 0.02),
    "30 % ones": (lambda rng, n: rng.binomial(1, 0.3, n).astype(float), 0.3),
}
SIZES = (100, 500, 5000)
SHARES = ((0.02, 0.3), (0.3, 0.3), (0.5, 0.5))
# Two columns whose covariance matrix, or that of their logarithms, has this root.
COLUMNS: dict[str, tuple[list[list[float]], Callable[[np.ndarray], np.ndarray]]] = {
    "normal": ([[3.0, 0.0], [0.67, 0.74]], lambda rows: np.add(rows, [50, 9])),
    "lognormal": ([[0.5, 0.0], [0.2, 0.35]], lambda rows: np.exp(np.add(rows, [3, 2]))),
}


def coverage(options: Namespace) -> Iterator[Row]:
    """The tables of docs/intervals.md: means, shares, counts, groups, differences and ratios."""
    runs = options.runs or RUNS
    for loss in ("epsilon = 1", "rho = 0.03"):
        for rows in SIZES:
            for law in LAWS:
                yield _row(f"mean, {law}, {rows} rows, {loss}", *_of_means(law, rows, loss, runs))
            for share in ("2 % ones", "30 % ones"):
                found = _of_shares(share, rows, loss, runs)
                yield _row(f"share, {share}, {rows} rows, {loss}", *found)
            for law in ("normal", "exponential"):
                for step in (dp.difference, dp.ratio):
                    work = f"{step.__name__} of two groups, {law}, {rows} rows each, {loss}"
                    yield _row(work, *_of_groups(step, law, rows, loss, runs))
            yield _row(f"count of these rows, {rows} rows, {loss}", *_of_counts(rows, loss, runs))
            for shares in SHARES:
                for step in (dp.difference, dp.ratio):
                    work = f"{step.__name__} of shares {shares[0]}, {shares[1]} of a histogram"
                    found = _of_cells(step, shares, rows, loss, runs)
                    yield _row(f"{work}, {rows} rows, {loss}", *found)
    for loss in ("epsilon = 1", "rho = 0.03", "rho = 0.5"):
        for law in COLUMNS:
            for rows in SIZES:
                for name, *found in _of_columns(law, rows, loss, runs):
                    yield _row(f"{name}, {law} columns, {rows} rows, {loss}", *found)
    found = _of_groups(dp.difference, "normal", 300, "rho = 0.5", runs)
    yield _row("difference of two groups, normal, 300 rows each, rho = 0.5", *found)


def _row(work: str, held: float, width: float) -> Row:
    """Width over that of the same interval without privacy."""
    shown = f"{held:.1%}, {width:.3g} times as wide"
    return Row(work, shown, "no privacy", "", "", "93 to 98 %", LEAST <= held <= MOST)


def _loss(name: str) -> dict[str, float]:
    kind, _, amount = name.partition(" = ")
    return {kind: float(amount)}


def _held(ends: list[Interval], truth: float) -> float:
    low, high = np.array(ends).T
    return float(np.mean((low <= truth) & (truth <= high)))


def _width(ends: list[Interval], plain: float) -> float:
    low, high = np.array(ends).T
    return float(np.median(high - low)) / plain


def _of_means(law: str, rows: int, loss: str, runs: int) -> tuple[float, float]:
    draw, truth = LAWS[law]
    rng = np.random.default_rng(1)
    mean = dp.mean(0, 1 if "ones" in law else 100, **_loss(loss))
    ends = [mean(draw(rng, rows)).interval for _ in range(runs)]
    deviation = float(draw(rng, 10**6).std())
    return _held(ends, truth), _width(ends, 2 * 1.96 * deviation / sqrt(rows))


def _of_shares(law: str, rows: int, loss: str, runs: int) -> tuple[float, float]:
    draw, truth = LAWS[law]
    rng = np.random.default_rng(2)
    share = dp.proportion(among=[1], **_loss(loss))
    ends = [share(draw(rng, rows)).interval for _ in range(runs)]
    return _held(ends, truth), _width(ends, 2 * 1.96 * sqrt(truth * (1 - truth) / rows))


def _of_groups(
    step: Callable[..., Any], law: str, rows: int, loss: str, runs: int
) -> tuple[float, float]:
    draw, truth = LAWS[law]
    rng = np.random.default_rng(3)
    means = dp.by("group", ["a", "b"], dp.select("x") >> dp.mean(0, 100, **_loss(loss)))
    keys, ends = ["a", "b"] * rows, []
    for _ in range(runs):
        found = means({"group": keys, "x": draw(rng, 2 * rows)})
        ends.append(step(found["a"], found["b"]).interval)
    deviation = float(draw(rng, 10**6).std()) * sqrt(2 / rows)
    ratio = step is dp.ratio
    plain = 2 * 1.96 * deviation / (truth if ratio else 1)
    return _held(ends, 1.0 if ratio else 0.0), _width(ends, plain)


def _of_cells(
    step: Callable[..., Any], shares: tuple[float, float], rows: int, loss: str, runs: int
) -> tuple[float, float]:
    rng, (first, second) = np.random.default_rng(4), shares
    table = dp.histogram("x", categories=["a", "b", "c"], **_loss(loss))
    chances, ends = [first, second, max(1 - first - second, 0.0)], []
    for _ in range(runs):
        found = table({"x": rng.choice(["a", "b", "c"], rows, p=chances)}).shares()
        ends.append(step(found["a"], found["b"]).interval)
    ratio = step is dp.ratio
    truth = first / second if ratio else first - second
    variance = truth * (first + second) / second**2 if ratio else first + second - truth**2
    return _held(ends, truth), _width(ends, 2 * 1.96 * sqrt(variance / rows))


def _of_columns(law: str, rows: int, loss: str, runs: int) -> Iterator[tuple[str, float, float]]:
    """Entries of a covariance matrix and the correlation; without privacy, as they vary."""
    root, made = COLUMNS[law]
    rng = np.random.default_rng(5)

    def draw(count: int) -> np.ndarray:
        return made(rng.standard_normal((count, 2)) @ np.array(root).T)

    true, names = np.cov(draw(10**6).T), ("variance", "covariance", "correlation")
    truths = (true[0, 0], true[0, 1], true[0, 1] / sqrt(true[0, 0] * true[1, 1]))
    matrix = dp.records(columns=["a", "b"]) >> dp.covariance(
        0, [1000, 100], **_loss(loss), confidence=0.95
    )
    plain, ends = [], []
    for _ in range(runs):
        table = draw(rows)
        sample, found = np.cov(table.T), matrix(table)
        plain.append((sample[0, 0], sample[0, 1], np.corrcoef(table.T)[0, 1]))
        places = [np.array(found.interval)[:, 0, column] for column in (0, 1)]
        ends.append([*places, found.correlation()["a", "b"].interval])
    of_sample = 2 * 1.96 * np.std(plain, axis=0)
    for place, name in enumerate(names):
        found_ends = [(each[place][0], each[place][1]) for each in ends]
        yield name, _held(found_ends, truths[place]), _width(found_ends, of_sample[place])


def _of_counts(rows: int, loss: str, runs: int) -> tuple[float, float]:
    """Of the rows themselves, as a count is; the width is in rows."""
    noise = dp.laplace if "epsilon" in loss else dp.gaussian
    counted = dp.count() >> noise(**_loss(loss), confidence=0.95)
    ends = [counted(np.zeros(rows)).interval for _ in range(runs)]
    return _held(ends, float(rows)), _width(ends, 1.0)


def weighted_shares(options: Namespace) -> Iterator[Row]:
    """The table of docs/survey-table.md: shares of a population by design weights."""
    runs, rng = options.runs or RUNS, np.random.default_rng(4)
    weights = {
        "even, 0.5 to 4": (4, lambda rows: rng.uniform(0.5, 4, rows)),
        "log-normal, up to 20": (20, lambda rows: rng.lognormal(0, 1, rows).clip(0, 20)),
    }
    places = ((a, b, c) for a in weights for b in SIZES[1:] for c in ("2 % ones", "30 % ones"))
    for name, rows, law in places:
        (most, weigh), (draw, truth) = weights[name], LAWS[law]
        share = dp.proportion("x", among=[1], weights="w", most=most, epsilon=1)
        ends = [share({"x": draw(rng, rows), "w": weigh(rows)}).interval for _ in range(runs)]
        many = weigh(10**6)
        effect = np.mean(many**2) / np.mean(many) ** 2
        plain = 2 * 1.96 * sqrt(effect * truth * (1 - truth) / rows)
        work = f"weights {name}, {law}, {rows} rows, epsilon = 1"
        yield _row(work, _held(ends, truth), _width(ends, plain))
