"""A missing value is never a number: what each estimator of many columns makes of one."""

from __future__ import annotations

import numpy as np
import pytest

import opendp_lite as dp

E = dp.estimators
LARGE = 10**6
"""A budget whose noise is far below the differences that are looked for."""

TABLE = np.array([[4.0, 6.0]] * 60 + [[np.nan, 6.0]] * 40)

ESTIMATORS = {
    "elliptical_mean": (E.elliptical_mean([0, 0], [10, 10], rho=LARGE), 5.0),
    "gaussian_mean": (E.gaussian_mean(10, rho=LARGE), 0.0),
    "laplace_mean": (E.laplace_mean(10, epsilon=LARGE), 0.0),
    "l2_mechanism_mean": (E.l2_mechanism_mean(10, epsilon=LARGE), 0.0),
    "plan_plus_mean": (E.plan_plus_mean(100, rho=LARGE), 4.0),
    "plan_mean": (E.plan_mean(100, rho=LARGE), 4.0),
}
"""Each with the number that stands in for a missing value of the first column."""


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_centre_stands_in_where_their_number_is_public(name: str) -> None:
    mean, centre = ESTIMATORS[name]
    space = dp.records(columns=2, size=len(TABLE), metric=dp.ChangeOneDistance())
    released = (space >> mean)(TABLE)
    np.testing.assert_allclose(released, [0.6 * 4 + 0.4 * centre, 6.0], atol=0.05)
