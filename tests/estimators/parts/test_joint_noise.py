"""The laws of the noises of a total and of a number of rows, against closed forms and draws."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest
from scipy.stats import norm

from opendp_lite.estimators.parts.noisy_totals import (
    JointLaplace,
    JointNoise,
    JointNormal,
    JointSumAndCount,
)

DRAWS = 400_000
GAPS = np.array([-9.0, -2.5, -1.0, -0.3, 0.1, 0.8, 2.0, 5.0])
THETAS = (-2.0, -0.4, 0.0, 0.4, 1.0, 3.0)
PAIRS = {
    "normal": JointNormal(0.7, 1.3),
    "normal, sum alone": JointNormal(0.7, 0.0),
    "one laplace": JointLaplace(np.array([0.8]), np.array([0.0])),
    "sum and count": JointLaplace(np.array([0.5, 0.0]), np.array([0.0, 1.5])),
    "of equal scales": JointLaplace(np.array([1.0, 0.0]), np.array([0.0, 1.0])),
    "simplex": JointLaplace(np.array([0.5, -0.5]), np.array([1.0, 1.0])),
    "simplex and count": JointLaplace(np.array([0.5, -0.5, 0.0]), np.array([0.6, 0.6, 0.7])),
    "core": JointSumAndCount(0.8, 1.0, 1.0),
    "core, not stretched": JointSumAndCount(2.0, 0.5, 0.0),
    "core, stretched": JointSumAndCount(0.4, 2.0, 2.39),
}


def law(pair: JointNoise, theta: float):
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
    pair = JointNormal(3.0, 4.0)
    assert np.allclose(law(pair, 1.0)(gaps), norm.cdf(gaps / 5), rtol=1e-9, atol=1e-15)


def test_deviations_of_each_release():
    """As in the second round of a recentred mean."""
    pair = JointNormal(np.array([1.0, 2.0]), np.array([0.0, 3.0]))
    found = pair.below(np.array([5.0, 1.0]), np.array([1.0, 1.0]))
    assert np.allclose(found, norm.cdf([1.0, 1 / sqrt(13)]))


def test_laplace_closed_forms():
    """One Laplace variable, two of different scales, two and three of the same, moved apart."""
    one = JointLaplace(np.array([2.0]), np.array([0.0]))
    assert law(one, 3.0)(np.array([1.0]))[0] == pytest.approx(1 - exp(-0.5) / 2, rel=1e-12)
    two = JointLaplace(np.array([2.0, 0.0]), np.array([0.0, 1.0]))
    beyond = (4 * exp(-3 / 2) - exp(-3)) / (2 * (4 - 1))
    assert law(two, 1.0)(np.array([3.0]))[0] == pytest.approx(1 - beyond, rel=1e-9)
    same = law(two, 2.0)(np.array([3.0]))[0]
    assert same == pytest.approx(1 - (2 + 1.5) / 4 * exp(-1.5), abs=2e-4)
    three = JointLaplace(np.array([1.0, 1.0, 1.0]), np.zeros(3))
    exactly = 1 - exp(-2.0) * (8 + 5 * 2 + 2**2) / 16
    assert law(three, 0.0)(np.array([2.0]))[0] == pytest.approx(exactly, abs=3e-4)


def test_core_closed_form():
    """Without a stretch and with theta = 0: a uniform times Gamma(3) is a sum of two Laplace."""
    pair = JointSumAndCount(1.0, 1.0, 0.0)
    gaps = np.linspace(0, 8, 9)
    assert np.allclose(law(pair, 0.0)(gaps), 1 - (2 + gaps) / 4 * np.exp(-gaps), atol=2e-5)
