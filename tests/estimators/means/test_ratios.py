"""The means that are read from releases of sums, plain and weighted."""

from fractions import Fraction

import numpy as np
import pytest

import opendp_lite as dp

PIPELINE = dp.clamp(0, 100) >> dp.simplex_augment() >> dp.sum() >> dp.gaussian(rho=0.5)


def test_ratio_of_exact_sums_is_the_mean():
    data = np.random.default_rng(1).uniform(-20, 130, 999)
    sums = (dp.clamp(0, 100) >> dp.simplex_augment() >> dp.sum())(data)
    clamped = np.clip(data, 0, 100)
    assert dp.simplex_ratio(0, 100)(sums) == pytest.approx(clamped.mean())
    assert sums.sum() == pytest.approx(100 * len(data))
    shifted = (dp.clamp(-7, 5) >> dp.simplex_augment() >> dp.sum())(data)
    assert dp.simplex_ratio(-7, 5)(shifted) == pytest.approx(np.clip(data, -7, 5).mean())


@pytest.mark.parametrize("sums", [[0, 0], [-50, -50], [1e300, -1e300], [0, -1e9], [5, 1]])
def test_ratio_stays_inside_the_bounds(sums):
    assert 0 <= dp.simplex_ratio(0, 100)(sums) <= 100


@pytest.mark.parametrize("ratio", [dp.simplex_ratio, dp.count_ratio])
def test_bounds_in_the_wrong_order_are_refused(ratio):
    with pytest.raises(dp.SpaceError, match="must be below the upper"):
        PIPELINE >> ratio(100, 0)


def test_post_processing_keeps_the_map():
    mean = PIPELINE >> dp.simplex_ratio(0, 100)
    assert (mean.map(1), mean.map(2)) == (0.5, 2.0)
    assert eval(repr(mean), {"dp": dp}) == mean
    assert 0 <= mean([]) <= 100


COUNTED = dp.compose(
    dp.clamp(0, 10) >> dp.center(5) >> dp.sum() >> dp.laplace(epsilon=0.5),
    dp.count() >> dp.laplace(epsilon=0.5),
)


def test_sums_over_counts_are_means():
    assert dp.count_ratio(0, 10)([[30.0], 10]) == 3.0
    assert dp.count_ratio(0, 10, 5)((np.array([-20.0]), 10.0)) == 3.0
    assert dp.estimators.size_ratio(10, 0, 4)([30.0]) == 3.0
    assert dp.estimators.size_ratio(10, 0, 4)([300.0]) == 4.0
    for release in ([[1e300], -1.0], [[-1e300], 0.0], [[0.0], 1e300], [[5.0], 0], [[-5.0], -3]):
        assert 0 <= dp.count_ratio(0, 10)(release) <= 10


def test_count_and_size_keep_the_map():
    mean = COUNTED >> dp.count_ratio(0, 10, middle=5)
    assert repr(dp.count_ratio(0, 10, middle=5)) == "dp.count_ratio(0, 10, 5)"
    assert mean.map(1) == 1.0
    assert 0 <= mean([3.0] * 9) <= 10
    people = dp.records(size=9, metric=dp.ChangeOneDistance())
    sized = (
        people
        >> dp.clamp(0, 10)
        >> dp.sum()
        >> dp.laplace(epsilon=1)
        >> dp.estimators.size_ratio(9, 0, 10)
    )
    assert sized.map(1) == 1.0
    assert 0 <= sized([3.0] * 9) <= 10


REPLACE = dp.ChangeOneDistance()
TABLE = dp.records(columns=2)


def table(rows: int, seed: int = 1) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return np.column_stack([generator.normal(2, 3, rows), generator.exponential(1, rows)])


def plain(rows: np.ndarray) -> float:
    """By numpy, of the bounded values with the bounded weights."""
    return float(np.average(rows[:, 0].clip(-3, 5), weights=rows[:, 1].clip(0, 2)))


@pytest.mark.parametrize(
    "loss", [{"rho": 1e12}, {"epsilon": 1e7}, {"epsilon": 1e12, "delta": 1e-9}]
)
def test_with_hardly_any_noise_it_is_that_of_numpy(loss):
    for rows in (table(1), table(7), table(400)):
        sized = dp.records(columns=2, size=len(rows), metric=REPLACE)
        for space in (TABLE, sized):
            estimate = (
                space >> dp.weighted_mean(-3, 5, most=2, **loss, confidence=0.9, sampling=False)
            )(rows)
            weights = rows[:, 1].clip(0, 2).sum()
            if weights > 2:
                assert estimate.value == pytest.approx(plain(rows), abs=1e-4)
            assert estimate.rows == pytest.approx(weights / 2, abs=1e-4)


@pytest.mark.parametrize("loss", [{"rho": 1e12}, {"epsilon": 1e7}])
def test_its_error_for_the_population_is_that_of_a_ratio_of_two_means(loss):
    """By Taylor's rule; rows with the most weight lie at the lower bound, so none is cut."""
    rows = np.concatenate([table(400), [[-9.0, 9.0]] * 20])
    distances = rows[:, 1].clip(0, 2) * (rows[:, 0].clip(-3, 5) - plain(rows))
    right = np.sqrt((distances**2).sum()) / rows[:, 1].clip(0, 2).sum()
    found = (TABLE >> dp.weighted_mean(-3, 5, most=2, **loss))(rows)
    assert found.standard_error == pytest.approx(right, rel=0.02)


def test_the_published_denominator_is_the_number_of_rows():
    """Rows (w x, R - w x) total N R: the paper's mean of 4 and, at half the weight, 10 is 4.5."""
    rows = np.repeat([[4.0, 1.0], [10.0, 0.5]], 50, axis=0)
    values, weights = rows.T
    sums = (values * weights).sum(), (10 - values * weights).sum()
    published = 10 * sums[0] / (sums[0] + sums[1])
    assert published == pytest.approx(4.5)
    found = (TABLE >> dp.weighted_mean(0, 10, most=1, rho=1e12, confidence=None))(rows)
    assert found == pytest.approx(6, abs=1e-4)
    assert np.average(values, weights=weights) == 6


def test_the_scale_of_the_weights_does_not_matter():
    rows = table(300)
    plainly, thousandth = (
        TABLE >> dp.weighted_mean(-3, 5, most=most, rho=0.1, confidence=None)
        for most in (2, Fraction(2, 1024))
    )
    for seed in range(5):
        one = plainly.insecure_release(rows, seed).value
        other = thousandth.insecure_release(rows / [1, 1024], seed).value
        assert one == pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize("loss", [{"rho": 0.1}, {"epsilon": 0.5}], ids=str)
def test_its_error_is_that_of_a_simplex_of_weights(loss, seeded):
    """1500 releases know a mean square to 3.7 % (5.8 % for Laplace noise); six of these."""
    rows = table(2000)
    total = rows[:, 1].clip(0, 2).sum()
    bound = TABLE >> dp.weighted_mean(-3, 5, most=2, **loss, confidence=None)
    found = np.array([bound(rows) for _ in range(1500)]) - plain(rows)
    variance = 1 / 0.2 if "rho" in loss else 2 / 0.5**2
    square = 2 * (4**2 + (plain(rows) - 1) ** 2) * variance * 2**2
    assert np.mean(found**2) == pytest.approx(square / total**2, rel=0.35)
    assert abs(np.mean(found)) < 6 * np.std(found) / 1500**0.5 + 1e-3


@pytest.mark.parametrize("loss", [{"rho": 1e9}, {"epsilon": 1e6}])
def test_a_row_with_a_missing_value_has_no_weight(loss):
    """Under either relation, whichever of the two it lacks."""
    whole = np.array([[4.0, 1.0], [0.0, 0.5]] * 100)
    gaps = np.array([[np.nan, 2.0], [-3.0, np.nan], [np.nan, np.nan]] * 40)
    rows = np.concatenate([whole, gaps])
    mean = dp.weighted_mean(-3, 5, most=2, **loss, confidence=0.9, sampling=False)
    for space in (TABLE, dp.records(columns=2, size=len(rows), metric=REPLACE)):
        found = (space >> mean)(rows)
        assert found.value == pytest.approx(plain(whole), abs=1e-2)
        assert found.rows == pytest.approx(75, abs=1e-1)
