"""The front door to means of many columns."""

from __future__ import annotations

import numpy as np
import pytest

import opendp_lite as dp

REPLACE = dp.ChangeOneDistance()


def test_the_explanation_says_which_and_why():
    for columns in (1, 3):
        space = dp.records(columns=columns)
        zcdp = (space >> dp.multivariate_mean(5, rho=1)).explain()
        pure = (space >> dp.multivariate_mean(5, epsilon=1)).explain()
        assert "because the estimator is plan_plus_mean: " in zcdp
        assert "because the estimator is l2_mechanism_mean: " in pure


def test_the_mean_of_a_ball_is_unbiased_and_as_noisy_as_stated():
    """400 releases; the mean square is within 6 deviations, and so is each mean."""
    rows = np.tile([3.0, -4.0, 0.0], (50, 1))
    pipeline = dp.records(columns=3, size=50, metric=REPLACE) >> dp.estimators.l2_mechanism_mean(
        20, epsilon=40
    )
    errors = np.array([pipeline(rows) for _ in range(400)]) - rows[0]
    stated = 3 * 4 * (2 * 20 / (50 * 40)) ** 2
    squares = (errors**2).sum(axis=1)
    assert abs(squares.mean() / stated - 1) < 6 * squares.std() / stated / 20
    assert (np.abs(errors.mean(axis=0)) < 6 * errors.std(axis=0) / 20).all()


@pytest.mark.parametrize("columns", [1, 3])
def test_with_a_private_number_the_noise_of_a_ball_is_the_joint_one(columns):
    """400 releases; the mean square is within 6 deviations, and so is each mean."""
    rows = np.zeros((5000, columns))
    rows[:, 0] = 3
    pipeline = dp.records(columns=columns) >> dp.estimators.l2_mechanism_mean(5, epsilon=2)
    errors = np.array([np.atleast_1d(pipeline(rows)) for _ in range(400)]) - rows[0]
    d = columns
    of_sum = (5 / 2) ** 2 * d * (d + 1) * (d + 4) / (d + 2)
    longer = (d + 3) * (d + 2) * (d + 1) + 3 * (d + 2) * (d + 1) + 3 * (d + 1) + 1
    stated = (of_sum + 3**2 * longer / (3 * 2**2 * (d + 2))) / 5000**2
    squares = (errors**2).sum(axis=1)
    assert abs(squares.mean() / stated - 1) < 6 * squares.std() / stated / 20
    assert (np.abs(errors.mean(axis=0)) < 6 * errors.std(axis=0) / 20).all()
