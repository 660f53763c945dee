"""The noisy maximum: its law, its exact coins and its ties."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from mpmath import exp, mp, mpf
from sampling import LEAST_P, Words, fit, precise

from opendp_lite.samplers import choice as module
from opendp_lite.samplers.choice import FAR_EXPONENT, permute_and_flip
from opendp_lite.samplers.entropy import InsecureSeededEntropy

_WORD = 2**64 - 1


def flipped_in_every_order(exponents) -> np.ndarray:
    """The law of the mechanism as it was published: all orders, coins one by one."""
    chances = np.exp(-np.array(exponents, dtype=float))
    found = np.zeros(len(chances))
    orders = list(permutations(range(len(chances))))
    for order in orders:
        left = 1.0
        for place in order:
            found[place] += left * chances[place]
            left *= 1 - chances[place]
    return found / len(orders)


def drawn(exponents, entropy) -> int:
    floats = np.array([min(float(each), FAR_EXPONENT) for each in exponents])
    return permute_and_flip(floats, lambda i: Fraction(exponents[i]), entropy)


CASES = [
    [0],
    [0, 0],
    [0, 1],
    [Fraction(1, 3), 0, 2, Fraction(1, 7)],
    [0, 0, 0, 3],
    [2, 10**9, 0, Fraction(1, 2**60)],
    [1, 1, 1, 1, 0],
]


@pytest.mark.parametrize("exponents", CASES, ids=str)
def test_the_law_is_the_published_one(exponents):
    entropy = InsecureSeededEntropy(1)
    found = np.bincount([drawn(exponents, entropy) for _ in range(4000)], minlength=len(exponents))
    chances = flipped_in_every_order(exponents)
    assert fit(found, np.where(chances > 1e-9, chances, 0)) > LEAST_P


def test_the_law_is_that_of_the_largest_score_with_exponential_noise():
    exponents = np.array([0.0, 0.5, 1.3])
    noisy = np.random.default_rng(2).exponential(size=(200_000, 3)) - exponents
    found = np.bincount(noisy.argmax(axis=1)) / 200_000
    assert np.abs(found - flipped_in_every_order(exponents)).max() < 6 * 0.5 / 200_000**0.5


@pytest.mark.parametrize("exponent", [Fraction(1, 3), Fraction(2), Fraction(1, 10**25)])
def test_a_coin_that_floats_cannot_decide_is_decided_exactly(exponent, monkeypatch):
    """Uniform numbers that share up to 130 bits with the probability, to either side."""
    monkeypatch.setattr(module, "below", lambda total, entropy: total - 1)
    mp.prec = 400
    probability = int(exp(-precise(exponent)) * mpf(2) ** 256)
    generator = np.random.default_rng(3)
    sides = []
    for shared in range(0, 130, 3):
        noise = int.from_bytes(generator.bytes(32), "big") >> shared
        for uniform in (probability - noise, probability + noise):
            if 0 <= uniform < 2**256:
                words = Words([2**63, *((uniform >> shift) & _WORD for shift in (192, 128, 64, 0))])
                found = permute_and_flip(
                    np.array([0.0, float(exponent)]), [Fraction(0), exponent].__getitem__, words
                )
                assert found == (uniform < probability)
                sides.append(found)
    assert len(sides) > 40
    assert set(sides) == {0, 1}


def test_the_best_always_shows_heads():
    """Also for the largest word, which a float rounds up to 1."""
    exponents = [Fraction(0), Fraction(10**9)]
    for word in (0, 1, 2**63, 2**64 - 2, 2**64 - 1):
        words = Words([word, 2**64 - 1, 0, 0, 0, 0])
        found = permute_and_flip(np.array([0.0, FAR_EXPONENT]), exponents.__getitem__, words)
        assert found == 0
