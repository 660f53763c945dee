"""A missing value is never a number: in every step, container, relation, and with either sign."""

from math import nan

import numpy as np
import pytest
import scipy.sparse as sp

import opendp_lite as dp
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.missing import LEAVE_OUT, FillEntries, FillRows
from opendp_lite.engines.plan import Fold
from opendp_lite.engines.rows import LazyRows
from opendp_lite.testing.datasets import containers
from opendp_lite.transformations.sums import CountFold, SumFold

Tables = dp.Space[dp.Rows]
SIGNS = [nan, -nan]
REPLACE = dp.ChangeOneDistance()
BASIS = dp.bases.Hadamard(4, 0, 8)


@dp.stage
def doubled(space: Tables) -> dp.Transformation[Tables, Tables]:
    """A function of ones own that would turn a missing value into 20."""
    return dp.row_map(space, lambda block: np.nan_to_num(block, nan=10) * 2, dp.bodies.Box(0, 20))


STEPS = {
    "clamp": (dp.clamp(0, 10), [4.0], [5.0]),
    "clip_to_norm": (dp.clip_to_norm(5), [4.0], [0.0]),
    "clip_to_norm, non-negative": (dp.clamp(0, 10) >> dp.clip_to_norm(5, p=1), [4.0], [0.0]),
    "center": (dp.clamp(0, 10) >> dp.center(1), [3.0], [4.0]),
    "scale": (dp.clamp(0, 10) >> dp.scale(-2), [-8.0], [-10.0]),
    "absolute": (dp.clamp(-10, -2) >> dp.transformations.absolute(), [2.0], [6.0]),
    "square": (dp.clamp(2, 4) >> dp.transformations.square(), [16.0], [10.0]),
    "norm": (dp.clamp(2, 4) >> dp.transformations.norm(), [4.0], [3.0]),
    "indicator_below": (dp.transformations.indicator_below(100), [1.0], [0.5]),
    "indicator_below, none": (dp.transformations.indicator_below(-100), [0.0], [0.5]),
    "select twice": (dp.clamp(0, 10) >> dp.select([0, 0]), [4.0, 4.0], [5.0, 5.0]),
    "simplex_augment": (
        dp.clamp(0, 10) >> dp.simplex_augment(),
        [4.0, 6.0],
        [5.0, 5.0],
    ),
    "random_rotation": (dp.clamp(0, 8) >> dp.transformations.random_rotation(), None, [0.0]),
    "basis_features": (
        dp.transformations.basis_features(BASIS),
        [1.0, 1.0, -1.0, -1.0],
        [1.0, 1.0, -1.0, -1.0],
    ),
    "basis_features, moved": (
        dp.transformations.basis_features(BASIS) >> dp.center(1),
        [0.0, 0.0, -2.0, -2.0],
        None,
    ),
    "row_map": (dp.clamp(0, 10) >> doubled(), [8.0], [10.0]),
}
"""Each step with the image of 4 and the row that stands for a missing one; None where not said."""


@pytest.mark.parametrize("missing", SIGNS, ids=str)
@pytest.mark.parametrize("name", STEPS)
def test_a_missing_row_stays_missing_and_leaves_where_the_number_is_private(name, missing):
    step, image, _ = STEPS[name]
    rows = step([4.0, missing])
    assert np.isnan(rows[1:]).all()
    assert not np.isnan(rows[:1]).any()
    total = step >> dp.sum()
    found = total([4.0, missing, missing, missing])
    assert np.array_equal(found, total([4.0]))
    assert image is None or found == pytest.approx(np.array(image), abs=1e-9)
    assert np.array_equal(total([missing]), total([]))
    assert (step >> dp.count())([4.0, missing, 4.0]) == 2
    assert (step >> dp.count(missing=True))([4.0, missing, 4.0]) == 3


@pytest.mark.parametrize("missing", SIGNS, ids=str)
@pytest.mark.parametrize("name", STEPS)
def test_a_missing_row_is_the_centre_where_the_number_is_public(name, missing):
    step, image, centre = STEPS[name]
    space = dp.records(size=3, metric=REPLACE)
    total = space >> step >> dp.sum()
    found = total([4.0, missing, 4.0])
    alone = dp.records(size=2, metric=REPLACE) >> step >> dp.sum()
    added = found - alone([4.0, 4.0])
    if centre is not None:
        assert added == pytest.approx(np.array(centre), abs=1e-9)
    assert image is None or found == pytest.approx(2 * np.array(image) + added, abs=1e-9)


COLUMNS = {
    "clamp": dp.clamp(-1, [4, 5, 6]),
    "clip_to_norm": dp.clip_to_norm(3),
    "an ellipsoid around a point": dp.clip_to_norm(3) >> dp.scale([1, 2, 3]) >> dp.center(0.5),
    "clip_to_norm, p=1": dp.clip_to_norm(3, p=1),
    "clip_to_norm, non-negative": dp.clamp(0, 9) >> dp.clip_to_norm(3),
    "norm": dp.clip_to_norm(3) >> dp.transformations.norm(),
    "square": dp.clip_to_norm(3) >> dp.transformations.square(),
    "absolute": dp.clip_to_norm(3) >> dp.transformations.absolute(),
    "simplex_augment": dp.clamp(0, 9) >> dp.clip_to_norm(9, p=1) >> dp.simplex_augment(),
    "random_rotation": dp.clip_to_norm(3) >> dp.transformations.random_rotation(),
    "indicator_below": dp.transformations.indicator_below([0, 1, 2]),
    "select": dp.clamp(-1, 1) >> dp.select([2, 0]),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("missing", SIGNS, ids=str)
def test_rows_that_lack_an_entry_leave_in_every_container(name, missing):
    data = np.random.default_rng(3).normal(1, 3, (400, 3))
    data[::7, 0] = data[::11, 2] = missing
    total = dp.records(columns=3) >> COLUMNS[name] >> dp.sum()
    kept = data if name == "select" else data[~np.isnan(data).any(axis=1)]
    kept = kept[~np.isnan(kept[:, [0, 2]]).any(axis=1)]
    expected = total(kept)
    assert np.array_equal(total(data), expected)
    for kind, container in containers(data):
        assert np.array_equal(total(container), expected), kind


@pytest.mark.parametrize("missing", SIGNS, ids=str)
def test_the_columns_that_reach_the_aggregate_decide(missing):
    table = np.array([[1.0, missing], [missing, 2.0], [4.0, 8.0]])
    named = dp.records(columns=["a", "b"])
    bounded = named >> dp.clamp(0, 10)
    assert (bounded >> dp.select("a") >> dp.sum())(table).tolist() == [5]
    assert (bounded >> dp.select("b") >> dp.sum())(table).tolist() == [10]
    assert (named >> dp.select("a") >> dp.clamp(0, 10) >> dp.count())(table) == 2
    assert (bounded >> dp.sum())(table).tolist() == [4, 8]
    assert (bounded >> dp.count())(table) == (named >> dp.count())(table) == 1
    assert (named >> dp.count(missing=True))(table) == 3


def test_what_a_row_lacks_is_the_centres_entry_and_the_rest_is_kept():
    """In a box and in a ball; in a simplex the whole row becomes the centre."""
    row = np.array([[nan, 30.0]])
    two = dp.records(columns=2, size=1, metric=REPLACE)
    assert (two >> dp.clamp([2, 0], [4, 100]) >> dp.sum())(row).tolist() == [3, 30]
    clipped = two >> dp.clip_to_norm(5)
    assert np.array_equal(clipped(row), [[nan, 5]], equal_nan=True)
    assert (clipped >> dp.sum())(row) == pytest.approx([0, 5])
    assert (clipped >> dp.center([1, 1]) >> dp.sum())(row) == pytest.approx([-1, 4])
    simplex = two >> dp.clamp(0, 40) >> dp.clip_to_norm(40, p=1) >> dp.simplex_augment()
    assert (simplex >> dp.sum())(row) == pytest.approx([40 / 3] * 3)


@pytest.mark.parametrize("missing", SIGNS, ids=str)
@pytest.mark.parametrize(
    "how", [{"bounds": (0, 100)}, {"candidates": [0, 10, 50, 90, 100]}], ids=str
)
def test_quantiles(how, missing):
    """Exact to a thousandth: at this epsilon any other choice has a chance below e^-100."""
    median = dp.private_quantile(0.5, epsilon=5000, **how, confidence=None)
    assert median([10.0, 10.0, 10.0] + [missing] * 9) == pytest.approx(10, abs=1e-3)
    sized = dp.records(size=12, metric=REPLACE)
    assert (sized >> median)([10.0] * 3 + [missing] * 9) == pytest.approx(50, abs=1e-3)
    inside = sized >> dp.clamp(80, 100) >> median
    assert inside([80.0] * 3 + [missing] * 9) == pytest.approx(90, abs=1e-3)
    wide = dp.records(columns=2) >> dp.private_quantile(0.5, epsilon=5000, **how, confidence=None)
    rows = [[10.0, 90.0]] * 3 + [[missing, 50.0]] * 9
    assert wide(np.array(rows)) == pytest.approx([10, 90], abs=1e-3)


@pytest.mark.parametrize("missing", SIGNS, ids=str)
def test_random_pairs(missing):
    median = dp.combinators.on_random_pairs(
        dp.private_quantile(0.5, bounds=(0, 100), epsilon=5000, confidence=None)
    )
    rows = [0.0] * 9 + [missing] * 40
    assert median(rows) == pytest.approx(0, abs=1e-3)
    sized = dp.records(size=49, metric=REPLACE)
    assert (sized >> dp.clamp(-4, 4) >> median)(rows) == pytest.approx(0, abs=1e-3)
    assert (sized >> median)([missing] * 49) == pytest.approx(50, abs=1e-3)


@pytest.mark.parametrize("missing", SIGNS, ids=str)
def test_resize_samples_from_rows_that_lack_nothing(missing):
    step = dp.clamp(0, 10) >> dp.resize(4, fill=5)
    assert step([missing, 1.0, missing]).tolist() == [1, 5, 5, 5]
    assert sorted(step([missing] * 50 + [2.0] * 4)) == [2] * 4
    sized = dp.records(size=3, metric=REPLACE) >> step
    assert np.array_equal(sized([missing] * 3), [nan, nan, nan, 5], equal_nan=True)
    assert (sized >> dp.sum())([missing] * 3).tolist() == [20]
    dp.assert_stable(step >> dp.sum(), dp.records(size=3, metric=REPLACE))


def test_resize_does_not_tell_signs_apart():
    """Else the sign of a NaN would decide which other rows stay."""
    step = dp.records(size=40, metric=REPLACE) >> dp.clamp(0, 1) >> dp.resize(9, fill=0.5)
    data = np.random.default_rng(0).random(40)
    data[::2] = nan
    assert np.array_equal(step(data), step(np.where(np.isnan(data), -nan, data)), equal_nan=True)


@pytest.mark.parametrize("missing", SIGNS, ids=str)
def test_weights(missing):
    data = np.array([[4.0, 1.0], [missing, 1.0], [8.0, missing]])
    step = dp.transformations.weighted_pairs(0, 10, most=2)
    assert (dp.records(columns=2) >> step >> dp.sum())(data).tolist() == [4, 6]
    sized = dp.records(columns=2, size=3, metric=REPLACE)
    assert (sized >> step >> dp.sum())(data).tolist() == [24, 26]
    means = dp.weighted_mean(0, 10, most=1, rho=1e14, confidence=None)
    for space in (dp.records(columns=2), sized):
        assert (space >> means)(data) == pytest.approx(4, abs=1e-3)


@pytest.mark.parametrize("missing", SIGNS, ids=str)
def test_sparse_matrices(missing):
    data = np.zeros((300, 4))
    data[::3, 1], data[1::5, 2] = 2.0, -1.0
    data[7, 1] = data[7, 2] = data[-1, 0] = missing
    matrix = sp.csr_array(data)
    for stage in (
        dp.clamp(-1, 3),
        dp.clip_to_norm(1),
        dp.clip_to_norm(1) >> dp.transformations.absolute(),
    ):
        total = dp.records(columns=4) >> stage >> dp.sum()
        assert total(matrix) == pytest.approx(total(np.delete(data, [7, 299], axis=0)), abs=1e-9)
        sized = dp.records(columns=4, size=300, metric=REPLACE) >> stage >> dp.sum()
        assert sized(matrix) == pytest.approx(sized(data), abs=1e-9)
    counted = dp.records(columns=4) >> dp.count()
    assert counted(matrix) == (dp.records(columns=4) >> dp.drop_nan() >> dp.count())(matrix) == 298
    assert (dp.records(columns=4) >> dp.count(missing=True))(matrix) == 300
    filled = dp.records(columns=4) >> dp.impute([1, 2, 3, 4]) >> dp.clamp(0, 9) >> dp.sum()
    assert filled(matrix).tolist() == filled(data).tolist()


def test_where_nothing_is_missing_nothing_is_copied():
    block = np.random.default_rng(0).normal(size=(1000, 3))
    for treatment in (LEAVE_OUT, FillEntries(np.zeros(3)), FillRows(np.zeros(3))):
        assert treatment(block) is block


def test_the_projection_is_still_done_while_summing():
    clamped = dp.clamp(0, 10).bind(dp.records())
    rows = LazyRows(opened(np.zeros((3, 1))))
    body = clamped.output_space.domain.body
    for how in (SumFold(body), CountFold()):
        fold = Fold(how, identity, LEAVE_OUT).on(clamped.function)
        (left,) = fold.ask({None: rows}).rows.functions
        assert left.function is LEAVE_OUT


def test_own_functions_get_rows_that_lack_nothing_unless_they_ask():
    seen: list[np.ndarray] = []

    def step(**said):
        def look(block):
            seen.append(block)
            return np.nan_to_num(block, nan=3.0)[:, :1]

        @dp.stage
        def looking(space: Tables) -> dp.Transformation[Tables, Tables]:
            return dp.row_map(space, look, dp.bodies.Box(0, 9), **said)

        return dp.records(columns=2) >> looking()

    rows = np.array([[1.0, 2.0], [nan, 4.0], [5.0, -nan], [7.0, 8.0]])
    assert np.array_equal(step()(rows), [1, nan, nan, 7], equal_nan=True)
    assert seen.pop().tolist() == [[1, 2], [7, 8]]
    assert step(drops=True)(rows).tolist() == [1, 7]
    assert step(missing=True)(rows).tolist() == [1, 3, 5, 7]
    assert len(seen.pop()) == 4
    seen.clear()
    assert np.isnan(step()(rows[1:3])).all()
    assert not seen
