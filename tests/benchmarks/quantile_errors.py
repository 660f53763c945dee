"""How far off several quantiles are, and intervals: the figures of docs/quantiles.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from compare import Row

import opendp_lite as dp
from opendp_lite.measurements.quantile.places import Spacing

RUNS = 200
BOUND = 10
COVERED = 200
LEVEL = 0.95
WIDE = 200_000
"""The width beyond which an interval of incomes between 0 and 1e6 says little."""
SURELY = 0.88
"""Of 200 intervals at 95 %: fewer have a probability of 1e-4."""
Loss = dict[str, float]


def evenly(count: int) -> list[float]:
    """So many quantiles at even distances: 9 are the deciles."""
    return [i / (count + 1) for i in range(1, count + 1)]


ERRORS: tuple[tuple[int, int, Loss, float], ...] = (
    (10_000, 9, {"epsilon": 0.1}, 66),
    (1_000, 9, {"epsilon": 1}, 6.7),
    (10_000, 9, {"rho": 0.005}, 14),
    (1_000, 9, {"rho": 0.5}, 1.5),
    (10_000, 15, {"rho": 0.01}, 10),
    (10_000, 15, {"rho": 0.1}, 3.3),
    (10_000, 63, {"rho": 0.01}, 15),
    (10_000, 63, {"rho": 0.1}, 4.7),
)
"""Rows, quantiles, loss, and the mean rank error that is asked for."""

DRAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda generator, n: generator.normal(50, 10, n),
    "skewed": lambda generator, n: generator.lognormal(3, 0.7, n),
    "whole numbers": lambda generator, n: generator.integers(20, 80, n).astype(float),
}
INTERVALS: tuple[tuple[int, float, Loss], ...] = (
    (1_000, 0.5, {"epsilon": 1}),
    (1_000, 0.9, {"epsilon": 1}),
    (10_000, 0.5, {"epsilon": 0.1}),
    (1_000, 0.5, {"rho": 0.1}),
)

INCOMES: tuple[tuple[list[float], int, Spacing], ...] = (
    ([0.1], 0, "linear"),
    ([0.1, 0.5, 0.9], 0, "linear"),
    ([0.1, 0.5, 0.9], 1000, "log"),
)
"""Quantiles, the lower bound and the scale."""


def rows() -> Iterator[Row]:
    """Rank errors of recursion and of an even split, then the coverage of intervals."""
    for size, count, loss, target in ERRORS:
        ours, even = errors(size, count, loss)
        work = f"{count} quantiles, {size} rows, {spelled(loss)}"
        bound = f"<= {target:g} ranks"
        ratio = f"{ours / even:.2g}"
        met = ours <= target
        yield Row(work, f"{ours:.3g} ranks", "even split", f"{even:.3g} ranks", ratio, bound, met)
    for kind, draw in DRAWS.items():
        for size, quantile, loss in INTERVALS:
            for sampling in (False, True):
                share, half, error = coverage(draw, size, quantile, loss, sampling)
                covers = "noise and sampling" if sampling else "the noise"
                work = f"{kind}, {size} rows, quantile {quantile:g}, {spelled(loss)}, {covers}"
                ours = f"{100 * share:.1f} % covered, +-{half:.0f} ranks"
                theirs = f"{error:.2g} ranks off"
                target_text = f">= {SURELY:.0%}"
                yield Row(work, ours, "the value", theirs, "", target_text, share >= SURELY)
    for quantiles, lower, scale in INCOMES:
        work = f"1000 incomes, {quantiles}, bounds {lower}, 1 000 000, scale {scale}; epsilon = 1"
        ours = f"{wide(quantiles, lower, scale)} wider than {WIDE}"
        yield Row(work, ours, "of", f"{COVERED}", "", "", met=True)


def spelled(loss: Loss) -> str:
    """As in epsilon = 1."""
    ((kind, value),) = loss.items()
    return f"{kind} = {value:g}"


def errors(size: int, count: int, loss: Loss) -> tuple[float, float]:
    """The mean rank errors, with recursion and with each quantile alone for an even part."""
    wanted, bounds = evenly(count), (-BOUND, BOUND)
    ((kind, value),) = loss.items()
    part = {kind: value / count}
    together = dp.records() >> dp.private_quantile(wanted, bounds=bounds, **loss)
    alone = [dp.records() >> dp.private_quantile(q, bounds=bounds, **part) for q in wanted]
    generator, found = np.random.default_rng(0), np.zeros(2)
    ranks = np.array(wanted) * size
    for _ in range(RUNS):
        data = np.sort(generator.normal(size=size))
        for i, release in enumerate((together(data), [one(data) for one in alone])):
            found[i] += np.abs(np.searchsorted(data, release) - ranks).mean() / RUNS
    return float(found[0]), float(found[1])


def coverage(
    draw: Callable[[np.random.Generator, int], np.ndarray],
    size: int,
    quantile: float,
    loss: Loss,
    sampling: bool,
) -> tuple[float, float, float]:
    """The share of intervals that hold the quantile, half their ranks, and the value's error."""
    generator = np.random.default_rng(1)
    release = dp.records() >> dp.private_quantile(
        quantile, bounds=(0, 1000), confidence=LEVEL, sampling=sampling, **loss
    )
    population = np.quantile(draw(generator, 10**6), quantile, method="inverted_cdf")
    held, halves, errors_ = 0, [], []
    for _ in range(COVERED):
        data = np.sort(draw(generator, size))
        found = release(data)
        low, high = found.interval
        held += low <= (population if sampling else np.quantile(data, quantile)) <= high
        ends = np.searchsorted(data, low), np.searchsorted(data, high, side="right")
        halves.append((ends[1] - ends[0]) / 2)
        errors_.append(abs(np.searchsorted(data, found.value) - quantile * size))
    return held / COVERED, float(np.median(halves)), float(np.mean(errors_))


def wide(quantiles: list[float], lower: int, scale: Spacing) -> int:
    """How many intervals of the first quantile are wide, for incomes between wide bounds."""
    data = np.random.default_rng(0).lognormal(10.5, 0.6, 1000)
    release = dp.records() >> dp.private_quantile(
        quantiles, bounds=(lower, 10**6), scale=scale, epsilon=1, confidence=LEVEL
    )
    ends = [release(data)[0].interval for _ in range(COVERED)]
    return sum(high - low > WIDE for low, high in ends)
