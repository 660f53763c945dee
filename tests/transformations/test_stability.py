"""Every transformation against the falsifier, and how tight its map is."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest

import opendp_lite as dp


def test_sums_are_exact_whatever_the_order_and_the_cutting():
    generator = np.random.default_rng(1)
    data = generator.standard_normal(100_003) * 10.0 ** generator.integers(-8, 9, 100_003)
    total = dp.clamp(-1000, 1000) >> dp.sum()
    expected = total(data)
    unit = Fraction(2) ** total.bind(dp.records()).output_space.domain.exponent
    by_hand = sum(
        max(-1000 / unit, min(1000 / unit, round(Fraction(x) / unit))) for x in data.tolist()
    )
    assert expected[0] == float(by_hand * unit)
    assert total(generator.permutation(data)) == expected
    for cuts in ([10], [1, 2, 3], [65536], [0, 0, 99_999]):
        pieces = np.split(data, cuts)
        assert total(dp.Blocks(lambda pieces=pieces: iter(pieces))) == expected


def test_large_arrays_in_parts_come_to_the_same():
    """4.5 million entries are shared by threads where there are several processors."""
    generator = np.random.default_rng(4)
    data = generator.standard_normal(4_500_001) * 50
    data[::1000] = np.nan
    for stage in (
        dp.clamp(-100, 100) >> dp.sum(),
        dp.drop_nan() >> dp.clamp(0, 1) >> dp.simplex_augment() >> dp.sum(),
        dp.drop_nan() >> dp.count(),
    ):
        cut = dp.Blocks(lambda: iter(np.array_split(data, 7)))
        assert np.array_equal(stage(data), stage(cut))
    matrix = data[:4_500_000].reshape(-1, 3)
    three = dp.records(columns=3) >> dp.clip_to_norm(10) >> dp.sum()
    pieces = dp.Blocks(lambda: iter(np.array_split(matrix, 5)), columns=3)
    assert np.array_equal(three(matrix), three(pieces))
    assert np.array_equal(three(np.asfortranarray(matrix)), three(pieces))


def test_a_function_that_raises_in_a_thread_says_so():
    @dp.stage
    def short(space: dp.Space[dp.Rows]) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Rows]]:
        """Breaks its contract."""
        return dp.row_map(space, lambda block: block[1:], space.domain.body)

    with pytest.raises(dp.SpaceError, match="drops=True"):
        (dp.clamp(0, 1) >> short() >> dp.sum())(np.zeros(4_500_000))


def test_totals_beyond_int64_stay_exact():
    class Copies:
        def __iter__(self):
            return (np.full(65536, 1.0) for _ in range(200))

    total = dp.clamp(0, 1) >> dp.sum()
    bound = total.bind(dp.records())
    value = bound.function(bound.input_space.domain.to_internal(dp.Blocks(Copies)))
    assert value.steps.tolist() == [200 * 65536 * 2**40]
    assert 200 * 65536 * 2**40 > 2**63


def test_bounds_far_from_zero_do_not_overflow_a_block():
    """Entries of 2^50 grid steps: a block of them passes 2^64."""
    low, high = 1.0, 1.0 + 2.0**-40
    total = dp.clamp(low, high) >> dp.sum()
    data = np.full(262144 + 7, high)
    for rows in (data, data[:-1], data[:4097], np.full(400_000, low)):
        found = total(rows)[0]
        assert abs(found - rows.sum()) <= len(rows) * 2.0**-49
    dp.assert_stable(total, trials=12)


def test_where_odd_values_go():
    nan = float("nan")
    clamped = dp.clamp(0, 10)([nan, -np.float64(nan), inf, -inf, -0.0])
    assert np.array_equal(clamped, [nan, nan, 10, 0, 0], equal_nan=True)
    rows = np.array([[nan, 1.0], [inf, 5.0], [0.0, 0.0], [1e308, 1e308]])
    clipped = (dp.records(columns=2) >> dp.clip_to_norm(2))(rows)
    assert np.array_equal(clipped[0], [nan, 1], equal_nan=True)
    assert np.allclose(clipped[1], [2, 0])
    assert np.allclose(np.linalg.norm(clipped[3]), 2)
    assert dp.drop_nan()([nan, 1.0]).tolist() == [1]
    assert dp.impute(3)([nan, 1.0]).tolist() == [3, 1]
    below = dp.transformations.indicator_below(1)([nan, -nan, inf, -inf, 1.0, 0.5])
    assert np.array_equal(below, [nan, nan, 0, 1, 0, 1], equal_nan=True)
    lengths = (dp.records(columns=2) >> dp.transformations.norm())(rows)
    assert np.array_equal(lengths, [nan, inf, 0, inf], equal_nan=True)
    bounded = (dp.records(columns=2) >> dp.clamp(-4e200, 3e200) >> dp.transformations.norm())(
        rows[1:]
    )
    assert bounded == pytest.approx([5.65685424949238e200, 0, 5.65685424949238e200])
    assert (dp.records(columns=2) >> dp.transformations.norm(p=1))([[-3.0, 4.0]]).tolist() == [7]
    assert np.signbit(dp.transformations.absolute()([-0.0, -inf, -nan])).tolist() == [False] * 3


def test_weights_and_values_beyond_their_bounds_count_as_the_bound():
    step = dp.records(columns=2) >> dp.transformations.weighted_pairs(0, 10, most=2)
    wild = np.array([[12.0, 3.0], [-5.0, 1.0], [4.0, -1.0], [np.inf, np.inf], [-np.inf, 0.5]])
    assert step(wild).tolist() == [[20, 0], [0, 10], [0, 0], [20, 0], [0, 5]]
    assert np.isnan(step(np.array([[np.nan, 1.0], [1.0, np.nan]]))).all()


def test_squares_are_those_of_numpy():
    values = np.random.default_rng(1).normal(0, 2, 99)
    assert np.array_equal(dp.transformations.square()(values), values**2)
    found = (dp.clamp(-3, 2) >> dp.transformations.square())(np.array([-9.0, -np.inf, 9.0, 1e-200]))
    assert found.tolist() == [9, 9, 4, 0]


def test_an_even_filling_has_the_mean_of_the_bounds():
    for size in (1, 7, 1000):
        filled = (dp.clamp(-2, 5) >> dp.resize(size))([])
        assert len(filled) == size
        assert abs(filled.mean() - 1.5) < 7 / size
        assert len(np.unique(filled)) == size


def test_a_norm_is_at_least_that_of_the_smallest_entries():
    rows = dp.records(columns=3) >> dp.clamp([3, -5, 12], [6, -4, 14])
    longest = dp.bodies.Box(0, [6, 5, 14]).radii().of(2)
    assert (rows >> dp.transformations.norm()).output_space.domain.body == dp.bodies.Box(
        13, longest
    )
    assert (rows >> dp.transformations.norm(1)).output_space.domain.body == dp.bodies.Box(19, 25)


def test_a_weight_has_the_smaller_of_two_bounds():
    weights = dp.records(columns=2) >> dp.clamp([0, 0], [9, 3])
    assert (weights >> dp.transformations.weighted_pairs(0, 9, most=6) >> dp.sum()).map(1).l1 == 27
    assert (weights >> dp.transformations.weighted_pairs(0, 9, most=2) >> dp.sum()).map(1).l1 == 18


@pytest.mark.parametrize("columns", [1, 2, 3, 7, 100])
def test_a_row_has_one_norm_wherever_it_stands(columns):
    data = np.random.default_rng(5).standard_normal((257, columns)) * 1e3
    for p in (1, 2):
        step = dp.records(columns=columns) >> dp.transformations.norm(p)
        together = step(data)
        off = 1e-14 if columns == 1 else max(2.0**-34, 2.0**-41 * columns)
        assert together == pytest.approx(np.linalg.norm(data, p, axis=1), rel=off)
        assert np.array_equal([step(row[None, :])[0] for row in data[::16]], together[::16])
        assert np.array_equal(step(np.asfortranarray(data[::-1])), together[::-1])


def test_resize_does_not_depend_on_order_and_keeps_a_fair_sample():
    generator = np.random.default_rng(3)
    data = generator.integers(0, 2, 20_000).astype(float)
    step = dp.clamp(0, 1) >> dp.resize(5_000, fill=0)
    kept = step(data)
    assert sorted(step(generator.permutation(data))) == sorted(kept)
    assert abs(kept.mean() - data.mean()) < 6 * 0.5 / np.sqrt(5_000)
    assert (dp.clamp(0, 1) >> dp.resize(3, fill=0.5))([]).tolist() == [0.5] * 3


def test_bounds_beyond_floats_are_no_fault_of_rows():
    wide = dp.clamp(-1e308, 1e308) >> dp.simplex_augment()
    assert "inf" in wide.explain()


def test_losses_beyond_floats_show_as_infinite():
    pipeline = dp.count() >> dp.gaussian(rho=1.7e308)
    assert pipeline.epsilon(1e-6) == float("inf")
