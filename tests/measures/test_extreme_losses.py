"""Losses beyond the range of floats."""

from __future__ import annotations

from fractions import Fraction

import pytest

from opendp_lite.measures.composed import composed_profile
from opendp_lite.measures.profile import BoundedRangeProfile, ConcentratedProfile, PureProfile

MILLIONTH = Fraction(1, 10**6)


@pytest.mark.parametrize("least", [Fraction(0), Fraction(1, 10**320), Fraction(1, 10**305)])
def test_a_choice_that_loses_next_to_nothing_is_composed(least):
    known = PureProfile(Fraction(1))
    both = composed_profile([BoundedRangeProfile(least), known], PureProfile(1 + least))
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(9, 10)):
        assert known.delta(epsilon) <= both.delta(epsilon)
        assert float(both.delta(epsilon)) == pytest.approx(float(known.delta(epsilon)), rel=1e-3)


@pytest.mark.parametrize("rho", [Fraction(10) ** 305, Fraction(10) ** 400])
def test_a_huge_zcdp_loss_has_a_huge_epsilon(rho):
    curve = ConcentratedProfile(rho)
    assert curve.delta(rho) == 1
    found = curve.epsilon(MILLIONTH)
    assert found >= rho
    assert curve.delta(found) <= MILLIONTH


def test_an_epsilon_beyond_floats():
    assert ConcentratedProfile(Fraction(1)).delta(Fraction(10) ** 400) < Fraction(1, 10**300)
