"""Words that floats cannot decide: many at a time must come out as exact arithmetic has it."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from mpmath import erfc, erfinv, exp, floor, log, mp, mpf, sqrt
from sampling import FINER, Words, at, precise, values_at_ties

from opendp_lite.samplers import quantile_table
from opendp_lite.samplers.core_noise import CoreNoise
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.l2_gamma import L2Gamma
from opendp_lite.samplers.rounded_laws import DiscreteLaplace, RoundedGaussian, RoundedLaplace

COUNT = 10
SCALES = [Fraction(1, 3), Fraction(1), Fraction(37, 3), Fraction(2**12 + 1)]
HALF = mpf("0.5")


def rounded_words(kind, scale: Fraction, seed: int) -> tuple[list[int], list[int]]:
    """Words nearest to ties, and what is right, whatever bits follow.

    Floats alone round half of them the wrong way; the others lie on both sides of a tie.
    """
    mp.dps = 60
    generator = np.random.default_rng(seed)
    size, table = KINDS[kind]
    start = (
        log(2 / (1 + exp(-1 / precise(scale)))) * precise(scale)
        if kind is DiscreteLaplace
        else HALF
    )
    words: list[int] = []
    decisions: list[int] = []
    while len(words) < COUNT:
        k = int(generator.integers(1, max(2, int(2 * scale))))
        middle = int(share((k - start) / precise(scale), kind) * 2**63)
        for shift in generator.integers(-(2**22), 2**22, 40).tolist():
            word = middle + shift
            y = table().size(word) * float(scale) + float(start)
            ends = [precise(scale) * size(mpf(t) / 2**63) + start for t in (word, word + 1)]
            exact, again = (int(floor(end)) for end in ends)
            wrong = int(np.floor(y)) != exact
            if exact == again and (wrong or len(words) % 4 == exact % 2):
                words.append(word)
                decisions.append(exact)
    return words[:COUNT], decisions[:COUNT]


def share(size: mpf, kind) -> mpf:
    return erfc(size / sqrt(2)) if kind is RoundedGaussian else exp(-size)


KINDS = {
    RoundedGaussian: (lambda u: sqrt(2) * erfinv(1 - u), quantile_table.normal_table),
    RoundedLaplace: (lambda u: -log(u), quantile_table.exponential_table),
    DiscreteLaplace: (lambda u: -log(u), quantile_table.exponential_table),
}


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_ties_are_decided_exactly(kind, scale):
    """With either sign: an error of a float within its bound must not show."""
    words, decisions = rounded_words(kind, scale, 1)
    where = at(0, COUNT)
    assert kind(scale, 0).draw(COUNT, where, Words(words)).tolist() == decisions
    negative = kind(scale, 0).draw(COUNT, where, Words([word | 2**63 for word in words]))
    assert negative.tolist() == [-each for each in decisions]


@pytest.mark.parametrize(
    ("kind", "errors"),
    [(L2Gamma, 0), *product([RoundedGaussian, RoundedLaplace], [0, -2.5, 2.5])],
)
@pytest.mark.parametrize("count", [1, 9])
def test_values_at_ties_are_decided_exactly(kind, count, errors, monkeypatch):
    """The same words with a scale 2^30 times as large, all exact, tell where a tie is.

    The margin is four errors of the table: it covers its own and 2.5 more, on either side.
    """
    if errors:
        wrong = quantile_table.QuantileTable(
            kind.table().cubics + np.array([0, 0, 0, errors * quantile_table.ERROR])
        )
        monkeypatch.setattr(kind, "table", staticmethod(lambda: wrong))
    scale = Fraction(2**16)
    for seed in range(18 // count):
        words = InsecureSeededEntropy(seed).words(2 * count + 2)
        finer = kind(scale * FINER, 0, margin=1.0).draw(count, at(0, count), Words(words))
        where, expected = values_at_ties(finer.tolist())
        assert kind(scale, 0).draw(count, where, Words(words)).tolist() == expected


@pytest.mark.parametrize("stretch", [0, 10**4])
@pytest.mark.parametrize("columns", [1, 4])
def test_sums_and_counts_at_ties_are_decided_exactly(columns, stretch):
    scale, lies = Fraction(2**14), (at(0, columns), at(0, 1))
    for seed in range(12 // columns):
        words = InsecureSeededEntropy(seed).words(2 * columns + 9)
        large = CoreNoise(scale * FINER, 0, scale * FINER, 0, Fraction(stretch), columns, margin=1)
        finer = [each.tolist() for each in large.draw(*lies, Words(words))]
        where, expected = zip(*map(values_at_ties, finer), strict=True)
        law = CoreNoise(scale, 0, scale, 0, Fraction(stretch), columns)
        found = law.draw(*where, Words(words))
        assert [each.tolist() for each in found] == list(expected)
