"""The best of many releases: its law, its loss, and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from scipy.stats import chi2

import opendp_lite as dp
from opendp_lite.combinators.composing import rate_for
from tests.opened import Opened

best_of = dp.combinators.best_of
NOISY = dp.count() >> dp.laplace(epsilon=1)
REACH = 60
STEPS = np.arange(-REACH, REACH + 1)


def law_of_best(chances: np.ndarray, rate: float) -> np.ndarray:
    """Of the best of a logarithmic number of runs, for chances from the lowest score up."""

    def generating(q):
        return -np.log1p(np.expm1(-rate) * q) / rate

    ends = np.append(0.0, chances.cumsum())
    return np.diff([generating(min(end, 1.0)) for end in ends])


def noise(centre: int, epsilon: float) -> np.ndarray:
    weights = np.exp(-epsilon * np.abs(STEPS - centre))
    return weights / weights.sum()


def test_the_number_of_runs_has_its_mean():
    for runs in (Fraction(1001, 1000), 2, 10, 10_000):
        rate = float(rate_for(Fraction(runs)))
        assert np.expm1(rate) / rate == pytest.approx(float(runs), rel=1e-9)


def test_the_loss_is_twice_that_of_the_worst_part():
    both = best_of(NOISY, dp.count() >> dp.laplace(epsilon=0.25), score=float)
    assert [both.map(k) for k in range(4)] == [0, 2, 4, 6]
    again = dp.records(columns=2) >> best_of(NOISY, score=float)
    assert again.map(1) == 2
    assert "twice the largest loss; about 10 runs" in both.explain()


@pytest.mark.parametrize("runs", [2, 30])
def test_releases_follow_their_law(runs):
    """Two mechanisms of different noise; the score prefers small releases."""
    parts = (NOISY, dp.count() >> dp.laplace(epsilon=2))
    pipeline = best_of(*parts, score=lambda release: -release, runs=runs)
    draws, data = 2000, [0.0] * 5
    found = np.array([pipeline.insecure_release(data, seed).value for seed in range(draws)])
    chances = (noise(5, 1.0) + noise(5, 2.0)) / 2
    expected = law_of_best(chances[::-1], float(rate_for(Fraction(runs))))[::-1] * draws
    kept = expected > 8
    counts = np.array([(found[:, 1] == step).sum() for step in STEPS])
    rest = draws - expected[kept].sum()
    statistic = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    statistic += (draws - counts[kept].sum() - rest) ** 2 / rest
    assert chi2.sf(statistic, kept.sum()) > 1e-8
    wide = found[:, 0] == 0
    share = noise(5, 1.0) / (2 * chances)
    expected_wide = (share * expected).sum()
    assert abs(wide.sum() - expected_wide) < 6 * draws**0.5


def test_equal_scores_keep_the_first_and_nan_is_the_lowest():
    """Runs of one score release what one run releases; then the loss is what it is for one."""
    for score in (lambda release: 0.0, lambda release: nan, lambda release: -inf):
        pipeline = best_of(NOISY, score=score, runs=20)
        found = np.array([pipeline.insecure_release([], seed).value[1] for seed in range(300)])
        share = noise(0, 1.0)[REACH]
        assert abs((found == 0).mean() - share) < 6 * (share * (1 - share) / 300) ** 0.5
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
