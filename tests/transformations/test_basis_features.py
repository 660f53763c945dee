"""Rows of features and their sums, against the falsifier and hostile data."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.fold import Scratch
from opendp_lite.transformations.sums import SumFold

SMALL = [
    dp.bases.Cosine(5, 0, 1),
    dp.bases.Fourier(4, -2, 0.1),
    dp.bases.Legendre(7, 0, 100),
    dp.bases.Chebyshev(3, -1, 1),
    dp.bases.Hermite(6, middle=0, scale=1e-3),
    dp.bases.Laguerre(3, scale=1e5),
    dp.bases.Haar(8, 0, 1),
    dp.bases.Daubechies(8, 0, 1),
    dp.bases.Hadamard(16, -1, 1),
    dp.bases.MutuallyUnbiased(5, 0, 1, bases=6),
]
SIZED = dp.records(size=17, metric=dp.ChangeOneDistance())
HOSTILE = [0.0, -0.0, nan, -nan, inf, -inf, 1e308, -1e308, 5e-324, -1e-310, 0.3, 0.5]
KNOWN = [number for number in HOSTILE if number == number]


@pytest.mark.parametrize("basis", SMALL, ids=repr)
def test_sums_are_exact_however_they_are_made(basis):
    """Counting, rounding every row, and adding up fractions agree to the last bit."""
    generator = np.random.default_rng(0)
    data = np.concatenate([generator.normal(0, 1, 3000), KNOWN])
    summed = (dp.transformations.basis_features(basis) >> dp.sum())(data)
    rows = dp.transformations.basis_features(basis)(data)
    exactly = [float(sum(map(Fraction, column.tolist()))) for column in rows.T]
    assert summed.tolist() == exactly
    body = basis.points()
    rounded = SumFold(body).summarise(rows, Scratch())
    assert (SumFold(body).finish(rounded) * 2.0 ** body.exponent()).tolist() == exactly


def test_hostile_numbers_have_public_places():
    features = dp.transformations.basis_features(dp.bases.Haar(4, 0, 1))
    rows = features(HOSTILE)
    first, last = rows[0], rows[4]
    assert np.array_equal(rows[1], first)
    for index in (2, 3):
        assert np.isnan(rows[index]).all()
    for index in (6,):
        assert np.array_equal(rows[index], last), HOSTILE[index]
    for index in (5, 7, 8, 9):
        assert np.array_equal(rows[index], first), HOSTILE[index]
    assert np.isfinite(np.delete(rows, [2, 3], axis=0)).all()


def test_one_column_of_a_table():
    table = np.array([[0.1, 9.0], [0.9, 9.0]])
    rows = dp.records(["age", "visits"]) >> dp.select("age")
    features = rows >> dp.transformations.basis_features(dp.bases.Hadamard(2, 0, 1))
    assert features(table).tolist() == [[1, 1], [1, -1]]
