"""Words to draw from and tests of fit that the tests of several samplers share."""

from fractions import Fraction
from math import floor

import attrs
import numpy as np
from mpmath import mpf
from scipy.stats import beta, chi2, kstest

from opendp_lite.samplers.entropy import Entropy, InsecureSeededEntropy
from opendp_lite.samplers.law import Offsets

LEAST_P = 1e-7
"""Seeds are fixed: a test here fails by chance never, not with this probability."""


class Words(Entropy):
    """Words from a list, then from a seed."""

    def __init__(self, words, seed=0):
        self._given = [int(w) for w in words]
        self._rest = InsecureSeededEntropy(seed)

    def word(self):
        return self._given.pop(0) if self._given else self._rest.word()

    def words(self, count):
        return np.array([self.word() for _ in range(count)], dtype=np.uint64)


class Bits(Entropy):
    """One random bit where a word is asked for."""

    def __init__(self, seed: int) -> None:
        self._rest = InsecureSeededEntropy(seed)

    def words(self, count):
        return self._rest.words(count) >> np.uint64(63)

    def word(self):
        return int(self.words(1)[0])


def counts_of_words(release) -> list[int]:
    """How many words a release asks for, each time that it does."""
    counts = []

    class Counting(InsecureSeededEntropy):
        def words(self, count):
            counts.append(count)
            return super().words(count)

        def word(self):
            counts.append(1)
            return super().word()

    release(Counting(8))
    return counts


def wide(law):
    """The same law with margins so wide that every lane is decided exactly."""
    return attrs.evolve(law, margin=1.0)


def assert_decided_exactly(law, *where, words, seed: int = 0) -> np.ndarray:
    """Floats and exact arithmetic make the same of the same words; what they make."""
    usual, exact = (np.hstack(each.draw(*where, Words(words, seed))) for each in (law, wide(law)))
    assert np.array_equal(usual, exact)
    return usual


FINER = 2**30


def values_at_ties(finer: list[int]) -> tuple[Offsets, list[int]]:
    """Offsets that bring noise to a tie, off by 2^-29 to either side, and what is right there.

    The noise is given in steps 2^-30 as long, so this is certain. The errors of floats may be 2^-24
    and more.
    """
    half, places = Fraction(1, 2), [Fraction(each, FINER) for each in finer]
    sides = [Fraction((-1) ** place, 2**29) for place in range(len(finer))]
    inside = [(half - at + side) % 1 for at, side in zip(places, sides, strict=True)]
    noisy = [at + lie + half for at, lie in zip(places, inside, strict=True)]
    return offsets(inside), [floor(each) for each in noisy]


def offsets(values) -> Offsets:
    exact = [Fraction(v) for v in values]
    return Offsets(np.array([float(v) for v in exact]), lambda i: exact[i])


def at(value, count: int) -> Offsets:
    return Offsets(np.full(count, float(value)), lambda i: Fraction(value))


def biased_words(count: int, seed: int) -> np.ndarray:
    """Words whose uniforms crowd near 0 and near 1."""
    generator = np.random.default_rng(seed)
    words = generator.integers(0, 2**64, count, dtype=np.uint64)
    shifts = generator.integers(0, 64, count).astype(np.uint64)
    small = words >> shifts
    return np.where(generator.random(count) < 0.5, small, ~small)


def precise(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


def fit(found: np.ndarray, weights: np.ndarray) -> float:
    """The p-value of counts against weights of cells, those of fewer than 5 expected together."""
    found, weights = np.ravel(found), np.ravel(weights)
    expected = weights / weights.sum() * found.sum()
    assert not found[expected == 0].any()
    large = expected >= 5
    pooled = [(found[~large].sum(), expected[~large].sum())] if expected[~large].sum() > 5 else []
    pairs = [*zip(found[large], expected[large], strict=True), *pooled]
    statistic = sum((f - e) ** 2 / e for f, e in pairs)
    return float(chi2.sf(statistic, len(pairs) - 1)) if len(pairs) > 1 else 1.0


def assert_directions_are_uniform(vectors: np.ndarray, *sides: np.ndarray) -> None:
    """Whatever the length of a vector is, and on which of these sides it lies."""
    columns, lengths = vectors.shape[1], np.linalg.norm(vectors, axis=1)
    half = (columns - 1) / 2
    for axis in [*np.eye(columns)[[0, -1]], np.full(columns, columns**-0.5)]:
        along = (1 + vectors @ axis / lengths) / 2
        assert kstest(along, beta(half, half).cdf).pvalue > LEAST_P
        for side in (*sides, lengths < np.median(lengths)):
            assert kstest(along[side], along[~side]).pvalue > LEAST_P


def chi_square_p(draws: np.ndarray, law, value: Fraction) -> float:
    """The p-value of draws against the declared law, in at most 200 cells and one of the rest."""
    low, high = int(np.quantile(draws, 0.0005)), int(np.quantile(draws, 0.9995))
    width = max(1, -(-(high - low) // 200))
    # Where cells are wide, the middle of every stretch of an odd length stands for all of it.
    stretch = width // 50 // 2 * 2 + 1
    width = -(-width // stretch) * stretch
    cells = -(-(high + 1 - low) // width)
    points = np.arange(low, low + cells * width, stretch) + stretch // 2
    mass = stretch * np.exp(law.log_probability(points.astype(float), value))
    mass = mass.reshape(cells, -1).sum(axis=1)
    cell = (draws - low) // width
    inside = (cell >= 0) & (cell < len(mass))
    counts = np.bincount(cell[inside], minlength=len(mass))
    rest = max(1 - mass.sum(), 0.0)
    return fit(np.append(counts, len(draws) - counts.sum()), np.append(mass, rest))
