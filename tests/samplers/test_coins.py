"""Coins are exact: their law is the rational that was asked for, to the last digit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from opendp_lite.samplers.choice import coins
from opendp_lite.samplers.entropy import InsecureSeededEntropy


class Given:
    """Gives the words of a list."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def __call__(self, places):
        count = len(places)
        found, self.left = self.left[:count], self.left[count:]
        return np.array(found, dtype=np.uint64)


THIRD = Fraction(1, 3)
DIGITS = 2**64 // 3
"""The first 64 binary digits of 1/3, and the next 64 as well: 1/3 repeats."""


def test_a_coin_compares_the_digits_of_a_uniform_number():
    for words, heads in (
        ([DIGITS - 1], True),
        ([DIGITS + 1], False),
        ([DIGITS, DIGITS - 1], True),
        ([DIGITS, DIGITS + 1], False),
        ([DIGITS, DIGITS, DIGITS, 0], True),
        ([0], True),
        ([2**64 - 1], False),
    ):
        given = Given(*words)
        assert coins(THIRD, 1, given).tolist() == [heads]
        assert not given.left


def test_a_dyadic_probability_has_no_digits_left():
    """U = 1/4 is not below 1/4."""
    assert coins(Fraction(1, 4), 3, Given(2**62 - 1, 2**62, 2**62 + 1)).tolist() == [
        True,
        False,
        False,
    ]


def test_only_undecided_coins_draw_again():
    given = Given(0, DIGITS, 2**64 - 1, DIGITS, 0, 2**64 - 1)
    assert coins(THIRD, 4, given).tolist() == [True, True, False, False]
    assert not given.left


def test_sure_coins_draw_nothing():
    assert coins(Fraction(1), 3, Given()).all()
    assert not coins(Fraction(0), 3, Given()).any()
    assert len(coins(THIRD, 0, Given())) == 0


@pytest.mark.parametrize("probability", [Fraction(1, 1000), Fraction(1, 3), Fraction(99, 100)])
def test_frequencies(probability):
    """Six standard deviations: by chance once in 10^9, and the seed is fixed."""
    count = 200_000
    words = InsecureSeededEntropy(5).words
    found = coins(probability, count, lambda places: words(len(places))).sum()
    spread = float(probability * (1 - probability) * count) ** 0.5
    assert abs(found - float(probability) * count) < 6 * spread
