"""Products of entries two by two: values, body, sensitivity."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.transformations.entries import outer_products


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_a_sum_is_that_of_the_matrices(columns):
    rows = np.random.default_rng(columns).normal(0, 1, (200, columns))
    space = dp.records(columns=columns)
    total = (space >> dp.clip_to_norm(100) >> outer_products() >> dp.sum())(rows)
    matrix = rows.T @ rows
    above, below = np.triu_indices(columns)
    weights = np.where(above == below, 1, sqrt(2))
    assert np.asarray(total) == pytest.approx(matrix[above, below] * weights, abs=1e-5)


def test_the_map_is_what_the_worst_rows_do():
    """r^2 where a row is added, sqrt(2) r^2 where one is replaced by an orthogonal one."""
    stage = dp.clip_to_norm(3) >> outer_products() >> dp.sum()
    added = (dp.records(columns=2) >> stage).map(1)
    replaced = (dp.records(2, size=1, metric=dp.ChangeOneDistance()) >> stage).map(1)
    assert (added.l2_squared, replaced.l2_squared) == (81, 162)
    assert added.l1 == pytest.approx(9 * (1 + 1 / sqrt(2)))
    assert replaced.linf == pytest.approx(9 * sqrt(2))


def test_missing_entries():
    rows = np.array([[1.0, 2.0], [np.nan, 2.0]])
    stage = dp.clip_to_norm(9) >> outer_products()
    found = np.asarray((dp.records(2) >> stage)(rows))
    assert found[0] == pytest.approx([1, 2 * sqrt(2), 4])
    assert np.isnan(found[1, :2]).all()
    assert np.asarray((dp.records(2) >> stage >> dp.sum())(rows)) == pytest.approx(
        [1, 2 * sqrt(2), 4], abs=1e-6
    )
    sized = dp.records(2, size=2, metric=dp.ChangeOneDistance())
    assert np.asarray((sized >> stage >> dp.sum())(rows)) == pytest.approx(
        [1, 2 * sqrt(2), 4], abs=1e-6
    )
