"""Words that floats cannot decide: many at a time must come out as exact arithmetic has it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from mpmath import erfc, erfinv, exp, floor, log, mp, mpf, sqrt
from sampling import Words, at

from opendp_lite.samplers.discrete_laplace import DiscreteLaplace
from opendp_lite.samplers.quantile_table import exponential_table, normal_table
from opendp_lite.samplers.rounded_gaussian import RoundedGaussian
from opendp_lite.samplers.rounded_laplace import RoundedLaplace

COUNT = 20
SCALES = [Fraction(1, 3), Fraction(1), Fraction(37, 3), Fraction(2**12 + 1)]
HALF = mpf("0.5")


def rounded_words(kind, scale: Fraction, seed: int) -> tuple[list[int], list[int]]:
    """Words nearest to ties, and what is right, whatever bits follow.

    Floats alone round half of them the wrong way; the others lie on both sides of a tie.
    """
    mp.dps = 60
    generator = np.random.default_rng(seed)
    size, table = KINDS[kind]
    start = log(2 / (1 + exp(-1 / _mpf(scale)))) * _mpf(scale) if kind is DiscreteLaplace else HALF
    words: list[int] = []
    decisions: list[int] = []
    while len(words) < COUNT:
        k = int(generator.integers(1, max(2, int(2 * scale))))
        middle = int(share((k - start) / _mpf(scale), kind) * 2**63)
        for shift in generator.integers(-(2**22), 2**22, 40).tolist():
            word = middle + shift
            y = table().size(word) * float(scale) + float(start)
            ends = [_mpf(scale) * size(mpf(t) / 2**63) + start for t in (word, word + 1)]
            exact, again = (int(floor(end)) for end in ends)
            wrong = int(np.floor(y)) != exact
            if exact == again and (wrong or len(words) % 4 == exact % 2):
                words.append(word)
                decisions.append(exact)
    return words[:COUNT], decisions[:COUNT]


def _mpf(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


def share(size: mpf, kind) -> mpf:
    return erfc(size / sqrt(2)) if kind is RoundedGaussian else exp(-size)


KINDS = {
    RoundedGaussian: (lambda u: sqrt(2) * erfinv(1 - u), normal_table),
    RoundedLaplace: (lambda u: -log(u), exponential_table),
    DiscreteLaplace: (lambda u: -log(u), exponential_table),
}


@pytest.mark.parametrize(
    "scale", [Fraction(1, 3), Fraction(1), Fraction(37, 3), Fraction(2**12 + 1)], ids=str
)
@pytest.mark.parametrize("kind", KINDS)
def test_ties_are_decided_exactly(kind, scale):
    """With either sign: an error of a float within its bound must not show."""
    words, decisions = rounded_words(kind, scale, 1)
    where = at(0, COUNT)
    assert kind(scale, 0).draw(COUNT, where, Words(words)).tolist() == decisions
    negative = kind(scale, 0).draw(COUNT, where, Words([word | 2**63 for word in words]))
    assert negative.tolist() == [-each for each in decisions]
