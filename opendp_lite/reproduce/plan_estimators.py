"""The compared estimators, each at its true loss rho."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import attrs
import numpy as np
from scipy.sparse import csr_array

import opendp_lite as dp
from opendp_lite.reproduce.plan_data import Floats, Sample

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

        def program(ask: dp.Ask[dp.ZeroConcentratedDivergence]) -> Any:
            middle = ask(dp.private_quantile(0.5, bounds=ends, rho=loss / 4))
            return (ask(dp.private_quantile(share, bounds=ends, rho=ask.left)) - middle) ** 2

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
