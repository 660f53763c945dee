"""How far an entry of the l2 mechanism's noise reaches: certified, close, and what it does."""

from fractions import Fraction
from math import exp, log, pi, sqrt

import numpy as np
import pytest
from mpmath import besselk, mp, mpf, quad
from sampling import at
from scipy.integrate import quad as float_quad
from scipy.special import gammaincc

import opendp_lite as dp
from opendp_lite.numbers.exact import log_up, normal_quantile_up
from opendp_lite.samplers import l2_gamma as l2_gamma_error
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.l2_gamma import EntryError, EntryTail, L2Gamma, entry_quantile_up
from opendp_lite.samplers.law import half_widths

MISSES = [Fraction(999, 1000), Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6)]
EXTREMES = [1 - Fraction(1, 10**9), Fraction(1, 10**27)]
CLOSE = 2.0**-28


@pytest.mark.parametrize("miss", [*MISSES, *EXTREMES])
def test_in_one_dimension_it_is_that_of_laplace_noise(miss):
    found = entry_quantile_up(miss, 1)
    assert found >= log_up(1 / miss) - Fraction(1, 10**39)
    assert float(found - log_up(1 / miss)) < CLOSE * max(float(found), 0.01)


@pytest.mark.parametrize("miss", MISSES)
def test_in_three_dimensions_it_has_a_closed_form(miss):
    """Of the density (1 + |x|) exp(-|x|) / 4."""
    tail = lambda t: (1 + t / 2) * exp(-t)  # noqa: E731
    found = float(entry_quantile_up(miss, 3))
    assert tail(found) <= float(miss) * (1 + 1e-14)
    assert tail(found * (1 - CLOSE)) > float(miss) - 1e-12


@pytest.mark.parametrize("dimension", [2, 5, 8, 51])
def test_the_tail_is_that_of_a_length_in_a_random_direction(dimension):
    """By a length of a gamma law and the angle of a uniform direction."""
    angles = (np.arange(20_000) + 0.5) * (pi / 2 / 20_000)
    weights = np.sin(angles) ** (dimension - 2)
    for miss in MISSES[1:]:
        t = float(entry_quantile_up(miss, dimension))
        found = (weights * gammaincc(dimension, t / np.cos(angles))).sum() / weights.sum()
        assert found == pytest.approx(float(miss), rel=1e-7)


@pytest.mark.parametrize("t", ["1e-9", "0.001", "0.7", "30", "3000"])
def test_bessel_integrals_are_bounded_closely(t):
    mp.dps = 30
    point = mpf(t)
    nought, first = (besselk(order, point) * mp.exp(point) for order in (0, 1))
    ends = [0, 0.05, 0.2, 1, 4, 16, 40]
    integral = quad(lambda u: mp.exp(-point * (mp.cosh(u) - 1)) / mp.cosh(u), ends)
    found = l2_gamma_error.bessel_integrals(float(point))
    for each, true in zip(found, (integral, nought, first), strict=True):
        assert -1e-14 < each / true - 1 < 1e-12


@pytest.mark.parametrize("dimension", [2, 3, 10, 11])
def test_a_tail_and_a_density_fit_together(dimension):
    """The density is what the tail loses, and half of all is beyond 0."""
    tail = lambda t: EntryTail.at(t, dimension).beyond * exp(-t)  # noqa: E731
    assert tail(1e-9) == pytest.approx(0.5, abs=1e-8)
    density = EntryTail.at(3.0, dimension).density * exp(-3)
    lost, _ = float_quad(lambda t: EntryTail.at(t, dimension).density * exp(-t), 3, 4)
    assert tail(3) - tail(4) == pytest.approx(lost, rel=1e-9)
    assert (tail(3 - 1e-4) - tail(3 + 1e-4)) / 2e-4 == pytest.approx(density, rel=1e-6)


@pytest.mark.parametrize("miss", [Fraction(1, 20), Fraction(1, 10**27)])
def test_many_entries_are_nearly_normal(miss):
    """Numbers of a size beyond floats are halved on the way."""
    far = normal_quantile_up(miss)
    for dimension, close in ((20_000, 2e-3), (2**60, 3e-4)):
        ratio = float(entry_quantile_up(miss, dimension) / far) / sqrt(dimension + 1)
        assert 1 < ratio < 1 + close


@pytest.mark.parametrize("miss", MISSES[1:])
@pytest.mark.parametrize("dimension", [40, 3000])
def test_what_is_taken_for_more_dimensions_is_above_the_tail(monkeypatch, miss, dimension):
    least = entry_quantile_up(miss, dimension)
    found = l2_gamma_error._by_length(miss, dimension)
    assert least < found < least * (1 + Fraction(13, 2) / int(sqrt(dimension)))
    monkeypatch.setattr(l2_gamma_error, "_MOST_SHAPES", dimension - 1)
    assert entry_quantile_up.__wrapped__(miss, dimension) == found


@pytest.mark.parametrize(("dimension", "count"), [(2, 3000), (9, 1500)])
def test_entries_are_within_their_half_width_as_often_as_said(dimension, count):
    """Within 5 of the standard errors if entries were independent, which they nearly are."""
    law, entropy = L2Gamma.near(Fraction(3), dimension), InsecureSeededEntropy(11)
    zero = at(Fraction(0), dimension)
    drawn = np.array([law.draw(dimension, zero, entropy) for _ in range(count)])
    entries = np.abs(drawn * 2.0**law.exponent)
    for miss in (Fraction(1, 2), Fraction(1, 20)):
        far = float(law.error_of_each(dimension).half_width(miss))
        found = (entries > far).mean()
        assert abs(found - float(miss)) < 5 * sqrt(float(miss) / count)
    deviation = law.error_of_each(dimension).standard_deviation
    assert deviation == pytest.approx(3 * sqrt(dimension + 1))


def test_all_entries_together_are_within_the_joint_half_width_at_least_as_often():
    """Long noise is long in all entries, so that they miss together and rarely."""
    pipeline = dp.vector(8, dp.metrics.L2Distance()) >> dp.measurements.l2_mechanism(scale=3)
    (joint,) = half_widths(pipeline.bound.facts.errors, Fraction(9, 10), jointly=True)
    law, entropy = L2Gamma.near(Fraction(3), 8), InsecureSeededEntropy(12)
    drawn = np.array([law.draw(8, at(Fraction(0), 8), entropy) for _ in range(1500)])
    within = (np.abs(drawn * 2.0**law.exponent) <= float(joint)).all(axis=1).mean()
    assert 0.9 < within < 0.95
    assert pipeline.accuracy(0.9, jointly=True) == pytest.approx(float(joint))


def test_accuracy_of_the_mechanism():
    number = dp.scalar() >> dp.measurements.l2_mechanism(epsilon=2)
    assert number.accuracy(0.95) == pytest.approx(log(20) / 2, rel=1e-4)
    both = dp.compose(dp.laplace(epsilon=1), dp.measurements.l2_mechanism(epsilon=1))
    first, second = (dp.vector(1) >> both).accuracy(0.9)
    assert first == pytest.approx(second, rel=1e-4)
    rows = dp.records(columns=10**6) >> dp.clip_to_norm(1) >> dp.sum()
    assert (rows >> dp.measurements.l2_mechanism(epsilon=1)).accuracy(0.95) > 1960


def test_rounding_is_part_of_the_half_width():
    law = EntryError(Fraction(2), 1, Fraction(1, 2), entry_quantile_up, 2)
    assert float(law.half_width(Fraction(1, 20))) == pytest.approx(2 * log(20) + 0.5)
    law = EntryError(Fraction(2), 2, Fraction(0), entry_quantile_up, 3)
    assert float(law.half_width(Fraction(1, 20))) > 2 * pi
