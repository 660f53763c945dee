"""The l2-gamma sampler draws from its law, exactly: as a whole and entry by entry."""

from fractions import Fraction

import numpy as np
import pytest
import sampling
from mpmath import mp, mpf
from scipy.stats import gamma, kstest

import opendp_lite as dp
from opendp_lite.samplers import exact_reals
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.exact_reals import Chi, LazyNormal, exact_floor
from opendp_lite.samplers.l2_gamma import L2Gamma, _product
from opendp_lite.samplers.rounded_laws import RoundedLaplace

DIMENSIONS = [1, 2, 3, 8, 51]
FINE = Fraction(2**16)


def vectors(law: L2Gamma, dimension: int, count: int, seed: int) -> np.ndarray:
    entropy = InsecureSeededEntropy(seed)
    zero = sampling.at(0, dimension)
    return np.array([law.draw(dimension, zero, entropy) for _ in range(count)])


class MarginalInThree:
    """The law of one entry in three dimensions: the density (1 + |x|) exp(-|x|) / 4, in cells."""

    def __init__(self, scale: int) -> None:
        self.scale = scale

    def log_probability(self, steps: np.ndarray, value: Fraction) -> np.ndarray:
        low, high = ((steps - float(value) + side) / self.scale for side in (-0.5, 0.5))
        return np.log(self.below(high) - self.below(low))

    def below(self, x: np.ndarray) -> np.ndarray:
        tail = (2 + np.abs(x)) * np.exp(-np.abs(x)) / 4
        return np.where(x < 0, tail, 1 - tail)


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(37, 3), FINE], ids=str)
def test_floats_and_exact_arithmetic_decide_alike(dimension, scale):
    law = L2Gamma(scale, 0)
    for seed in range(1 + 10 // dimension):
        inside = np.random.default_rng(seed).integers(0, 2**30, dimension) / 2**30
        words = sampling.biased_words(12 * dimension + 64, seed)
        for given in (words, words[:0]):
            sampling.assert_decided_exactly(
                law, dimension, sampling.offsets(inside), words=given, seed=seed
            )


@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize("dimension", [1, 2, 17, 40])
def test_lengths_from_the_ends_of_the_uniforms_decide_alike(ones, dimension):
    """All uniforms of the length just below 1, or just above 0 and without known bits."""
    law = L2Gamma(Fraction(2**20), 0)
    for seed in range(4):
        noise = np.random.default_rng(seed).integers(0, 2**10, (dimension + 1) // 2)
        words = [2**64 - 1 - int(each) if ones else int(each) for each in noise]
        sampling.assert_decided_exactly(
            law, dimension, sampling.at("0.375", dimension), words=words, seed=seed
        )


@pytest.mark.parametrize("degrees", [2, 3, 4, 33, 64, 1001])
def test_the_length_is_within_its_error_whatever_the_unread_bits_are(degrees):
    errors = []
    for seed in range(60):
        words = sampling.biased_words(degrees, seed) if seed % 2 else []
        length = Chi.of(degrees, sampling.Words(words, seed))
        bounds = length.bracket()
        if bounds is None or length.error > 1:
            continue
        errors.append(length.error)
        rounding = Fraction(2.0**-51 * length.value)
        error = Fraction(length.error) + rounding
        assert bounds[0] <= bounds[1]
        assert Fraction(length.value) - error <= bounds[0]
        assert bounds[1] <= Fraction(length.value) + error
    assert len(errors) >= 30
    assert np.median(errors) < 2.0**-36


@pytest.mark.parametrize("ones", [1, 3, 10, 16, 17, 40])
def test_a_sum_of_exponentials_is_within_its_error_whatever_the_unread_bits_are(ones):
    """Uniforms with so few known bits that the unread ones are nearly all of the error."""
    for known in (1000, 2**20, 2**40):
        found = exact_reals.Gamma(ones, sampling.Words([2 * known + 1] * ones))
        low, high = found.bracket()
        assert Fraction(found.value) - Fraction(found.error) <= low
        assert high <= Fraction(found.value) + Fraction(found.error)
        assert found.error < 1.02 * (ones / known + 2.0**-46 * found.value + ones * 2.0**-47)


@pytest.mark.parametrize(("bits", "step"), [(63, 64), (12, 1)])
@pytest.mark.parametrize("degrees", [2, 3, 8, 35, 100])
def test_brackets_hold_the_length(degrees, bits, step, monkeypatch):
    """Few bits show whether products that are cut to a few bits stay on their side."""
    mp.dps = 120
    monkeypatch.setattr(exact_reals, "STEP", step)
    for seed in range(6):
        words = InsecureSeededEntropy(seed).words(degrees // 2)
        length = Chi.of(degrees, sampling.Words(words, seed))
        known = [max(1, int(word) >> (64 - bits)) for word in words]
        length._pairs._known, length._pairs.bits = known, bits
        for drawn in (bits, bits + step):
            square = sum(sampling.precise(odd.exactly.bracket()[0]) ** 2 for odd in length._normals)
            for side, bound in zip((1, 0), length.bracket(), strict=True):
                shares = [mpf(each + side) / mpf(2) ** drawn for each in known]
                root = mp.sqrt(max(0, square - 2 * sum(map(mp.log, shares))))
                assert sampling.precise(bound) <= root if side else sampling.precise(bound) >= root
            more = sampling.Words([i % 2**step for i in range(degrees)])
            known = [each << step | i % 2**step for i, each in enumerate(known)]
            length.extend(more)


def test_deciding_bit_by_bit_from_no_known_bits(monkeypatch):
    """In one dimension: the length of two normals times a third is Laplace."""
    monkeypatch.setattr(exact_reals, "STEP", 1)
    bits, entropy = sampling.Bits(1), InsecureSeededEntropy(2)
    draws = []
    while len(draws) < 300:
        length, size = Chi.of(2, entropy), LazyNormal(0, 0)
        length._pairs._known, length._pairs.bits = [0], 0
        factor = Fraction(3 if bits.word() else -3)
        draws.append(exact_floor(_product(length, size), factor, Fraction(3, 4), bits))
    found = sampling.chi_square_p(np.array(draws), RoundedLaplace(Fraction(3), 0), Fraction(1, 4))
    assert found > sampling.LEAST_P


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(5, 2), FINE], ids=str)
@pytest.mark.parametrize("value", [Fraction(0), Fraction(255, 256)], ids=str)
def test_one_dimension_is_laplace(scale, value):
    law, entropy = L2Gamma(scale, 0), InsecureSeededEntropy(3)
    draws = np.array([law.draw(1, sampling.at(value, 1), entropy)[0] for _ in range(1500)])
    assert sampling.chi_square_p(draws, RoundedLaplace(scale, 0), value) > sampling.LEAST_P


@pytest.mark.parametrize("scale", [1, 7])
def test_entries_in_three_dimensions_follow_their_marginal(scale):
    law, entropy, value = L2Gamma(Fraction(scale), 0), InsecureSeededEntropy(4), Fraction(1, 3)
    draws = np.array([law.draw(3, sampling.at(value, 3), entropy) for _ in range(4000)])
    for column in draws.T:
        assert sampling.chi_square_p(column, MarginalInThree(scale), value) > sampling.LEAST_P


def test_exact_decisions_alone_follow_the_marginal():
    law, entropy, value = (
        sampling.wide(L2Gamma(Fraction(3), 0)),
        InsecureSeededEntropy(5),
        Fraction("0.7"),
    )
    draws = np.array([law.draw(3, sampling.at(value, 3), entropy)[0] for _ in range(200)])
    assert sampling.chi_square_p(draws, MarginalInThree(3), value) > sampling.LEAST_P


@pytest.mark.parametrize(
    ("dimension", "count"), [(1, 3000), (2, 3000), (3, 3000), (50, 1500), (1000, 500)]
)
def test_lengths_are_gamma_and_directions_uniform(dimension, count):
    found = vectors(L2Gamma(FINE, 0), dimension, count, 6) / 2.0**16
    assert kstest(np.linalg.norm(found, axis=1), gamma(dimension).cdf).pvalue > sampling.LEAST_P
    if dimension > 1:
        sampling.assert_directions_are_uniform(found)


@pytest.mark.parametrize(("dimension", "count"), [(2, 4000), (5, 4000), (100, 1000)])
def test_covariance(dimension, count):
    """Each moment within 6 of its standard errors: 1e-8 for a correct sampler, 12 moments each."""
    found = vectors(L2Gamma(FINE, 0), dimension, count, 7) / 2.0**16
    squares = (found**2).sum(axis=1)
    products = [found[:, 0] * found[:, 1], found[:, 0] * found[:, -1], *found[:, :2].T]
    for sample, mean in [
        (squares, dimension * (dimension + 1)),
        *((found[:, i] ** 2, dimension + 1) for i in range(2)),
        *((product, 0) for product in products[: 1 if dimension == 2 else 4]),
    ]:
        assert abs(sample.mean() - mean) < 6 * sample.std() / np.sqrt(count)


def test_the_grid_suits_the_dimension():
    for dimension in (1, 2, 3, 50, 10**5, 10**7):
        for scale in (Fraction(2) ** -300, Fraction(1, 3), Fraction(10), Fraction(2) ** 300):
            law = L2Gamma.near(scale, dimension)
            entry = float(law.scale) * (dimension + 1) ** 0.5
            assert 2**16 <= entry <= 2**18
            ratio = law.scale * Fraction(2) ** law.exponent / scale
            assert 1 < ratio < 1 + Fraction(1, 2**49)


def test_the_largest_scale_is_less_for_more_entries():
    """Before a word is drawn."""
    law, none = L2Gamma(Fraction(2**48), 0), sampling.Words([])
    assert law.draw(23, sampling.at(0, 23), InsecureSeededEntropy(10)).dtype == np.int64
    none._rest = None
    with pytest.raises(dp.ParameterError, match="larger exponent"):
        law.draw(24, sampling.at(0, 24), none)
