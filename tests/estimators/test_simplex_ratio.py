"""The mean from a simplex release."""

from __future__ import annotations

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.estimators.simplex_ratio import simplex_standard_error

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


def test_standard_error_is_that_of_many_releases():
    """Fixed seeds: 4000 releases know their spread to 1.1 %."""
    data = np.full(400, 30.0)
    bound = PIPELINE.bind(dp.records())
    releases = [bound.insecure_release(data, seed=s).value for s in range(4000)]
    means = [dp.simplex_ratio(0, 100)(release) for release in releases]
    deviation = bound.laws[0].standard_deviation
    errors = [simplex_standard_error(release, 100, deviation) for release in releases]
    assert np.std(means) == pytest.approx(np.median(errors), rel=0.06)
    assert simplex_standard_error([0, 0], 100, deviation) == 50
    assert simplex_standard_error([1, 1], 100, deviation) <= 50
    assert simplex_standard_error([0.01, 0.02], 100, 0.02) == 50
    assert simplex_standard_error([1e200, 1e200], 1e200, 1e200) <= 5e199
