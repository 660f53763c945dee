"""Noisy counts of many quantiles: nothing but their noise shows, and what they cost under zCDP."""

from __future__ import annotations

from fractions import Fraction
from math import expm1
from typing import Any

import attrs
import numpy as np
import pytest
from scipy.stats import kstest, laplace, norm

from opendp_lite.grid import Grid
from opendp_lite.measurements._quantile_lines import PlacedHere
from opendp_lite.measurements._quantile_tree import (
    Branch,
    Prices,
    PricesOfPure,
    _estimated_error,
    cells_by_parts,
)
from opendp_lite.samplers.entropy import Entropy, InsecureSeededEntropy
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


ROWS, STEEP, FINE = 20_000, Fraction(1, 100), Fraction(1000)


def found_beside_a_cut(below: Fraction, above: Fraction, runs: int, power: int) -> np.ndarray:
    """A median with a noisy count, and a quantile of the rows on either side of it."""
    sides = (Branch(i, q, FINE, NOTHING, None, None) for i, q in ((0, below), (2, above)))
    root = Branch(1, HALF, STEEP, STEEP, *sides)
    prices, entropy = Prices(power, replaces=False), InsecureSeededEntropy(6)
    return np.array(
        [
            cells_by_parts(
                root,
                prices,
                PlacedHere(np.arange(ROWS, dtype=np.int64), Stretch(0, ROWS), 0),
                3,
                entropy,
            )
            for _ in range(runs)
        ],
        dtype=float,
    ).T


@pytest.mark.parametrize(("power", "law"), [(1, laplace(scale=50)), (2, norm(scale=100))])
def test_quantiles_beside_a_cut_know_its_count_through_its_noise_alone(power, law):
    """A row has each number, so the released quantiles tell the noise that moved them.

    Without noise, or with noise of half the scale, one row would change them for no price.
    """
    low, cut, high = found_beside_a_cut(HALF, HALF, 600, power)
    trusted = 1 / (1 + Prices(power, replaces=False).count_variance)
    error = cut - ROWS / 2
    for moved in (cut / 2 - low, (cut + ROWS) / 2 - high):
        noise = 2 * moved / trusted - error
        assert kstest(noise, law.cdf).pvalue > LEAST_P
        for factor in (0.5, 2):
            assert kstest(noise * factor, law.cdf).pvalue < LEAST_P
        assert abs(np.corrcoef(noise, error)[0, 1]) < 0.25


def test_the_ends_of_all_rows_have_no_error():
    """The quantiles 0 and 1 are priced for a target that no count moves: else they cost double."""
    low, cut, high = found_beside_a_cut(Fraction(0), Fraction(1), 30, 2)
    assert np.ptp(cut) > 50
    assert set(low) == {0}
    assert set(high) == {ROWS - 1}


def test_a_quantile_moves_by_its_share_of_the_error_of_the_cut():
    """The first quarter below a cut moves by a quarter of it, that above by three quarters."""
    low, cut, high = found_beside_a_cut(Fraction(1, 4), Fraction(1, 4), 30, 2)
    beside, beyond = cut / 4 - low, cut + (ROWS - cut) / 4 - high
    assert np.ptp(beside) > 50
    assert np.abs(beyond - 3 * beside).max() < 5


@attrs.frozen
class Seen(Prices):
    """Hands over what a count is made of, without noise."""

    grids: list[Grid] = attrs.field(factory=list)

    def counting(self, steepness: Fraction) -> Any:
        return self

    def noisy(self, value: Grid, entropy: Entropy) -> Grid:
        self.grids.append(value)
        return value


@pytest.mark.parametrize("quantile", [Fraction(i, 7) for i in range(1, 7)] + [HALF])
def test_a_row_changes_a_count_by_no_more_than_it_is_priced(quantile):
    """Half of the range of a choice, to the last bit: the quantile is rounded to 2^-20."""
    seen = Seen(1, replaces=False)
    part = Branch(0, quantile, STEEP, STEEP, None, None)
    for below, size in ((50, 100), (51, 101), (50, 101)):
        _estimated_error(part, seen, below, size, NOTHING, InsecureSeededEntropy(0))
    first, *others = (grid.exact[0] for grid in seen.grids)
    moved = max(abs(other - first) for other in others)
    priced = seen.own_range(quantile) / 2
    assert priced - Fraction(1, 2**20) < moved <= priced
