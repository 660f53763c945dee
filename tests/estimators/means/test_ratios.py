"""The means that are read from releases of sums."""

from __future__ import annotations

import numpy as np
import pytest

import opendp_lite as dp

PIPELINE = dp.clamp(0, 100) >> dp.simplex_augment() >> dp.sum() >> dp.gaussian(rho=0.5)


def test_ratio_of_exact_sums_is_the_mean():
    data = np.random.default_rng(1).uniform(-20, 130, 999)
    sums = (dp.clamp(0, 100) >> dp.simplex_augment() >> dp.sum())(data)
    clamped = np.clip(data, 0, 100)
    assert dp.simplex_ratio(0, 100)(sums) == pytest.approx(clamped.mean())
    assert sums.sum() == pytest.approx(100 * len(data))
    shifted = (dp.clamp(-7, 5) >> dp.simplex_augment() >> dp.sum())(data)
    assert dp.simplex_ratio(-7, 5)(shifted) == pytest.approx(np.clip(data, -7, 5).mean())


@pytest.mark.parametrize("sums", [[0, 0], [-50, -50], [1e300, -1e300], [0, -1e9], [5, 1]])
def test_ratio_stays_inside_the_bounds(sums):
    assert 0 <= dp.simplex_ratio(0, 100)(sums) <= 100


@pytest.mark.parametrize("ratio", [dp.simplex_ratio, dp.count_ratio])
def test_bounds_in_the_wrong_order_are_refused(ratio):
    with pytest.raises(dp.SpaceError, match="must be below the upper"):
        PIPELINE >> ratio(100, 0)


def test_post_processing_keeps_the_map():
    mean = PIPELINE >> dp.simplex_ratio(0, 100)
    assert (mean.map(1), mean.map(2)) == (0.5, 2.0)
    assert eval(repr(mean), {"dp": dp}) == mean
    assert 0 <= mean([]) <= 100


COUNTED = dp.compose(
    dp.clamp(0, 10) >> dp.center(5) >> dp.sum() >> dp.laplace(epsilon=0.5),
    dp.count() >> dp.laplace(epsilon=0.5),
)


def test_sums_over_counts_are_means():
    assert dp.count_ratio(0, 10)([[30.0], 10]) == 3.0
    assert dp.count_ratio(0, 10, 5)((np.array([-20.0]), 10.0)) == 3.0
    assert dp.estimators.size_ratio(10, 0, 4)([30.0]) == 3.0
    assert dp.estimators.size_ratio(10, 0, 4)([300.0]) == 4.0
    for release in ([[1e300], -1.0], [[-1e300], 0.0], [[0.0], 1e300]):
        assert 0 <= dp.count_ratio(0, 10)(release) <= 10


def test_count_and_size_keep_the_map():
    mean = COUNTED >> dp.count_ratio(0, 10, middle=5)
    assert mean.map(1) == 1.0
    assert 0 <= mean([3.0] * 9) <= 10
    people = dp.records(size=9, metric=dp.ChangeOneDistance())
    sized = (
        people
        >> dp.clamp(0, 10)
        >> dp.sum()
        >> dp.laplace(epsilon=1)
        >> dp.estimators.size_ratio(9, 0, 10)
    )
    assert sized.map(1) == 1.0
    assert 0 <= sized([3.0] * 9) <= 10
