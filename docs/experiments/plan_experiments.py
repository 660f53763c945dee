"""The experiments of the PLAN paper: their settings as published, and their data.

The data are drawn anew for every run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from math import ceil, sqrt
from typing import Final, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

Axis = Literal["d", "alpha"]
Error = Literal["true", "empirical"]
Size = Literal["quick", "usual", "full"]

POWERS: Final = (16, 32, 64, 128, 256, 512, 1024)
HALVES: Final = (0.0, 0.5, 1.0, 1.5, 2.0)
QUARTERS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
RHOS: Final = (1.0, 0.5, 0.25, 0.125, 0.0625)
PRINTED_RHOS: Final = (1.0, 0.5, 0.125)
LOW_RHO: Final = 0.01
RUNS: Final = 5
"""The experiments of the PLAN paper: their settings as published, and their data.

The data are drawn anew for every run.
"""
GAUSSIAN: Final = ("empirical", "plan", "plan-unscaled", "iome", "ours", "ours-add-remove")
BINARY: Final = ("empirical", "plan", "plan-unscaled", "iome", "ours", "ours-add-remove")
VARIANCE: Final = ("direct-075", "direct-0841", "direct-09", "general-1", "general-4", "magnitude")


@attrs.frozen
class PlanDataset:
    """A dataset to draw. ``alpha`` is the skew, the ratio of fair bits, or the variance."""

    experiment: str
    n: int
    d: int
    alpha: float

    def seed(self, run: int) -> int:
        """The seed of one draw, the same on every machine."""
        name = f"{self.experiment} {self.n} {self.d} {self.alpha!r} {run}"
        return int.from_bytes(sha256(name.encode()).digest()[:6], "big")


@attrs.frozen
class SettingGrid:
    """The numbers of columns and the alphas of a series."""

    columns: tuple[int, ...]
    alphas: tuple[float, ...]


NOTHING: Final = SettingGrid((), ())


@attrs.frozen
class Series:
    """One curve of each estimator: datasets that differ along ``axis``."""

    name: str
    title: str
    n: int
    axis: Axis
    errors: tuple[Error, ...]
    quick: SettingGrid
    usual: SettingGrid
    full: SettingGrid

    def datasets(self, size: Size) -> tuple[PlanDataset, ...]:
        """The datasets along the axis."""
        grid: SettingGrid = {"quick": self.quick, "usual": self.usual, "full": self.full}[size]
        return tuple(
            PlanDataset(self.name, self.n, columns, alpha)
            for columns in grid.columns
            for alpha in grid.alphas
        )

    def name_at(self, size: Size) -> str:
        """The title, with the number of columns where it is the same all along the axis."""
        columns = {each.d for each in self.datasets(size)}
        return f"{self.title}, d = {columns.pop()}" if len(columns) == 1 else self.title


@attrs.frozen
class PlanExperiment:
    """One command: every estimator at every rho on every dataset of the series."""

    name: str
    title: str
    series: tuple[Series, ...]
    rhos: tuple[float, ...]
    quick_rhos: tuple[float, ...]
    estimators: tuple[str, ...]
    quick_runs: int
    runs: int
    full_runs: int = 50

    def runs_of(self, size: Size) -> int:
        """How often each estimator runs."""
        return {"quick": self.quick_runs, "usual": self.runs, "full": self.full_runs}[size]

    def rhos_of(self, size: Size) -> tuple[float, ...]:
        """The budgets."""
        return self.quick_rhos if size == "quick" else self.rhos


def _by_columns(
    name: str,
    title: str,
    n: int,
    alpha: float,
    errors: tuple[Error, ...],
    quick: tuple[int, ...] = (16, 64),
    usual: tuple[int, ...] = POWERS,
) -> Series:
    few, some, all_ = (SettingGrid(columns, (alpha,)) for columns in (quick, usual, POWERS))
    return Series(name, title, n, "d", errors, few, some, all_)


def _by_skew(name: str, title: str, n: int, columns: int, quick_columns: int) -> Series:
    few = SettingGrid((quick_columns,), (0.0, 1.0, 2.0))
    some = SettingGrid((columns,), HALVES)
    return Series(name, title, n, "alpha", ("true", "empirical"), few, some, some)


_FEW_BITS: Final = 128


def _binary(columns: int, errors: tuple[Error, ...], sizes: tuple[Size, ...]) -> Series:
    few, some = SettingGrid((_FEW_BITS,), (0.0, 0.5, 1.0)), SettingGrid((columns,), QUARTERS)
    return Series(
        "plan-binary",
        "bits",
        4096,
        "alpha",
        errors,
        few if "quick" in sizes else NOTHING,
        some if "usual" in sizes else NOTHING,
        some,
    )


_A: Final = ("true", "empirical")
_C: Final = ("empirical", "true")
_LOW_QUICK, _LOW_USUAL = (4, 8), POWERS[:5]

EXPERIMENTS: Final = {
    each.name: each
    for each in (
        PlanExperiment(
            name="plan-a",
            title="Gaussian A: no skew, n = 4000",
            series=(_by_columns("plan-a", "Gaussian A", 4000, 0.0, _A, (16, 64, 256)),),
            rhos=RHOS,
            quick_rhos=(1.0, 0.125),
            estimators=GAUSSIAN,
            quick_runs=RUNS,
            runs=RUNS,
        ),
        PlanExperiment(
            name="plan-b",
            title="Gaussian B: growing skew, n = 10 000",
            series=(_by_skew("plan-b", "Gaussian B", 10_000, 512, 48),),
            rhos=RHOS,
            quick_rhos=(1.0, 0.125),
            estimators=GAUSSIAN,
            quick_runs=RUNS,
            runs=RUNS,
        ),
        PlanExperiment(
            name="plan-c",
            title="Gaussian C: skewed (alpha = 2), n = 10 000",
            series=(_by_columns("plan-c", "Gaussian C", 10_000, 2.0, _C, (16, 32, 64)),),
            rhos=RHOS,
            quick_rhos=(1.0, 0.125),
            estimators=GAUSSIAN,
            quick_runs=RUNS,
            runs=RUNS,
        ),
        PlanExperiment(
            name="plan-low",
            title="A small budget, n = 100 000",
            series=(
                _by_columns("plan-low-a", "Gaussian A", 100_000, 0.0, _A, _LOW_QUICK, _LOW_USUAL),
                _by_skew("plan-low-b", "Gaussian B", 100_000, 64, 4),
                _by_columns("plan-low-c", "Gaussian C", 100_000, 2.0, _C, _LOW_QUICK, _LOW_USUAL),
            ),
            rhos=(LOW_RHO,),
            quick_rhos=(LOW_RHO,),
            estimators=GAUSSIAN,
            quick_runs=RUNS,
            runs=RUNS,
        ),
        PlanExperiment(
            name="plan-binary",
            title="Bits: a share of them fair, the others 1 with probability 1/100, n = 4096",
            series=(
                _binary(256, ("true",), ("quick", "usual")),
                _binary(512, ("true",), ()),
                _binary(1024, ("true", "empirical"), ("usual",)),
                _binary(2048, ("true",), ()),
            ),
            rhos=PRINTED_RHOS,
            quick_rhos=(1.0, 0.125),
            estimators=BINARY,
            quick_runs=RUNS,
            runs=RUNS,
        ),
        PlanExperiment(
            name="plan-correlated",
            title="Correlated columns",
            series=(
                _by_columns("plan-correlated-a", "Gaussian A', n = 4000", 4000, 0.0, ("true",)),
                _by_columns(
                    "plan-correlated-c", "Gaussian C', n = 10 000", 10_000, 2.0, ("empirical",)
                ),
            ),
            rhos=PRINTED_RHOS,
            quick_rhos=(1.0, 0.125),
            estimators=GAUSSIAN,
            quick_runs=RUNS,
            runs=RUNS,
        ),
        PlanExperiment(
            name="plan-variance",
            title="The variance of one column, n = 10 000",
            series=(
                Series(
                    "plan-variance",
                    "N(10, variance)",
                    10_000,
                    "alpha",
                    ("true",),
                    *(SettingGrid((1,), (0.001, 1.0)),) * 3,
                ),
            ),
            rhos=(1e-3, 1e-2),
            quick_rhos=(1e-3, 1e-2),
            estimators=VARIANCE,
            quick_runs=10,
            runs=100,
            full_runs=100,
        ),
    )
}
"""The experiments of the PLAN paper: their settings as published, and their data.

The data are drawn anew for every run.
"""


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
def draw_sample(dataset: PlanDataset, run: int) -> Sample:
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
