"""The columns of the table: how each is simulated, and its errors in closed form."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, sqrt
from typing import Final

import attrs
import numpy as np

from opendp_lite.reproduce.free_lunch.laws import GAUSSIAN, LAPLACE, Errors, Law
from opendp_lite.reproduce.free_lunch.rows import Floats, Truth
from opendp_lite.reproduce.free_lunch.settings import ROWS, Dataset

_FIRST_LOOK, _FIRST_SUM = 0.1, 0.75


@attrs.frozen
class Setting:
    """What an estimator is told: the bounds, and the loss that it may cost."""

    dataset: Dataset
    law: Law
    loss: float

    def share(self, sensitivity: float) -> float:
        """Of the budget for a sum of this sensitivity, as in the printed table."""
        return self.law.share(self.dataset.width / sensitivity)


@attrs.frozen
class Estimator:
    """A name for the table, a label for people, and what it does.

    ``forecast`` simulates releases; ``expected`` gives the errors to the first order in the noise,
    where they have a closed form.
    """

    name: str
    label: str
    laws: tuple[Law, ...]
    ours: bool
    forecast: Callable[[Setting, Truth, int, np.random.Generator], Floats]
    expected: Callable[[Setting], Errors]


_DRAW: Final[dict[Law, Callable[[np.random.Generator, float, int], Floats]]] = {
    LAPLACE: lambda random, scale, runs: random.laplace(0.0, scale, runs),
    GAUSSIAN: lambda random, scale, runs: random.normal(0.0, scale, runs),
}


def _noise(
    setting: Setting, sensitivity: float, share: float, runs: int, random: np.random.Generator
) -> Floats:
    scale = setting.law.scale(sensitivity, share * setting.loss)
    return _DRAW[setting.law](random, scale, runs)


def _within(setting: Setting, estimates: Floats) -> Floats:
    return estimates.clip(setting.dataset.lower, setting.dataset.upper)


@attrs.frozen
class Parts:
    """A sum of x - origin, its sensitivity, its share of the budget; the count has the rest."""

    origin: float
    sensitivity: float
    share: float


def _plug_in(setting: Setting) -> Parts:
    reach = setting.dataset.reach
    return Parts(0.0, reach, setting.share(reach))


def _center(setting: Setting) -> Parts:
    half = setting.dataset.half
    return Parts(setting.dataset.middle, half, setting.share(half))


def _three_quarters(setting: Setting) -> Parts:
    return attrs.evolve(_center(setting), share=0.75)


def _sum_and_count(
    name: str, label: str, laws: tuple[Law, ...], ours: bool, parts: Callable[[Setting], Parts]
) -> Estimator:
    def forecast(setting: Setting, truth: Truth, runs: int, random: np.random.Generator) -> Floats:
        of = parts(setting)
        noise = _noise(setting, of.sensitivity, of.share, runs, random)
        count = truth.rows + _noise(setting, 1, 1 - of.share, runs, random)
        total = truth.rows * (truth.mean - of.origin) + noise
        return _within(setting, of.origin + total / np.maximum(count, 1))

    def expected(setting: Setting) -> Errors:
        of, law = parts(setting), setting.law
        of_sum = law.scale(of.sensitivity, of.share * setting.loss)
        of_count = law.scale(setting.dataset.mean - of.origin, (1 - of.share) * setting.loss)
        return law.errors(of_sum / ROWS, abs(of_count) / ROWS)

    return Estimator(name, label, laws, ours, forecast, expected)


def _simplex(setting: Setting, truth: Truth, runs: int, random: np.random.Generator) -> Floats:
    data = setting.dataset
    above, below = (
        truth.rows * distance + _noise(setting, data.width, 1, runs, random)
        for distance in (truth.mean - data.lower, data.upper - truth.mean)
    )
    rows = np.maximum((above + below) / data.width, 1)
    return _within(setting, data.lower + above / rows)


def _simplex_errors(setting: Setting) -> Errors:
    data = setting.dataset
    scales = (
        setting.law.scale(distance, setting.loss) / ROWS
        for distance in (data.upper - data.mean, data.mean - data.lower)
    )
    return setting.law.errors(*scales)


def _swapped(setting: Setting) -> float:
    return 1 - setting.share(setting.dataset.reach)


def _resize(setting: Setting, truth: Truth, runs: int, random: np.random.Generator) -> Floats:
    """A sample of a noisy number of rows, filled up with their mean, and its noisy sum."""
    data, of_sum = setting.dataset, _swapped(setting)
    size = np.rint(truth.rows + _noise(setting, 1, 1 - of_sum, runs, random)).clip(1)
    kept = size.clip(max=truth.rows)
    deviation = np.sqrt(truth.variance * (truth.rows / kept - 1) / (truth.rows - 1))
    sampled = random.normal(0, 1, runs) * deviation * kept / size
    return _within(
        setting, truth.mean + sampled + _noise(setting, data.width, of_sum, runs, random) / size
    )


def _resize_errors(setting: Setting) -> Errors:
    scale = setting.law.scale(setting.dataset.width, _swapped(setting) * setting.loss)
    return setting.law.errors(scale / ROWS, 0)


def _recentred(setting: Setting, truth: Truth, runs: int, random: np.random.Generator) -> Floats:
    """A first look at the mean decides the shares of a second sum and count."""
    data, half = setting.dataset, setting.dataset.half
    total, rows = truth.rows * (truth.mean - data.middle), truth.rows

    def look(share: float, of_sum: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """The two observations, with a precision for each."""
        left = setting.loss * share
        with np.errstate(divide="ignore"):
            precise = 2 * left * of_sum / half**2, 2 * left * (1 - of_sum)
            noise = random.normal(0, 1, (2, runs)) / np.sqrt(precise)
        return total + noise[0], rows + noise[1], *precise

    sum_1, rows_1, weight_1, count_weight_1 = look(_FIRST_LOOK, np.full(runs, _FIRST_SUM))
    off = np.abs(sum_1 / np.maximum(rows_1, 1)).clip(max=half) / half
    sum_2, rows_2, weight_2, count_weight_2 = look(1 - _FIRST_LOOK, 1 / (1 + off))
    merged = (weight_1 * sum_1 + weight_2 * sum_2) / (weight_1 + weight_2)
    count = (count_weight_1 * rows_1 + count_weight_2 * rows_2) / (count_weight_1 + count_weight_2)
    return _within(setting, data.middle + merged / np.maximum(count, 1))


def _core(stretch: float) -> Estimator:
    def forecast(setting: Setting, truth: Truth, runs: int, random: np.random.Generator) -> Floats:
        data = setting.dataset
        shape = 2 + (random.random(runs) < 2 / (2 + stretch))
        core = random.gamma(shape)
        off, more = random.uniform(-1, 1, (2, runs))
        total = truth.rows * (truth.mean - data.middle) + data.half / setting.loss * core * off
        count = truth.rows + (core + stretch) * more / setting.loss
        return _within(setting, data.middle + total / np.maximum(count, 1))

    def expected(setting: Setting) -> Errors:
        of_sum = (8 + 2 * stretch) / (2 + stretch)
        of_count = (24 + 18 * stretch + 6 * stretch**2 + stretch**3) / (3 * (2 + stretch))
        data = setting.dataset
        error = hypot(data.half * sqrt(of_sum), data.offset * sqrt(of_count))
        return Errors(None, error / setting.loss / ROWS)

    label = f"ours: core, stretch {stretch:g}"
    return Estimator(f"core-{stretch:g}", label, (LAPLACE,), True, forecast, expected)


def _unknown(setting: Setting) -> Errors:
    """It has no closed form."""
    return Errors()


_BOTH: Final = (LAPLACE, GAUSSIAN)

ESTIMATORS: Final = (
    _sum_and_count("plug-in", "plug-in", _BOTH, False, _plug_in),
    Estimator("simplex", "simplex", _BOTH, False, _simplex, _simplex_errors),
    _sum_and_count("center", "center", _BOTH, False, _center),
    Estimator("resize", "resize", _BOTH, False, _resize, _resize_errors),
    _sum_and_count("three-quarters", "ours: 3/4 on the sum", (GAUSSIAN,), True, _three_quarters),
    _core(1),
    Estimator("recentred", "ours: recentred", (GAUSSIAN,), True, _recentred, _unknown),
    _core(2.35),
)
"""In the order of the table: those of the paper, then ours."""
