"""The joint noise of a sum and a count is drawn from its density, exactly."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import sampling
from sampling import wide
from scipy.integrate import trapezoid
from scipy.special import gammainc, gammaln, xlogy
from scipy.stats import binomtest, kstest, uniform

import opendp_lite as dp
from opendp_lite.numbers.grid import Grid
from opendp_lite.samplers import core_noise, exact_reals
from opendp_lite.samplers.core_noise import CoreNoise, _along, _entry
from opendp_lite.samplers.entropy import Entropy, InsecureSeededEntropy, SecureEntropy
from opendp_lite.samplers.exact_reals import (
    Chi,
    Gamma,
    LazyNormal,
    LazyUniform,
    Normal,
    exact_floor,
)

STRETCHES = [Fraction(0), Fraction(1), Fraction("2.39"), Fraction(4)]
FINE = Fraction(2**16)
FAR = 260.0
"""Beyond any draw: for 60 columns and the longest stretch, exp(-150) is out there."""
STEPS = np.arange(-9, 9)


class Pool(Entropy):
    """Words from a seed, many at a time."""

    def __init__(self, seed: int) -> None:
        self._rest = InsecureSeededEntropy(seed)
        self._words = self._rest.words(0)

    def words(self, count):
        if len(self._words) < count:
            self._words = self._rest.words(2**16 + count)
        found, self._words = self._words[:count], self._words[count:]
        return found

    def word(self):
        return int(self.words(1)[0])


def noise(scale, stretch, columns: int = 1, cube: bool = False) -> CoreNoise:
    """Of one scale for the sum and the count, on whole numbers."""
    return CoreNoise(Fraction(scale), 0, Fraction(scale), 0, Fraction(stretch), columns, cube)


CUBE = pytest.mark.parametrize("cube", [False, True], ids=["ball", "cube"])


def sizes(entries: np.ndarray, cube: bool) -> np.ndarray:
    """The norm of which the density is, of each row."""
    return np.linalg.norm(entries, ord=np.inf if cube else 2, axis=1)


def draws(law: CoreNoise, count: int, entropy: Entropy, sums="0", number="0"):
    """Noises of the sum and of the count for values that lie so in their cells."""
    where = sampling.at(Fraction(sums), law.columns), sampling.at(Fraction(number), 1)
    found = [law.draw(*where, entropy) for _ in range(count)]
    return np.array([first for first, _ in found]), np.array([second[0] for _, second in found])


def inside(columns: int, stretch: Fraction, reaches, sides) -> np.ndarray:
    """The probabilities that |s| <= reach S and |k| <= side K, for all pairs.

    To a level w beyond the stretch belongs the integral of r^(d-1) exp(-max(r, w)) / (d-1)!. For r
    from 0 to the reach it is P(d, reach) - P(d, w) + w^d exp(-w) / d!, and reach^d exp(-w) / d! for
    a w above the reach. P is the distribution function of a gamma, and its integral is
    w P(d, w) - d P(d + 1, w).
    """

    def mass(reach, side):
        beyond = np.maximum(side - float(stretch), 0)
        short = np.minimum(reach, beyond)
        lengths = (side - beyond + short) * gammainc(columns, reach)
        levels = (columns + 1) * gammainc(columns + 1, short) - short * gammainc(columns, short)
        flat = np.exp(xlogy(columns, reach) - gammaln(columns + 1))
        return lengths + levels + flat * (np.exp(-short) - np.exp(-beyond))

    return mass(np.array(reaches)[:, None], np.array(sides)) / mass(FAR, FAR)


def cells(law: CoreNoise, sums: str, number: str) -> np.ndarray:
    """The probabilities of pairs of whole numbers around 0, and of those beyond, in one column.

    The distribution function at (a, b) follows from the probabilities of rectangles around 0, since
    the density is even in both.
    """
    edges = np.append(STEPS, STEPS[-1] + 1) - 0.5
    first = (edges - float(Fraction(sums))) / float(law.sum_scale)
    second = (edges - float(Fraction(number))) / float(law.count_scale)
    reaches, sides = (np.append(np.abs(each), FAR) for each in (first, second))
    table = inside(1, law.stretch, reaches, sides) / 4
    one, two = (np.append(np.sign(each), 1) for each in (first, second))
    below = np.zeros((len(one) + 1, len(two) + 1))
    below[1:, 1:] = (
        0.25 + one[:, None] * table[:, -1:] + two * table[-1:] + one[:, None] * two * table
    )
    return np.diff(np.diff(below, axis=0), axis=1)


def counted(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """How many pairs of whole numbers fall in each of ``cells``."""
    places = [np.clip(each, STEPS[0] - 1, STEPS[-1] + 1) - STEPS[0] + 1 for each in (first, second)]
    size = len(STEPS) + 2
    return np.bincount(places[0] * size + places[1], minlength=size * size).reshape(size, size)


def together(cells: np.ndarray) -> np.ndarray:
    """Blocks of four by four cells as one, for few draws."""
    return cells.reshape(5, 4, 5, 4).sum(axis=(1, 3))


@CUBE
@pytest.mark.parametrize("stretch", [0, "2.39"])
@pytest.mark.parametrize("columns", [1, 2, 7])
@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(37, 3), FINE], ids=str)
def test_floats_and_exact_arithmetic_decide_alike(columns, scale, stretch, cube):
    law = noise(scale, stretch, columns, cube)
    for seed in range(-(-8 // columns)):
        lies = np.random.default_rng(seed).integers(0, 2**30, columns + 1) / 2**30
        words = sampling.biased_words(6 * columns + 32, seed)
        for given in (words, words[:0]):
            where = sampling.offsets(lies[1:]), sampling.offsets(lies[:1])
            sampling.assert_decided_exactly(law, *where, words=given, seed=seed)


@pytest.mark.parametrize("ones", [True, False])
@pytest.mark.parametrize("columns", [1, 2, 7, 20])
def test_levels_from_the_ends_of_the_uniforms_decide_alike(ones, columns):
    """All uniforms of the level and the length just below 1, or just above 0."""
    law = noise(2**20, 0, columns)
    for seed in range(4):
        noises = np.random.default_rng(seed).integers(0, 2**10, columns + 3)
        words = [0, *(2**64 - 1 - int(each) if ones else int(each) for each in noises)]
        sampling.assert_decided_exactly(
            law, sampling.at("0.375", columns), sampling.at("0.125", 1), words=words, seed=seed
        )


def test_few_lanes_are_decided_exactly(monkeypatch):
    """About 1e-6 of them: the same draws with floats alone must not be what is tested."""
    asked = []

    def counting(*arguments):
        asked.append(arguments)
        return exact_floor(*arguments)

    monkeypatch.setattr(core_noise, "exact_floor", counting)
    draws(CoreNoise.near(Fraction(3), Fraction(1), Fraction(1), 5), 3000, Pool(1))
    assert len(asked) < 15
    draws(wide(noise(FINE, 1, 5)), 10, Pool(1))
    assert len(asked) >= 60


class Off(Gamma):
    """A float that is off by six times its error more than it may be."""

    def _floats(self):
        value, error = super()._floats()
        return value + self.side * 6 * error, error


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("columns", [1, 4])
def test_a_level_that_is_off_by_more_than_it_may_be_decides_no_tie(columns, side, monkeypatch):
    """The margin is eight errors; with 33 known bits of the uniforms they are nearly all of it."""
    scale = Fraction(2**14)
    monkeypatch.setattr(core_noise, "Gamma", Off)
    monkeypatch.setattr(Off, "side", side, raising=False)
    for seed in range(6):
        words = InsecureSeededEntropy(seed).words(2 * columns + 5)
        words[1 : columns + 3] >>= np.uint64(30)
        large = wide(noise(scale * sampling.FINER, 0, columns)).draw(
            sampling.at(0, columns), sampling.at(0, 1), sampling.Words(words)
        )
        lies, wanted = zip(*(sampling.values_at_ties(each.tolist()) for each in large), strict=True)
        found = noise(scale, 0, columns).draw(*lies, sampling.Words(words))
        assert [each.tolist() for each in found] == list(wanted)


def unread(shape: int, entropy: Entropy) -> Gamma:
    """A sum of exponentials of which no bit is known."""
    found = Gamma(shape, entropy)
    found._known, found.bits = [0] * shape, 0
    return found


def test_deciding_bit_by_bit_from_no_known_bits(monkeypatch):
    monkeypatch.setattr(exact_reals, "STEP", 1)
    law, lies = noise(Fraction(5, 2), 1), (Fraction(1, 4), Fraction(5, 8))
    bits, entropy = sampling.Bits(1), Pool(2)
    found = []
    while len(found) < 150:
        level = unread(3 if entropy.word() * 3 < 2 * 2**64 else 2, entropy)
        size = LazyNormal(0, 0)
        length = Chi(unread(1, entropy), [Normal(None, True, size)])
        ways = _entry(level, size, length), _along(level, law.stretch, LazyUniform(0, 0))
        found.append(
            [
                exact_floor(way, law.sum_scale * (2 * bits.word() - 1), lie + Fraction(1, 2), bits)
                for way, lie in zip(ways, lies, strict=True)
            ]
        )
    first, second = np.array(found).T
    wanted = cells(law, "1/4", "5/8")
    assert sampling.fit(together(counted(first, second)), together(wanted)) > sampling.LEAST_P


@pytest.mark.parametrize("columns", [1, 3])
def test_brackets_hold_what_further_bits_make_of_them(columns, monkeypatch):
    monkeypatch.setattr(exact_reals, "STEP", 1)
    for seed in range(5):
        entropy, bits = Pool(seed), sampling.Bits(seed)
        level = unread(columns + 2, entropy)
        sizes = [LazyNormal(0, 0) for _ in range(columns)]
        length = Chi(unread(1, entropy), [Normal(None, True, size) for size in sizes])
        along = _along(unread(columns + 2, entropy), Fraction("2.39"), LazyUniform(0, 0))
        for lazy in (_entry(level, sizes[0], length), along):
            seen = []
            for _ in range(50):
                lazy.extend(bits)
                seen.append(lazy.bracket())
            low, high = seen[-1]
            assert low < high
            assert high - low < high / 2**20
            rounding = Fraction(1, 10**15)
            for bounds in filter(None, seen):
                assert bounds[0] - rounding <= low
                assert high <= bounds[1] + rounding


@pytest.mark.parametrize("stretch", STRETCHES[::2], ids=str)
@pytest.mark.parametrize(
    ("first", "second", "sums", "number"),
    [
        (Fraction(1, 2), Fraction(1), "255/256", "1/3"),
        (Fraction(2), Fraction(3, 4), "0", "0"),
    ],
)
def test_pairs_of_whole_numbers_in_one_column(first, second, stretch, sums, number):
    """Every cell of the plane against the integral of the density over it."""
    law = CoreNoise(first, 0, second, 0, stretch, 1)
    entries, beside = draws(law, 8000, Pool(3), sums, number)
    assert sampling.fit(counted(entries[:, 0], beside), cells(law, sums, number)) > sampling.LEAST_P


@pytest.mark.parametrize("stretch", [0, "2.39"])
def test_exact_decisions_alone_follow_the_law(stretch):
    law = wide(noise(2, stretch))
    entries, beside = draws(law, 300, Pool(4), "0.7", "0.1")
    found, wanted = counted(entries[:, 0], beside), cells(law, "0.7", "0.1")
    assert sampling.fit(together(found), together(wanted)) > sampling.LEAST_P


@CUBE
@pytest.mark.parametrize("stretch", STRETCHES[::2], ids=str)
@pytest.mark.parametrize(("columns", "count"), [(1, 2000), (2, 1500), (60, 800)])
def test_lengths_and_counts_fill_the_plane_as_the_density_does(columns, count, stretch, cube):
    """Whatever the norm, a length r has the density r^(d-1) exp(-max(r, ...))."""
    law = CoreNoise(FINE, 0, 3 * FINE, 0, stretch, columns, cube)
    entries, beside = draws(law, count, Pool(5))
    lengths = sizes(entries / 2.0**16, cube)
    sides = np.abs(beside) / (3 * 2.0**16)
    shares = np.linspace(0, 1, 11)[1:-1]
    borders = [np.quantile(each, shares).round(3) for each in (lengths, sides)]
    below = np.zeros((11, 11))
    below[1:, 1:] = inside(columns, stretch, [*borders[0], FAR], [*borders[1], FAR])
    found, *_ = np.histogram2d(
        lengths, sides, bins=[np.array([0, *each, np.inf]) for each in borders]
    )
    assert sampling.fit(found, np.diff(np.diff(below, axis=0), axis=1)) > sampling.LEAST_P


@pytest.mark.parametrize("columns", [1, 2, 3, 50])
def test_directions_are_uniform_whatever_the_rest(columns):
    entries, beside = draws(noise(FINE, 1, columns), 1500, Pool(6))
    lengths = np.linalg.norm(entries, axis=1)
    positive = beside > 0
    near = np.abs(beside) < np.median(np.abs(beside))
    assert kstest(lengths[positive], lengths[~positive]).pvalue > sampling.LEAST_P
    for side in (positive, near):
        assert binomtest(int((side == (entries[:, 0] > 0)).sum()), 1500).pvalue > sampling.LEAST_P
    if columns > 1:
        sampling.assert_directions_are_uniform(entries, positive, near)


@CUBE
@pytest.mark.parametrize("stretch", STRETCHES[1::2], ids=str)
@pytest.mark.parametrize(("columns", "count"), [(1, 2000), (3, 1500), (100, 500)])
def test_moments(columns, count, stretch, cube):
    """Each within 6 of its standard errors: 1e-8 for a correct sampler, 5 moments each."""
    law = CoreNoise.near(Fraction(7, 3), Fraction(1, 5), stretch, columns, cube)
    entries, beside = draws(law, count, Pool(7))
    entries, beside = entries * 2.0**law.sum_exponent, beside * 2.0**law.count_exponent
    entry, number = law.deviations
    squares = (entries**2).sum(axis=1)
    for sample, mean in [
        (squares, columns * entry**2),
        (beside**2, number**2),
        (entries.sum(axis=1), 0),
        (beside, 0),
        (entries[:, -1] * beside, 0),
    ]:
        assert abs(sample.mean() - mean) < 6 * sample.std() / np.sqrt(count)


@pytest.mark.parametrize("stretch", STRETCHES[::2], ids=str)
@pytest.mark.parametrize("columns", [1, 5, 30])
def test_deviations_are_those_of_the_density(columns, stretch):
    """E X^2 is the integral of 2 x P(X > x): by the trapezoidal rule, from the density alone."""
    law = CoreNoise.near(Fraction(1), Fraction(1), stretch, columns)
    steps = FAR * np.linspace(0, 1, 401) ** 2
    sums = inside(columns, stretch, steps, [FAR])[:, 0]
    counts = inside(columns, stretch, [FAR], steps)[0]
    squares = [trapezoid(2 * steps * (1 - below), steps) for below in (sums, counts)]
    assert law.deviations[0] == pytest.approx((squares[0] / columns) ** 0.5, rel=1e-3)
    assert law.deviations[1] == pytest.approx(squares[1] ** 0.5, rel=1e-3)


def test_deviations_in_closed_form():
    simplex = CoreNoise.near(Fraction(50), Fraction(1, 2), Fraction(0), 1)
    assert simplex.deviations == pytest.approx((200, 4))
    default = CoreNoise.near(Fraction(50), Fraction(1, 2), Fraction(1), 1)
    assert default.deviations == pytest.approx((100 * (10 / 3) ** 0.5, 2 * (49 / 9) ** 0.5))
    wide = CoreNoise.near(Fraction(1), Fraction(1), Fraction(10) ** 200, 3)
    assert wide.deviations == pytest.approx((2, 1e200 / 3**0.5))


@pytest.mark.parametrize("stretch", [10**4, 10**9, 10**30])
def test_a_far_stretched_count_is_uniform_and_the_sum_that_of_l2_gamma(stretch):
    law = CoreNoise.near(Fraction(1), Fraction(1), Fraction(stretch), 1)
    entries, beside = draws(law, 5000, Pool(8))
    reach = float(law.count_scale * stretch)
    assert kstest(beside / reach, uniform(-1, 2).cdf).pvalue > sampling.LEAST_P
    assert kstest(entries[:, 0] / float(law.sum_scale), "laplace").pvalue > sampling.LEAST_P


@CUBE
@pytest.mark.parametrize("stretch", [*STRETCHES, Fraction(1, 10**6)], ids=str)
@pytest.mark.parametrize("columns", [1, 2, 7])
def test_a_row_moves_the_exponent_by_no_more_than_epsilon(columns, stretch, cube):
    radius, epsilon = Fraction(7, 3), Fraction(1, 3)
    law = CoreNoise.near(radius, epsilon, stretch, columns, cube)
    sum_scale = float(law.sum_scale * Fraction(2) ** law.sum_exponent)
    count_scale = float(law.count_scale * Fraction(2) ** law.count_exponent)

    def exponent(sums, counts):
        beyond = np.abs(counts) / count_scale - float(stretch)
        return np.maximum(sizes(sums, cube) / sum_scale, np.maximum(beyond, 0))

    generator = np.random.default_rng(9)
    rows = generator.normal(size=(50_000, columns))
    rows *= float(radius) / sizes(rows, cube)[:, None]
    rows[::3] *= generator.random((len(rows[::3]), 1))
    sums = generator.normal(size=rows.shape) * sum_scale * generator.random((50_000, 1)) * 3
    counts = generator.normal(size=50_000) * count_scale * (1 + float(stretch))
    for side in (1, -1):
        before, after = exponent(sums, counts), exponent(sums + rows, counts + side)
        moved, rounding = np.abs(after - before), 2.0**-50 * before.max()
        assert moved.max() <= float(epsilon) + rounding
        assert moved.max() > 0.99 * float(epsilon)


def test_scales_are_just_above_what_epsilon_needs_and_grids_far_finer():
    for columns in (1, 2, 3, 50, 10**5):
        for radius in (Fraction(2) ** -300, Fraction(1, 3), Fraction(2) ** 300):
            for epsilon, stretch in ((Fraction(1, 7), 0), (Fraction(10), 1), (Fraction(2), 10**20)):
                law = CoreNoise.near(radius, epsilon, Fraction(stretch), columns)
                sums = law.sum_scale * Fraction(2) ** law.sum_exponent * epsilon / radius
                counts = law.count_scale * Fraction(2) ** law.count_exponent * epsilon
                assert 1 < sums < 1 + Fraction(1, 2**49)
                assert 1 < counts < 1 + Fraction(1, 2**49)
                assert 2**16 <= law.deviations[0] * 2.0**-law.sum_exponent <= 2**19
                assert 2**15 <= law.deviations[1] * 2.0**-law.count_exponent <= 2**18 * columns


@pytest.mark.parametrize(
    ("sums", "count", "stretch"),
    [
        (2**50 // 5 + 1, 1, 0),
        (1, 2**50 // 5 + 1, 0),
        (1, 1, 2**62),
        (2**1100, 1, 0),
        (1, 2**1100, 0),
        (1, 1, 2**1100),
    ],
)
def test_scales_whose_noise_might_not_fit_are_refused(sums, count, stretch):
    with pytest.raises(dp.ParameterError, match="larger exponent"):
        CoreNoise(Fraction(sums), 0, Fraction(count), 0, Fraction(stretch), 3)


@pytest.mark.parametrize(("scale", "stretch"), [(2**50 // 5, 0), (1, 2**61)])
def test_the_largest_scales_make_whole_numbers_of_64_bits(scale, stretch):
    """Three columns have a level of about 5."""
    words = Pool(10)
    for _ in range(5):
        entries, beside = noise(scale, stretch, 3).draw(sampling.at(0, 3), sampling.at(0, 1), words)
        assert entries.dtype == beside.dtype == np.int64


@pytest.mark.parametrize("scales", [(0, 1), (1, 0), (-1, 1), (1, -1)])
def test_scales_that_are_not_above_0_are_refused(scales):
    sums, count = map(Fraction, scales)
    with pytest.raises(dp.ParameterError, match="above 0"):
        CoreNoise(sums, 0, count, 0, Fraction(1), 3)


def test_values_beyond_int64_and_on_finer_grids_are_released_exactly():
    still = CoreNoise(Fraction(1, 10**6), 0, Fraction(1, 10**6), 0, Fraction(1), 3)
    huge = np.array([10**40, -(10**40), 3], dtype=object)
    seven = np.array([7])
    sums, number = still.noisy(Grid(huge, 3), Grid(seven, 0), SecureEntropy())
    assert (sums.steps.tolist(), number.steps.tolist()) == ([8 * 10**40, -8 * 10**40, 24], [7])
    coarse = CoreNoise(Fraction(1, 10**6), 4, Fraction(1, 10**6), 3, Fraction(1), 3)
    values = np.array([5 * 16 + 7, 5 * 16 + 9, -3])
    for count, cell in ((43, 5), (45, 6)):
        sums, number = coarse.noisy(Grid(values, 0), Grid(np.array([count]), 0), SecureEntropy())
        assert (sums.steps.tolist(), number.steps.tolist()) == ([5, 6, 0], [cell])
    fine = CoreNoise(Fraction(1, 10**6), -3, Fraction(1, 10**6), -2, Fraction(1), 3)
    sums, number = fine.noisy(Grid(values, 0), Grid(seven, 0), SecureEntropy())
    assert (sums.steps.tolist(), number.steps.tolist()) == ((8 * values).tolist(), [28])


@pytest.mark.parametrize("columns", [1, 3, 50])
def test_no_draw_reads_more_words_for_another_value(columns):
    law, ones = noise(FINE, 1, columns), np.ones(columns, dtype=np.int64)
    first, second = (
        sampling.counts_of_words(
            partial(law.noisy, Grid(value * ones, 0), Grid(np.array([value]), 0))
        )
        for value in (0, 10**9)
    )
    assert first == second
