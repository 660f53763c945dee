"""Products of entries two by two: values, body, sensitivity."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.testing.stable import exact_norms
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


def between(stage, space, first, second) -> dp.Norms:
    bound = stage.bind(space)
    admit = bound.input_space.domain.to_internal
    one, two = (bound.function(admit(np.array(x))).steps for x in (first, second))
    return exact_norms(one, two, bound.output_space.domain.exponent)


def test_the_map_is_what_the_worst_rows_do():
    """r^2 where a row is added, sqrt(2) r^2 where one is replaced by an orthogonal one."""
    stage = dp.clip_to_norm(3) >> outer_products() >> dp.sum()
    added, replaced = dp.records(columns=2), dp.records(2, size=1, metric=dp.ChangeOneDistance())
    assert (added >> stage).stability_map(Fraction(1)).l2_squared == 81
    assert (replaced >> stage).stability_map(Fraction(1)).l2_squared == 162
    even = 3 / sqrt(2)
    for first, second, space, claimed in (
        ([[even, even]], np.empty((0, 2)), added, (9 * (1 + 1 / sqrt(2)), 9, 9)),
        ([[3.0, 0.0]], np.empty((0, 2)), added, (9, 9, 9)),
        ([[3.0, 0.0]], [[0.0, 3.0]], replaced, (18, 9 * sqrt(2), 9)),
        ([[even, even]], [[even, -even]], replaced, (9 * sqrt(2), 9 * sqrt(2), 9 * sqrt(2))),
    ):
        moved, most = between(stage, space, first, second), (space >> stage).map(1)
        assert float(moved.l1) <= float(most.l1)
        assert moved.l2_squared <= (space >> stage).stability_map(Fraction(1)).l2_squared
        assert float(moved.linf) <= float(most.linf)
        assert moved.l2 == pytest.approx(claimed[1], rel=1e-8)
    # Each claim is met by one of these rows, so none is twice too large.
    assert (added >> stage).map(1).l1 == pytest.approx(9 * (1 + 1 / sqrt(2)))
    assert (replaced >> stage).map(1).linf == pytest.approx(9 * sqrt(2))


def test_what_is_no_outer_product_is_made_one():
    """A step of one's own that keeps the body but not its promise moves no sum farther."""

    @dp.stage
    def turned(space: dp.Space[dp.Rows]) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Rows]]:
        return dp.row_map(space, lambda block: -7 * block, space.domain.body)

    stage = dp.clip_to_norm(2) >> outer_products() >> turned() >> dp.sum()
    for space in (dp.records(3), dp.records(3, size=5, metric=dp.ChangeOneDistance())):
        worst = [-2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, -1.0]
        size = space.domain.size or 5
        for row in worst:
            one, two = np.zeros((size, 3)), np.zeros((size, 3))
            one[0], two[0] = row, worst[0]
            moved = between(stage, space, one, two)
            assert moved.l2_squared <= 2 * 16


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
