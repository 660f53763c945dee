"""The front door to means of many columns."""

from __future__ import annotations

import opendp_lite as dp


def test_the_explanation_says_which_and_why():
    for columns in (1, 3):
        space = dp.records(columns=columns)
        zcdp = (space >> dp.multivariate_mean(5, rho=1)).explain()
        pure = (space >> dp.multivariate_mean(5, epsilon=1)).explain()
        assert "because the estimator is plan_plus_mean: " in zcdp
        assert "because the estimator is l2_mechanism_mean: " in pure
