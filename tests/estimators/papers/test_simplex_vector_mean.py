"""The means of several columns from one simplex."""

from __future__ import annotations

import numpy as np
import pytest

import opendp_lite as dp

E = dp.estimators


def shares(rows: int, columns: int) -> np.ndarray:
    """Rows on and inside the simplex of total 4."""
    generator = np.random.default_rng(columns)
    return 4 * generator.dirichlet(np.ones(columns + 1), rows)[:, :-1]


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("loss", [{"rho": 1e12}, {"epsilon": 1e8}, {"epsilon": 1e8, "delta": 1e-9}])
def test_with_hardly_any_noise_they_are_those_of_numpy(loss, columns):
    rows = shares(300, columns)
    found = (dp.records(columns=columns) >> E.simplex_vector_mean(4, **loss))(rows)
    assert np.allclose(found, rows.mean(axis=0), atol=1e-4)


def test_rows_beyond_the_simplex_are_brought_to_it():
    rows = np.array([[-3.0, 2.0], [6.0, 2.0], [np.nan, 1.0], [1.0, 1.0]] * 50)
    found = (dp.records(columns=2) >> E.simplex_vector_mean(4, rho=1e12))(rows)
    assert np.allclose(found, np.mean([[0, 2], [8 / 3, 4 / 3], [1, 1]], axis=0), atol=1e-4)
