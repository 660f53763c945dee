"""Rows that are one of finitely many points, and how far apart two of them can be."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from test_bodies import adversarial, norms_of, snapped

import opendp_lite as dp
from opendp_lite.bodies.points import (
    CLOSE,
    PointOf,
    Points,
    PointSum,
    farthest,
    l1_length,
    l2_length,
)

GENERATOR = np.random.default_rng(11)
TABLES = {
    "a curve": np.cos(np.outer(np.linspace(0, 3, 500), np.arange(1, 6))),
    "scattered": GENERATOR.normal(size=(300, 3)),
    "a few steps": np.repeat(GENERATOR.normal(size=(4, 2)), 50, axis=0),
    "one column": np.linspace(-1e-30, 2e-30, 77)[:, None],
    "large": 1e90 * GENERATOR.normal(size=(33, 40)),
    "two points": np.array([[1.0, 0.0], [0.0, 1.0]]),
}


def body_of(table: np.ndarray) -> Points:
    return Points.nearest_to("test", np.arange(1.0, len(table)), table)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_radii_are_the_maxima_over_the_points(table):
    body = body_of(table)
    unit = Fraction(2) ** body.exponent()
    each = [norms_of(row, unit) for row in body.steps]
    radii = body.radii()
    assert radii.l1 == max(norms.l1 for norms in each)
    assert radii.l2_squared == max(norms.l2_squared for norms in each)
    assert radii.linf == max(norms.linf for norms in each)
    lengths = np.linalg.norm(table, axis=1)
    assert abs(body.radius(2) / lengths.max() - 1) < 2.0**-24


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_diameters_hold_for_all_pairs_and_are_close(table):
    body = body_of(table)
    gaps = body.steps[:, None] - body.steps
    unit = 2.0 ** body.exponent()
    for p, lengths in ((1, l1_length(gaps)), (2, l2_length(gaps)), (inf, np.abs(gaps).max(-1))):
        true = float(lengths.max()) * unit
        assert true <= body.diameter(p) <= true * (1 + CLOSE) * (1 + 1e-9)


def test_the_farthest_pair_is_never_missed():
    generator = np.random.default_rng(3)
    for trial in range(200):
        shape = (int(generator.integers(1, 70)), int(generator.integers(1, 5)))
        points = generator.integers(-(10**6), 10**6, shape)
        if trial % 2:
            points = np.cumsum(points, axis=0)
        for length in (l1_length, l2_length):
            true = float(length(points[:, None] - points).max())
            assert true <= farthest(points, length) <= true * (1 + CLOSE) * (1 + 1e-9)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_whatever_the_row_its_image_is_a_point(table):
    body = body_of(table)
    known = {row.tobytes() for row in body.steps}
    assert all(row.tobytes() in known for row in snapped(body, adversarial(body, 60)))


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_points_are_their_own_image(table):
    body = body_of(table)
    rows = body.at(np.arange(len(table)))
    assert np.array_equal(snapped(body, rows), body.steps)
    assert body.contains(rows).all()
    assert not body.contains(np.nextafter(rows, inf)).any()
    rows[:, -1] = np.nextafter(rows[:, -1], inf)
    assert not body.contains(rows).any()
    assert np.abs(rows - table).max() <= np.abs(table).max() * 2.0**-24


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_what_is_drawn_projected_moved_or_selected_is_inside(table):
    body = body_of(table)
    rows = body.draw(np.random.default_rng(1), 200)
    assert body.contains(rows).all()
    columns = body.columns
    assert body.scale((Fraction(-3),)).contains(-3 * rows).all()
    assert body.shift((Fraction(1),)).contains(rows + 1).all()
    assert body.select((columns - 1, 0)).contains(rows[:, [columns - 1, 0]]).all()
    assert body.over(columns) is body
    with pytest.raises(dp.ParameterError, match="columns"):
        body.over(columns + 1)


def test_a_column_that_is_constant_moves_and_is_selected():
    body = body_of(np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 2.0]]))
    rows = body.at(np.arange(2))
    assert body.non_negative()
    assert body.scale((Fraction(2),)).contains(2 * rows).all()
    assert body.select((1,)).contains(rows[:, [1]]).all()
    assert (body.select((0,)).radius(1), body.select((0,)).diameter(1)) == (1, 0)


def test_the_selected_columns_keep_their_exact_norms():
    body = dp.bases.Fourier(5, 0, 1).points()
    chosen = body.select((1, 2))
    assert abs(chosen.radius(2) - np.sqrt(2)) < 1e-7
    assert not body.non_negative()


@pytest.mark.parametrize("count", [2, 8, 9, 16, 17, 300, 512, 1025])
@pytest.mark.parametrize("metric", [dp.SymmetricDistance(), dp.ChangeOneDistance()])
def test_a_column_selected_often_moves_the_sum_as_far_as_it_is_said_to(count, metric):
    """2^10 columns of 2^27 steps are 2^64 steps squared, and 0 in 64 bits."""
    space = dp.records(size=None if metric == dp.SymmetricDistance() else 1, metric=metric)
    for column in (0, 1):
        chosen = dp.select([column] * count)
        summed = (
            space
            >> dp.transformations.basis_features(dp.bases.Cosine(2, 0, 1))
            >> chosen
            >> dp.sum()
        )
        other = np.zeros(count) if space.domain.size is None else summed([1.0])
        moved = summed([0.0]) - other
        for p in (1, 2, inf):
            assert np.linalg.norm(moved, ord=p) <= float(summed.map(1).of(p)) * (1 + 1e-12)


def test_a_sum_counts_and_is_exact_beyond_int64():
    body = body_of(TABLES["a curve"])
    fold = PointSum(body)
    assert fold.fuses_with(PointOf(body))
    numbers = np.array([-5.0, 0.5, 3.0, 250.0, inf])[:, None]
    counted = fold.summarise(numbers)
    rows = fold.summarise(PointOf(body)(numbers))
    assert np.array_equal(fold.finish(counted), fold.finish(rows))
    assert np.array_equal(fold.finish(counted), body.steps[[0, 0, 3, 250, 499]].sum(axis=0))
    many = fold.empty()
    many[7] = 2**50
    assert fold.finish(many).tolist() == [2**50 * int(step) for step in body.steps[7]]
    assert fold.finish(fold.empty()).tolist() == [0] * 5


def test_only_its_own_rows_are_absorbed():
    body = dp.bases.Haar(4, 0, 1).points()
    fold = PointSum(body)
    assert fold.fuses_with(PointOf(body))
    assert not fold.fuses_with(PointOf(dp.bases.Haar(4, 0, 2).points()))
    alone = body.select((1,))
    assert isinstance(alone, Points)
    assert not PointSum(alone).fuses_with(PointOf(alone))


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_bounds_are_met_and_a_missing_row_is_the_middle_point(table):
    body = body_of(table)
    rows = body.at(np.arange(len(table)))
    lower, upper = (np.array([float(bound) for bound in each]) for each in body.bounds())
    assert np.array_equal(rows.max(axis=0), upper)
    constant = rows.min(axis=0) == upper
    assert np.array_equal(rows.min(axis=0)[~constant], lower[~constant])
    assert (lower < upper).all()
    middle = body.at(np.array([len(table) // 2]))
    assert [float(entry) for entry in body.centre()] == middle[0].tolist()
    lacking = rows.copy()
    lacking[1::3, 0] = np.nan
    filled = body.filling()(lacking)
    assert np.array_equal(filled[1::3], np.repeat(middle, len(filled[1::3]), axis=0))
    assert np.array_equal(filled[::3], rows[::3])
    assert body.contains(lacking).all()


def test_a_missing_number_is_one_of_the_middle_cell():
    for basis in (dp.bases.Haar(4, 0, 1), dp.bases.Chebyshev(3, 0, 1), dp.bases.Hadamard(2, -1, 1)):
        body = basis.points()
        number = body.filling()(np.array([[np.nan]]))
        assert body.places_of(number[:, 0]).tolist() == [basis.cells // 2]
