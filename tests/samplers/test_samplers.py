"""The samplers draw from their declared law, exactly."""

import os
import threading
from fractions import Fraction
from functools import partial

import attrs
import numpy as np
import pytest
import sampling
from mpmath import mp, mpf
from sampling import at

import opendp_lite as dp
from opendp_lite.samplers.entropy import Entropy, InsecureSeededEntropy, SecureEntropy
from opendp_lite.samplers.exact_reals import LazyExponential, exact_floor
from opendp_lite.samplers.l2_gamma import L2Gamma
from opendp_lite.samplers.law import (
    FEW_VALUES,
    LANES,
    Offsets,
    _split_cells,
    grid_for,
    in_cells,
    split_cell,
)
from opendp_lite.samplers.quantile_table import LEAST, MASK
from opendp_lite.samplers.rounded_laws import (
    DiscreteLaplace,
    RoundedGaussian,
    RoundedLaplace,
    _later,
    _start,
)

ROUNDED = [RoundedGaussian, RoundedLaplace]
SCALES = [Fraction(1, 10), Fraction(1), Fraction(37, 3), Fraction(2**16 + 1, 1), Fraction(2**20)]


@pytest.mark.parametrize("kind", ROUNDED)
@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("value", [Fraction(0), Fraction(1, 3), Fraction(255, 256)], ids=str)
def test_rounded_noise_follows_its_law(kind, scale, value):
    law = kind(scale, 0)
    draws = law.draw(200_000, at(value, 200_000), InsecureSeededEntropy(11))
    assert sampling.chi_square_p(draws, law, value) > sampling.LEAST_P


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1), Fraction(50, 7), Fraction(2**20)])
def test_discrete_laplace_follows_its_law(scale):
    law = DiscreteLaplace(scale, 0)
    draws = law.draw(200_000, at(0, 1), InsecureSeededEntropy(12))
    assert sampling.chi_square_p(draws, law, Fraction(0)) > sampling.LEAST_P


@pytest.mark.parametrize("kind", [*ROUNDED, DiscreteLaplace])
def test_few_draws_at_a_time_follow_the_law(kind):
    law, entropy = kind(Fraction(5), 0), InsecureSeededEntropy(13)
    value = Fraction(0) if kind is DiscreteLaplace else Fraction(1, 4)
    draws = np.concatenate([law.draw(2, at(value, 2), entropy) for _ in range(8000)])
    assert sampling.chi_square_p(draws, law, value) > sampling.LEAST_P


@pytest.mark.parametrize("kind", ROUNDED)
def test_exact_decisions_alone_follow_the_law(kind):
    law = sampling.wide(kind(Fraction(7, 2), 0))
    draws = law.draw(2_000, at("0.7", 2_000), InsecureSeededEntropy(14))
    assert sampling.chi_square_p(draws, law, Fraction("0.7")) > sampling.LEAST_P


def test_offsets_of_floats_are_exact():
    tiny = [-1.9e-37, -5e-324, 0.3, -0.3, 1e300, -1e300, np.nan, 7.0]
    for target in (-900, -60, 0, 3, 900):
        with np.errstate(all="ignore"):
            whole, cells = np.empty(len(tiny)), np.empty(len(tiny))
            floats = _split_cells(np.array(tiny), target, whole, cells)
        for i, value in enumerate(tiny):
            exact = Fraction(0 if np.isnan(value) else value) / Fraction(2) ** target
            limited = max(min(exact, Fraction(2**60)), -Fraction(2**60))
            alone, inside, exactly = split_cell(value, target)
            assert int(whole[i]) == alone
            assert floats[i] == inside
            assert alone + exactly() == limited
            assert inside == pytest.approx(float(exactly()), abs=2**-50)


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("kind", [*ROUNDED, DiscreteLaplace])
def test_floats_and_exact_arithmetic_decide_alike(kind, scale):
    law, count = kind(scale, 0), 200
    where = sampling.offsets(np.random.default_rng(1).integers(0, 2**30, count) / 2**30)
    sampling.assert_decided_exactly(
        law, count, where, words=sampling.biased_words(count, 1), seed=1
    )


@pytest.mark.parametrize("kind", [*ROUNDED, DiscreteLaplace])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_one_draw_decides_as_exact_arithmetic_does(kind, scale):
    for seed in range(60):
        sampling.assert_decided_exactly(
            kind(scale, 0), 1, at("0.375", 1), words=sampling.biased_words(64, seed)
        )


@pytest.mark.parametrize("kind", [*ROUNDED, DiscreteLaplace])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_one_at_a_time_or_many_the_same_words_make_the_same_noise(kind, scale):
    """Words below 2^43 are left out: what is drawn for them further comes from elsewhere."""
    law, count = kind(scale, 0), 3000
    words = [w for w in sampling.biased_words(2 * count, 5).tolist() if (w & MASK) >= LEAST][:count]
    inside = np.random.default_rng(6).integers(0, 2**30, count) / 2**30
    where = sampling.offsets(inside)
    many = law.draw(count, where, sampling.Words(words))
    one = sampling.Words(words)
    alone = [int(law.draw(1, sampling.offsets([each]), one)[0]) for each in inside]
    assert many.tolist() == alone


@pytest.mark.parametrize("kind", [*ROUNDED, DiscreteLaplace])
def test_floats_are_filled_with_the_same_noise_as_integers(kind):
    law, words = kind(Fraction(2**16 + 1), 0), sampling.biased_words(100, 7)
    found = law.release_floats(np.full(40_000, 3.25), sampling.Words(words, 1))
    assert np.array_equal(found, 3 + law.draw(40_000, at("0.25", 40_000), sampling.Words(words, 1)))


class Apart(Entropy):
    """Given words for variates, and others, counted from 1, where a variate is read further."""

    def __init__(self, words):
        self._words, self._further = words, 0

    def words(self, count):
        found, self._words = self._words[:count], self._words[count:]
        return found

    def word(self):
        self._further += 1
        return self._further << 40


def of_runs(kind, count, seed):
    """A law, where so many values lie, and words for them that all have a float."""
    inside = np.random.default_rng(seed).integers(0, 2**30, count) / 2**30
    words = InsecureSeededEntropy(seed).words(count) | np.uint64(LEAST)
    return kind(Fraction(2**10 + 1, 3), 0), inside, words


@pytest.mark.parametrize("kind", [*ROUNDED, DiscreteLaplace])
def test_every_block_has_its_own_values_words_and_doubts(kind):
    """More than two blocks against fewer draws at a time."""
    count = 2 * LANES + 7
    law, inside, words = of_runs(kind, count, 8)
    many = law.draw(count, Offsets(inside, lambda i: Fraction(inside[i])), Apart(words))
    entropy, few = Apart(words), []
    for start in range(0, count, 6000):
        part = inside[start : start + 6000]
        where = Offsets(part, lambda i, part=part: Fraction(part[i]))
        few += law.draw(len(part), where, entropy).tolist()
    assert many.tolist() == few


@pytest.mark.parametrize("kind", ROUNDED)
def test_exact_decisions_are_told_their_own_place(kind):
    """Lanes of the third block, each with a word and an offset of its own, all decided exactly."""
    count = 2 * LANES + 7
    law, inside, words = of_runs(kind, count, 9)
    doubtful = [3, LANES + 5, 2 * LANES + 2, 2 * LANES + 6]
    words[doubtful] = [1000 + place for place in range(4)]
    where = Offsets(inside, lambda i: Fraction(inside[i]))
    found = law.draw(count, where, Apart(words))
    rest = Apart(words[:0])
    expected = [law._exactly(int(words[at]), Fraction(inside[at]), rest) for at in doubtful]
    assert found[doubtful].tolist() == expected


@pytest.mark.parametrize("kind", ROUNDED)
def test_floats_and_integers_are_released_alike_in_every_block(kind):
    count = 2 * LANES + 7
    law = kind(Fraction(2**16 + 1), 4)
    values = np.random.default_rng(10).integers(-(2**40), 2**40, count)
    words = InsecureSeededEntropy(10).words(count)
    whole = law.release(values, 0, Apart(words)) * 2.0**4
    assert np.array_equal(law.release_floats(values.astype(np.float64), Apart(words)), whole)


def test_a_release_within_a_release_has_working_arrays_of_its_own():
    law, count = RoundedGaussian(Fraction(2**16), 0), LANES + 9
    offsets_inside = at("0.25", count)

    class Nesting(InsecureSeededEntropy):
        def words(self, count):
            law.draw(100, at("0.5", 100), InsecureSeededEntropy(1))
            return super().words(count)

    nested = law.draw(count, offsets_inside, Nesting(11))
    assert np.array_equal(nested, law.draw(count, offsets_inside, InsecureSeededEntropy(11)))
    with_values = law.release_floats(np.full(count, 0.25), Nesting(11))
    assert np.array_equal(with_values, nested)


@pytest.mark.parametrize(("kind", "scale"), [(RoundedLaplace, 2**50), (L2Gamma, 2**48)])
def test_noise_beyond_2_to_53_is_added_before_it_is_rounded(kind, scale):
    """Noise that became a float of its own would be even: a release would show an odd value."""
    law, count = kind(Fraction(scale), 0), 9
    for seed in range(4):
        words = InsecureSeededEntropy(seed).words(3 * count) >> np.uint64(16)
        found = law.release_floats(np.full(count, -(2.0**53)), sampling.Words(words, seed))
        noise = law.draw(count, at(0, count), sampling.Words(words, seed))
        assert found.tolist() == [float(each - 2**53) for each in noise.tolist()]
        assert abs(noise).max() > 2**53


@pytest.mark.parametrize("kind", ROUNDED)
@pytest.mark.parametrize("count", [1, 9, 100])
@pytest.mark.parametrize("exponent", [0, 600])
def test_no_release_shows_the_sign_of_a_zero(kind, count, exponent):
    """Words so near to 1 that the noise rounds to zero from below, and from above."""
    law = kind(Fraction(2), exponent)
    for word in (2**64 - 2**40, 2**63 - 2**40):
        signs = set()
        for zero in (0.0, -0.0, 1e-300, -1e-300):
            found = law.release_floats(np.full(count, zero), sampling.Words([word] * count))
            assert np.all(found == 0)
            signs |= set(np.signbit(found).tolist())
        assert signs == {False}


@pytest.mark.parametrize("kind", ROUNDED)
def test_offsets_that_no_float_holds_decide_at_a_tie(kind):
    """With so small a scale the rounding of the sum is all of the error."""
    law, half = kind(Fraction(1, 2**30), 0), Fraction(1, 2)
    words = [word | LEAST for word in InsecureSeededEntropy(12).words(400).tolist()]
    inside = []
    for number, word in enumerate(words):
        size = law.size(word & MASK).bracket()[0] * law.scale
        tie = half + size if word > MASK else half - size
        inside.append(tie + Fraction((-1) ** number, 2**56))
    found = sampling.assert_decided_exactly(law, 400, sampling.offsets(inside), words=words, seed=1)
    assert set(found.tolist()) == {0, 1}
    # Of the least size of all, only the sign decides.
    assert [
        law.draw(1, at(half, 1), sampling.Words([word])).item() for word in (MASK, 2**64 - 1)
    ] == [1, 0]


@pytest.mark.parametrize("scale", [Fraction(1, 10**9), Fraction(1, 10**30)])
def test_almost_no_discrete_noise_is_made_at_once(scale):
    law = DiscreteLaplace(scale, 0)
    assert not law.draw(500, at(0, 500), SecureEntropy()).any()
    assert law.draw(1, at(0, 1), sampling.Words([5])) == 0


@pytest.mark.parametrize("bits", [4, 20, 127])
@pytest.mark.parametrize("scale", ["1e-30", "1/200", "1/128", "1/3", "1", "1000"])
def test_bounds_on_where_discrete_noise_starts_hold(scale, bits):
    """c = ln(2 / (1 + q)), about 2^-bits apart."""
    mp.dps = 80
    low, high = _start(Fraction(scale), bits)
    true = mp.log(2 / (1 + mp.exp(-sampling.precise(1 / Fraction(scale)))))
    assert sampling.precise(low) <= true <= sampling.precise(high)
    assert high - low <= Fraction(4, 2**bits)


@pytest.mark.parametrize("kind", [*ROUNDED, DiscreteLaplace, L2Gamma])
def test_scales_whose_noise_might_not_fit_are_refused(kind):
    kind(Fraction(2**50), 0)
    for scale in (Fraction(2**50 + 1), Fraction(2**61), Fraction(2) ** 1100):
        with pytest.raises(dp.ParameterError, match="larger exponent"):
            kind(scale, 0)


@pytest.mark.parametrize("kind", [*ROUNDED, DiscreteLaplace, L2Gamma])
@pytest.mark.parametrize("scale", [0, -1])
def test_scales_that_are_not_above_0_are_refused(kind, scale):
    with pytest.raises(dp.ParameterError, match="above 0"):
        kind(Fraction(scale), 0)


@pytest.mark.parametrize("bits", [0, 1, 2])
def test_deciding_from_few_known_bits(bits):
    entropy = InsecureSeededEntropy(15)
    law = RoundedLaplace(Fraction(3), 0)
    draws = []
    for _ in range(1500):
        negative = entropy.word() & 1
        factor = Fraction(-3 if negative else 3)
        lazy = LazyExponential(entropy.word() >> (64 - bits), bits)
        draws.append(exact_floor(lazy, factor, Fraction(1, 2), entropy))
    assert sampling.chi_square_p(np.array(draws), law, Fraction(0)) > sampling.LEAST_P


def test_brackets_hold_the_logarithm():
    """Also those of the exponential to which a discrete law adds a number."""
    mp.dps = 120
    shift = -mp.log((1 + mp.exp(mpf(-1) / 2)) / 2)
    generator = np.random.default_rng(16)
    for bits in (1, 10, 63, 127, 191):
        for _ in range(60):
            known = int(generator.integers(0, 2**63)) % 2**bits
            if known == 0:
                continue
            low, high = LazyExponential(known, bits).bracket()
            least, most = _later(LazyExponential(known, bits), Fraction(2)).bracket()
            for numerator, bound, by in (
                *((known, high, 0), (known + 1, low, 0)),
                *((known, most, shift), (known + 1, least, shift)),
            ):
                true = -mp.log(mpf(numerator) / mpf(2) ** bits) + by
                value = sampling.precise(bound)
                assert value >= true if numerator == known else value <= max(true, 0)
            assert high - low < Fraction(4, max(known, 1))


@pytest.mark.parametrize("kind", ROUNDED)
def test_large_scales_are_uniform_in_every_low_byte(kind):
    law = kind(Fraction(2**26), 0)
    draws = law.draw(400_000, at(0, 400_000), InsecureSeededEntropy(18))
    for byte in range(3):
        counts = np.bincount((draws >> (8 * byte)) & 255, minlength=256)
        assert sampling.fit(counts, np.ones(256)) > sampling.LEAST_P


@pytest.mark.parametrize("kind", [*ROUNDED, DiscreteLaplace])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(9), Fraction(2**16)], ids=str)
def test_declared_laws_are_distributions(kind, scale):
    law = kind(scale, 3)
    value = Fraction(0) if kind is DiscreteLaplace else Fraction(2, 7)
    reach = int(40 * scale) + 5
    points = np.arange(-reach, reach + 1.0)
    mass = np.exp(law.log_probability(points, value))
    assert abs(mass.sum() - 1) < 1e-9
    mean = (mass * points).sum()
    spread = np.sqrt((mass * (points - mean) ** 2).sum()) * 8
    assert spread == pytest.approx(law.standard_deviation, rel=0.05)


def test_the_sampler_scale_is_a_hair_above_the_claim():
    for scale in (Fraction(1, 3), Fraction(10), Fraction(10**30)):
        units, exponent = grid_for(scale)
        assert 2**16 <= units <= 2**17 + 1
        assert scale < units * Fraction(2) ** exponent < scale * (1 + Fraction(1, 2**49))


def test_scales_beyond_floats_are_refused():
    with pytest.raises(dp.ParameterError, match="scale"):
        grid_for(Fraction(10) ** 320)


@pytest.mark.parametrize("kind", [RoundedGaussian, L2Gamma])
def test_values_on_a_finer_grid_keep_their_low_bits(kind):
    law = kind(Fraction(1, 10**4), 4)
    values = np.array([5 * 16 + 7, 5 * 16 + 9, -3], dtype=np.int64)
    assert law.release(values, 0, SecureEntropy()).tolist() == [5, 6, 0]


def test_offsets_are_right_for_every_distance_between_the_grids():
    for shift in (1, 30, 61, 62, 63, 64, 200, 1500):
        values = np.array([0, 1, 3 << (shift - 1), (1 << shift) - 1, -1], dtype=object)
        values = values if shift > 60 else values.astype(np.int64)
        whole, where = in_cells(values, 0, shift)
        for i, value in enumerate(values):
            assert int(whole[i]) + where.exactly(i) == Fraction(int(value), 1 << shift)
            assert where.floats[i] == pytest.approx(float(where.exactly(i)), abs=2**-50)


@pytest.mark.parametrize("kind", [RoundedLaplace, L2Gamma])
def test_values_beyond_int64_are_released_exactly(kind):
    law = kind(Fraction(1, 10**6), 0)
    huge = np.array([10**40, -(10**40), 3], dtype=object)
    assert law.release(huge, 0, SecureEntropy()).tolist() == huge.tolist()
    assert law.release(huge, 3, SecureEntropy()).tolist() == (8 * huge).tolist()


def test_secure_words_do_not_repeat_over_forks_and_threads():
    found: list[bytes] = []
    for _ in range(8):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, SecureEntropy().words(4).tobytes())
            os._exit(0)
        found.append(os.read(reader, 32))
        os.waitpid(child, 0)
    lock = threading.Lock()

    def draw():
        words = SecureEntropy().words(4).tobytes()
        with lock:
            found.append(words)

    threads = [threading.Thread(target=draw) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 24
    assert all(len(words) == 32 for words in found)


@pytest.mark.parametrize("count", [1, 3, 50])
@pytest.mark.parametrize("kind", [RoundedGaussian, L2Gamma])
def test_no_draw_reads_more_words_for_another_value(kind, count):
    law = kind(Fraction(2**16), 0)
    first, second = (
        sampling.counts_of_words(partial(law.release, np.full(count, value, dtype=np.int64), 0))
        for value in (0, 10**9)
    )
    assert first == second


VALUES = 5 * FEW_VALUES
MOST = 2**63 - 1


@pytest.mark.parametrize("finer", [-3, 0, 1, 5, 40, 55, 62])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(40)])
@pytest.mark.parametrize("kind", ROUNDED)
def test_few_values_get_the_noise_of_many(kind, scale, finer):
    """The values lie on a grid that is finer by so many bits; a margin of 1 trusts no float."""
    generator = np.random.default_rng(2)
    values = generator.integers(-(2**55), 2**55, VALUES)
    law = kind(scale, 0)
    expected = law.release(values, -finer, InsecureSeededEntropy(3)).tolist()
    for margin in (law.margin, 1.0):
        entropy, doubtful = InsecureSeededEntropy(3), attrs.evolve(law, margin=margin)
        found = [
            doubtful.release(values[start : start + FEW_VALUES], -finer, entropy)
            for start in range(0, VALUES, FEW_VALUES)
        ]
        assert np.concatenate(found).tolist() == expected


@pytest.mark.parametrize("kind", ROUNDED)
def test_few_floats_get_the_noise_of_many(kind):
    values = np.random.default_rng(2).normal(0, 1, VALUES) ** 7
    values[:5] = np.nan, np.inf, -np.inf, 5e-324, -5e-324
    law = kind(Fraction(1, 3), -4)
    expected = law.release_floats(values, InsecureSeededEntropy(3)).tolist()
    for margin in (law.margin, 1.0):
        entropy, doubtful = InsecureSeededEntropy(3), attrs.evolve(law, margin=margin)
        found = [
            doubtful.release_floats(values[start : start + FEW_VALUES], entropy)
            for start in range(0, VALUES, FEW_VALUES)
        ]
        assert np.concatenate(found).tolist() == expected


@pytest.mark.parametrize("count", [1, FEW_VALUES, FEW_VALUES + 1, VALUES])
@pytest.mark.parametrize("value", [2**62, MOST - 1, MOST, -(2**62), 1 - MOST, -MOST - 1])
@pytest.mark.parametrize("kind", ROUNDED)
def test_noise_does_not_go_around_the_end_of_int64(kind, value, count):
    law = kind(Fraction(2**20), 0)
    alone = law.release(np.zeros(count, np.int64), 0, InsecureSeededEntropy(4)).tolist()
    for exponent in (0, 5):
        found = law.release(np.full(count, value), exponent, InsecureSeededEntropy(4)).tolist()
        assert found == [value * 2**exponent + each for each in alone]
