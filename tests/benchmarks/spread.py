"""How far off variances are, and how often their intervals hold: the tables of docs/spread.md."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from unittest.mock import patch

import numpy as np
from compare import Row, choose_rows, power

import opendp_lite as dp
from opendp_lite.estimators.parts import value_search

RUNS = 400
CONFIDENCE = 0.95
COVERED = (0.94, 0.97)
MOST, MOST_LONG_TAIL = 0.05, 0.10
Shape = tuple[Callable[[np.random.Generator, int], np.ndarray], float, float]
SHAPES: dict[str, Shape] = {
    "normal(50, 10), bounds 0, 100": (lambda g, n: g.normal(50, 10, n), 0, 100),
    "uniform, bounds 0, 1": (lambda g, n: g.random(n), 0, 1),
    "uniform, bounds 0, 100": (lambda g, n: g.random(n), 0, 100),
    "bimodal 20 and 80, bounds 0, 100": (
        lambda g, n: np.where(g.random(n) < 0.5, 20, 80) + g.normal(0, 3, n),
        0,
        100,
    ),
    "exponential(1), bounds 0, 100": (lambda g, n: g.exponential(1, n), 0, 100),
    "exponential(1), bounds 0, 10 000": (lambda g, n: g.exponential(1, n), 0, 1e4),
    "90 % zeros, else exponential(1), bounds 0, 100": (
        lambda g, n: np.where(g.random(n) < 0.9, 0, g.exponential(1, n)),
        0,
        100,
    ),
    "lognormal(0, 1), bounds 0, 1000": (lambda g, n: g.lognormal(0, 1, n), 0, 1e3),
    "lognormal(0, 1), bounds 0, 100 000": (lambda g, n: g.lognormal(0, 1, n), 0, 1e5),
}
POPULATIONS: dict[str, float] = {
    "normal(50, 10), bounds 0, 100": 100,
    "uniform, bounds 0, 1": 1 / 12,
    "bimodal 20 and 80, bounds 0, 100": 909,
    "exponential(1), bounds 0, 100": 1,
    "90 % zeros, else exponential(1), bounds 0, 100": 0.19,
    "lognormal(0, 1), bounds 0, 1000": np.e * (np.e - 1),
}
"""The variances of which ``sampling=True`` speaks, up to what is clipped."""
LOSSES: dict[str, dict[str, float]] = {
    "rho = 0.5": {"rho": 0.5},
    "epsilon = 1": {"epsilon": 1},
    "epsilon = 1, delta = 1e-6": {"epsilon": 1, "delta": 1e-6},
}
ACCURATE_ROWS = 10_000
COVERINGS: tuple[tuple[str, dict[str, float], int, bool], ...] = (
    ("rho = 0.5", {"rho": 0.5}, 10_000, False),
    ("rho = 0.05", {"rho": 0.05}, 10_000, False),
    ("rho = 0.5, replaced", {"rho": 0.5}, 1000, True),
    ("epsilon = 1", {"epsilon": 1}, 1000, False),
    ("epsilon = 0.3", {"epsilon": 0.3}, 1000, False),
)
SAMPLES = (("rho = 0.5", {"rho": 0.5}, 10_000), ("epsilon = 1", {"epsilon": 1}, 1000))


def clipped_variance(values: np.ndarray, seen: list[tuple[float, float]]) -> float:
    """The variance of the values within the limits of the last release."""
    return float(np.clip(values, *seen[-1]).var())


def releases(
    shape: str, count: int, loss: dict[str, float], replaced: bool, runs: int
) -> np.ndarray:
    """For each run: the estimate, both variances, and whether the interval holds the clipped."""
    draw, lower, upper = SHAPES[shape]
    space = dp.records(size=count, metric=dp.ChangeOneDistance()) if replaced else dp.records()
    release = space >> dp.variance(lower, upper, confidence=CONFIDENCE, **loss, sampling=False)
    generator, seen, found = np.random.default_rng(1), [], []
    inner = value_search.Search.around

    def limits(search, rows, ends, rings):
        made = inner(search, rows, ends, rings)
        seen.append((lower - ends[0] + made.lower, lower - ends[0] + made.upper))
        return made

    with patch.object(value_search.Search, "around", limits):
        for _ in range(runs):
            values = draw(generator, count)
            estimate = release(values)
            inside = clipped_variance(np.clip(values, lower, upper), seen)
            low, high = estimate.interval
            slack = 1e-9 * inside
            held = low - slack <= inside <= high + slack
            found.append((estimate.value, values.var(), inside, held, high - low))
    return np.array(found)


def accuracy(name: str, runs: int, words: str, shape: str) -> Row:
    """The error beside the variance of the sample."""
    found = releases(shape, ACCURATE_ROWS, LOSSES[words], False, runs)
    ratios = found[:, 0] / found[:, 1]
    error = float(np.sqrt(np.mean((ratios - 1) ** 2)))
    most = (MOST_LONG_TAIL if "lognormal" in shape else MOST) if "rho" in words else np.inf
    return Row(
        name,
        f"{np.mean(ratios):.3f}, error {error:.2%}",
        "sample variance",
        "1",
        f"({np.quantile(ratios, 0.05):.3f}..{np.quantile(ratios, 0.95):.3f})",
        f"<= {most:.0%}" if most < np.inf else "",
        error <= most,
        f"of {runs} releases of {power(ACCURATE_ROWS)} rows, beside numpy.var: the mean ratio, its "
        "root mean square error, and in brackets 90 % of the ratios",
    )


def covered(
    name: str, runs: int, loss: dict[str, float], count: int, replaced: bool, shape: str
) -> Row:
    """How often the interval holds the variance of the clipped rows."""
    found = releases(shape, count, loss, replaced, runs)
    share, (low, high) = found[:, 3].mean(), COVERED
    doubt = 3.5 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / runs)
    return Row(
        name,
        f"{share:.1%}",
        "intended",
        f"{CONFIDENCE:.0%}",
        f"median release {np.median(found[:, 0] / found[:, 1]):.3f} of numpy.var, "
        f"width {np.median(found[:, 4] / found[:, 1]):.2g}",
        f"{low:.0%}..{high:.0%}",
        bool(low - doubt <= share <= high + doubt),
        f"coverage: of the variance of the clipped rows, by {runs} intervals",
    )


def covered_population(name: str, runs: int, loss: dict[str, float], count: int, shape: str) -> Row:
    """How often ``sampling=True`` holds the variance of all that the rows are drawn from."""
    draw, lower, upper = SHAPES[shape]
    release = dp.variance(lower, upper, confidence=CONFIDENCE, sampling=True, **loss)
    generator, ends = np.random.default_rng(1), []
    for _ in range(runs):
        ends.append(release(draw(generator, count)).interval)
    low, high = np.array(ends).T
    true = POPULATIONS[shape]
    return Row(
        name,
        f"{np.mean((low <= true) & (true <= high)):.1%}",
        "intended",
        f"{CONFIDENCE:.0%}",
        f"width {np.median(high - low) / true:.2g} variances",
        "",
        met=True,
    )


def rows(options: Namespace) -> Iterator[Row]:
    """Errors for each loss and shape, then coverage."""
    return choose_rows(_all(options.runs or RUNS), options.only, options.seconds)


def _all(runs: int) -> Iterator[tuple[str, Callable[[str], Row]]]:
    for words in LOSSES:
        for shape in SHAPES:
            yield f"{shape}; {words}", partial(accuracy, runs=runs, words=words, shape=shape)
    for words, loss, count, replaced in COVERINGS:
        for shape in SHAPES:
            made = partial(
                covered, runs=runs, loss=loss, count=count, replaced=replaced, shape=shape
            )
            yield f"coverage, {shape}; {count} rows, {words}", made
    for words, loss, count in SAMPLES:
        for shape in POPULATIONS:
            made = partial(covered_population, runs=runs, loss=loss, count=count, shape=shape)
            yield f"population, {shape}; {count} rows, {words}", made
