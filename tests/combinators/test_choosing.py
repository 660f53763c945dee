"""The best of many releases: its law, its loss, and what it refuses."""

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.combinators.composing import rate_for
from tests.exact_laws import ways
from tests.opened import Opened

__all__ = ["ways"]

best_of = dp.combinators.best_of
NOISY = dp.count() >> dp.laplace(epsilon=1)


def test_the_number_of_runs_has_its_mean():
    for runs in (Fraction(1001, 1000), 2, 10, 10_000):
        rate = float(rate_for(Fraction(runs)))
        assert np.expm1(rate) / rate == pytest.approx(float(runs), rel=1e-9)


def test_the_loss_is_twice_that_of_the_worst_part():
    both = best_of(NOISY, dp.count() >> dp.laplace(epsilon=0.25), score=float)
    assert [both.map(k) for k in range(4)] == [0, 2, 4, 6]
    again = dp.records(columns=2) >> best_of(NOISY, score=float, runs=10_000)
    assert again.map(1) == 2
    assert "twice the largest loss; about 10 runs" in both.explain()


def test_equal_scores_keep_the_first_and_nan_is_the_lowest(ways):
    """Runs of one score release what one run releases; then the loss is what it is for one."""
    for score in (lambda release: 0.0, lambda release: nan, lambda release: -inf):
        bound = dp.records() >> best_of(NOISY, score=score)
        one, two = (ways.law_of(bound, [], runs=runs) for runs in (1, 2))
        assert two == pytest.approx(one)


def test_a_score_that_is_a_number_is_above_nan():
    picky = best_of(NOISY, score=lambda release: nan if release > -40 else 1.0, runs=3)
    assert picky([])[0] == 0


def test_a_pass_over_the_data_serves_all_runs():
    rows = Opened(np.ones(3))
    best_of(NOISY, dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1), score=np.sum, runs=100)(
        rows.blocks
    )
    assert rows.times == 1


@pytest.mark.parametrize("data", [[], [nan] * 3, [inf, -inf], [5e-324], [1e308] * 40], ids=str)
def test_no_value_makes_trouble(data):
    pipeline = best_of(dp.clamp(-1, 1) >> dp.sum() >> dp.laplace(epsilon=1), score=lambda x: x[0])
    index, total = pipeline(data)
    assert (index, total.shape) == (0, (1,))
