"""The logarithmic distribution: its law and its exact coins."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from mpmath import exp, mp, mpf
from sampling import LEAST_P, Words, fit, precise

from opendp_lite.samplers import choice as module
from opendp_lite.samplers.choice import logarithmic
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.exact_reals import LazyUniform


@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(1), Fraction(18, 5)])
def test_the_law(rate):
    entropy = InsecureSeededEntropy(1)
    found = [min(logarithmic(rate, entropy), 13) for _ in range(6000)]
    sizes = np.arange(1, 13)
    chances = (1 - np.exp(-float(rate))) ** sizes / (sizes * float(rate))
    assert (
        fit(np.bincount(found, minlength=14)[1:], np.append(chances, 1 - chances.sum())) > LEAST_P
    )


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(9)])
def test_coins_that_floats_cannot_decide_are_decided_exactly(rate):
    """E = -ln V is compared with rate U, for V that share up to 150 bits with the tie."""
    mp.prec = 500
    generator = np.random.default_rng(2)
    for shared in range(0, 150, 3):
        uniform = int.from_bytes(generator.bytes(32), "big")
        # The variate reads 63 bits of its first word and all bits of the next ones.
        tie = int(exp(-precise(rate) * uniform / mpf(2) ** 256) * 2**255)
        noise = int.from_bytes(generator.bytes(32), "big") >> (shared + 3)
        for value in (tie - noise, tie + noise):
            if not 0 < value < 2**255 or noise < 2:
                continue
            first, *others = split(uniform)
            coin, *more = split(value)
            mixed = [word for pair in zip(more, others, strict=True) for word in pair]
            found = module._heads(LazyUniform(first, 64), rate, Words([coin, *mixed]))
            assert found == (value < tie)


def split(value: int) -> list[int]:
    """256 bits as words."""
    return [(value >> shift) & (2**64 - 1) for shift in (192, 128, 64, 0)]
