"""Words that floats cannot decide: many at a time must come out as exact arithmetic has it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from mpmath import exp, floor, log, mp, mpf
from sampling import Words, at

from opendp_lite.samplers.discrete_laplace import DiscreteLaplace
from opendp_lite.samplers.rounded_laplace import RoundedLaplace

COUNT = 60


def undecidable(scale: Fraction, half: Fraction, seed: int) -> tuple[list[int], list[int]]:
    """Words that floats round the wrong way, and floor(scale E + half), whatever bits follow."""
    mp.dps = 60
    generator = np.random.default_rng(seed)
    words: list[int] = []
    decisions: list[int] = []
    while len(words) < COUNT:
        k = int(generator.integers(1, 4 * scale))
        middle = int(exp(-mpf(str(k + float(half))) * scale.denominator / scale.numerator) * 2**63)
        for shift in generator.integers(-(2**11), 2**11, 20).tolist():
            top = middle + shift
            y = -np.log(top * 2.0**-63) * float(scale) - float(Fraction(1, 2) - half)
            ends = [
                -log(mpf(t) / 2**63) * scale.numerator / scale.denominator for t in (top, top + 1)
            ]
            exact, again = (int(floor(end + float(half))) for end in ends)
            if exact == again and y % 1 != 0.5 and round(float(y)) != exact:
                words.append(top << 1)
                decisions.append(exact)
    return words[:COUNT], decisions[:COUNT]


@pytest.mark.parametrize("scale", [Fraction(7), Fraction(37, 3), Fraction(2**12 + 1)], ids=str)
@pytest.mark.parametrize("kind", [DiscreteLaplace, RoundedLaplace])
def test_ties_are_decided_exactly(kind, scale):
    """The second half of the words makes the second geometric variates 0."""
    half = Fraction(0) if kind is DiscreteLaplace else Fraction(1, 2)
    words, decisions = undecidable(scale, half, 1)
    found = kind(scale, 0).draw(COUNT, at(0, COUNT), Words(words + [2**64 - 2] * COUNT))
    assert np.abs(found).tolist() == decisions
