"""Gaussian differential privacy: its conversions against independent high precision."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import erfc, exp, mp, mpf, sqrt

import opendp_lite as dp
from opendp_lite.measures.divergences import squared_mu_of_pure
from opendp_lite.measures.profile import GaussianProfile, PureProfile

MU = dp.measures.GaussianDivergence()
ZCDP = dp.ZeroConcentratedDivergence()
MILLIONTH = Fraction(1, 10**6)


@pytest.mark.parametrize("epsilon", ["1/1000000", "1/10", "1", "5", "30", "600"])
def test_a_pure_loss_has_the_mu_at_which_the_trade_off_functions_touch(epsilon):
    """At the corner of randomised response both errors are 1 / (1 + e^epsilon)."""
    mp.dps = 400
    squared = squared_mu_of_pure(Fraction(epsilon))
    corner = 1 / (1 + exp(mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator))

    def at(square: Fraction) -> mpf:
        mu = sqrt(mpf(square.numerator) / square.denominator)
        return erfc(mu / 2 / sqrt(mpf(2))) / 2

    assert at(squared) <= corner
    assert at(squared * (1 - Fraction(1, 10**8))) > corner
    mp.dps = 60


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_the_curve_of_that_mu_is_nowhere_below_randomised_response(epsilon):
    gaussian, response = GaussianProfile(squared_mu_of_pure(epsilon)), PureProfile(epsilon)
    levels = [epsilon * n / 20 for n in range(21)]
    assert all(gaussian.delta(level) >= response.delta(level) for level in levels)
    smaller = GaussianProfile(squared_mu_of_pure(epsilon) * Fraction(98, 100))
    assert any(smaller.delta(level) < response.delta(level) for level in levels)


def test_what_each_measure_admits():
    laplace, gaussian = dp.laplace(epsilon=1), dp.gaussian(rho=0.5)
    pure, normal = laplace.privacy_profile(), gaussian.privacy_profile()
    concentrated = ZCDP.profile(Fraction(1, 2))
    assert MU.admit(normal) == 1 == MU.admit(dp.gaussian(mu=1).privacy_profile())
    assert MU.admit(pure) == squared_mu_of_pure(Fraction(1))
    assert MU.admit(concentrated) is None is MU.admit(PureProfile(Fraction(10**4)))
    assert ZCDP.admit(normal) == Fraction(1, 2) == ZCDP.admit(concentrated)
    assert 0.36 < ZCDP.admit(pure) < 0.4622
    assert dp.MaxDivergence().admit(pure) == 1
    assert dp.MaxDivergence().admit(normal) is None
    approximate = dp.ApproximateDivergence()
    assert approximate.admit(pure) == (1, 0)
    assert approximate.admit(normal) is None is approximate.admit(concentrated)


def test_the_noise_of_a_typed_mu():
    for distance in (1, 2, 3):
        plain = dp.count() >> dp.gaussian(scale=2)
        typed = dp.count() >> dp.gaussian(mu=0.5)
        assert typed.accuracy(0.9) == plain.accuracy(0.9)
        assert typed.loss(distance) == Fraction(distance, 2) ** 2 == 2 * plain.loss(distance)
        assert typed.map(distance) == distance / 2
        assert typed.epsilon(MILLIONTH, distance) == plain.epsilon(MILLIONTH, distance)
    assert typed.check(1, 0.5)
    assert not typed.check(1, 0.4999)


def test_what_may_be_typed_again_is_never_more():
    for squared in (
        Fraction(2),
        Fraction(1, 7),
        Fraction(10**30),
        Fraction(3, 10**30),
        Fraction(0),
    ):
        again = MU.loss(MU.typed(squared))
        assert squared * (1 - Fraction(1, 10**20)) <= again <= squared
    assert MU.typed(Fraction(9, 4)) == Fraction(3, 2)


def test_budgets():
    assert dp.rho(0.5).loss == Fraction(1, 2) == dp.epsilon(0.5).loss
    assert dp.mu(3).loss == 9
    assert dp.epsilon(1, delta=1e-6).loss == (1, MILLIONTH)
    assert dp.rho(1) == dp.rho(Fraction(1)) != dp.epsilon(1)
    assert repr(dp.mu(0.1)) == "<budget of mu = 0.1 (Gaussian differential privacy)>"
    for wrong in (0, -1, float("nan"), "1"):
        for make in (dp.rho, dp.mu, dp.epsilon):
            with pytest.raises(dp.ParameterError):
                make(wrong)
    for delta in (0, 1, 2):
        with pytest.raises(dp.ParameterError, match="delta"):
            dp.epsilon(1, delta)
