"""The size of a standard normal, known as precisely as a decision needs."""

import decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from mpmath import erfc, mp, mpf, sqrt
from sampling import Words, precise

from opendp_lite.samplers import exact_reals as normals
from opendp_lite.samplers.exact_reals import LazyNormal, one_normal
from opendp_lite.samplers.quantile_table import ERROR, LEAST, MASK


def share_beyond(bound: Fraction) -> mpf:
    return erfc(precise(bound) / sqrt(2))


@pytest.mark.parametrize("bits", [1, 2, 10, 63, 127, 191, 400])
def test_brackets_hold_the_quantile(bits):
    mp.dps = 200
    generator = np.random.default_rng(1)
    for number in range(12):
        known = int.from_bytes(generator.bytes(50), "little") % 2**bits
        known = [known, max(known, 1) >> (bits // 2), 2**bits - 1][number % 3]
        if known == 0:
            continue
        low, high = LazyNormal(known, bits).bracket()
        assert 0 <= low <= high
        assert share_beyond(low) >= mpf(known + 1) / mpf(2) ** bits
        assert share_beyond(high) <= mpf(known) / mpf(2) ** bits
        assert high - low < Fraction(2, known) + Fraction(1, 2 ** max(44, bits - 20))


@pytest.mark.parametrize("wrong", [Fraction(1, 2**40), Fraction(-1, 2**40)])
def test_brackets_hold_the_quantile_whatever_floats_propose(wrong, monkeypatch):
    mp.dps = 60
    near = normals._near

    def mistaken(share, bits):
        middle, apart = near(share, bits)
        return middle + wrong, apart

    monkeypatch.setattr(normals, "_near", mistaken)
    for known in (2**44 + 1, 2**61 + 3, 2**63 - 2**50):
        low, high = LazyNormal(known).bracket()
        assert share_beyond(low) >= mpf(known + 1) / mpf(2) ** 63
        assert share_beyond(high) <= mpf(known) / mpf(2) ** 63
        assert high - low < Fraction(1, 2**34)


def test_more_bits_make_the_bracket_as_narrow_as_they_are():
    """A bracket that stayed at the width of a float would draw bits for ever."""
    size = LazyNormal(2**61 + 12345)
    widths = []
    for _ in range(6):
        low, high = size.bracket()
        widths.append(high - low)
        size.extend(Words([2**63]))
    for before, after in pairwise(widths):
        assert after < before / 2**60


def test_the_decimal_context_of_the_thread_changes_no_bracket():
    """A limit that underflows to 0 there would never be reached."""
    usual = LazyNormal(2**61 + 5).bracket()
    narrow = decimal.Context(prec=3, Emin=-20, Emax=20, traps=[decimal.Underflow])
    with decimal.localcontext(narrow):
        assert LazyNormal(2**61 + 5).bracket() == usual


def test_nothing_is_known_of_a_normal_without_bits():
    assert LazyNormal(0, 0).bracket() is None
    assert LazyNormal(0).bracket() is None


def test_a_normal_beyond_floats_is_decided_from_further_bits():
    """No unit of 2^-63, and 2^47 of 2^-127: a |Z| of about 10. Its float is that of the bracket."""
    mp.dps = 60
    normal = one_normal(Words([MASK + 1, 2**47]))
    assert not normal.positive
    low, high = normal.exactly.bracket()
    assert 10 < low < high < 11
    assert share_beyond(high) <= mpf(2**47) / mpf(2) ** 127 <= share_beyond(low)
    assert low - Fraction(ERROR) <= Fraction(normal.size) <= high + Fraction(ERROR)
    assert one_normal(Words([0, 0])).size is None


def test_the_float_is_within_its_error_of_the_bracket():
    generator = np.random.default_rng(2)
    for word in generator.integers(0, 2**64, 60, dtype=np.uint64).tolist():
        normal = one_normal(Words([word]))
        assert (word & MASK) >= LEAST
        assert normal.positive == (word < 2**63)
        low, high = normal.exactly.bracket()
        assert low - Fraction(ERROR) <= Fraction(normal.size) <= high + Fraction(ERROR)
