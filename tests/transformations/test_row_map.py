"""What row_map asks of a person's function, and what it mends."""

import numpy as np
import pytest

import opendp_lite as dp

Tables = dp.Space[dp.Rows]
SIZED = dp.records(size=10, metric=dp.ChangeOneDistance())


def step(function, *, body=None, drops=False, missing=False):
    @dp.stage
    def tried(space: Tables) -> dp.Transformation[Tables, Tables]:
        """The function under test."""
        return dp.row_map(space, function, body or space.domain.body, drops=drops, missing=missing)

    return tried()


def positive(block):
    return block[block[:, 0] > 0]


def test_rows_may_be_left_out_only_where_their_number_is_private():
    kept = dp.clamp(-1, 1) >> step(positive, drops=True)
    dp.assert_stable(kept >> dp.sum())
    assert kept([0.5, -0.5]).tolist() == [0.5]
    with pytest.raises(dp.SpaceError, match="holds fixed"):
        SIZED >> kept


def test_a_function_that_drops_rows_without_saying_so_is_refused():
    silent = dp.clamp(-1, 1) >> step(positive) >> dp.sum() >> dp.laplace(epsilon=1)
    for pipeline, data in ((silent, [0.5, -0.5]), (SIZED >> silent, [-0.5] * 10)):
        with pytest.raises(dp.SpaceError, match="drops=True"):
            pipeline(data)
    for drops in (False, True):
        doubled = dp.clamp(0, 1) >> step(lambda b: np.repeat(b, 2, axis=0), drops=drops)
        with pytest.raises(dp.SpaceError, match="rows as it got"):
            doubled([0.5])


@pytest.mark.parametrize("function", [lambda b: b[:, 0], lambda b: np.hstack([b, b])])
def test_a_function_of_the_wrong_shape_is_refused(function):
    with pytest.raises(dp.SpaceError, match="1 columns"):
        (dp.clamp(0, 1) >> step(function))([0.5])


def test_a_nan_made_by_a_function_is_missing_whatever_its_sign():
    """Vector instructions and their tails give the sum of two NaNs different signs."""
    nan = np.copysign(np.nan, -1)
    mixed = step(lambda b: (b + np.abs(b)) / 2, missing=True)
    total = mixed >> dp.clamp(0, 1) >> dp.sum()
    for count in range(1, 40):
        assert not np.signbit(mixed(np.full(count, nan))).any()
        assert total(np.full(count, nan)).tolist() == [0]
    dp.assert_stable(total)


def test_a_function_cannot_write_into_the_data():
    def doubled(block):
        block *= 2
        return block

    data = np.array([1.0, 2.0])
    for _ in range(2):
        assert (step(doubled, body=dp.bodies.Box(0, 9)) >> dp.sum())(data).tolist() == [6]
    assert data.tolist() == [1, 2]


def test_a_metric_of_ones_own_says_how_far_a_sum_moves():
    class ReplaceHidden(dp.metrics.RowMetric):
        """Replaces rows of datasets whose size is private."""

        verb = "replacing"
        fixed_size = False

        def per_row(self, body):
            return body.radii() * 2

    space = dp.Space(dp.Rows(), ReplaceHidden(), unit=ReplaceHidden().distance(1))
    assert (dp.clamp(-1, 1) >> dp.sum()).bind(space).map(1).l1 == 2


OTHERS = {
    "complex where negative": np.emath.sqrt,
    "always complex": lambda block: block.astype(complex) ** 0.5,
    "objects": lambda block: np.array([[x**0.5 for x in row] for row in block.tolist()], object),
    "texts where negative": lambda block: np.array(
        [["none" if x < 0 else x**0.5 for x in row] for row in block.tolist()], object
    ),
    "masked": lambda block: np.ma.array(np.abs(block) ** 0.5, mask=block < 0),
    "lists": lambda block: [[x**0.5 for x in row] for row in block.tolist()],
}


@pytest.mark.parametrize("function", OTHERS.values(), ids=OTHERS)
def test_what_is_no_real_number_is_missing_without_a_word(function):
    """Of which type an array is may depend on its values: nothing may warn or raise by it."""
    roots = step(function, body=dp.bodies.Box(0, 9))
    for data in ([4.0, 9.0], [4.0, -4.0], [-4.0, -9.0], [-4.0], []):
        found = roots(data)
        known = [x**0.5 if x >= 0 else np.nan for x in data]
        assert np.array_equal(found, known, equal_nan=True)
        assert (roots >> dp.sum())(data) == sum(x**0.5 for x in data if x > 0)
    dp.assert_stable(roots >> dp.sum(), dp.records(), trials=16)


def test_numbers_of_other_types_keep_their_values():
    for kind in (np.float32, np.int64, np.bool_, np.complex128, np.longdouble, object):
        doubled = step(lambda block, kind=kind: block.astype(kind), body=dp.bodies.Box(0, 9))
        assert doubled([1.0, 0.0, 1.0]).tolist() == [1, 0, 1]
    huge = step(lambda block: np.array([[10**400]] * len(block), object), body=dp.bodies.Box(0, 9))
    assert np.isnan(huge([1.0])).all()


def test_a_body_of_too_few_columns_is_named():
    pipeline = dp.records(columns=3) >> step(np.abs, body=dp.bodies.Box(0, 1))
    with pytest.raises(dp.SpaceError, match="of 1 columns, as its body has; it got 3"):
        pipeline([[1.0, 2.0, 3.0]])
