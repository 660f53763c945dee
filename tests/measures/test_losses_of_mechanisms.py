"""The zCDP losses and curves that mechanisms state themselves, against exact laws."""

from fractions import Fraction
from itertools import product
from math import exp, inf, log

import numpy as np
import pytest
from mpmath import erfc, mp, mpf, quad, sqrt
from mpmath import exp as mexp
from mpmath import log as mlog
from scipy.stats import binom, norm

import opendp_lite as dp
from opendp_lite.combinators.losses_of_samples import AmplifiedProfile, SampledGaussianProfile
from opendp_lite.measurements.noise import DiscreteLaplaceProfile, LaplaceProfile
from opendp_lite.measures.loss_distribution import connect_dots, draw_chain
from opendp_lite.measures.profile import (
    BoundedRangeProfile,
    ConcentratedProfile,
    GaussianProfile,
    PointProfile,
    Profile,
    PureConcentratedProfile,
    PureProfile,
)

mp.dps = 40
RATES = [Fraction(1, 3), Fraction(1), Fraction(5)]
STEPS = [1, 2, 3, 10]
LOSSES = [Fraction(1, 100), Fraction(1, 2), Fraction(2), Fraction(9)]
ORDERS = [mpf("1.0001"), mpf("1.1"), 2, 40]
LEVELS = [Fraction(share, 16) for share in (0, 1, 4, 8, 11, 15)]


def discrete(rate: Fraction, steps: int, far: int) -> tuple[list[mpf], list[mpf]]:
    """The law of the noise and of the noise moved by so many steps, in one order."""
    q = mexp(-mpf(rate.numerator) / rate.denominator)
    places = range(-far, steps + far + 1)
    found = [[(1 - q) / (1 + q) * q ** abs(k - moved) for k in places] for moved in (0, steps)]
    return found[0], found[1]


def renyi(p: list[mpf], q: list[mpf], order: mpf) -> mpf:
    moment = sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))
    return mlog(moment) / (order - 1)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_rho_of_discrete_laplace_bounds_every_order_and_is_attained(rate, steps):
    p, q = discrete(rate, steps, far=int(70 / rate))
    rho = mpf(DiscreteLaplaceProfile(rate, steps).rho)
    assert all(renyi(p, q, order) <= order * rho * (1 + mpf(10) ** -25) for order in ORDERS)
    divergence = sum(a * mlog(a / b) for a, b in zip(p, q, strict=True))
    assert abs(divergence / rho - 1) < mpf(10) ** -20


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_rho_of_continuous_laplace_bounds_every_order_and_is_attained(loss):
    size, rho = mpf(loss.numerator) / loss.denominator, mpf(LaplaceProfile(loss).rho)

    def moment(order: mpf) -> mpf:
        middle = quad(
            lambda x: mexp(-order * x - (1 - order) * (size - x)) / 2, np.linspace(0, 1, 9) * size
        )
        return middle + mexp((order - 1) * size) / 2 + mexp(-order * size) / 2

    assert all(mlog(moment(a)) / (a - 1) <= a * rho * (1 + mpf(10) ** -20) for a in ORDERS)
    divergence = (
        size / 2 - size * mexp(-size) / 2 + quad(lambda x: (size - 2 * x) * mexp(-x) / 2, [0, size])
    )
    assert abs(divergence / rho - 1) < mpf(10) ** -20


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_rho_of_a_bounded_range_bounds_every_pair_of_two_points(loss):
    size, rho = mpf(loss.numerator) / loss.denominator, mpf(BoundedRangeProfile(loss).rho)
    worst = mpf(0)
    for t in (size * k / 20 for k in range(1, 20)):
        p = (1 - mexp(t - size)) / (1 - mexp(-size))
        law = [p, 1 - p], [p * mexp(-t), (1 - p) * mexp(size - t)]
        found = [renyi(*law, order) / order for order in ORDERS]
        assert max(found) <= rho * (1 + mpf(10) ** -20)
        worst = max(worst, *found)
    assert worst > rho * (mpf("0.9") if loss < 3 else mpf("0.5"))


def true_deltas(profile: Profile, level: Fraction) -> mpf:
    """The delta of the worst pair of laws, by sums and by trying all pairs."""
    e = mpf(level.numerator) / level.denominator
    match profile:
        case DiscreteLaplaceProfile(rate, steps):
            p, q = discrete(rate, steps, far=int(70 / rate))
            return sum(max(a - mexp(e) * b, 0) for a, b in zip(p, q, strict=True))
        case LaplaceProfile(loss):
            size = mpf(loss.numerator) / loss.denominator
            return (1 - mexp(e - size)) / 2 + quad(
                lambda x: mexp(-x) / 2 - mexp(e + x - size) / 2, [0, (size - e) / 2]
            )
        case BoundedRangeProfile(loss):
            size = mpf(loss.numerator) / loss.denominator
            tried = (e + (size - e) * k / 200 for k in range(201))
            return max((1 - mexp(t - size)) / (1 - mexp(-size)) * (1 - mexp(e - t)) for t in tried)
    raise AssertionError(profile)


EXACT = [
    *(DiscreteLaplaceProfile(rate, steps) for rate, steps in product(RATES, STEPS)),
    *(LaplaceProfile(loss) for loss in LOSSES),
    *(BoundedRangeProfile(loss) for loss in LOSSES),
]


@pytest.mark.parametrize("profile", EXACT, ids=str)
def test_curves_are_those_of_the_worst_pair(profile):
    for level in (profile.pure * share for share in LEVELS):
        true, claimed = true_deltas(profile, level), mpf(profile.delta(level))
        assert true * (1 - mpf(10) ** -15) <= claimed <= true * (1 + mpf(10) ** -3)
    assert profile.delta(profile.pure) == 0
    assert profile.epsilon(Fraction(0)) == profile.pure


@pytest.mark.parametrize("shift", [(1, 1), (2, 1), (3, 4), (1, 1, 1)])
@pytest.mark.parametrize("rate", [0.2, 1.0])
def test_one_entry_that_takes_the_whole_distance_loses_most(rate, shift):
    """Discrete Laplace noise on a vector, all outcomes added up."""
    far = 60 if len(shift) == 2 else 25
    sides = []
    for moved in (tuple(0 for _ in shift), shift):
        laws = [np.exp(-rate * abs(np.arange(-far, far + 1) - each)) for each in moved]
        masses = laws[0] * np.tanh(rate / 2)
        for law in laws[1:]:
            masses = np.multiply.outer(masses, law * np.tanh(rate / 2))
        sides.append(masses)
    one = DiscreteLaplaceProfile(Fraction(rate), sum(shift))
    for share in LEVELS:
        true = np.maximum(sides[0] - exp(one.pure * share) * sides[1], 0).sum()
        assert true <= one.delta(one.pure * share) + 1e-12
    assert one.delta(one.pure / 2) > PureProfile(one.pure / 2).delta(one.pure / 2)


PAIRS = [
    *EXACT,
    DiscreteLaplaceProfile(Fraction(1, 10_000), 5000),
    PureProfile(Fraction(1, 1000)),
    PureProfile(Fraction(3)),
    PointProfile(Fraction(1), Fraction(1, 1000)),
    GaussianProfile(Fraction(1, 100)),
    GaussianProfile(Fraction(4)),
    ConcentratedProfile(Fraction(1, 10)),
    PureConcentratedProfile(Fraction(1), Fraction(1, 50)),
    AmplifiedProfile(LaplaceProfile(Fraction(2)), Fraction(1, 10), directed=True),
    AmplifiedProfile(GaussianProfile(Fraction(1)), Fraction(1, 100), directed=True),
    SampledGaussianProfile(Fraction(1, 4), Fraction(1, 20), 3, directed=True),
]


def hat(found, level: float) -> float:
    """The delta of a loss distribution, also below 0."""
    return float(found.masses @ np.maximum(-np.expm1(level - found.losses), 0.0)) + found.beyond


@pytest.mark.parametrize("step", [2.0**-10, 2.0**-4, 1.0])
@pytest.mark.parametrize("profile", PAIRS, ids=str)
def test_a_loss_distribution_is_above_the_curve_and_close_to_it(profile, step):
    """Half of the loss would be below. The grid widens a loss by less than a step."""
    for side, back in zip(profile.sides, profile.sides[::-1], strict=True):
        most = float(profile.pure) if profile.pure is not None else 6.0
        start = min(side(np.zeros(1))[0], back(np.zeros(1))[0]) * (1 + 1e-13)
        chains = [draw_chain(each, step, most + 20, start) for each in (side, back)]
        found = connect_dots(*chains, step)
        # At 0 the two ways have one delta, and the lesser bound is taken.
        for level in (most * share / 16 for share in (0.01, 1, 4, 8, 11, 15)):
            wider = np.array([max(0.0, level - step)])
            true, less = float(side(np.array([level]))[0]), float(back(np.array([level]))[0])
            assert true <= hat(found, level) * (1 + 1e-13)
            assert hat(found, level) <= side(wider)[0] * 1.1 + 1e-10
            # delta(-e) of (P, Q) is 1 - exp(-e) + exp(-e) times that of (Q, P).
            assert -np.expm1(-level) + exp(-level) * less <= hat(found, -level) * (1 + 1e-13)
        # A bound on a curve need not be that of a pair of laws.
        loose = 1.2 if isinstance(profile, ConcentratedProfile) else 1.001
        assert 1 <= found.masses.sum() + found.beyond < loose


@pytest.mark.parametrize("profile", PAIRS, ids=str)
def test_floats_of_a_curve_are_above_it_by_next_to_nothing(profile):
    levels = np.linspace(0, 8, 60)
    exact = np.array([float(profile.delta(Fraction(level))) for level in levels])
    found = profile.deltas(levels)
    assert (exact <= found * (1 + 1e-13) + 1e-290).all()
    if profile != PureConcentratedProfile(Fraction(1), Fraction(1, 50)):
        assert (found <= exact * (1 + 1e-3) + 1e-12).all()


@pytest.mark.parametrize("seed", range(3))
def test_curves_of_samples_are_above_the_truth(seed):
    """Against 200 digits: Gaussian noise of a sample, by one unit, both ways round."""
    generator = np.random.default_rng(seed)
    for _ in range(20):
        low, high = [-0.5, -4, -4], [1.5, 0, 0.7]
        sigma, rate, level = map(float, 10 ** generator.uniform(low, high))
        curve = AmplifiedProfile(
            GaussianProfile(Fraction(sigma) ** -2), Fraction(rate), directed=True
        )
        true = sampled_gaussian(mpf(sigma), mpf(rate), mpf(level))
        for side, delta in zip(curve.sides[::-1], true, strict=True):
            found = mpf(float(side(np.array([level]))[0]))
            assert delta * (1 - mpf(2) ** -46) <= found + mpf(10) ** -290
            assert found <= delta * (1 + mpf(10) ** -6) + mpf(10) ** -200


def sampled_gaussian(sigma: mpf, rate: mpf, level: mpf) -> tuple[mpf, mpf]:
    """The deltas of (1 - q) N(0) + q N(1) against N(0), and of N(0) against it."""
    mp.dps = 200
    a = mexp(level)
    tail = [lambda t, mean=mean: erfc((t - mean) / sigma / sqrt(mpf(2))) / 2 for mean in (0, 1)]
    t = sigma**2 * mlog((a - 1 + rate) / rate) + mpf(1) / 2
    less = rate * tail[1](t) - (a - 1 + rate) * tail[0](t)
    if 1 / a <= 1 - rate:
        return less, mpf(0)
    t = sigma**2 * mlog((1 / a - 1 + rate) / rate) + mpf(1) / 2
    return less, (1 - a * (1 - rate)) * (1 - tail[0](t)) - a * rate * (1 - tail[1](t))


@pytest.mark.parametrize(("units", "coming"), [(1, 1), (1, 0), (3, 3), (3, 1), (3, 0), (8, 5)])
@pytest.mark.parametrize("sigma", [0.7, 3.0])
def test_units_that_come_and_units_that_go_are_two_mixtures(units, coming, sigma):
    rate = 0.1
    curve = SampledGaussianProfile(Fraction(sigma) ** -2, Fraction(rate), units, directed=True)
    points = np.linspace(-30 * sigma, 30 * sigma + units, 400_001)

    def mixture(number: int, sign: int) -> np.ndarray:
        shares = binom.pmf(range(number + 1), number, rate)
        return sum(
            share * norm.pdf(points, sign * hits, sigma) for hits, share in enumerate(shares)
        ) * (points[1] - points[0])

    p, q = mixture(coming, 1), mixture(units - coming, -1)
    for level in (0.0, 0.01, 0.3, 2.0):
        true = np.maximum(p - exp(level) * q, 0).sum()
        found = curve.sides[coming](np.array([level]))[0]
        assert true <= found * (1 + 1e-9) + 1e-12
        assert found <= true * (1 + 1e-3) + 1e-9
    both = AmplifiedProfile(GaussianProfile(Fraction(sigma) ** -2), Fraction(rate), directed=True)
    if units == 1:
        alone = both.sides[coming](np.array([0.3]))[0]
        assert curve.sides[coming](np.array([0.3]))[0] == pytest.approx(alone, rel=1e-3)


def rho_of(pipeline, d_in=1) -> float:
    return (pipeline >> dp.to_zcdp()).map(d_in)


COUNT = dp.count() >> dp.laplace(epsilon=1)
SCORES = dp.vector(4, dp.metrics.LInfDistance())


def test_numbers_of_the_specification():
    assert rho_of(dp.private_quantile(0.5, bounds=(0, 1), epsilon=1, confidence=None)) == 0.125
    assert rho_of(dp.private_quantile(0.5, bounds=(0, 1), epsilon=1, confidence=None), 2) == 0.5
    assert rho_of(dp.laplace(epsilon=1)) == pytest.approx(exp(-1), rel=1e-12)
    assert rho_of(dp.laplace(epsilon=1), 2) == pytest.approx(1 + exp(-2), rel=1e-12)
    assert rho_of(COUNT) == pytest.approx(np.tanh(0.5), rel=1e-12)
    assert exp(-2) + 1 < rho_of(COUNT, 2) < 2 * np.tanh(1)
    assert rho_of(SCORES >> dp.measurements.exponential_mechanism(epsilon=1)) == 0.125
    assert rho_of(SCORES >> dp.noisy_max(epsilon=1)) == pytest.approx(np.tanh(0.5), rel=1e-12)


def test_what_a_loss_is_made_of_says_no_less_than_the_pure_loss():
    """Of large losses the general bound is the better one."""
    for epsilon in (0.01, 1, 30):
        general = epsilon * np.tanh(epsilon / 2) * (1 + 1e-12)
        for mechanism in (
            dp.laplace(epsilon=epsilon),
            dp.private_quantile(0.5, bounds=(0, 1), epsilon=epsilon, confidence=None),
            dp.private_quantile([0.1, 0.5, 0.9], bounds=(0, 1), epsilon=epsilon, confidence=None),
        ):
            assert rho_of(mechanism) <= general


def test_choices_for_a_rho_know_their_range():
    """A choice of this rho is pure, so that its epsilon is bounded at every delta."""
    median = dp.private_quantile(0.5, bounds=(0, 1), rho=0.1, confidence=None)
    assert median.epsilon(0) == pytest.approx(0.8**0.5, rel=1e-12)
    assert median.epsilon(1e-6) < 0.8**0.5 < dp.gaussian(rho=0.1).epsilon(1e-6)
    chosen = SCORES >> dp.noisy_max(rho=0.1)
    assert chosen.epsilon(0) == pytest.approx(0.8**0.5, rel=1e-12)


def exact_choice(scores: np.ndarray, slope: float) -> np.ndarray:
    weights = np.exp(slope * (scores - scores.max()))
    return weights / weights.sum()


def test_the_curve_of_the_exponential_mechanism_holds_and_half_of_it_would_not():
    """Scores 0, shifted by the worst shares of ones: the claim is attained to 1 %."""
    epsilon = Fraction(2)
    bound = SCORES >> dp.measurements.exponential_mechanism(epsilon=epsilon)
    curve = bound.privacy_profile(1)
    worst = 0.0
    level = epsilon / 4
    for high in np.linspace(-12, 12, 97):
        before = np.array([high, 0.0, -inf, -inf])
        moved = before + np.array([1.0, -1.0, 0.0, 0.0])
        p, q = (exact_choice(each, float(epsilon) / 2) for each in (before, moved))
        for one, other in ((p, q), (q, p)):
            worst = max(worst, np.maximum(one - exp(level) * other, 0).sum())
    claimed = float(curve.delta(level))
    assert 0.99 * claimed < worst <= claimed * (1 + 1e-12)
    assert worst > BoundedRangeProfile(epsilon / 2).delta(level)


def test_an_adaptive_program_forgets_what_its_queries_know():
    """A program may choose its losses by the answers, so no curve of theirs is a claim."""
    pure = dp.adaptive(lambda ask: ask(COUNT), dp.epsilon(1))
    assert pure.privacy_profile() == PureProfile(Fraction(1))
    assert rho_of(pure) == pytest.approx(np.tanh(0.5), rel=1e-12)
    assert log(2) < pure.epsilon(1e-6)
