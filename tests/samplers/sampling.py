"""Words to draw from and tests of fit that the tests of several samplers share."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.stats import chi2

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


def chi_square_p(draws: np.ndarray, law, value: Fraction) -> float:
    """The p-value of draws against the declared law, in at most 200 cells of 20 or more."""
    low, high = int(np.quantile(draws, 0.0005)), int(np.quantile(draws, 0.9995))
    width = max(1, -(-(high - low) // 200))
    cells = -(-(high + 1 - low) // width)
    points = np.arange(low, low + cells * width)
    mass = np.exp(law.log_probability(points.astype(float), value)).reshape(-1, width).sum(axis=1)
    cell = (draws - low) // width
    inside = (cell >= 0) & (cell < len(mass))
    counts = np.bincount(cell[inside], minlength=len(mass))
    mass = np.append(mass, 1 - mass.sum())
    counts = np.append(counts, len(draws) - counts.sum())
    keep = mass * len(draws) >= 20
    expected = mass[keep] * len(draws)
    found = counts[keep]
    rest = len(draws) - expected.sum()
    statistic = ((found - expected) ** 2 / expected).sum()
    degrees = keep.sum() - 1
    if rest > 20:
        statistic += (len(draws) - found.sum() - rest) ** 2 / rest
        degrees += 1
    return float(chi2.sf(statistic, max(degrees, 1)))
