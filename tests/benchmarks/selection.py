"""The errors of selections: the tables of docs/selection.md."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

import numpy as np
from compare import Row

import opendp_lite as dp
from opendp_lite.combinators.threshold_tests import ThresholdNoise, noise_of_mean
from opendp_lite.samplers.entropy import SecureEntropy

RUNS = 4000
SCORES = (10, 100, 1000)
BELOW = 100
"""Values below the threshold that come before the one above."""
SURE = 0.05
DRAWS = 20_000
CASES = [(most, monotone) for most in (1, 5) for monotone in (False, True)]


def regret(mechanism: object, scores: np.ndarray) -> float:
    """How far the chosen score lies behind the best, on average."""
    assert isinstance(mechanism, dp.Measurement)
    return float(np.mean([scores.max() - scores[mechanism(scores)] for _ in range(RUNS)]))


def choices() -> Iterator[Row]:
    """Permute-and-flip against the exponential mechanism, on scores that are evenly spread."""
    for count in SCORES:
        scores = np.linspace(0, 50, count)
        space = dp.vector(count, dp.metrics.LInfDistance())
        ours, peer = (
            regret(space >> make(epsilon=1), scores)
            for make in (dp.noisy_max, dp.measurements.exponential_mechanism)
        )
        work = f"mean distance from the best of {count} scores, epsilon = 1"
        yield Row(
            work,
            f"{ours:.2f}",
            "exponential_mechanism",
            f"{peer:.2f}",
            f"{ours / peer:.2f}",
            "<= 1.02x",
            ours <= 1.02 * peer,
        )


def margins(level: np.ndarray, query: np.ndarray) -> float:
    """The least distance from the threshold on either side at which 95 of 100 runs are right.

    A run is right if so many values below and then one above, all at this distance, are told.
    """
    generator = np.random.default_rng(0)
    highest = generator.choice(query, (len(level), BELOW)).max(axis=1)
    last = generator.choice(query, len(level))
    needed = np.maximum(highest - level, level - last)
    return float(np.quantile(needed, 1 - SURE))


def laplace_noise(noise: ThresholdNoise, generator: np.random.Generator) -> tuple[np.ndarray, ...]:
    """The noise of Lyu, Su, Li 2017 at the same loss: two-sided, of the same scales."""
    scales = (float(noise.on_threshold), float(noise.on_query))
    return tuple(generator.laplace(0, scale, DRAWS) for scale in scales)


def thresholds() -> Iterator[Row]:
    """Exponential against Laplace noise."""
    entropy, generator = SecureEntropy(), np.random.default_rng(1)
    for most, monotone in CASES:
        noise = ThresholdNoise.of(Fraction(1), most, monotone)
        level, query = (
            np.array([float(noise_of_mean(mean, entropy)) for _ in range(DRAWS)])
            for mean in (noise.on_threshold, noise.on_query)
        )
        ours, peer = margins(level, query), margins(*laplace_noise(noise, generator))
        words = ", monotone=True" if monotone else ""
        yield Row(
            f"distance needed, {BELOW} below and one above, epsilon = 1, most={most}{words}",
            f"{ceil(ours)}",
            "Laplace noise",
            f"{ceil(peer)}",
            f"{ours / peer:.2f}",
            "<= 1x",
            ours <= peer,
        )


def rows() -> Iterator[Row]:
    """All of them."""
    yield from choices()
    yield from thresholds()
