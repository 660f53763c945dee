"""Every estimator against many releases of the neighbours that move it most."""

from __future__ import annotations

import numpy as np
import pytest

import opendp_lite as dp

pytestmark = pytest.mark.usefixtures("seeded")
REPLACE = dp.ChangeOneDistance()
FAR = 10.0
NONE: list[float] = []
ADDED = {
    "a row far out": ([0.0] * 4, [0.0, 0.0, 0.0, 0.0, FAR]),
    "the median at a jump": ([-FAR, -FAR, FAR], [-FAR, -FAR, FAR, FAR]),
    "the first row": (NONE, [FAR]),
}
REPLACED = {
    "from one end to the other": ([0.0, 0.0, 0.0, -FAR], [0.0, 0.0, 0.0, FAR]),
    "the median at a jump": ([-FAR, -FAR, -FAR, FAR, FAR], [-FAR, -FAR, FAR, FAR, FAR]),
    "the only row": ([-FAR], [FAR]),
}
FAST = [
    dp.estimators.gaussian_mean(FAR, rho=0.5),
    dp.estimators.laplace_mean(FAR, epsilon=1),
    dp.estimators.elliptical_mean(-FAR, FAR, rho=0.5),
    dp.estimators.scaled_mean(FAR / 3, rho=0.5),
]
SLOW = [
    dp.estimators.scaled_mean(FAR / 3, rho=0.5, searched=True),
    dp.estimators.plan_plus_mean(FAR, rho=0.5),
    dp.estimators.normal_variance(FAR, rho=0.5),
    dp.estimators.normal_variance(FAR, rho=0.5, by="pairs"),
    dp.estimators.quantile_by_search(0.5, -FAR, FAR, rho=0.5, steps=1),
]
SIZED = [
    dp.estimators.plan_mean(FAR, rho=0.5),
    dp.estimators.plan_mean(FAR, rho=0.5, variances="none"),
    dp.estimators.iome_mean(FAR, rho=0.5, steps=1),
    dp.estimators.normal_variance(FAR, rho=0.5, by="direct"),
    dp.estimators.normal_variance(FAR, rho=0.5, by="binary"),
]
MANY, FEW = 300, 100
"""Among so few releases a leak of values or of control flow shows. Too little noise shows among
more, in ``test_half_the_noise_would_be_found``; the queries that programs ask are audited by
themselves."""


@pytest.mark.parametrize("where", ADDED)
@pytest.mark.parametrize("mechanism", FAST, ids=repr)
def test_nothing_is_found_where_a_row_is_added(mechanism, where):
    """Each would fail with probability 1e-7, were the seed not fixed."""
    dp.audit(mechanism, *ADDED[where], releases=MANY)


@pytest.mark.parametrize("where", REPLACED)
@pytest.mark.parametrize("mechanism", FAST, ids=repr)
def test_nothing_is_found_where_a_row_is_replaced(mechanism, where):
    data, other = REPLACED[where]
    space = dp.records(size=len(data), metric=REPLACE)
    dp.audit(space >> mechanism, data, other, releases=MANY)


@pytest.mark.parametrize("mechanism", SLOW[:3], ids=repr)
def test_nothing_is_found_in_programs_where_a_row_is_added(mechanism):
    dp.audit(mechanism, *ADDED["the median at a jump"], releases=FEW)


@pytest.mark.parametrize("mechanism", SLOW + SIZED, ids=repr)
def test_nothing_is_found_in_programs_where_a_row_is_replaced(mechanism):
    data, other = REPLACED["the median at a jump"]
    space = dp.records(size=len(data), metric=REPLACE)
    dp.audit(space >> mechanism, data, other, releases=FEW)


HALVED = {
    "gaussian_mean": (lambda k: dp.estimators.gaussian_mean(FAR, rho=k * k), 1200),
    "elliptical_mean": (lambda k: dp.estimators.elliptical_mean(-FAR, FAR, rho=k * k), 1200),
    "scaled_mean": (lambda k: dp.estimators.scaled_mean(FAR / 3, rho=k * k), 1200),
    "laplace_mean": (lambda k: dp.estimators.laplace_mean(FAR, epsilon=2 * k), 1600),
}
"""With noise of a scale of 1 / k, and how many releases find half of it."""


@pytest.mark.parametrize("name", HALVED)
def test_half_the_noise_would_be_found(name, falsely):
    """On a space of three rows, with the largest move; honestly it is found in 1e-7 of tests."""
    make, releases = HALVED[name]
    data, other = [0.0, 0.0, -2 * FAR], [0.0, 0.0, 2 * FAR]
    space = dp.records(size=3, metric=REPLACE)
    honest = space >> make(1)
    dp.audit(honest, data, other, releases=releases)
    with pytest.raises(AssertionError, match="at least"):
        dp.audit(falsely(honest, space >> make(2)), data, other, releases=releases)


@pytest.mark.parametrize("distance", [2, 3])
def test_groups_of_rows(distance):
    data, other = [-FAR] * 3, [FAR] * distance + [-FAR] * (3 - distance)
    space = dp.records(size=3, metric=REPLACE)
    mechanisms = [
        (dp.estimators.gaussian_mean(FAR, rho=0.1), MANY),
        (dp.estimators.normal_variance(FAR, rho=0.1), FEW),
    ]
    for mechanism, releases in mechanisms:
        dp.audit(space >> mechanism, data, other, d_in=distance, releases=releases)


def test_no_release_tells_a_value_of_the_data():
    """A number that is in the data comes out no more often than its neighbours."""
    value = 1.2345678
    space = dp.records(size=5, metric=REPLACE)
    for mechanism in (
        dp.estimators.plan_plus_mean(FAR, rho=0.5),
        dp.estimators.normal_variance(FAR, rho=0.5),
    ):
        bound = space >> mechanism
        assert all(bound([value] * 5)[0] != value for _ in range(20))


def test_rows_of_several_columns_at_an_extreme():
    rows = np.zeros((4, 3))
    end = np.full((1, 3), FAR)
    data, other = np.concatenate([rows, -end]), np.concatenate([rows, end])
    space = dp.records(columns=3, size=5, metric=REPLACE)
    for mechanism in (
        dp.estimators.gaussian_mean(FAR, rho=0.5),
        dp.estimators.elliptical_mean(-FAR, FAR, rho=0.5),
    ):
        dp.audit(space >> mechanism, data, other, releases=MANY)
