"""How often intervals and tests of the second day hold: coverage, level and power. Not timed."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from compare import Row

import opendp_lite as dp

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
    pipeline = dp.private_quantile(quantile, **asked, confidence=None)
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
