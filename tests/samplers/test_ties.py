"""Words that floats cannot decide: many at a time must come out as exact arithmetic has it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from mpmath import exp, mp, mpf
from sampling import Words, at

from opendp_lite.samplers.discrete_laplace import DiscreteLaplace
from opendp_lite.samplers.rounded_laplace import RoundedLaplace

COUNT = 60


def near_ties(scale: Fraction, half: Fraction) -> list[int]:
    """Words of which scale times the exponential lies within 2^-60 of a whole number and half."""
    mp.dps = 60
    found = []
    for k in range(1, COUNT + 1):
        middle = exp(-mpf(str(k + float(half))) * scale.denominator / scale.numerator) * 2**63
        found += [(int(middle) + shift) << 1 for shift in (-1, 0, 1, 2)]
    return found[:COUNT]


@pytest.mark.parametrize("scale", [Fraction(7), Fraction(37, 3), Fraction(2**12 + 1)], ids=str)
@pytest.mark.parametrize("kind", [DiscreteLaplace, RoundedLaplace])
def test_ties_are_decided_exactly(kind, scale):
    half = Fraction(0) if kind is DiscreteLaplace else Fraction(1, 2)
    words = near_ties(scale, half) * 2
    usual = kind(scale, 0).draw(COUNT, at(0, COUNT), Words(words))
    exact = kind(scale, 0, margin=1.0).draw(COUNT, at(0, COUNT), Words(words))
    assert np.array_equal(usual, exact)
