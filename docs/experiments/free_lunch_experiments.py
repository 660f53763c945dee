"""The experiments of the Free Lunch paper: settings, rows, noise and printed errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import hypot, pi, sqrt
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.estimators.parts.request import Scenario


@attrs.frozen
class ErrorPair:
    """The mean absolute and the root mean squared error, None if unknown."""

    absolute: float | None = None
    squared: float | None = None


@attrs.frozen
class NoiseLaw:
    """A noise and the privacy it serves.

    ``scale`` takes a sensitivity and a loss. ``errors`` takes the scales of two independent noises
    that add up to an error. ``share`` takes the width of the bounds over the sensitivity of a sum.
    It returns the share of the budget at which the noise of the sum is as large as the width times
    the noise of the count, which is the rule behind the printed table.
    """

    name: str
    option: str
    symbol: str
    loss: float
    scale: Callable[[float, float], float]
    errors: Callable[[float, float], ErrorPair]
    share: Callable[[float], float]


def _of_gaussian(first: float, second: float) -> ErrorPair:
    deviation = hypot(first, second)
    return ErrorPair(sqrt(2 / pi) * deviation, deviation)


def _of_laplace(first: float, second: float) -> ErrorPair:
    """E|X + Y| = (a^2 + a b + b^2) / (a + b) for scales a and b."""
    absolute = (first * first + first * second + second * second) / (first + second)
    return ErrorPair(absolute, sqrt(2) * hypot(first, second))


LAPLACE: Final = NoiseLaw(
    name="Laplace",
    option="epsilon",
    symbol="ε",
    loss=0.5,
    scale=lambda sensitivity, loss: sensitivity / loss,
    errors=_of_laplace,
    share=lambda widths: 1 / (1 + widths),
)
GAUSSIAN: Final = NoiseLaw(
    name="Gaussian",
    option="rho",
    symbol="ρ",
    loss=0.5,
    scale=lambda sensitivity, loss: sensitivity / sqrt(2 * loss),
    errors=_of_gaussian,
    share=lambda widths: 1 / (1 + widths**2),
)

RUNS: Final = 10_000
"""How often the paper released each estimate."""
MOST_RUNS: Final = 1_000_000
"""The most releases that fit into memory."""
LEAST_LOSS, MOST_LOSS = 1e-3, 1e3
"""Below this loss an estimate of 100 rows is only noise; above the next it has almost none."""
ROWS: Final = 100
LAWS: Final = (LAPLACE, GAUSSIAN)


@attrs.frozen
class FreeLunchDataset:
    """One of the three datasets, of ``ROWS`` rows.

    The paper gives no bounds and no means: these are the ones with which its numbers agree.
    """

    name: str
    title: str
    lower: float
    upper: float
    mean: float

    @property
    def width(self) -> float:
        """The distance between the bounds."""
        return self.upper - self.lower

    @property
    def half(self) -> float:
        """Half the width."""
        return self.width / 2

    @property
    def middle(self) -> float:
        """The middle of the bounds."""
        return (self.lower + self.upper) / 2

    @property
    def reach(self) -> float:
        """The largest absolute value."""
        return max(abs(self.lower), abs(self.upper))

    @property
    def offset(self) -> float:
        """The distance of the mean from the middle."""
        return abs(self.mean - self.middle)


LOG_NORMAL: Final = FreeLunchDataset("LogNormal", "LogNormal, clamped to ±6.43", -6.43, 6.43, 1.65)
NORMAL: Final = FreeLunchDataset("Normal", "Normal, clamped to ±5", -5.0, 5.0, 0.0)
UNIFORM: Final = FreeLunchDataset("Uniform", "Uniform, in [0, 100]", 0.0, 100.0, 50.0)


@attrs.frozen
class FreeLunchExperiment:
    """One command: every estimator under every noise on every dataset."""

    name: str
    title: str
    datasets: tuple[FreeLunchDataset, ...]
    laws: tuple[NoiseLaw, ...]
    quick_runs: int = 1000


_ALL: Final = ((LOG_NORMAL, NORMAL, UNIFORM), LAWS)

EXPERIMENTS: Final = {
    each.name: each
    for each in (
        FreeLunchExperiment("table1", "Free Lunch, table 1: errors of means of 100 rows", *_ALL),
        FreeLunchExperiment(
            "figure2",
            "Free Lunch, figure 2: means of 100 uniform rows, Gaussian noise",
            (UNIFORM,),
            (GAUSSIAN,),
        ),
        FreeLunchExperiment(
            "figure3", "Free Lunch, figure 3: estimates and tails of their errors", *_ALL
        ),
    )
}
"""By the name on the command line."""


Floats = NDArray[np.float64]

_SEED: Final = 20_240_819
_HALVINGS: Final = 100
_DRAWS: Final[dict[FreeLunchDataset, Callable[[np.random.Generator], Floats]]] = {
    LOG_NORMAL: lambda random: random.lognormal(0, 1, ROWS),
    NORMAL: lambda random: random.normal(0, 1, ROWS),
    UNIFORM: lambda random: random.uniform(0, 100, ROWS),
}


@cache
def rows(dataset: FreeLunchDataset) -> Floats:
    """Draws clipped rows whose mean is the dataset's.

    A shift of the drawn rows moves the mean of the clipped ones continuously and one way, so
    bisection finds the shift.
    """
    drawn = _DRAWS[dataset](np.random.default_rng(_SEED))

    def shifted(by: float) -> Floats:
        found: Floats = (drawn + by).clip(dataset.lower, dataset.upper)
        return found

    low, high = -dataset.width, dataset.width
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if shifted(middle).mean() < dataset.mean else (low, middle)
    found = shifted(high)
    found.flags.writeable = False
    return found


def truth(dataset: FreeLunchDataset) -> Scenario:
    """The number of rows, mean and variance of a dataset."""
    return Scenario(ROWS, dataset.mean, float(rows(dataset).var()))


_NAMES: Final = ("plug-in", "simplex", "center", "resize")

_COLUMNS: Final = tuple(
    (dataset.name, law.name)
    for dataset in (LOG_NORMAL, NORMAL, UNIFORM)
    for law in (LAPLACE, GAUSSIAN)
)
_ABSOLUTE: Final = (
    (0.3995, 0.1159, 0.2843, 0.0860, 4.6319, 1.2742),
    (0.1912, 0.0764, 0.1501, 0.0564, 1.5106, 0.5689),
    (0.4038, 0.1144, 0.2828, 0.0859, 2.9944, 0.8908),
    (0.3947, 0.1126, 0.2850, 0.0870, 4.0127, 1.1322),
)
_SQUARED: Final = (
    (0.5546, 0.1451, 0.4058, 0.1079, 6.3217, 1.5960),
    (0.2607, 0.0953, 0.2007, 0.0707, 2.0225, 0.7125),
    (0.5588, 0.1440, 0.4007, 0.1077, 4.2435, 1.1162),
    (0.5507, 0.1413, 0.4051, 0.1090, 5.6646, 1.4189),
)

TABLE_1: Final = {
    (*column, estimator): ErrorPair(absolute, squared)
    for estimator, absolutes, squares in zip(_NAMES, _ABSOLUTE, _SQUARED, strict=True)
    for column, absolute, squared in zip(_COLUMNS, absolutes, squares, strict=True)
}
"""By the names of dataset, noise and estimator."""

UNEXPLAINED: Final = dict.fromkeys(
    ((NORMAL.name, estimator) for estimator in ("plug-in", "center", "resize")),
    "no bounds give all the printed rows of Normal: simplex fits ±5.00, which are used here, the "
    "other three fit ±4.80",
)
"""Why the cells of a dataset and an estimator cannot be reproduced."""

DEDUCED: Final = (
    "The paper gives neither bounds nor means nor shares of the budget. Deduced from its numbers: "
    "the bounds; the means 50 of Uniform, 0 of Normal and 1.65 of LogNormal; shares at which the "
    "noise of the sum is the width of the bounds times the noise of the count. LogNormal needs "
    "bounds about 0, or center would not be plug-in; what was deduced fits it less well than "
    "Uniform.",
    "Resize needs noise for a row's whole range. On Normal and LogNormal the printed rows have it "
    "if the shares of sum and count were swapped, as here; else they have half the noise they "
    "need. The rows it lacks are filled in with the mean, a prior belief at its best.",
)
"""What a reader of the table has to know."""
