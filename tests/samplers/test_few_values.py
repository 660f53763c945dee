"""Few values are released one by one: with the noise that many get, also where floats doubt."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest

from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.law import FEW
from opendp_lite.samplers.rounded_laws import RoundedGaussian, RoundedLaplace

KINDS = [RoundedGaussian, RoundedLaplace]
COUNT = 5 * FEW
MOST = 2**63 - 1


@pytest.mark.parametrize("finer", [-3, 0, 1, 5, 40, 55, 62])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(40)])
@pytest.mark.parametrize("kind", KINDS)
def test_few_values_get_the_noise_of_many(kind, scale, finer):
    """The values lie on a grid that is finer by so many bits; a margin of 1 trusts no float."""
    generator = np.random.default_rng(2)
    values = generator.integers(-(2**55), 2**55, COUNT)
    law = kind(scale, 0)
    expected = law.release(values, -finer, InsecureSeededEntropy(3)).tolist()
    for margin in (law.margin, 1.0):
        entropy, doubtful = InsecureSeededEntropy(3), attrs.evolve(law, margin=margin)
        found = [
            doubtful.release(values[start : start + FEW], -finer, entropy)
            for start in range(0, COUNT, FEW)
        ]
        assert np.concatenate(found).tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_few_floats_get_the_noise_of_many(kind):
    values = np.random.default_rng(2).normal(0, 1, COUNT) ** 7
    values[:5] = np.nan, np.inf, -np.inf, 5e-324, -5e-324
    law = kind(Fraction(1, 3), -4)
    expected = law.release_floats(values, InsecureSeededEntropy(3)).tolist()
    for margin in (law.margin, 1.0):
        entropy, doubtful = InsecureSeededEntropy(3), attrs.evolve(law, margin=margin)
        found = [
            doubtful.release_floats(values[start : start + FEW], entropy)
            for start in range(0, COUNT, FEW)
        ]
        assert np.concatenate(found).tolist() == expected


@pytest.mark.parametrize("count", [1, FEW, FEW + 1, COUNT])
@pytest.mark.parametrize("value", [2**62, MOST - 1, MOST, -(2**62), 1 - MOST, -MOST - 1])
@pytest.mark.parametrize("kind", KINDS)
def test_noise_does_not_go_around_the_end_of_int64(kind, value, count):
    law = kind(Fraction(2**20), 0)
    found = law.release(np.full(count, value), 0, InsecureSeededEntropy(4)).tolist()
    alone = law.release(np.zeros(count, np.int64), 0, InsecureSeededEntropy(4)).tolist()
    assert found == [value + each for each in alone]
