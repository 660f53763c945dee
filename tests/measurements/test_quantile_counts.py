"""Noisy counts of many quantiles: nothing but their noise shows, and what they cost under zCDP."""

from __future__ import annotations

from fractions import Fraction
from math import expm1

import numpy as np
import pytest
from scipy.stats import kstest, laplace, norm

from opendp_lite.measurements._quantile_lines import PlacedHere
from opendp_lite.measurements._quantile_tree import Branch, Prices, PricesOfPure, cells_by_parts
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.lattice import Stretch

NOTHING, HALF = Fraction(0), Fraction(1, 2)
LEAST_P = 1e-8


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("counted", [Fraction(1, 1000), Fraction(1, 100)])
def test_a_count_with_laplace_noise_costs_its_divergence(replaces, counted):
    """Half of the price would be below the divergence of Laplace noise, e + exp(-e) - 1."""
    part = Branch(0, Fraction(1, 2), NOTHING, counted, None, None)
    pure = float(part.cost(Prices(1, replaces)))
    least = pure + expm1(-pure)
    assert least <= part.cost(PricesOfPure(2, replaces)) <= 1.02 * least


@pytest.mark.parametrize(("power", "law"), [(1, laplace(scale=50)), (2, norm(scale=100))])
def test_quantiles_beside_a_cut_know_its_count_through_its_noise_alone(power, law):
    """A row has each number, so the released quantiles tell the noise that moved them.

    Without noise, or with noise of half the scale, one row would change them for no price.
    """
    rows, steep = 20_000, Fraction(1, 100)
    below, above = (Branch(i, HALF, Fraction(1000), NOTHING, None, None) for i in (0, 2))
    root = Branch(1, HALF, steep, steep, below, above)
    prices, entropy = Prices(power, replaces=False), InsecureSeededEntropy(5)
    found = []
    for _ in range(600):
        placed = PlacedHere(np.arange(rows, dtype=np.int64), Stretch(0, rows), 0)
        found.append(cells_by_parts(root, prices, placed, 3, entropy))
    low, cut, high = np.array(found, dtype=float).T
    error, trusted = cut - rows / 2, 1 / (1 + prices.count_variance)
    for moved in (cut / 2 - low, (cut + rows) / 2 - high):
        noise = 2 * moved / trusted - error
        assert kstest(noise, law.cdf).pvalue > LEAST_P
        for factor in (0.5, 2):
            assert kstest(noise * factor, law.cdf).pvalue < LEAST_P
        assert abs(np.corrcoef(noise, error)[0, 1]) < 0.25
