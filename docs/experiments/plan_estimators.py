"""The compared estimators, each at its true loss rho, and the errors that others published."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import attrs
import numpy as np
from scipy.sparse import csr_array

import opendp_lite as dp
from plan_experiments import Error, Floats, PlanDataset, Sample

Recipe = Callable[[Sample, float], Any]

_ROTATIONS: Final = 2**32


@attrs.frozen
class PlanEstimator:
    """An estimator with a name for tables and a label for people.

    ``cost`` is about how many seconds it takes for each million entries on one core.
    """

    label: str
    release: Recipe
    cost: float


def replace_one(sample: Sample) -> dp.Space[dp.Rows]:
    """Neighbours replace a row."""
    n, d = sample.rows.shape
    return dp.records(columns=d, size=n, metric=dp.ChangeOneDistance())


def add_remove(sample: Sample) -> dp.Space[dp.Rows]:
    """Neighbours have a row more or less."""
    return dp.records(columns=sample.rows.shape[1])


def _empirical(sample: Sample, rho: float) -> Floats:
    return sample.empirical


def _plan(variances: Any, p: int) -> Recipe:
    def release(sample: Sample, rho: float) -> Any:
        plan = dp.estimators.plan_mean(sample.bound, rho=rho, p=p, variances=variances)
        return (replace_one(sample) >> plan)(sample.rows)

    return release


def _iome(sample: Sample, rho: float) -> Any:
    iome = dp.estimators.iome_mean(sample.bound, rho=rho, seed=sample.seed % _ROTATIONS)
    return (replace_one(sample) >> iome)(sample.rows)


def _ours(space: Callable[[Sample], dp.Space[dp.Rows]]) -> Recipe:
    def release(sample: Sample, rho: float) -> Any:
        return (space(sample) >> dp.estimators.plan_plus_mean(sample.bound, rho=rho))(sample.rows)

    return release


def _bits(space: Callable[[Sample], dp.Space[dp.Rows]], *, published: bool) -> Recipe:
    def release(sample: Sample, rho: float) -> Any:
        mean = dp.estimators.binary_mean(rho=rho, published=published)
        return (space(sample) >> mean)(csr_array(sample.rows))

    return release


def _direct(share: Fraction) -> Recipe:
    """The squared distance from the median to a quantile, taken for one standard deviation."""

    def release(sample: Sample, rho: float) -> Any:
        ends, loss = (-sample.bound, sample.bound), Fraction(rho)

        def program(ask: dp.combinators.Ask[dp.ZeroConcentratedDivergence]) -> Any:
            middle = ask(dp.private_quantile(0.5, bounds=ends, rho=loss / 4, confidence=None))
            return (
                ask(dp.private_quantile(share, bounds=ends, rho=ask.left, confidence=None)) - middle
            ) ** 2

        direct = dp.adaptive(program, dp.rho(loss))
        return (replace_one(sample) >> direct)(sample.rows)

    return release


def _variance(by: Any, group: int) -> Recipe:
    def release(sample: Sample, rho: float) -> Any:
        variance = dp.estimators.normal_variance(sample.bound, rho=rho, by=by, group=group)
        return (replace_one(sample) >> variance)(sample.rows)

    return release


EMPIRICAL: Final = "empirical"
OURS: Final = ("ours", "magnitude")
"""The estimators that the others are compared with."""

_SAMPLE_MEAN = PlanEstimator("empirical mean (not private)", _empirical, 0.0)
_IOME = PlanEstimator("IOME", _iome, 1.7)
_OURS_LABEL = "ours (plan_plus_mean)"
_ADD_REMOVE_LABEL = "ours, add/remove (weaker unit)"

GAUSSIAN: Final = {
    EMPIRICAL: _SAMPLE_MEAN,
    "plan": PlanEstimator("PLAN", _plan("pairs", 2), 0.25),
    "plan-unscaled": PlanEstimator("PLAN without scaling", _plan("none", 2), 0.12),
    "iome": _IOME,
    "ours": PlanEstimator(_OURS_LABEL, _ours(replace_one), 0.35),
    "ours-add-remove": PlanEstimator(_ADD_REMOVE_LABEL, _ours(add_remove), 0.35),
}
BINARY: Final = {
    EMPIRICAL: _SAMPLE_MEAN,
    "plan": PlanEstimator("PLAN for bits", _bits(replace_one, published=True), 0.1),
    "plan-unscaled": PlanEstimator("PLAN without scaling", _plan("none", 1), 0.12),
    "iome": _IOME,
    "ours": PlanEstimator("ours (binary_mean)", _bits(replace_one, published=False), 0.1),
    "ours-add-remove": PlanEstimator(_ADD_REMOVE_LABEL, _bits(add_remove, published=False), 0.1),
}
VARIANCE: Final = {
    "direct-075": PlanEstimator("direct, 0.75", _direct(Fraction(75, 100)), 1.0),
    "direct-0841": PlanEstimator("direct, 0.841", _direct(Fraction(841, 1000)), 1.0),
    "direct-09": PlanEstimator("direct, 0.9", _direct(Fraction(9, 10)), 1.0),
    "general-1": PlanEstimator("pairs, k = 1", _variance("pairs", 1), 1.0),
    "general-4": PlanEstimator("pairs, k = 4", _variance("pairs", 4), 1.0),
    "magnitude": PlanEstimator("ours (magnitude)", _variance("magnitude", 1), 1.0),
}


def estimators_of(experiment: str) -> dict[str, PlanEstimator]:
    """The estimators of an experiment or one of its series, by their names in the table."""
    return {"plan-binary": BINARY, "plan-variance": VARIANCE}.get(experiment, GAUSSIAN)


def estimate(experiment: str, name: str, sample: Sample, rho: float) -> Floats:
    """An estimate, with an entry for each column."""
    found = estimators_of(experiment)[name].release(sample, rho)
    return np.atleast_1d(np.asarray(found, dtype=np.float64))


PLAN_FILES: Final = "the CSV files of the authors' code, at 1.3 to 3.8 times the rho stated"
BINARY_FILES: Final = "the CSV files of the authors' code"
APPENDIX_E: Final = (
    "medians printed in appendix E, those of PLAN by code that spends 1.3 to 3.8 times the rho "
    "stated"
)
TABLE_2: Final = "table 2"


@attrs.frozen
class Published:
    """One error that others report for a dataset, an estimator and a rho."""

    dataset: PlanDataset
    estimator: str
    rho: float
    error: Error
    value: float
    source: str


def _plan_file(series: str, n: int, d: int, alpha: float, value: float) -> Published:
    return Published(PlanDataset(series, n, d, alpha), "plan", 0.5, "true", value, PLAN_FILES)


def _binary_file(alpha: float, value: float) -> Published:
    dataset = PlanDataset("plan-binary", 4096, 1024, alpha)
    return Published(dataset, "plan", 0.5, "true", value, BINARY_FILES)


def _appendix(estimator: str, rho: float, value: float) -> Published:
    dataset = PlanDataset("plan-correlated-c", 10_000, 1024, 2.0)
    return Published(dataset, estimator, rho, "empirical", value, APPENDIX_E)


def _table_2(rho: float, variance: float, values: tuple[float, ...]) -> tuple[Published, ...]:
    dataset = PlanDataset("plan-variance", 10_000, 1, variance)
    names = ("direct-075", "direct-0841", "direct-09", "general-1", "general-4")
    return tuple(
        Published(dataset, name, rho, "true", value, TABLE_2)
        for name, value in zip(names, values, strict=True)
    )


PUBLISHED: Final = (
    _plan_file("plan-a", 4000, 16, 0.0, 0.0634),
    _plan_file("plan-a", 4000, 128, 0.0, 0.2041),
    _plan_file("plan-a", 4000, 256, 0.0, 0.3152),
    _plan_file("plan-a", 4000, 512, 0.0, 0.5117),
    _plan_file("plan-b", 10_000, 512, 0.0, 0.2698),
    _plan_file("plan-b", 10_000, 512, 1.0, 0.6787),
    _plan_file("plan-b", 10_000, 512, 2.0, 6.00),
    _plan_file("plan-c", 10_000, 256, 2.0, 3.20),
    _binary_file(0.0, 1.054),
    _binary_file(0.25, 2.408),
    _binary_file(1.0, 5.804),
    _appendix("plan", 1.0, 3.41),
    _appendix("plan", 0.5, 4.76),
    _appendix("plan", 0.125, 9.40),
    _appendix("iome", 1.0, 22.61),
    _appendix("iome", 0.5, 45.19),
    _appendix("iome", 0.125, 66.5),
    *_table_2(1e-3, 0.001, (0.332, 0.033, 0.279, 0.027, 0.017)),
    *_table_2(1e-3, 1.0, (0.308, 0.042, 0.314, 0.025, 0.012)),
    *_table_2(1e-2, 0.001, (0.313, 0.024, 0.305, 0.011, 0.007)),
    *_table_2(1e-2, 1.0, (0.322, 0.011, 0.265, 0.020, 0.006)),
)
