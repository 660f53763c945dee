"""The rotation and the length of rows: the same image wherever a row stands."""

from __future__ import annotations

import numpy as np
import pytest

import opendp_lite as dp

ODD = [np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0, 0.0, -0.0, 1e308, -1e308, 5e-324]


@pytest.mark.parametrize(
    "stage", [dp.transformations.random_rotation(3), dp.norm(), dp.norm(p=1)], ids=repr
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
