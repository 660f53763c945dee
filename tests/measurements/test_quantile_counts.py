"""What the noisy counts of many quantiles cost under zCDP, where their loss is pure."""

from __future__ import annotations

from fractions import Fraction
from math import expm1

import pytest

from opendp_lite.measurements._quantile_tree import Branch, Prices, PricesOfPure

NOTHING = Fraction(0)


@pytest.mark.parametrize("replaces", [False, True])
@pytest.mark.parametrize("counted", [Fraction(1, 1000), Fraction(1, 100)])
def test_a_count_with_laplace_noise_costs_its_divergence(replaces, counted):
    """Half of the price would be below the divergence of Laplace noise, e + exp(-e) - 1."""
    part = Branch(0, Fraction(1, 2), NOTHING, counted, None, None)
    pure = float(part.cost(Prices(1, replaces)))
    least = pure + expm1(-pure)
    assert least <= part.cost(PricesOfPure(2, replaces)) <= 1.02 * least
