"""The noise of a cube is drawn from its density, exactly, and its errors are those of the law."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
import sampling
from scipy.stats import gamma, kstest, uniform
from test_core_noise import Off, Pool

import opendp_lite as dp
from opendp_lite.samplers import l2_gamma
from opendp_lite.samplers.l2_gamma import CubeGamma, cube_quantile_up
from opendp_lite.samplers.law import half_widths

FINE = Fraction(2**16)


def draws(law: CubeGamma, columns: int, count: int, seed: int, lie="0") -> np.ndarray:
    entropy, where = Pool(seed), sampling.at(Fraction(lie), columns)
    return np.array([law.draw(columns, where, entropy) for _ in range(count)])


@pytest.mark.parametrize("columns", [1, 2, 7, 40])
@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(37, 3), FINE], ids=str)
def test_floats_and_exact_arithmetic_decide_alike(columns, scale):
    law = CubeGamma(scale, 0)
    for seed in range(1 + 40 // columns):
        lies = sampling.offsets(np.random.default_rng(seed).integers(0, 2**30, columns) / 2**30)
        words = sampling.biased_words(4 * columns + 8, seed)
        for given in (words, words[:0]):
            usual, exact = (
                each.draw(columns, lies, sampling.Words(given, seed))
                for each in (law, sampling.wide(law))
            )
            assert np.array_equal(usual, exact)


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("columns", [1, 4])
def test_a_level_that_is_off_by_more_than_it_may_be_decides_no_tie(columns, side, monkeypatch):
    """The margin is eight errors; with 33 known bits of the uniforms they are nearly all of it."""
    monkeypatch.setattr(l2_gamma, "Gamma", Off)
    monkeypatch.setattr(Off, "side", side, raising=False)
    for seed in range(6):
        words = Pool(seed).words(2 * columns + 1)
        words[: columns + 1] >>= np.uint64(30)
        finer = sampling.wide(CubeGamma(Fraction(2**44), 0)).draw(
            columns, sampling.at(0, columns), sampling.Words(words)
        )
        lies, wanted = sampling.values_at_ties(finer.tolist())
        found = CubeGamma(Fraction(2**14), 0).draw(columns, lies, sampling.Words(words))
        assert found.tolist() == wanted


def cells(scale: float, lie: float, steps: np.ndarray) -> np.ndarray:
    """The probabilities of pairs of whole numbers, from exp(-max(|x|, |y|) / s) / 8 s^2.

    Of the square of side 2 r around 0, from one corner on: by the second difference of an integral.
    """

    def corner(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The integral of the density over 0..x and 0..y, in scales."""
        less, more = np.minimum(x, y), np.maximum(x, y)
        square = 1 - np.exp(-less) * (1 + less)
        return 2 * square + less * (np.exp(-less) - np.exp(-more))

    edges = (steps - 0.5 - lie) / scale
    x, y = np.meshgrid(edges, edges, indexing="ij")
    signed = np.sign(x) * np.sign(y) * corner(np.abs(x), np.abs(y)) / 8
    return np.diff(np.diff(signed, axis=0), axis=1)


@pytest.mark.parametrize(("scale", "lie"), [(Fraction(1, 2), "1/3"), (Fraction(3), "0")], ids=str)
@pytest.mark.parametrize("exactly", [False, True])
def test_pairs_of_whole_numbers_have_the_integral_of_the_density(scale, lie, exactly):
    law, steps = CubeGamma(scale, 0), np.arange(-60, 62)
    found = draws(sampling.wide(law) if exactly else law, 2, 800 if exactly else 4000, 3, lie)
    weights = cells(float(scale), float(Fraction(lie)), steps)
    assert weights.sum() == pytest.approx(1, abs=1e-6)
    counted = np.histogram2d(*found.T, bins=[steps - 0.5] * 2)[0]
    assert sampling.fit(counted, weights) > sampling.LEAST_P


@pytest.mark.parametrize(("columns", "count"), [(1, 8000), (2, 6000), (8, 4000), (100, 1000)])
def test_the_largest_entry_is_a_gamma_and_the_others_fill_the_cube(columns, count):
    """The largest of d entries has the density r^(d-1) exp(-r): Gamma(d), not Gamma(d + 1)."""
    found = draws(CubeGamma(FINE, 0), columns, count, 5) / float(FINE)
    most = np.abs(found).max(axis=1)
    assert kstest(most, gamma(columns).cdf).pvalue > sampling.LEAST_P
    assert abs((found > 0).mean() - 0.5) < 3 / sqrt(found.size)
    if columns > 1:
        first = np.abs(found[:, 0]) < most
        inside = found[first, 0] / most[first]
        assert kstest(inside, uniform(-1, 2).cdf).pvalue > sampling.LEAST_P
        longer = most[first] > np.median(most)
        assert kstest(inside[longer], inside[~longer]).pvalue > sampling.LEAST_P
        assert first.mean() == pytest.approx(1 - 1 / columns, abs=3 / sqrt(count))


@pytest.mark.parametrize("dimension", [1, 2, 3, 50, 1000])
@pytest.mark.parametrize("miss", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**9)])
def test_half_widths_are_certified_and_close(dimension, miss):
    """P(|z_1| > t) is the mean of P(Gamma(k) > t) over k = 1..d."""
    found = float(cube_quantile_up(miss, dimension))
    tail = lambda t: gamma(np.arange(1, dimension + 1)).sf(t).mean()  # noqa: E731
    assert tail(found) <= float(miss) * (1 + 1e-9)
    assert tail(found * (1 - 1e-7)) > float(miss)


@pytest.mark.parametrize("miss", [Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**6)])
def test_with_very_many_entries_a_bound_serves(miss, monkeypatch):
    least = cube_quantile_up(miss, 9000)
    monkeypatch.setattr(l2_gamma, "_MOST_TERMS", 8000)
    found = cube_quantile_up.__wrapped__(miss, 9000)
    assert least < found < least * Fraction(108, 100)
    # Of so many, the largest is as good as known, and an entry is uniform up to it.
    assert cube_quantile_up(miss, 2**60) > (1 - miss) * 2**60


@pytest.mark.parametrize(("dimension", "count"), [(2, 3000), (9, 1500)])
def test_entries_are_within_their_half_width_as_often_as_said(dimension, count):
    pipeline = dp.vector(dimension, dp.metrics.LInfDistance()) >> dp.measurements.linf_mechanism(
        scale=3
    )
    law = CubeGamma.near(Fraction(3), dimension)
    entries = np.abs(draws(law, dimension, count, 11) * 2.0**law.exponent)
    error = law.error_of_each(dimension)
    for miss in (Fraction(1, 2), Fraction(1, 20)):
        share = (entries > float(error.half_width(miss))).mean()
        assert abs(share - float(miss)) < 5 * sqrt(float(miss) / count)
    (joint,) = half_widths(pipeline.bound.facts.errors, Fraction(9, 10), jointly=True)
    assert 0.9 < (entries <= float(joint)).all(axis=1).mean() < 0.97
    square = (entries**2).mean(axis=1)
    off = square - error.standard_deviation**2
    assert abs(off.mean()) < 6 * off.std() / sqrt(count)


def test_scales_are_just_above_what_was_asked_for():
    for columns in (1, 2, 3, 50, 10**5):
        for scale in (Fraction(2) ** -300, Fraction(1, 3), Fraction(2) ** 300):
            law = CubeGamma.near(scale, columns)
            assert 1 < law.scale * Fraction(2) ** law.exponent / scale < 1 + Fraction(1, 2**49)


def test_scales_whose_noise_might_not_fit_are_refused():
    with pytest.raises(dp.ParameterError, match="larger exponent"):
        CubeGamma(Fraction(2**50 // 4 + 1), 0).draw(3, sampling.at(0, 3), Pool(1))
    assert CubeGamma(Fraction(2**50 // 4), 0).draw(3, sampling.at(0, 3), Pool(1)).dtype == np.int64
