"""Maps that no other test holds to within a factor of two."""

from fractions import Fraction
from math import exp, tanh

import numpy as np
import pytest

import opendp_lite as dp

REPLACE = dp.ChangeOneDistance()
THIRD = Fraction(1, 3)
Tables = dp.Space[dp.Rows]


@dp.stage
def halved(space: Tables) -> dp.Transformation[Tables, Tables]:
    """Half of every value, by a function of one's own."""
    box = dp.bodies.Box(0, 5, columns=space.domain.columns)
    return dp.row_map(space, lambda block: block / 2, box)


def test_a_row_map_moves_as_many_rows_as_it_is_given():
    rows = dp.clamp(0, 10) >> halved()
    dp.assert_stable(rows)
    dp.assert_stable(rows >> dp.sum())
    sized = dp.records(size=9, metric=REPLACE)
    assert [rows.map(k) for k in (1, 2, 5)] == [1, 2, 5]
    assert [(sized >> rows).map(k) for k in (1, 2, 5)] == [1, 2, 5]
    assert (rows >> dp.sum()).map(2).l1 == 10


def test_conversions_cost_what_theorems_say():
    pure = dp.count() >> dp.laplace(epsilon=1)
    assert (pure >> dp.to_zcdp()).map(1) == pytest.approx(tanh(1 / 2), rel=1e-9)
    epsilon, delta = (pure >> dp.to_approximate(0.01)).map(1)
    assert delta == 0.01
    # Randomised response: delta = (e^1 - e^epsilon) / (1 + e^1).
    assert (exp(1) - exp(epsilon)) / (1 + exp(1)) == pytest.approx(0.01, rel=1e-6)
    gauss = dp.count() >> dp.gaussian(rho=0.5) >> dp.to_approximate(1e-6)
    assert gauss.map(1)[0] == pytest.approx(4.8866, abs=1e-3)


def test_post_processing_costs_nothing():
    sums = dp.clamp(0, 10) >> dp.simplex_augment() >> dp.sum() >> dp.laplace(epsilon=THIRD)
    assert (sums >> dp.simplex_ratio(0, 10)).loss(2) == 2 * THIRD
    both = dp.compose(
        dp.clamp(0, 10) >> dp.sum() >> dp.gaussian(rho=THIRD), dp.count() >> dp.gaussian(rho=1)
    )
    assert (both >> dp.count_ratio(0, 10)).loss(2) == 4 * (1 + THIRD)
    sized = dp.records(size=9, metric=REPLACE)
    total = sized >> dp.clamp(0, 10) >> dp.sum() >> dp.laplace(epsilon=THIRD)
    assert (total >> dp.estimators.size_ratio(9, 0, 10)).loss(1) == THIRD
    basis = dp.bases.Hadamard(4, 0, 10)
    read = dp.transformations.basis_features(basis) >> dp.sum() >> dp.gaussian(rho=THIRD)
    told = read >> dp.estimators.distribution(basis, deviation=2)
    assert told.loss(2) == 4 * THIRD
    assert np.isfinite(told([1.0] * 500).mean().value)


def test_the_joint_noise_follows_the_l2_radius():
    """A box of 16 columns reaches as far as a ball of radius 4, so both have the same noise."""
    table, empty = dp.records(columns=16), np.empty((0, 16))
    inside = (dp.clamp(-1, 1), dp.clip_to_norm(4))
    pipelines = [table >> rows >> dp.measurements.sum_and_count(epsilon=1) for rows in inside]
    found = [each.insecure_release(empty, seed=5).value for each in pipelines]
    assert np.array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
