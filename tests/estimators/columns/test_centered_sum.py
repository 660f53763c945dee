"""Sums around the middle of their bounds: loss, errors, intervals, and when they are plain."""

from fractions import Fraction
from itertools import product
from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.spaces.space import rows_in

UNEVEN = ([0, -1, 3], [10, 5, 3.5])
HALVES, MIDDLES = np.array([5, 3, 0.25]), np.array([5, 2, 3.25])
REPLACE = dp.ChangeOneDistance()
NAN = float("nan")


def unit_rows(columns: int) -> dp.Space[dp.Rows]:
    return dp.records(columns=columns) >> dp.clamp(0, 1)


def deviations(pipeline) -> np.ndarray:
    """The declared standard deviation of each entry."""
    errors = pipeline.bound.facts.errors
    return np.repeat([each.law.standard_deviation for each in errors], [e.entries for e in errors])


@pytest.mark.parametrize("columns", [2, 10, 100, 1000])
def test_the_error_is_half_of_a_root_and_one(columns):
    """(sqrt d + 1) / 2 where the plain sum has sqrt d, for rho = 1/2."""
    pipeline = unit_rows(columns) >> dp.centered_sum(rho=0.5)
    found = deviations(pipeline)
    assert len(found) == columns
    assert found == pytest.approx((sqrt(columns) + 1) / 2, rel=1e-4)
    each = NormalDist().inv_cdf(0.975) * found[0]
    assert pipeline.accuracy(0.95) == pytest.approx(each, rel=1e-4)


def test_columns_of_different_width_have_the_least_total_error():
    pipeline = dp.records(columns=3) >> dp.clamp(*UNEVEN) >> dp.centered_sum(rho=0.5)
    total = float((deviations(pipeline) ** 2).sum())
    assert total == pytest.approx((HALVES.sum() + np.linalg.norm(MIDDLES)) ** 2, rel=1e-4)
    furthest = HALVES + MIDDLES
    assert total < furthest.sum() ** 2 < 3 * (furthest**2).sum()
    assert pipeline.accuracy(0.9).shape == (3,)


@pytest.mark.parametrize("bounds", [(0, 1), UNEVEN, (-3, 1)])
def test_the_worst_row_costs_the_budget_and_no_less(bounds):
    """2 rho = |noise-scaled row|^2 + 1 / sigma^2, exactly, by the scales that are drawn with."""
    rho = Fraction(1, 3)
    pipeline = dp.records(columns=3) >> dp.clamp(*bounds) >> dp.centered_sum(rho=rho)
    of_sum, of_count = pipeline.bound.facts.laws
    sigma, tau = (float(law.scale * Fraction(2) ** law.exponent) for law in (of_sum, of_count))
    low, high = (np.broadcast_to(np.array(each, dtype=float), 3) for each in bounds)
    halves = (high - low) / 2
    factors = 1 / np.sqrt(halves) if bounds is UNEVEN else np.ones(3)
    corners = np.array(list(product(*zip(low, high, strict=True))))
    scaled = (corners - (low + high) / 2) * factors / sigma
    costs = (scaled**2).sum(axis=1) + 1 / tau**2
    assert costs.max() == pytest.approx(2 * float(rho), rel=1e-3)
    assert pipeline.map(1) == pytest.approx(float(rho))


def released(pipeline, rows, runs: int) -> np.ndarray:
    return np.array([pipeline.insecure_release(rows, seed=s).value for s in range(runs)])


@pytest.mark.parametrize(
    ("budget", "deviation"),
    [({"rho": 0.5}, (sqrt(40) + 1) / 2), ({"epsilon": 1}, sqrt(40 * 43 / 4 + 42 * 43 / 12))],
)
def test_releases_err_as_stated(budget, deviation):
    """4000 numbers whose errors share a little; ten deviations of their mean square."""
    rows = np.linspace(0, 1, 7)[:, None] * np.ones(40)
    found = released(unit_rows(40) >> dp.centered_sum(**budget), rows, 400) - rows.sum(axis=0)
    assert np.sqrt(np.mean(found**2)) == pytest.approx(deviation, rel=0.12)
    assert abs(found.mean()) < 6 * deviation / sqrt(400)


@pytest.mark.parametrize("relation", ["add", "replace"])
@pytest.mark.parametrize(
    "budget", [{"rho": 1e12}, {"epsilon": 1e9}, {"epsilon": 1e6, "delta": 0.1}]
)
def test_without_noise_it_is_the_sum(relation, budget):
    rows = np.array([[4.0, -9.0, 3.25], [2.0, 4.5, 99.0]])
    space = dp.records(3) if relation == "add" else dp.records(3, size=2, metric=REPLACE)
    found = (space >> dp.clamp(*UNEVEN) >> dp.centered_sum(**budget))(rows)
    assert found == pytest.approx([6, 3.5, 6.75], abs=0.1)
    if relation == "add":
        counted = space >> dp.clamp(*UNEVEN) >> dp.centered_sum(**budget, with_count=True)
        total, people = counted(rows)
        assert people == pytest.approx(2, abs=0.1)
        assert total == pytest.approx([6, 3.5, 6.75], abs=0.1)


def test_intervals_hold_one_by_one_and_together():
    """1500 releases of 20 sums that share the noise of a count; six deviations of the shares."""
    pipeline = unit_rows(20) >> dp.centered_sum(rho=0.5, confidence=0.8)
    rows = np.full((60, 20), 0.5)
    found = [pipeline.insecure_release(rows, seed=s).value for s in range(1500)]
    ends = np.array([each.intervals for each in found])
    inside = (ends[..., 0] <= 30) & (ends[..., 1] >= 30)
    spread = np.std(inside.mean(axis=1)) / sqrt(1500)
    assert abs(inside.mean() - 0.8) < 6 * spread + 1e-3
    ends = np.array([each.joint_intervals for each in found])
    share = ((ends[..., 0] <= 30) & (ends[..., 1] >= 30)).all(axis=1).mean()
    assert 0.8 - 6 * sqrt(0.16 / 1500) < share < 0.9


def test_a_confidence_with_a_count():
    rows = np.full((100, 2), 0.25)
    asked = {"rho": 0.5, "with_count": True}
    both = unit_rows(2) >> dp.centered_sum(**asked, confidence=0.9)
    total, people = both.insecure_release(rows, seed=3).value
    plain, count = (unit_rows(2) >> dp.centered_sum(**asked)).insecure_release(rows, seed=3).value
    assert total.values.tolist() == plain.tolist()
    assert people.value == count
    assert both.accuracy(0.9).shape == (2,)
    half = NormalDist().inv_cdf(0.95) * people.standard_error
    assert people.interval[1] - people.value == pytest.approx(half, rel=1e-3)
    one = dp.clamp(0, 1) >> dp.centered_sum(**asked, confidence=0.9)
    assert [type(each) for each in one([0.5])] == [dp.Estimate, dp.Estimate]
    assert type((dp.clamp(0, 1) >> dp.centered_sum(rho=1, confidence=0.9))([])) is dp.Estimate


@pytest.mark.parametrize(
    ("space", "words", "same"),
    [
        (dp.records(3) >> dp.clamp(-1, 1), "middle of the bounds is 0", True),
        (dp.records() >> dp.clamp(0, 1), "centring gains no more", True),
        (dp.records(3) >> dp.clamp([0, -1, -1], 1), "centring gains no more", True),
        (dp.records(3) >> dp.clamp([0, -1, -9], [1, 1, 9]), "centring gains no more", False),
        (dp.records(3, size=9, metric=REPLACE) >> dp.clamp(0, 1), "replacing a row", True),
        (rows_in(dp.bodies.Simplex(1, columns=16)), "centring gains no more", True),
        (dp.records(3) >> dp.clip_to_norm(2), "middle of the bounds is 0", True),
    ],
)
def test_the_plain_sum_is_taken_where_it_is_as_good(space, words, same):
    pipeline = space >> dp.centered_sum(rho=0.5)
    assert words in pipeline.explain()
    plain = space >> dp.sum() >> dp.gaussian(rho=0.5)
    if same:
        assert pipeline.accuracy(0.95) == pytest.approx(plain.accuracy(0.95))
    else:
        assert (deviations(pipeline) ** 2).sum() < (deviations(plain) ** 2).sum()


def test_it_says_what_it_gains():
    text = (unit_rows(100) >> dp.centered_sum(rho=0.5)).explain()
    assert "error of a column: 5.5, of the plain sum 10" in text
    assert "0.909 of the budget is for the sum" in text
    pure = (unit_rows(10) >> dp.centered_sum(epsilon=1)).explain()
    assert "sum and count share one noise" in pure
    assert f"{sqrt(10 * 13 / 4 + 12 * 13 / 12):.6g}, of the plain sum {sqrt(110):.6g}" in pure


def test_rows_that_lack_something_are_left_out():
    rows = np.array([[1.0, 1.0], [NAN, 1.0], [1.0, NAN]])
    pipeline = dp.records(2) >> dp.clamp(0, 4) >> dp.centered_sum(rho=1e12, with_count=True)
    total, people = pipeline(rows)
    assert total == pytest.approx([1, 1], abs=0.01)
    assert people == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("bounds", [(-1e200, 1e200), (0, 1e155), (1e150, 2e150)])
@pytest.mark.parametrize("loss", ["epsilon", "rho"])
def test_bounds_whose_squares_are_beyond_floats_are_refused(bounds, loss):
    """They raised an OverflowError or warned."""
    with pytest.raises(dp.SpaceError, match="beyond 1e100"):
        dp.records(columns=3) >> dp.clamp(*bounds) >> dp.centered_sum(**{loss: 1})
