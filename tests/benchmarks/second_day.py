"""How often intervals and tests of the second day hold: coverage, level and power. Not timed."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
from compare import Row
from scipy.stats import chi2_contingency, f_oneway

import opendp_lite as dp
from opendp_lite.estimators.distributions.histograms import Histogram
from opendp_lite.estimators.distributions.significance import _draw_cells, _Groups, _independence

RUNS = 2000
Draw = Callable[[np.random.Generator, int], np.ndarray]
LAWS: dict[str, Draw] = {
    "normal": lambda generator, n: generator.normal(50, 10, n),
    "exponential": lambda generator, n: generator.exponential(10, n).clip(0, 100),
    "lognormal": lambda generator, n: generator.lognormal(2, 1, n).clip(0, 100),
    "whole numbers": lambda generator, n: np.rint(generator.normal(50, 10, n)),
}
WHERE: dict[str, dict[str, Any]] = {
    "bounds": {"bounds": (0, 100)},
    "candidates": {"candidates": range(101)},
}
CELLS = (
    ("normal", "bounds", ((100, 0.5), (500, 0.5), (500, 0.9), (5000, 0.5))),
    ("exponential", "bounds", ((100, 0.5), (500, 0.5), (500, 0.9), (5000, 0.99))),
    ("lognormal", "bounds", ((100, 0.5), (500, 0.5), (500, 0.9), (5000, 0.5))),
    ("whole numbers", "candidates", ((500, 0.5), (5000, 0.9))),
    ("whole numbers", "bounds", ((500, 0.5), (5000, 0.5))),
)
LOSSES = ({"epsilon": 1.0}, {"rho": 0.03})


def quantile_ends(options: Namespace) -> Iterator[Row]:
    """Intervals of quantiles from two ends, beside the sure ones: a table of docs/quantiles.md."""
    runs = options.runs or RUNS
    for name, where, cases in CELLS:
        for rows, quantile in cases:
            for loss in LOSSES:
                for sampling in (False, True):
                    asked = {**WHERE[where], **loss, "confidence": 0.95, "sampling": sampling}
                    ours, theirs = (
                        _measure(name, rows, quantile, many, sure=sure, **asked)
                        for sure, many in ((False, runs), (True, runs // 10))
                    )
                    ((kind, amount),) = loss.items()
                    of = "population" if sampling else "rows"
                    work = f"{name} ({where}), {rows} rows, quantile {quantile}, "
                    ratio = f"{theirs[1] / ours[1]:.1f} times" if ours[1] else ""
                    yield Row(
                        f"{work}{kind} = {amount:g}, of the {of}",
                        f"{ours[0]:.1%} +- {ours[1]:.3g} (error {ours[2]:.3g})",
                        "sure=True",
                        f"{theirs[0]:.1%} +- {theirs[1]:.3g} (error {theirs[2]:.3g})",
                        ratio,
                        ">= 93 %",
                        ours[0] >= 0.93,
                    )


def _measure(
    name: str, rows: int, quantile: float, runs: int, **asked: Any
) -> tuple[float, float, float]:
    """The share of intervals that hold, half of their mean width, and the error of the value."""
    draw, generator = LAWS[name], np.random.default_rng(1)
    pipeline = dp.private_quantile(quantile, **asked)
    of_all = float(np.quantile(draw(np.random.default_rng(0), 4_000_001), quantile))
    held, width, off = 0, 0.0, 0.0
    for seed in range(runs):
        data = draw(generator, rows)
        found = pipeline.insecure_release(data, seed).value
        own = [float(np.quantile(data, quantile, method=way)) for way in ("lower", "higher")]
        low, high = [of_all] * 2 if asked["sampling"] else own
        held += found.interval[0] <= high and low <= found.interval[1]
        width += (found.interval[1] - found.interval[0]) / 2 / runs
        off += (found.value - (low + high) / 2) ** 2 / runs
    return held / runs, width, off**0.5


BUDGETS = ({"epsilon": 1.0}, {"rho": 0.03}, {"rho": 0.5})
MEANS_OF_GROUPS = ((2, 100), (2, 300), (2, 1000), (4, 300), (4, 1000))
TABLES = {
    "2 x 2": np.outer([0.5, 0.5], [0.3, 0.7]),
    "2 x 2, 3 % in a column": np.outer([0.5, 0.5], [0.03, 0.97]),
    "3 x 4": np.outer([0.2, 0.3, 0.5], [0.4, 0.3, 0.2, 0.1]),
}


def significance(options: Namespace) -> Iterator[Row]:
    """The level and the power of tests at 5 %: the tables of docs/tests-of-differences.md.

    The noise is drawn by numpy, with the law that the pipelines state, and not by a release.
    """
    runs = options.runs or RUNS
    for loss in BUDGETS:
        ((kind, amount),) = loss.items()
        for groups, rows in MEANS_OF_GROUPS:
            apart = 0.2 * 2.8 * (2 / rows) ** 0.5
            found = [_of_means(groups, rows, shift, loss, runs) for shift in (0.0, apart)]
            yield _level_and_power(f"{groups} groups of {rows}, {kind} = {amount:g}", found)
        for name, shares in TABLES.items():
            for rows in (100, 500, 5000):
                found = [_of_table(shares, rows, effect, loss, runs) for effect in (0.0, 1.0)]
                yield _level_and_power(f"{name}, {rows} rows, {kind} = {amount:g}", found)


def _level_and_power(work: str, found: list[tuple[float, float, float]]) -> Row:
    (level, plain_level, few), (power, plain_power, _) = found
    met = level <= 0.065 or few > 0.5
    texts = f"{level:.1%}, {power:.0%}", "no privacy", f"{plain_level:.1%}, {plain_power:.0%}"
    return Row(work, *texts, f"few: {few:.0%}", "4 to 6.5 %", met)


def _of_means(
    groups: int, rows: int, shift: float, loss: dict[str, float], runs: int
) -> tuple[float, float, float]:
    """How often the p-value is small, here and without privacy, and how often rows are too few."""
    generator, pure = np.random.default_rng(5), "epsilon" in loss

    def draw(deviation: float, size: int) -> np.ndarray:
        if pure:
            return generator.laplace(0, deviation / 2**0.5, size)
        return generator.normal(0, deviation, size)

    deviations = tuple(
        2**0.5 / (share * loss["epsilon"])
        if "epsilon" in loss
        else (2 * share * loss["rho"]) ** -0.5
        for share in (0.6, 0.2, 0.2)
    )
    small = plain = few = 0
    for _ in range(runs):
        values = generator.normal(0.1, 0.2, (groups, rows))
        values[0] += shift
        values = values.clip(-1, 1)
        sums = values.sum(axis=1) + draw(deviations[0], groups)
        counts = rows + draw(deviations[1], groups)
        squares = float((values**2).sum() + draw(deviations[2], 1)[0])
        _, p, warned = _Groups(sums, counts, squares, deviations, pure).compare()
        few += warned
        small += p <= 0.05 and not warned
        plain += f_oneway(*values).pvalue <= 0.05
    told = max(runs - few, 1)
    return small / told, plain / runs, few / runs


def _of_table(
    shares: np.ndarray, rows: int, effect: float, loss: dict[str, float], runs: int
) -> tuple[float, float, float]:
    """The same of a table of counts."""
    generator = np.random.default_rng(6)
    law = (dp.laplace if "epsilon" in loss else dp.gaussian)(**loss)
    deviation = (dp.count() >> law).bind(dp.records()).facts.laws[0].standard_deviation
    moved = 1.4 * (4 * shares[0, 0] * shares[0, 1] / rows) ** 0.5
    moved = effect * min(moved, 0.9 * shares[:2, :2].min())
    shares = shares.copy()
    shares[:2, :2] += np.array([[moved, -moved], [-moved, moved]])
    axes = tuple(tuple(range(size)) for size in shares.shape)
    keys = tuple((i, j) for i in axes[0] for j in axes[1])
    small = plain = few = 0
    for _ in range(runs):
        cells = generator.multinomial(rows, shares.ravel())
        counts = cells if "epsilon" in loss else cells.astype(float)
        empty = Histogram(("x", "y"), keys, counts, *[deviation] * 3, 0.95, axes)
        noise = _draw_cells(generator, empty, cells.shape)
        noise = noise.astype(cells.dtype) if "epsilon" in loss else noise
        found = _independence(attrs.evolve(empty, counts=cells + noise))
        few += found.few
        small += found.p_value <= 0.05 and not found.few
        table = cells.reshape(shares.shape)
        table = table[:, table.any(axis=0)]
        if table.shape[1] > 1 and table.any(axis=1).all():
            plain += chi2_contingency(table, correction=False).pvalue <= 0.05
    told = max(runs - few, 1)
    return small / told, plain / runs, few / runs
