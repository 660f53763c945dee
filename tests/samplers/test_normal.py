"""Normals that no float holds are decided from the bits that are drawn for them."""

from __future__ import annotations

from fractions import Fraction

from sampling import Words

from opendp_lite.samplers.exponential import SQUARE_MARGIN, LazyExponential
from opendp_lite.samplers.normal import RoundedNormals, one_normal

EXTENSIONS = 19
FIRST = (5 << 1) | 1
"""Five units of 2^-63: an exponential of about 42, kept beside another of 840 and more."""


def given(*start: int) -> Words:
    """These words; then for the first uniform any bits, for the second zeros and at last a one."""
    more = [word for i in range(EXTENSIONS) for word in (2**63 + i, i == EXTENSIONS - 1)]
    return Words([*start, *more])


def lies_deep(size: LazyExponential) -> bool:
    low, high = size.bracket()
    return 41 < low < high < 43 and high - low < Fraction(1, 2**1000)


def test_a_normal_beyond_floats_keeps_the_bits_that_accepted_it():
    asked = []

    def exactly(position, positive, size):
        asked.append((position, positive, lies_deep(size)))
        return 7

    normals = RoundedNormals(1.0, 0.499, None, exactly, SQUARE_MARGIN)
    rest = [2**63] * 48
    assert normals.draw(1, given(FIRST, *rest, 0, *rest)).tolist() == [7]
    assert asked == [(0, True, True)]


def test_one_normal_beyond_floats_keeps_the_bits_that_accepted_it():
    normal = one_normal(SQUARE_MARGIN, given(FIRST, 0))
    assert normal.size is None
    assert normal.positive
    assert lies_deep(normal.exactly)
