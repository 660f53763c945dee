"""The estimators of the table and their errors, in closed form and simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from math import hypot, sqrt
from typing import Any, Final

import attrs
import numpy as np

import opendp_lite as dp
from free_lunch_experiments import (
    GAUSSIAN,
    LAPLACE,
    ROWS,
    RUNS,
    TABLE_1,
    UNEXPLAINED,
    ErrorPair,
    Floats,
    FreeLunchDataset,
    FreeLunchExperiment,
    NoiseLaw,
    truth,
)
from opendp_lite.estimators.parts.request import Scenario

_MOST_OF_IT: Final = 0.75


@attrs.frozen
class FreeLunchSetting:
    """The dataset, the noise and the privacy loss of a release."""

    dataset: FreeLunchDataset
    law: NoiseLaw
    loss: float

    def share(self, sensitivity: float) -> float:
        """The share of the budget for a sum of this sensitivity, as in the printed table."""
        return self.law.share(self.dataset.width / sensitivity)

    def of(self, mean: Callable[..., Any], **others: float) -> Any:
        """A mean with these bounds and this loss."""
        data = self.dataset
        return mean(data.lower, data.upper, **{self.law.option: self.loss}, **others)


@attrs.frozen
class FreeLunchEstimator:
    """An estimator with a name for the table and a label for people.

    ``mechanism`` is what it releases; ``expected`` gives the errors to the first order in the
    noise, where they have a closed form.
    """

    name: str
    label: str
    laws: tuple[NoiseLaw, ...]
    ours: bool
    mechanism: Callable[[FreeLunchSetting], Any]
    expected: Callable[[FreeLunchSetting], ErrorPair]

    def forecast(
        self, setting: FreeLunchSetting, truth: Scenario, runs: int, random: np.random.Generator
    ) -> Floats:
        """Simulated releases."""
        bound = self.mechanism(setting).bind(dp.records())
        found: Floats = bound.facts.simulate(truth, runs, random).mean
        return found


def _plug_in(setting: FreeLunchSetting) -> Any:
    return setting.of(dp.estimators.plug_in_mean, share=setting.share(setting.dataset.reach))


def _plug_in_errors(setting: FreeLunchSetting) -> ErrorPair:
    reach = setting.dataset.reach
    return _of_sum_and_count(setting, 0.0, reach, setting.share(reach))


def _simplex(setting: FreeLunchSetting) -> Any:
    return setting.of(dp.estimators.simplex_mean)


def _simplex_errors(setting: FreeLunchSetting) -> ErrorPair:
    data = setting.dataset
    scales = (
        setting.law.scale(distance, setting.loss) / ROWS
        for distance in (data.upper - data.mean, data.mean - data.lower)
    )
    return setting.law.errors(*scales)


def _center(setting: FreeLunchSetting) -> Any:
    return setting.of(dp.estimators.centered_mean, share=setting.share(setting.dataset.half))


def _center_errors(setting: FreeLunchSetting) -> ErrorPair:
    data = setting.dataset
    return _of_sum_and_count(setting, data.middle, data.half, setting.share(data.half))


def _swapped(setting: FreeLunchSetting) -> float:
    return 1 - setting.share(setting.dataset.reach)


def _resize(setting: FreeLunchSetting) -> Any:
    return setting.of(
        dp.estimators.resized_mean, share=_swapped(setting), fill=setting.dataset.mean
    )


def _resize_errors(setting: FreeLunchSetting) -> ErrorPair:
    scale = setting.law.scale(setting.dataset.width, _swapped(setting) * setting.loss)
    return setting.law.errors(scale / ROWS, 0)


def _three_quarters(setting: FreeLunchSetting) -> Any:
    return setting.of(dp.estimators.centered_mean, share=_MOST_OF_IT)


def _three_quarters_errors(setting: FreeLunchSetting) -> ErrorPair:
    data = setting.dataset
    return _of_sum_and_count(setting, data.middle, data.half, _MOST_OF_IT)


def _of_sum_and_count(
    setting: FreeLunchSetting, origin: float, sensitivity: float, share: float
) -> ErrorPair:
    """A sum of x - origin with a share of the budget, and a count with the rest."""
    law, offset = setting.law, abs(setting.dataset.mean - origin)
    of_sum = law.scale(sensitivity, share * setting.loss)
    of_count = law.scale(offset, (1 - share) * setting.loss)
    return law.errors(of_sum / ROWS, of_count / ROWS)


def _recentred(setting: FreeLunchSetting) -> Any:
    return setting.of(dp.estimators.recentred_mean)


def _no_closed_form(setting: FreeLunchSetting) -> ErrorPair:
    return ErrorPair()


def _core(stretch: float) -> FreeLunchEstimator:
    def mechanism(setting: FreeLunchSetting) -> Any:
        return setting.of(dp.estimators.joint_mean, stretch=stretch)

    def expected(setting: FreeLunchSetting) -> ErrorPair:
        of_sum = (8 + 2 * stretch) / (2 + stretch)
        of_count = (24 + 18 * stretch + 6 * stretch**2 + stretch**3) / (3 * (2 + stretch))
        data = setting.dataset
        error = hypot(data.half * sqrt(of_sum), data.offset * sqrt(of_count))
        return ErrorPair(None, error / setting.loss / ROWS)

    label = f"ours: core, stretch {stretch:g}"
    return FreeLunchEstimator(f"core-{stretch:g}", label, (LAPLACE,), True, mechanism, expected)


_BOTH: Final = (LAPLACE, GAUSSIAN)
_ONE: Final = (GAUSSIAN,)

ESTIMATORS: Final = (
    FreeLunchEstimator("plug-in", "plug-in", _BOTH, False, _plug_in, _plug_in_errors),
    FreeLunchEstimator("simplex", "simplex", _BOTH, False, _simplex, _simplex_errors),
    FreeLunchEstimator("center", "center", _BOTH, False, _center, _center_errors),
    FreeLunchEstimator("resize", "resize", _BOTH, False, _resize, _resize_errors),
    FreeLunchEstimator(
        "three-quarters",
        "ours: 3/4 on the sum",
        _ONE,
        True,
        _three_quarters,
        _three_quarters_errors,
    ),
    _core(1),
    FreeLunchEstimator("recentred", "ours: recentred", _ONE, True, _recentred, _no_closed_form),
    _core(2.35),
)
"""In the order of the table: those of the paper, then ours."""


_BLOCK: Final = 50_000


@attrs.frozen
class ErrorEntry:
    """An error: found with its Monte Carlo standard error, expected, and printed.

    The last two are None where there is no closed form and where nothing was printed.
    """

    found: float
    standard_error: float
    expected: float | None
    printed: float | None
    runs: int

    @property
    def percent(self) -> float | None:
        """How far it lies above the printed value."""
        return None if self.printed is None else 100 * (self.found / self.printed - 1)

    @property
    def standard_errors(self) -> float | None:
        """The same in standard errors of the difference: the printed value has its own too."""
        if self.printed is None:
            return None
        theirs = self.standard_error * sqrt(self.runs / RUNS)
        return (self.found - self.printed) / hypot(self.standard_error, theirs)


@attrs.frozen(eq=False)
class FreeLunchCell:
    """The estimates of a dataset by one estimator, with the two errors."""

    setting: FreeLunchSetting
    estimator: FreeLunchEstimator
    estimates: Floats
    absolute: ErrorEntry
    squared: ErrorEntry

    @property
    def unexplained(self) -> str | None:
        """Why the printed errors cannot be reproduced, or None."""
        if self.squared.printed is None:
            return None
        return UNEXPLAINED.get((self.setting.dataset.name, self.estimator.name))


def simulate_cells(
    experiment: FreeLunchExperiment,
    losses: Mapping[NoiseLaw, float],
    runs: int,
    report: Callable[[int], object],
) -> list[FreeLunchCell]:
    """All cells of an experiment. ``report`` is called with the number of new releases."""
    return [
        simulate_cell(estimator, FreeLunchSetting(dataset, law, losses[law]), runs, report)
        for dataset in experiment.datasets
        for law in experiment.laws
        for estimator in estimators_of(law)
    ]


def estimators_of(law: NoiseLaw) -> list[FreeLunchEstimator]:
    """The estimators that use this noise."""
    return [each for each in ESTIMATORS if law in each.laws]


def simulate_cell(
    estimator: FreeLunchEstimator,
    setting: FreeLunchSetting,
    runs: int,
    report: Callable[[int], object],
) -> FreeLunchCell:
    """The errors of ``runs`` releases, the same at every call."""
    random = np.random.default_rng(_seed(setting.dataset, setting.law, estimator))
    estimates = np.empty(runs)
    for start in range(0, runs, _BLOCK):
        block = estimates[start : start + _BLOCK]
        block[:] = estimator.forecast(setting, truth(setting.dataset), len(block), random)
        report(len(block))
    distances = np.abs(estimates - setting.dataset.mean)
    squares = distances**2
    root = sqrt(squares.mean())
    expected, printed = estimator.expected(setting), _printed(setting, estimator)
    return FreeLunchCell(
        setting,
        estimator,
        estimates,
        ErrorEntry(
            float(distances.mean()),
            _standard_error(distances),
            expected.absolute,
            printed.absolute,
            runs,
        ),
        ErrorEntry(
            root,
            _standard_error(squares) / (2 * root),
            expected.squared,
            printed.squared,
            runs,
        ),
    )


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1)) / sqrt(len(values))


def _printed(setting: FreeLunchSetting, estimator: FreeLunchEstimator) -> ErrorPair:
    """Nothing was printed at other losses."""
    if setting.loss != setting.law.loss:
        return ErrorPair()
    return TABLE_1.get((setting.dataset.name, setting.law.name, estimator.name), ErrorPair())


def _seed(dataset: FreeLunchDataset, law: NoiseLaw, estimator: FreeLunchEstimator) -> int:
    name = f"{dataset.name} {law.name} {estimator.name}"
    return int.from_bytes(sha256(name.encode()).digest()[:6], "big")
