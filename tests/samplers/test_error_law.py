"""Half-widths of intervals against the exact tails of the laws."""

from fractions import Fraction
from math import exp, log
from statistics import NormalDist

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.base.errors import ParameterError
from opendp_lite.numbers.exact import confidence_of, normal_quantile_up, normal_tail
from opendp_lite.samplers.law import Errors, NormalError, half_widths
from opendp_lite.samplers.rounded_laws import DiscreteLaplace, RoundedGaussian, RoundedLaplace

MISSES = [Fraction(999, 1000), Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6)]
SCALES = [Fraction(1, 500), Fraction(1, 3), Fraction(2), Fraction(700)]


def beyond(law, value: Fraction, width: Fraction, reach: int) -> float:
    """The probability that a release is further from the value, summed over the grid."""
    unit = Fraction(2) ** law.exponent
    points = np.arange(-reach, reach + 1.0)
    far = np.abs(points - float(value)) > float(width / unit) * (1 + 1e-12)
    return float(np.exp(law.log_probability(points[far], value)).sum())


@pytest.mark.parametrize("miss", MISSES)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("exponent", [0, -3])
def test_discrete_laplace_has_the_least_whole_half_width(scale, miss, exponent):
    law = DiscreteLaplace(scale, exponent)
    steps = law.half_width(miss) / Fraction(2) ** exponent
    assert steps.denominator == 1
    q = exp(-1 / float(scale))
    tail = lambda k: 2 * q ** (k + 1) / (1 + q)  # noqa: E731
    assert tail(int(steps)) <= float(miss) * (1 + 1e-12)
    assert steps == 0 or tail(int(steps) - 1) > float(miss) * (1 - 1e-12)
    summed = beyond(law, Fraction(0), law.half_width(miss), 60 * int(scale) + 60)
    assert summed == pytest.approx(tail(int(steps)), rel=1e-9, abs=1e-20)


@pytest.mark.parametrize("kind", [RoundedGaussian, RoundedLaplace])
@pytest.mark.parametrize("miss", MISSES)
@pytest.mark.parametrize("value", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(99, 100)])
def test_rounded_noise_is_within_its_half_width_wherever_the_value_lies(kind, miss, value):
    """On a coarse grid the rounding counts most: it never takes more than is allowed."""
    for scale in (Fraction(1, 2), Fraction(3), Fraction(200)):
        law = kind(scale, -5)
        found = beyond(law, value, law.half_width(miss), 60 * int(scale) + 200)
        assert found <= float(miss) * (1 + 1e-9)


@pytest.mark.parametrize("kind", [RoundedGaussian, RoundedLaplace])
@pytest.mark.parametrize("miss", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 1000)])
def test_on_the_grid_of_releases_the_coverage_is_right_to_a_thousandth(kind, miss):
    law = kind(Fraction(2**16), -16)
    found = beyond(law, Fraction(1, 3), law.half_width(miss), 2**20)
    assert float(miss) * 0.999 - 1e-7 <= found <= float(miss)


def test_half_widths_in_closed_form():
    third = Fraction(1, 3)
    laplace, normal = RoundedLaplace(third, 4), RoundedGaussian(third, 4)
    assert float(laplace.half_width(Fraction(1, 20))) == pytest.approx(16 * (log(20) / 3 + 0.5))
    two_sided = NormalDist().inv_cdf(0.975)
    assert float(normal.half_width(Fraction(1, 20))) == pytest.approx(16 * (two_sided / 3 + 0.5))
    error = NormalError(Fraction(3), Fraction(1, 8))
    assert float(error.half_width(Fraction(1, 20))) == pytest.approx(3 * two_sided + 0.125)
    assert error.standard_deviation == 3


@pytest.mark.parametrize("power", [1, 3, 12, 30, 100])
def test_the_normal_quantile_is_certified_and_close(power):
    for miss in (Fraction(1, 10**power), 1 - Fraction(1, 10**power)):
        found = normal_quantile_up(miss)
        assert 2 * normal_tail(found)[1] <= miss
        if found > Fraction(1, 10**6):
            assert 2 * normal_tail(found * (1 - Fraction(1, 10**9)))[1] > miss


@pytest.mark.parametrize("entries", [(1, 1), (20,), (3, 5, 100_000)])
@pytest.mark.parametrize("share", [Fraction(95, 100), Fraction(1, 10), 1 - Fraction(1, 10**20)])
def test_joint_half_widths_come_from_the_root_of_the_confidence(entries, share):
    scales = [Fraction(2), Fraction(9), Fraction(1, 4)]
    errors = [Errors(NormalError(s, Fraction(0)), k) for s, k in zip(scales, entries, strict=False)]
    widths = half_widths(errors, share, jointly=True)
    total = sum(entries)
    for part, width in zip(errors, widths, strict=True):
        tail = 2 * normal_tail(width / part.law.deviation)[1]
        each = float(total * tail)
        assert each == pytest.approx(-total * np.expm1(np.log1p(-float(1 - share)) / total), 1e-6)
    assert half_widths(errors[:1], share)[0] <= widths[0]


def test_one_entry_is_no_further_off_jointly():
    errors = [Errors(RoundedLaplace(Fraction(3), 0), 1)]
    assert half_widths(errors, Fraction(9, 10)) == half_widths(errors, Fraction(9, 10), True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (0, "between 0 and 1"),
        (1, "between 0 and 1"),
        (95, "95 % is 0.95"),
        (1 - Fraction(1, 10**21), "at most 1 - 1e-20"),
        ("95 %", "must be a number"),
        (float("nan"), "finite"),
    ],
)
def test_confidences_that_are_none(given, words):
    with pytest.raises(ParameterError, match=words):
        confidence_of(given, "confidence")


def test_a_rate_beyond_floats_is_no_noise():
    """It raised an OverflowError once the loss was asked for."""
    law = DiscreteLaplace(Fraction(1, 10**400), 0)
    assert law.standard_deviation == 0
    assert law.log_probability(np.array([0.0, 1.0]), Fraction(0))[0] == 0
    wide = dp.clamp(-1e270, 1e270) >> dp.sum() >> dp.laplace(scale=1e-200, confidence=0.95)
    assert wide.map(1) > 1e300
    assert wide([1.0]).standard_error == 0
