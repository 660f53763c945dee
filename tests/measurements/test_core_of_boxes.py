"""The joint noise on rows of several columns in a box, whose l2 radius is not its largest entry."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

import opendp_lite as dp

COLUMNS = 16


@pytest.mark.parametrize("stretch", [Fraction(0), Fraction(1)])
def test_the_noise_is_that_of_the_l2_radius(stretch, seeded):
    """Rows in [-1, 1]^16 have length up to 4; noise for 1 would have 1/16 of this variance."""
    epsilon, d, h, radius = 0.5, COLUMNS, float(stretch), sqrt(COLUMNS)
    pipeline = (
        dp.records(COLUMNS)
        >> dp.clamp(-1, 1)
        >> dp.measurements.sum_and_count(epsilon=epsilon, stretch=stretch)
    )
    sums = np.array([pipeline(np.zeros((3, d)))[0] for _ in range(400)])
    squares = (sums**2).sum(axis=1)
    variance = (radius / epsilon) ** 2 * (d + 1) * (d + 3 + h) / (d + 1 + h)
    assert abs(squares.mean() - d * variance) < 6 * squares.std() / sqrt(400)


def test_audit_of_sixteen_columns_finds_nothing(seeded):
    """Corners of the box push all entries the same way. It fails by chance below 1e-7."""
    pipeline = dp.records(COLUMNS) >> dp.clamp(-1, 1) >> dp.measurements.sum_and_count(epsilon=1)
    found = dp.audit(pipeline, np.zeros((0, COLUMNS)), np.ones((1, COLUMNS)), releases=500)
    assert found.lower_bound <= found.claim == 1
