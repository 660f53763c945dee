"""The cells of the table: many releases of one estimator, and how far they are off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from math import hypot, sqrt
from typing import Final

import attrs
import numpy as np

from opendp_lite.reproduce.free_lunch.free_lunch_estimators import (
    ESTIMATORS,
    FreeLunchEstimator,
    FreeLunchSetting,
)
from opendp_lite.reproduce.free_lunch.free_lunch_published import TABLE_1, UNEXPLAINED
from opendp_lite.reproduce.free_lunch.free_lunch_rows import Floats, truth
from opendp_lite.reproduce.free_lunch.free_lunch_settings import (
    RUNS,
    FreeLunchDataset,
    FreeLunchExperiment,
)
from opendp_lite.reproduce.free_lunch.noise_laws import ErrorPair, NoiseLaw

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


def cells(
    experiment: FreeLunchExperiment,
    losses: Mapping[NoiseLaw, float],
    runs: int,
    made: Callable[[int], object],
) -> list[FreeLunchCell]:
    """All cells of an experiment. ``made`` is called with the number of new releases."""
    return [
        cell(estimator, FreeLunchSetting(dataset, law, losses[law]), runs, made)
        for dataset in experiment.datasets
        for law in experiment.laws
        for estimator in estimators_of(law)
    ]


def estimators_of(law: NoiseLaw) -> list[FreeLunchEstimator]:
    """The estimators that use this noise."""
    return [each for each in ESTIMATORS if law in each.laws]


def cell(
    estimator: FreeLunchEstimator,
    setting: FreeLunchSetting,
    runs: int,
    made: Callable[[int], object],
) -> FreeLunchCell:
    """The errors of ``runs`` releases, the same at every call."""
    random = np.random.default_rng(_seed(setting.dataset, setting.law, estimator))
    estimates = np.empty(runs)
    for start in range(0, runs, _BLOCK):
        block = estimates[start : start + _BLOCK]
        block[:] = estimator.forecast(setting, truth(setting.dataset), len(block), random)
        made(len(block))
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
