"""Numbers that were printed or published for settings that are run here."""

from __future__ import annotations

from typing import Final

import attrs

from opendp_lite.reproduce.plan_settings import Error, PlanDataset

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


def _plan(series: str, n: int, d: int, alpha: float, value: float) -> Published:
    return Published(PlanDataset(series, n, d, alpha), "plan", 0.5, "true", value, PLAN_FILES)


def _binary(alpha: float, value: float) -> Published:
    dataset = PlanDataset("plan-binary", 4096, 1024, alpha)
    return Published(dataset, "plan", 0.5, "true", value, BINARY_FILES)


def _correlated(estimator: str, rho: float, value: float) -> Published:
    dataset = PlanDataset("plan-correlated-c", 10_000, 1024, 2.0)
    return Published(dataset, estimator, rho, "empirical", value, APPENDIX_E)


def _variance(rho: float, variance: float, values: tuple[float, ...]) -> tuple[Published, ...]:
    dataset = PlanDataset("plan-variance", 10_000, 1, variance)
    names = ("direct-075", "direct-0841", "direct-09", "general-1", "general-4")
    return tuple(
        Published(dataset, name, rho, "true", value, TABLE_2)
        for name, value in zip(names, values, strict=True)
    )


PUBLISHED: Final = (
    _plan("plan-a", 4000, 16, 0.0, 0.0634),
    _plan("plan-a", 4000, 128, 0.0, 0.2041),
    _plan("plan-a", 4000, 256, 0.0, 0.3152),
    _plan("plan-a", 4000, 512, 0.0, 0.5117),
    _plan("plan-b", 10_000, 512, 0.0, 0.2698),
    _plan("plan-b", 10_000, 512, 1.0, 0.6787),
    _plan("plan-b", 10_000, 512, 2.0, 6.00),
    _plan("plan-c", 10_000, 256, 2.0, 3.20),
    _binary(0.0, 1.054),
    _binary(0.25, 2.408),
    _binary(1.0, 5.804),
    _correlated("plan", 1.0, 3.41),
    _correlated("plan", 0.5, 4.76),
    _correlated("plan", 0.125, 9.40),
    _correlated("iome", 1.0, 22.61),
    _correlated("iome", 0.5, 45.19),
    _correlated("iome", 0.125, 66.5),
    *_variance(1e-3, 0.001, (0.332, 0.033, 0.279, 0.027, 0.017)),
    *_variance(1e-3, 1.0, (0.308, 0.042, 0.314, 0.025, 0.012)),
    *_variance(1e-2, 0.001, (0.313, 0.024, 0.305, 0.011, 0.007)),
    *_variance(1e-2, 1.0, (0.322, 0.011, 0.265, 0.020, 0.006)),
)
