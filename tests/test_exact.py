"""Certified numbers lie on the side that their names say, and close to the true value."""

import random
from decimal import Decimal
from fractions import Fraction
from math import inf, nan
from sys import float_info

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.base.errors import ParameterError
from opendp_lite.numbers.exact import (
    OVER_HALF,
    digits_up,
    exact,
    format_number,
    nearest,
    open_probability,
    positive,
    rational_of_float,
    require_one_rounding,
    round_up,
    short_above,
    short_below,
    sqrt_up,
    sum_up,
    whole,
)
from opendp_lite.numbers.exact import quote as described


def rationals(count: int, bits: int = 90) -> list[Fraction]:
    chooser = random.Random(1)
    return [
        Fraction(chooser.getrandbits(bits) + 1, chooser.getrandbits(chooser.randrange(1, bits)) + 1)
        for _ in range(count)
    ]


def test_what_is_shown_is_never_below_and_the_next_float_below_would_be():
    """Rounding to nearest would lie below for about half of them."""
    below = 0
    for value in rationals(2000):
        shown = round_up(value)
        assert rational_of_float(shown) >= value
        assert shown <= nearest(value) * (1 + 2.0**-50)
        below += rational_of_float(nearest(value)) < value
    assert below > 500


def test_digits_are_never_below():
    for value in rationals(500):
        assert Fraction(digits_up(value)) >= value
        assert Fraction(digits_up(value)) <= value * (1 + Fraction(1, 10**5))


def test_a_square_root_is_never_below_and_close():
    squares = [Fraction(1), Fraction(9, 4), Fraction(0)]
    assert [sqrt_up(square) for square in squares] == [1, Fraction(3, 2), 0]
    for value in [*rationals(1000), *(Fraction(2) ** k for k in range(-1801, 1800, 7))]:
        root = sqrt_up(value)
        assert root * root >= value
        assert (root * (1 - Fraction(1, 2**68))) ** 2 < value


def test_a_sum_is_never_below_and_close():
    for start in range(0, 1000, 100):
        values = rationals(1000)[start : start + 100]
        assert 0 <= sum_up(values) - sum(values) <= Fraction(100, 2**2048)


@pytest.mark.parametrize("value", [10**400, -(10**400), Fraction(10**400, 3), Fraction(1, 10**400)])
def test_numbers_beyond_floats_show(value):
    assert format_number(Fraction(value))
    assert exact(value, "x") == value
    assert round_up(abs(Fraction(value))) > 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: exact(True, "x"), "x must be a number"),
        (lambda: exact("1", "x"), "x must be a number"),
        (lambda: exact(1j, "x"), "x must be a real number"),
        (lambda: exact(float("inf"), "x"), "x must be finite"),
        (lambda: positive(0, "x"), "x must be above 0"),
        (lambda: whole(1.5, "x"), "x must be a whole number of at least 0"),
        (lambda: whole(-(10**5000), "x"), "x has too many digits"),
        (lambda: positive(Fraction(-(10**5000), 3), "x"), "x has too many digits"),
        (lambda: exact(Decimal("1e9999999"), "x"), "x is too large"),
        (lambda: exact(Decimal("1e-9999999"), "x"), "x is too"),
        (lambda: open_probability(10**400, "x"), "x must be between 0 and 1"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(2, 7) ** 300, Fraction(10) ** 99 + 1])
def test_a_short_number_below(value):
    short = short_below(value)
    assert value * (1 - Fraction(1, 2**60)) < short <= value
    assert max(short.numerator & -short.numerator, 1) * 2**61 > short.numerator
    assert short_below(Fraction(2**60 + 1)) == 2**60 + 1
    assert value <= short_above(value) <= value * (1 + Fraction(1, 2**60))


@pytest.mark.parametrize("exponent", [307, 320, 330, 5000])
def test_words_never_show_a_tiny_loss_as_less(exponent):
    value = Fraction(12345678, 10**exponent)
    assert value <= Fraction(digits_up(value)) <= value * Fraction(10001, 10000)


@pytest.mark.parametrize("unit", ["D", "ns"])
def test_a_span_of_time_is_no_number(unit):
    with pytest.raises(ParameterError, match=r"epsilon must be a number, got .*timedelta64"):
        exact(np.timedelta64(1, unit), "epsilon")


def test_what_is_no_number_is_called_what_it_is():
    assert [described(each) for each in ((1, 2), "f")] == ["a list or tuple", "'f'"]


def test_a_release_in_place_of_its_number_is_named_with_the_number():
    release = dp.session([1.0] * 100, budget=dp.rho(1))(dp.count() >> dp.gaussian(rho=0.1))
    with pytest.raises(dp.OpenDPLiteError, match=r"type Release \(did you mean its \.value\?\)"):
        dp.clamp(0, release)


def test_no_value_makes_the_exact_numbers_raise():
    """A mechanism of a user's own reads them: an exception would tell of the data."""
    most = Fraction(float_info.max)
    found = dp.Grid(np.array([nan, inf, -inf, 0.1]), 0).exact
    assert found == (0, most, -most, Fraction(0.1))
    assert dp.Grid(np.array([3, -(2**63)]), -1).exact == (Fraction(3, 2), -(2**62))
    assert dp.Grid(np.array([2**70], dtype=object), 1).exact == (2**71,)
    far = np.array([2**1100, -(2**1100)], dtype=object)
    assert dp.Grid(far, 0).floats.tolist() == [most, -most]


def test_steps_of_any_size_are_the_floats_that_they_say():
    """Python's integers, and powers of two that are no floats."""
    steps = np.array([3 * 2**70, -1], dtype=object)
    assert dp.Grid(steps, -2).floats.tolist() == [3 * 2.0**68, -0.25]
    assert dp.Grid(steps, 0).floats.tolist() == [3 * 2.0**70, -1]
    assert dp.Grid(steps, 3).floats.tolist() == [3 * 2.0**73, -8]
    assert dp.Grid(np.array([2**20]), -1080).floats.tolist() == [2.0**-1060]
    few = dp.Grid(np.array([3, -1]), -1)
    assert few.floats.tolist() == [1.5, -0.5]
    assert (few[::-1].exact, (2 * few).tolist()) == ((Fraction(-1, 2), Fraction(3, 2)), [3, -1])


def test_a_float_stands_for_the_simplest_fraction_that_rounds_to_it():
    """Unless 15 digits write it: 12 / 19 is 0.631578947368421."""
    fractions = {Fraction(top, under) for under in range(1, 100) for top in range(1, under)}
    written = {each for each in fractions if float(f"{float(each):.15g}") == float(each)}
    found = {rational_of_float(float(each)) for each in fractions - written}
    assert len(fractions) > 2 * len(written)
    assert found == fractions - written
    # Below a power of two the interval of a float is half as long.
    for power in range(-90, -50):
        assert float(rational_of_float(2.0**power)) == 2.0**power


@pytest.mark.skipif(np.finfo(np.longdouble).nmant != 63, reason="long floats are not x87's here")
def test_floats_that_are_rounded_twice_are_refused():
    """numpy's long floats are x87's: Debian's Python for i386 rounds each sum so."""
    with pytest.raises(ImportError, match="rounded twice"):
        require_one_rounding(float(np.longdouble(1) + np.longdouble(OVER_HALF)))
