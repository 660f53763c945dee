"""Means, errors and intervals from a noisy total and number of rows, and the laws of the noises."""

from math import exp, hypot, sqrt

import attrs
import numpy as np
import pytest
from scipy.stats import norm, truncnorm

from opendp_lite.estimators.parts import noisy_totals

NORMAL = noisy_totals.RatioOfNoisySums(-1.0, 3.0, 1.0, noisy_totals.JointNormal(4.0, 1.5))
QUOTIENTS = {
    "normal": NORMAL,
    "ridge": attrs.evolve(NORMAL, ridge=0.25),
    "weights": attrs.evolve(NORMAL, least=0.1),
    "about 0": attrs.evolve(NORMAL, about=0.0),
    "no noise on the rows": attrs.evolve(NORMAL, errors=noisy_totals.JointNormal(4.0, 0.0)),
    "laplace": attrs.evolve(
        NORMAL, errors=noisy_totals.JointLaplace(np.array([2.0, -2.0]), np.array([1.0, 1.0]))
    ),
    "core": attrs.evolve(NORMAL, errors=noisy_totals.JointSumAndCount(4.0, 1.0, 1.0), ridge=0.25),
}
RELEASES = [
    (0.0, 30.0),
    (25.0, 30.0),
    (70.0, 30.0),
    (-200.0, 40.0),
    (1.0, 0.3),
    (-3.0, -5.0),
    (4e5, 1e6),
]


def test_the_mean_is_the_total_over_the_rows_in_bounds():
    assert NORMAL.mean(10.0, 20.0) == 1.5
    assert NORMAL.mean(np.array([90.0, -90.0]), 20.0).tolist() == [3.0, -1.0]
    assert NORMAL.mean(0.5, np.array([1.0, 0.2, -7.0])).tolist() == [1.5] * 3
    weights = attrs.evolve(NORMAL, least=0.1)
    assert weights.mean(0.05, np.array([0.2, 0.1, 0.05, -1.0])).tolist() == [1.25, 1.5, 1.5, 1.5]


def test_a_ridge_brings_few_rows_to_the_middle():
    ridge = attrs.evolve(NORMAL, ridge=0.25)
    shrunk = 1 + 10 * 20 / (20**2 + 0.25 * 1.5**2)
    assert ridge.mean(10.0, 20.0) == pytest.approx(shrunk, rel=1e-15)
    shares = (ridge.mean(0.1 * n, n) - 1 for n in (1, 2, 5, 1000))
    assert np.all(np.diff([*shares, 0.1]) > 0)


def test_the_standard_error_is_of_first_order_and_half_the_width_at_most():
    deviation = hypot(4.0, 1.5 * 0.5) / 20
    assert NORMAL.standard_error(10.0, 20.0) == pytest.approx(deviation, rel=1e-12)
    both = hypot(deviation, 0.7 / sqrt(20))
    assert NORMAL.standard_error(10.0, 20.0, 0.7) == pytest.approx(both, rel=1e-12)
    rows = np.array([0.0, -3.0, 0.49, 1.0, 2.0])
    assert NORMAL.standard_error(np.zeros(5), rows).tolist() == [2.0] * 5
    assert NORMAL.standard_error(0.0, 20.0, 100.0) == 2.0


def test_the_standard_error_is_the_spread_of_the_means():
    """Far from the bounds, with many rows: the spread of 100 000 is known to 0.22 %; six of it."""
    errors = NORMAL.errors
    total, rows = errors.draw(100_000, np.random.default_rng(3))
    for mean in (0.0, 1.0, 2.4):
        found = NORMAL.mean(1000 * (mean - 1) + total, 1000 + rows).std()
        stated = NORMAL.standard_error(1000 * (mean - 1), 1000.0)
        assert found == pytest.approx(float(stated), rel=0.0135)


@pytest.mark.parametrize("spread", [0.0, 1.2])
@pytest.mark.parametrize("name", QUOTIENTS)
def test_the_interval_ends_where_means_no_longer_fit(name, spread):
    quotient = QUOTIENTS[name]
    for total, rows in RELEASES[:: 1 if spread else 2]:
        low, high = quotient.interval(total, rows, 0.9, spread)
        shown = float(quotient.mean(total, rows))
        assert -1 <= low <= shown <= high <= 3
        assert type(low) is type(high) is float
        step = min(1e-7, 1e-5 * (high - low) + 1e-9)
        beyond = np.array([low - step, high + step])
        fits = quotient.levels(np.clip(beyond, -1, 3), total, rows, spread) <= 0.9
        for edge, fit, end in zip((-1, 3), fits, (low, high), strict=True):
            assert not fit or end == edge
        inside = quotient.levels(np.linspace(low, high, 25)[1:-1], total, rows, spread) <= 0.9
        assert inside.all() or high - low < 1e-6


def test_intervals_widen_with_confidence_and_spread_and_narrow_with_rows():
    def width(confidence, rows, spread):
        low, high = NORMAL.interval(0.0, rows, confidence, spread)
        return high - low

    sizes = [width(c, 30.0, 0.0) for c in (0.01, 0.5, 0.9, 0.95, 0.999)]
    assert np.all(np.diff(sizes) > 0)
    assert np.all(np.diff([width(0.95, 30.0, s) for s in (0, 0.5, 1, 2)]) > 0)
    assert np.all(np.diff([width(0.95, n, 0.0) for n in (9.0, 30.0, 100.0, 1e4)]) < 0)
    usual = 2 * 1.959964 * 4 / 1000
    assert width(0.95, 1000.0, 0.0) == pytest.approx(usual, rel=1e-3)


@pytest.mark.parametrize("name", ["normal", "laplace", "core"])
@pytest.mark.parametrize("part", [0.5, 1.0, 2.0])
def test_noise_and_a_normal_sample_hold_as_often_as_said(name, part):
    """A share of 40 000 is known to 0.1 %; six of it, and .4 % for the first term of a series."""
    quotient, generator = QUOTIENTS[name], np.random.default_rng(8)
    total, rows = quotient.errors.draw(40_000, generator)
    sample = part * float(quotient.errors.deviation(np.array(0.5)))
    total = total + 3000 * 0.5 + sample * generator.standard_normal(40_000)
    levels = quotient.levels(np.full(40_000, 1.5), total, 3000 + rows, sample / sqrt(3000))
    fits = levels <= 0.95
    assert fits.mean() == pytest.approx(0.95, abs=0.0105)


def test_a_noisy_variance_is_what_to_expect_of_one_that_is_not_below_0():
    for value in (-3.0, 0.0, 0.5, 7.9):
        cut = truncnorm(-value, np.inf, loc=value)
        assert noisy_totals.expect_positive(2 * value, 2.0) == pytest.approx(
            2 * cut.mean(), rel=1e-6
        )
    assert 0 < noisy_totals.expect_positive(-1e9, 2.0) < noisy_totals.expect_positive(-6.0, 2.0)
    assert noisy_totals.expect_positive(3.0, 0.0) == 3.0
    assert noisy_totals.expect_positive(-3.0, 0.0) == 0.0


def test_no_rows_at_all_say_nothing_of_the_mean():
    low, high = NORMAL.interval(0.0, 0.0, 0.95)
    assert (low, high) == (-1.0, 3.0)
    assert NORMAL.standard_error(0.0, 0.0) == 2.0


def test_a_release_beyond_a_bound_still_leaves_an_interval():
    for total in (300.0, 1e9, 1e100):
        low, high = NORMAL.interval(total, 50.0, 0.95)
        assert high == 3.0
        assert low <= 3.0


def accepted(up, down, confidence):
    """How far above and below 0 the scores are accepted, found by halving."""
    ends = []
    for sign in (1, -1):
        low, high = np.zeros(np.shape(up)), np.full(np.shape(up), 1e12)
        for _ in range(120):
            middle = (low + high) / 2
            fits = noisy_totals._held_before(sign * middle, up, down) <= confidence
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        ends.append(low)
    return ends


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_the_acceptance_holds_its_confidence(confidence):
    room = np.array([1e-9, 1e-3, 0.1, 0.5, 1.0, 2.0, 5.0, 1e6])
    up, down = (each.ravel() for each in np.meshgrid(room, room))
    high, low = accepted(up, down, confidence)
    assert (high > 0).all()
    assert (low > 0).all()
    assert np.allclose(norm.cdf(high) - norm.cdf(-low), confidence, rtol=0, atol=1e-6)
    assert np.allclose(accepted(down, up, confidence), (low, high))


def test_what_lies_further_out_comes_later():
    """So the accepted scores are an interval, whose ends halving finds."""
    room = np.array([0.0, 1e-3, 0.5, 2.0, 9.0])
    up, down = (each.ravel()[:, None] for each in np.meshgrid(room, room))
    scores = np.linspace(0, 20, 2001)
    for sign in (1, -1):
        held = noisy_totals._held_before(sign * scores[None, :], up, down)
        assert (np.diff(held, axis=1) >= 0).all()


@pytest.mark.parametrize(("up", "down"), [(0.3, 9.0), (1.0, 0.5), (2.0, 2.0), (0.01, 3.0)])
def test_the_acceptance_is_ordered_by_likelihood(up, down):
    """Against an ordering of a fine grid (Feldman and Cousins 1998, section IV)."""
    values = np.linspace(-40, 40, 800_001)
    best = np.clip(values, -down, up)
    order = np.argsort(values**2 - (values - best) ** 2, kind="stable")
    mass = np.cumsum(norm.pdf(values[order])) * 1e-4
    first = values[order][: int(np.searchsorted(mass, 0.95))]
    high, low = accepted(np.array(up), np.array(down), 0.95)
    for end, found in ((float(high), first.max()), (float(low), -first.min())):
        assert min(end, 8) == pytest.approx(min(found, 8), abs=2e-3)


def test_far_from_both_bounds_the_acceptance_is_the_usual_one():
    high, low = accepted(np.array([5.0, 50.0]), np.array([7.0, 2.0]), 0.95)
    assert np.allclose([high, low], 1.959964, atol=1e-5)


DRAWS = 400_000
GAPS = np.array([-9.0, -2.5, -1.0, -0.3, 0.1, 0.8, 2.0, 5.0])
THETAS = (-2.0, -0.4, 0.0, 0.4, 1.0, 3.0)
PAIRS = {
    "normal": noisy_totals.JointNormal(0.7, 1.3),
    "normal, sum alone": noisy_totals.JointNormal(0.7, 0.0),
    "one laplace": noisy_totals.JointLaplace(np.array([0.8]), np.array([0.0])),
    "sum and count": noisy_totals.JointLaplace(np.array([0.5, 0.0]), np.array([0.0, 1.5])),
    "of equal scales": noisy_totals.JointLaplace(np.array([1.0, 0.0]), np.array([0.0, 1.0])),
    "simplex": noisy_totals.JointLaplace(np.array([0.5, -0.5]), np.array([1.0, 1.0])),
    "simplex and count": noisy_totals.JointLaplace(
        np.array([0.5, -0.5, 0.0]), np.array([0.6, 0.6, 0.7])
    ),
    "core": noisy_totals.JointSumAndCount(0.8, 1.0, 1.0),
    "core, not stretched": noisy_totals.JointSumAndCount(2.0, 0.5, 0.0),
    "core, stretched": noisy_totals.JointSumAndCount(0.4, 2.0, 2.39),
}


def law(pair: noisy_totals.JointNoise, theta: float):
    """The distribution function of s - theta k."""
    return lambda gaps: np.concatenate(
        [pair.below(np.full(len(part), theta), part) for part in np.array_split(gaps, 50)]
    )


@pytest.mark.parametrize("name", PAIRS)
def test_probabilities_to_three_digits(name):
    """480 tests, each at six deviations of a share of the draws: they fail with 1e-6 at most."""
    pair = PAIRS[name]
    total, rows = pair.draw(DRAWS, np.random.default_rng(7))
    for theta in THETAS:
        gaps = GAPS * float(pair.deviation(np.array(theta)))
        expected = law(pair, theta)(gaps)
        assert (np.diff(expected) >= 0).all()
        found = [(total - theta * rows <= gap).mean() for gap in gaps]
        error = np.sqrt(expected * (1 - expected) / DRAWS) + 2 / DRAWS
        assert (np.abs(found - expected) < 6 * error + 1e-5).all()


@pytest.mark.parametrize("name", PAIRS)
def test_deviations_are_those_of_the_draws(name):
    """Six standard errors of a variance and of a covariance."""
    pair = PAIRS[name]
    total, rows = pair.draw(DRAWS, np.random.default_rng(8))
    for drawn, stated in ((total, pair.total_deviation), (rows, pair.rows_deviation)):
        squares = drawn**2
        assert abs(squares.mean() - stated**2) <= 6 * squares.std() / sqrt(DRAWS)
    product = total * rows
    assert abs(product.mean()) <= 6 * product.std() / sqrt(DRAWS)


@pytest.mark.parametrize("name", PAIRS)
def test_a_law_is_symmetric_and_ends_at_0_and_1(name):
    pair = PAIRS[name]
    for theta in THETAS:
        gaps = np.linspace(0, 30, 31) * float(pair.deviation(np.array(theta)))
        above, below = law(pair, theta)(gaps), law(pair, theta)(-gaps)
        assert np.allclose(above + below, 1, atol=1e-7)
        assert above[0] == pytest.approx(0.5, abs=1e-7)
        assert above[-1] == pytest.approx(1, abs=1e-7)


def test_normal_closed_form():
    gaps = np.linspace(-7, 7, 99)
    pair = noisy_totals.JointNormal(3.0, 4.0)
    assert np.allclose(law(pair, 1.0)(gaps), norm.cdf(gaps / 5), rtol=1e-9, atol=1e-15)


def test_deviations_of_each_release():
    """As in the second round of a recentred mean."""
    pair = noisy_totals.JointNormal(np.array([1.0, 2.0]), np.array([0.0, 3.0]))
    found = pair.below(np.array([5.0, 1.0]), np.array([1.0, 1.0]))
    assert np.allclose(found, norm.cdf([1.0, 1 / sqrt(13)]))


def test_laplace_closed_forms():
    """One Laplace variable, two of different scales, two and three of the same, moved apart."""
    one = noisy_totals.JointLaplace(np.array([2.0]), np.array([0.0]))
    assert law(one, 3.0)(np.array([1.0]))[0] == pytest.approx(1 - exp(-0.5) / 2, rel=1e-12)
    two = noisy_totals.JointLaplace(np.array([2.0, 0.0]), np.array([0.0, 1.0]))
    beyond = (4 * exp(-3 / 2) - exp(-3)) / (2 * (4 - 1))
    assert law(two, 1.0)(np.array([3.0]))[0] == pytest.approx(1 - beyond, rel=1e-9)
    same = law(two, 2.0)(np.array([3.0]))[0]
    assert same == pytest.approx(1 - (2 + 1.5) / 4 * exp(-1.5), abs=2e-4)
    three = noisy_totals.JointLaplace(np.array([1.0, 1.0, 1.0]), np.zeros(3))
    exactly = 1 - exp(-2.0) * (8 + 5 * 2 + 2**2) / 16
    assert law(three, 0.0)(np.array([2.0]))[0] == pytest.approx(exactly, abs=3e-4)


def test_core_closed_form():
    """Without a stretch and with theta = 0: a uniform times Gamma(3) is a sum of two Laplace."""
    pair = noisy_totals.JointSumAndCount(1.0, 1.0, 0.0)
    gaps = np.linspace(0, 8, 9)
    assert np.allclose(law(pair, 0.0)(gaps), 1 - (2 + gaps) / 4 * np.exp(-gaps), atol=2e-5)
