"""The data of the experiments, drawn anew for every run."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil, sqrt
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.reproduce.plan_settings import PlanDataset

Floats = NDArray[np.float64]
Distance = Callable[[Floats, Floats], float]

_MIDDLE: Final = 10.0
_FAIR, _RARE = 0.5, 0.01
_WIDE: Final = 100.0


@attrs.frozen(eq=False)
class Sample:
    """Rows with entries in [-bound, bound], and the targets of an estimate."""

    rows: Floats
    bound: float
    seed: int
    true: Floats
    empirical: Floats
    distance: Distance


@lru_cache(maxsize=1)
def draw(dataset: PlanDataset, run: int) -> Sample:
    """Draws the rows of a run, the same for every estimator and budget."""
    seed = dataset.seed(run)
    random = np.random.default_rng(seed)
    return _LAWS[dataset.experiment](dataset, seed, random)


def deviations(dataset: PlanDataset) -> Floats:
    """sigma_i with sigma_i^2 = (d / i)^alpha."""
    d = dataset.d
    return np.power(d / np.arange(1, d + 1, dtype=np.float64), dataset.alpha / 2)


def fair_bits(dataset: PlanDataset) -> int:
    """How many columns hold fair bits."""
    return ceil(dataset.alpha * dataset.d)


def _flat(dataset: PlanDataset, seed: int, random: np.random.Generator) -> Sample:
    rows = random.standard_normal((dataset.n, dataset.d))
    return _of_mean(rows, 25 * sqrt(dataset.d), seed, np.zeros(dataset.d))


def _skewed(dataset: PlanDataset, seed: int, random: np.random.Generator) -> Sample:
    rows = random.standard_normal((dataset.n, dataset.d))
    return _about_ten(dataset, rows, seed)


def _flat_correlated(dataset: PlanDataset, seed: int, random: np.random.Generator) -> Sample:
    """Covariance L L' + 1, L above the diagonal uniform in [0, 1 / sqrt(d))."""
    n, d = dataset.n, dataset.d
    mixing = np.triu(random.uniform(0, 1 / sqrt(d), (d, d)), k=1)
    rows = random.standard_normal((n, d))
    rows += random.standard_normal((n, d)) @ mixing.T
    return _of_mean(rows, 25 * sqrt(d), seed, np.zeros(d))


def _skewed_correlated(dataset: PlanDataset, seed: int, random: np.random.Generator) -> Sample:
    """Any two columns have correlation one half: they share half of their variance."""
    shared = random.standard_normal((dataset.n, 1))
    rows = sqrt(0.5) * (random.standard_normal((dataset.n, dataset.d)) + shared)
    return _about_ten(dataset, rows, seed)


def _about_ten(dataset: PlanDataset, rows: Floats, seed: int) -> Sample:
    sigma = deviations(dataset)
    rows *= sigma
    rows += _MIDDLE
    bound = 50 * dataset.d * sqrt(sigma.max())
    return _of_mean(rows, bound, seed, np.full(dataset.d, _MIDDLE))


def _bits(dataset: PlanDataset, seed: int, random: np.random.Generator) -> Sample:
    chances = np.full(dataset.d, _RARE)
    chances[: fair_bits(dataset)] = _FAIR
    rows = (random.random((dataset.n, dataset.d)) < chances).astype(np.float64)
    return Sample(rows, 1.0, seed, chances, rows.mean(axis=0), _half_l1)


def _one_column(dataset: PlanDataset, seed: int, random: np.random.Generator) -> Sample:
    rows = random.normal(_MIDDLE, sqrt(dataset.alpha), (dataset.n, 1))
    true, empirical = np.array([dataset.alpha]), np.atleast_1d(rows.var(ddof=1))
    return Sample(rows, _WIDE, seed, true, empirical, _relative)


def _of_mean(rows: Floats, bound: float, seed: int, true: Floats) -> Sample:
    return Sample(rows, bound, seed, true, rows.mean(axis=0), _l2)


def _l2(estimate: Floats, target: Floats) -> float:
    return float(np.linalg.norm(estimate - target))


def _half_l1(estimate: Floats, target: Floats) -> float:
    return float(np.abs(estimate - target).sum() / 2)


def _relative(estimate: Floats, target: Floats) -> float:
    return float((np.abs(estimate - target) / target).max())


_LAWS: Final = {
    "plan-a": _flat,
    "plan-b": _skewed,
    "plan-c": _skewed,
    "plan-low-a": _flat,
    "plan-low-b": _skewed,
    "plan-low-c": _skewed,
    "plan-binary": _bits,
    "plan-correlated-a": _flat_correlated,
    "plan-correlated-c": _skewed_correlated,
    "plan-variance": _one_column,
}
