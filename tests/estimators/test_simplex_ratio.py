"""The mean from a simplex release."""

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


def test_post_processing_keeps_the_map():
    mean = PIPELINE >> dp.simplex_ratio(0, 100)
    assert (mean.map(1), mean.map(2)) == (0.5, 2.0)
    assert eval(repr(mean), {"dp": dp}) == mean
    assert 0 <= mean([]) <= 100
