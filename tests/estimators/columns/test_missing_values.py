"""A missing value is never a number: what each estimator of many columns makes of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opendp_lite as dp

LARGE = 10**6
"""A budget whose noise is far below the differences that are looked for."""

TABLE = np.array([[4.0, 6.0]] * 60 + [[np.nan, 6.0]] * 40)

ESTIMATORS = {
    "elliptical_mean": (dp.estimators.elliptical_mean([0, 0], [10, 10], rho=LARGE), 5.0),
    "gaussian_mean": (dp.estimators.gaussian_mean(10, rho=LARGE), 0.0),
    "laplace_mean": (dp.estimators.laplace_mean(10, epsilon=LARGE), 0.0),
    "l2_mechanism_mean": (dp.estimators.l2_mechanism_mean(10, epsilon=LARGE), 0.0),
    "plan_plus_mean": (dp.estimators.plan_plus_mean(100, rho=LARGE), 4.0),
    "simplex_vector_mean": (dp.estimators.simplex_vector_mean(20, rho=LARGE), None),
    "plan_mean": (dp.estimators.plan_mean(100, rho=LARGE), 4.0),
}
"""Each with the number that stands in for a missing value of the first column."""

NEEDS_SIZE, NEEDS_NO_SIZE = {"plan_mean"}, {"simplex_vector_mean"}


@pytest.mark.parametrize("name", sorted(ESTIMATORS.keys() - NEEDS_SIZE))
def test_rows_are_left_out_where_their_number_is_private(name: str) -> None:
    mean: Any = ESTIMATORS[name][0]
    released = (dp.records(columns=2) >> mean)(TABLE)
    np.testing.assert_allclose(released, [4.0, 6.0], atol=0.05)


@pytest.mark.parametrize("name", sorted(ESTIMATORS.keys() - NEEDS_NO_SIZE))
def test_the_centre_stands_in_where_their_number_is_public(name: str) -> None:
    mean, centre = ESTIMATORS[name]
    space = dp.records(columns=2, size=len(TABLE), metric=dp.ChangeOneDistance())
    released = (space >> mean)(TABLE)
    np.testing.assert_allclose(released, [0.6 * 4 + 0.4 * centre, 6.0], atol=0.05)
