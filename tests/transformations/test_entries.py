"""Products, rotations and lengths of rows: values, body, and one image wherever a row stands."""

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


ODD = [np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0, 0.0, -0.0, 1e308, -1e308, 5e-324]


@pytest.mark.parametrize(
    "stage",
    [
        dp.transformations.random_rotation(3),
        dp.transformations.norm(),
        dp.transformations.norm(p=1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("columns", [2, 4, 8, 17])
def test_a_row_has_the_same_bits_in_every_place(stage, columns):
    """Two NaN of different sign added: which one stays depends on the place in a block."""
    generator = np.random.default_rng(columns)
    bound = dp.records(columns=columns) >> stage
    for _ in range(40):
        row = generator.choice(ODD, columns)
        alone = bound(row[None, :])[0].tobytes()
        for size in (2, 5, 9, 17, 33):
            rows = generator.choice(ODD, (size, columns))
            place = generator.integers(size)
            rows[place] = row
            for each in (rows, np.asfortranarray(rows), rows[::-1][::-1]):
                assert bound(each)[place].tobytes() == alone


@pytest.mark.parametrize("columns", [1, 2, 3, 8, 100])
def test_a_rotation_keeps_lengths_and_can_be_undone(columns):
    turn = dp.transformations.Rotation(columns, seed=7)
    rows = np.random.default_rng(columns).normal(size=(20, columns))
    turned = turn.forward(rows)
    assert turned.shape == (20, turn.width)
    assert np.allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(rows, axis=1))
    assert np.allclose(turn.back(turned[3]), rows[3])
    assert np.array_equal(dp.transformations.Rotation(columns, seed=7).forward(rows), turned)


def test_no_column_stands_out_after_a_rotation():
    row = np.zeros((1, 1024))
    row[0, 5] = 32.0
    assert np.abs(dp.transformations.Rotation(1024, seed=1).forward(row)).max() < 6
