"""What several releases lose together: certified, tight, and computed when it is asked for."""

import pickle
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import exp, expm1, inf, sqrt
from statistics import NormalDist, median

import attrs
import numpy as np
import pytest
from random_compositions import (
    Release,
    Trial,
    bounded_range,
    coin,
    geometric,
    least_margin,
    parted_rows,
    product_law,
    randomised_response,
    trials,
)
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr

import opendp_lite as dp
from opendp_lite.measurements.noise import DiscreteLaplaceProfile, LaplaceProfile
from opendp_lite.measures import curve as composed
from opendp_lite.measures import loss_distribution
from opendp_lite.measures.curve import (
    ComposedProfile,
    composed_profile,
    least_missed,
    odds_factor,
)
from opendp_lite.measures.divergences import AdditiveMeasure
from opendp_lite.measures.profile import (
    BoundedRangeProfile,
    ConcentratedProfile,
    GaussianProfile,
    PointProfile,
    PureConcentratedProfile,
    PureProfile,
)

DELTA = Fraction(1, 10**6)
TOTAL = dp.clamp(0, 1) >> dp.sum()
LAPLACE = TOTAL >> dp.laplace(epsilon=0.1)
GAUSSIAN = TOTAL >> dp.gaussian(rho=0.1)
QUARTILES = dp.private_quantile([0.25, 0.5, 0.75], bounds=(0, 1), rho=0.1, confidence=None)
NORMAL = NormalDist()


@pytest.fixture(params=["atoms", "grid"])
def claim(request, monkeypatch):
    """The curve of the loss distribution of a trial, by each of its two ways."""

    def curve_of(trial: Trial) -> Callable[[Fraction], Fraction]:
        composed._laws.cache_clear()
        return composed._DistributionProfile(tuple(Counter(trial.curves).items())).delta

    if request.param == "grid":
        monkeypatch.setattr(composed, "combine_atoms", lambda parts: None)
    yield curve_of
    composed._laws.cache_clear()


def test_no_random_composition_is_below_the_truth(claim):
    """Against exact rational arithmetic. A benchmark tries 100,000: see its page."""
    generator = np.random.default_rng(3)
    margins = [
        least_margin(trial.law, claim(trial), generator) for trial in trials(seed=2, count=50)
    ]
    assert min(margins) >= 1
    assert median(margins) < 1.0001


def test_no_rows_in_groups_lose_more_than_is_said():
    """Against exact rational arithmetic. A benchmark tries 20,000: see its page."""
    generator = np.random.default_rng(4)
    margins = [trial.margin(generator) for trial in parted_rows(seed=6, count=300)]
    assert 1 <= min(margins) < 1.001


@pytest.mark.parametrize("family", [DiscreteLaplaceProfile, BoundedRangeProfile])
def test_the_curve_of_fewer_rows_is_caught(monkeypatch, family):
    honest = family.group
    monkeypatch.setattr(family, "group", lambda self, size: honest(self, max(size // 2, 1)))
    generator = np.random.default_rng(4)
    assert any(trial.margin(generator) < 1 for trial in parted_rows(seed=6, count=100))


@pytest.mark.parametrize(
    "curve",
    [
        GaussianProfile(Fraction(1, 4)),
        LaplaceProfile(Fraction(1, 2)),
        DiscreteLaplaceProfile(Fraction(1, 4), 2),
        BoundedRangeProfile(Fraction(3)),
        PureProfile(Fraction(1, 2)),
    ],
)
def test_the_curve_of_a_group_is_that_of_one_unit_after_another(curve):
    """The best test of two units misses what those of each unit miss, one after another."""
    gaps = []
    for false in (Fraction(1, 100), Fraction(3, 10), Fraction(9, 10)):
        caught = 1 - Fraction(float(least_missed(curve, false)))
        gaps.append(float(least_missed(curve, caught) - least_missed(curve.group(2), false)))
    assert min(gaps) > -1e-6
    assert min(gaps) < 1e-6


KINDS = {
    "randomised response": randomised_response(Fraction(3)),
    "a coin": coin(Fraction(2), Fraction(1, 10)),
    "discrete Laplace": geometric(Fraction(2), 3),
    "bounded range": bounded_range(Fraction(4), Fraction(1, 2)),
}


LIES = [
    (kind, field.name)
    for kind, honest in KINDS.items()
    for field in attrs.fields(type(honest.curve))
    if field.init
]


@pytest.mark.parametrize(("kind", "name"), LIES)
def test_half_of_one_part_of_a_composition_is_caught(claim, kind, name):
    honest = KINDS[kind]
    number = getattr(honest.curve, name)
    half = attrs.evolve(honest.curve, **{name: type(number)(number / 2)})
    others = [KINDS["randomised response"]] * 2
    for curve, caught in ((honest.curve, False), (half, True)):
        parts = (*others, Release(honest.law, curve))
        trial = Trial(parts, product_law([each.law for each in parts]))
        margin = least_margin(trial.law, claim(trial), np.random.default_rng(1))
        assert (margin < 1) == caught


def test_lost_mass_is_caught(claim):
    parts = (KINDS["randomised response"],) * 3
    trial = Trial(parts, product_law([each.law for each in parts]))
    honest = claim(trial)
    for share, caught in ((1, False), (Fraction(99, 100), True)):
        margin = least_margin(
            trial.law, lambda level, share=share: share * honest(level), np.random.default_rng(1)
        )
        assert (margin < 1) == caught


def epsilon_from_below(loss: float, count: int, step: float = 5e-5) -> float:
    """Of Laplace releases at a delta of 1e-6, with every loss rounded down."""
    cells = round(loss / step)
    middle = np.exp((np.arange(-cells, cells) * step + step / 2 - loss) / 2) * step / 4
    masses = np.append(middle, 0.5)
    masses[0] += exp(-loss) / 2
    size = 1 << (2 * cells * count).bit_length()
    law = np.fft.irfft(np.fft.rfft(masses, size) ** count, size)[: 2 * cells * count + 1]
    losses = (np.arange(len(law)) - cells * count) * step
    low, high = 0.0, loss * count
    for _ in range(60):
        level = (low + high) / 2
        above = losses > level
        delta = float(-(law[above] * np.expm1(level - losses[above])).sum())
        low, high = (low, level) if delta <= 1e-6 else (level, high)
    return low


def test_laplace_releases_are_within_half_a_percent_of_the_truth():
    least = epsilon_from_below(0.1, 50)
    assert least == pytest.approx(3.1207, abs=2e-3)
    found = dp.compose(*[LAPLACE] * 50).epsilon(1e-6)
    assert least <= found <= 1.001 * least
    assert found == pytest.approx(3.1208, abs=1e-4)


def test_counts_are_as_far_apart_as_randomised_response():
    counts = dp.compose(*[dp.count() >> dp.laplace(epsilon=0.1)] * 50)
    pure = composed_profile([PureProfile(Fraction(1, 10))] * 50, PureProfile(Fraction(5)))
    assert counts.epsilon(1e-6) == pytest.approx(float(pure.epsilon(DELTA)), rel=1e-5)
    assert counts.epsilon(1e-6) == pytest.approx(3.1729, abs=1e-4)


def gaussian_delta(level: float, ratio: float) -> float:
    root = sqrt(ratio)
    near, far = (NORMAL.cdf(-level / root + side * root / 2) for side in (1, -1))
    return near - exp(level) * far


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0, 2.04, 3.0])
def test_a_gaussian_with_laplace_noise_against_quadrature(level):
    """delta = the mean over the Laplace loss of that of the Gaussian at the rest."""
    loss, ratio = 0.1, 0.2
    inside, _ = quad(
        lambda x: exp((x - loss) / 2) / 4 * gaussian_delta(level - x, ratio), -loss, loss
    )
    true = inside + gaussian_delta(level - loss, ratio) / 2
    true += exp(-loss) / 2 * gaussian_delta(level + loss, ratio)
    found = dp.compose(GAUSSIAN, LAPLACE.to_zcdp()).delta(level)
    assert true * (1 - 1e-6) <= found <= true * 1.01


def test_numbers_of_the_specification():
    mixed = dp.compose(GAUSSIAN, LAPLACE.to_zcdp())
    assert mixed.epsilon(1e-6) == pytest.approx(2.0405, abs=1e-4)
    assert dp.compose(*[LAPLACE] * 50).map(1) == 5.0
    assert dp.compose(*[LAPLACE] * 50).epsilon(0) == 5.0


def test_the_distance_between_datasets_is_that_of_each_part():
    twice = dp.compose(LAPLACE, LAPLACE)
    wide = dp.compose(*[TOTAL >> dp.laplace(epsilon=0.2)] * 2)
    assert twice.epsilon(1e-6, d_in=2) == wide.epsilon(1e-6)
    assert twice.loss(2) == wide.loss(1)


def test_curves_are_computed_when_they_are_read_and_once(monkeypatch):
    def refused(parts: object, small: float) -> None:
        raise AssertionError("the distribution was computed")

    with monkeypatch.context() as patch:
        patch.setattr(composed, "_laws", refused)
        parts = [TOTAL >> dp.laplace(epsilon=0.1 + i / 1000) for i in range(100)]
        whole = dp.records() >> dp.compose(*parts)
        assert (whole.map(1), whole.check(1, 15)) == (pytest.approx(14.95), True)
        assert (whole >> dp.to_zcdp()).map(1) < 1.1
        assert "14.95" in whole.explain()
        assert len(whole([0.5] * 10)) == 100
        with pytest.raises(AssertionError, match="was computed"):
            whole.epsilon(1e-6)
    before = composed._curves.cache_info()
    first = whole.epsilon(1e-6)
    again = whole.epsilon(1e-6), whole.delta(first)
    after = composed._curves.cache_info()
    assert after.misses == before.misses + 1
    assert after.hits >= before.hits + 2
    assert again[0] == first


def test_a_composed_loss_pickles_and_has_no_order():
    loss = dp.compose(LAPLACE, LAPLACE).bound.privacy_map(Fraction(1))
    measure = dp.MaxDivergence()
    again = pickle.loads(pickle.dumps(loss))
    assert measure.profile(again) == measure.profile(loss)
    assert isinstance(measure.profile(loss), ComposedProfile)
    for plain in (loss + 0, measure.group(loss, 2) / 2, measure.compose([loss])):
        assert measure.profile(plain) == PureProfile(Fraction(1, 5))


def test_compositions_of_compositions_are_one():
    inner = dp.compose(LAPLACE, LAPLACE)
    nested, flat = dp.compose(inner, LAPLACE), dp.compose(LAPLACE, LAPLACE, LAPLACE)
    assert nested.privacy_profile() == flat.privacy_profile()
    assert nested.privacy_profile().parts == ((LAPLACE.privacy_profile(), 3),)
    gaussians = dp.compose(dp.compose(GAUSSIAN, LAPLACE.to_zcdp()), GAUSSIAN)
    assert gaussians.privacy_profile().parts[0] == (GaussianProfile(Fraction(2, 5)), 1)
    assert dp.compose(GAUSSIAN, GAUSSIAN).privacy_profile() == GaussianProfile(Fraction(2, 5))
    assert dp.compose(LAPLACE).privacy_profile() == LAPLACE.privacy_profile()
    pair = LAPLACE.privacy_profile().group(2)
    assert flat.privacy_profile().group(2).parts == ((pair, 3),)


def test_what_has_no_pair_of_laws_is_composed_by_its_curve():
    both = dp.compose(QUARTILES, GAUSSIAN)
    rho = both.privacy_profile().rho
    assert rho <= both.loss() == Fraction(1, 5)
    summed = float(ConcentratedProfile(Fraction(1, 5)).epsilon(DELTA))
    assert 0.95 * summed < both.epsilon(1e-6) <= summed


def test_pairs_keep_the_curves_of_their_parts():
    noise = TOTAL >> dp.gaussian(epsilon=0.5, delta=1e-6)
    both = dp.compose(noise, LAPLACE.to_approximate(1e-6), LAPLACE.to_approximate(1e-6))
    epsilon, delta = both.map(1)
    assert (round(epsilon, 3), delta) == (0.7, 3e-6)
    assert both.epsilon(3e-6) < epsilon
    assert both.epsilon(1e-9) < 1
    unknown = dp.measurements.thresholded_counts(epsilon=1, delta=1e-6)
    cities = dp.compose(dp.select("city") >> unknown, dp.select("city") >> unknown)
    twice = dp.records(columns=["city"]) >> cities
    assert twice.epsilon(1e-3) < 2
    assert twice.epsilon(3e-6) == pytest.approx(2, rel=1e-4)
    with pytest.raises(dp.ParameterError, match="cannot be had"):
        twice.epsilon(1e-6)


def test_large_and_tiny_losses_have_curves():
    for profiles, least, most in (
        ([PureProfile(Fraction(10**5)), LaplaceProfile(Fraction(1, 1000))], 10**5, 10**5 + 1),
        ([LaplaceProfile(Fraction(1, 10**30))] * 3, 0, Fraction(3, 10**30)),
        ([GaussianProfile(Fraction(1, 10**12)), LaplaceProfile(Fraction(1))], 0.99, 1.02),
        ([GaussianProfile(Fraction(10**6)), LaplaceProfile(Fraction(1))], 10**5, 10**6),
        ([PureConcentratedProfile(Fraction(10**200), Fraction(100))] * 2, 10, 10**3),
        ([PureConcentratedProfile(Fraction(10**5), Fraction(1, 8))] * 2, 1, 10),
        ([PureProfile(Fraction(0)), PureProfile(Fraction(0))], 0, 0),
        ([PureProfile(Fraction(10**400)), PureProfile(Fraction(1))], 10**400, 10**400 + 1),
    ):
        summed = sum(p.gaussian_ratio or p.pure for p in profiles)
        found = composed_profile(profiles, PointProfile(Fraction(summed), Fraction(0)))
        assert least <= found.epsilon(DELTA) <= most


@pytest.mark.parametrize("limit", ["_MOST_OF_ALL", "_MOST_SIZE"])
def test_a_sum_that_is_too_large_to_be_worked_out_promises_nothing(monkeypatch, limit):
    """Another curve serves then, so no composition shows it."""
    monkeypatch.setattr(loss_distribution, limit, -1)
    (whole,) = loss_distribution.connect_all([((LaplaceProfile(Fraction(1)).deltas,), 3)], 1e-9)
    assert loss_distribution._convolve(whole, 0).delta(0.5) == 1


@pytest.mark.parametrize("alpha", [0, 1e-9, 0.05, 0.5, 0.99, 1])
def test_the_tradeoff_of_known_laws(alpha):
    gaussian, laplace = dp.gaussian(mu=1).tradeoff(alpha), dp.laplace(epsilon=1).tradeoff(alpha)
    true = NORMAL.cdf(NORMAL.inv_cdf(1 - alpha) - 1) if 0 < alpha < 1 else 1 - alpha
    assert true - 1e-7 <= gaussian <= true + 1e-15
    edge = exp(-1) / 2
    if alpha < edge:
        true = 1 - exp(1) * alpha
    else:
        true = exp(-1) / (4 * alpha) if alpha < 0.5 else exp(-1) * (1 - alpha)
    assert true - 1e-12 <= laplace <= true + 1e-15


def test_the_tradeoff_of_a_composition_is_below_that_of_any_test():
    """The test says yes where the sum of 50 released counts is above a bound."""
    whole = dp.compose(*[LAPLACE] * 50)
    deviation = 10 * sqrt(2 * 50)
    for bound in (0.0, 25.0, 100.0):
        false_alarm, missed = NORMAL.cdf(-bound / deviation), NORMAL.cdf((bound - 50) / deviation)
        least = whole.tradeoff(false_alarm + 0.01)
        assert 0.6 * missed < least < missed + 0.01


def test_odds_are_e_to_the_loss_for_pure_privacy():
    assert dp.laplace(epsilon=1).odds() == pytest.approx(exp(1), rel=1e-12)
    assert dp.laplace(epsilon=1).odds() >= exp(1)
    assert dp.laplace(epsilon=1).odds(d_in=2) == pytest.approx(exp(2), rel=1e-12)
    assert dp.compose(*[LAPLACE] * 50).odds() == pytest.approx(exp(5), rel=1e-12)
    assert dp.laplace(epsilon=1).odds(delta=1e-9) <= exp(1) * (1 + 1e-12)


@pytest.mark.parametrize("rho", [0.001, 0.03, 2])
@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.2])
def test_odds_of_a_gaussian_are_the_most_that_any_use_of_the_release_moves_them(rho, delta):
    """Telling only that the loss is above a bound, or below one, is what moves them most."""
    mu = sqrt(2 * rho)

    def both(x: float) -> tuple[float, float]:
        return ndtr(-x), ndtr(-x - mu)

    factor = dp.gaussian(rho=rho).odds(delta)
    point = brentq(lambda x: sum(both(x)) - delta, -9, 9, xtol=1e-14, rtol=1e-14)
    likely, unlikely = both(point)
    assert factor == pytest.approx(likely / unlikely, rel=1e-9)
    loss = brentq(lambda x: ndtr(mu / 2 - x / mu) + ndtr(-mu / 2 - x / mu) - delta, 0, 50)
    # The tempting factor: that of the loss itself is moved beyond, and more often than delta.
    likely, unlikely = both(point - 0.01)
    assert likely / unlikely > exp(loss) * 1.001
    assert likely + unlikely > delta


Event = tuple[Fraction, Fraction]


def most_told(law: tuple[Event, ...], factor: Fraction) -> Event:
    """The likeliest event that is more than ``factor`` times as likely, under both laws."""
    mass = other = Fraction(0)
    best = mass, other
    for p, q in sorted(law, key=lambda each: each[0] / each[1] if each[1] else inf, reverse=True):
        mass, other = mass + p, other + q
        best = (mass, other) if mass > factor * other else best
    return best


def test_odds_hold_for_whatever_is_made_of_a_release():
    """Of random compositions: outcomes of high ratios are told as one, and those of low ones."""
    closest = dict.fromkeys([Fraction(1, 3), Fraction(1, 8), Fraction(1, 20)], Fraction(0))
    for trial in trials(seed=5, count=35):
        profile = composed_profile(trial.curves, PointProfile(Fraction(0), Fraction(1)))
        for delta in closest:
            if profile.least_delta >= delta:
                continue
            factor = odds_factor(profile, delta)
            for law in (trial.law, tuple((q, p) for p, q in trial.law)):
                high, _ = most_told(law, factor)
                _, low = most_told(tuple((q, p) for p, q in law), factor)
                assert high + low <= delta
                closest[delta] = max(closest[delta], (high + low) / delta)
    assert min(closest.values()) > 0.7


def test_words_of_refusals():
    with pytest.raises(dp.ParameterError, match="delta=1e-6"):
        dp.gaussian(rho=1).odds()
    point = (
        dp.records(columns=["city"])
        >> dp.select("city")
        >> dp.measurements.thresholded_counts(epsilon=1, delta=1e-6)
    )
    with pytest.raises(dp.ParameterError, match="give a delta above"):
        point.odds(1e-7)
    assert point.odds(1e-3) < exp(1.01)
    with pytest.raises(dp.ParameterError, match="alpha must be between"):
        dp.gaussian(rho=1).tradeoff(2)
    with pytest.raises(dp.ParameterError, match="delta must be between"):
        dp.gaussian(rho=1).odds(-1)


@pytest.fixture
def _no_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing composes curves; who tries fails."""
    monkeypatch.setattr(composed, "_laws", None)
    for measure in (AdditiveMeasure, dp.measures.GaussianDivergence, dp.ApproximateDivergence):
        monkeypatch.setattr(measure, "together", None)


@pytest.mark.usefixtures("_no_curves")
def test_a_filter_adds_numbers_and_no_curves():
    """A program that chooses its queries by the answers may not stop by a composed curve."""

    def program(ask):
        for _ in range(50):
            ask(LAPLACE)
        with pytest.raises(dp.BudgetExceeded):
            ask(TOTAL >> dp.laplace(epsilon=0.001))
        return ask.spent

    whole = dp.adaptive(program, dp.epsilon(5))
    assert whole([0.5] * 10) == 5.0
    assert whole.privacy_profile() == PureProfile(Fraction(5))
    assert whole.delta(3.2) > -expm1(3.2 - 5) * 0.9


@pytest.mark.usefixtures("_no_curves")
@pytest.mark.parametrize(
    ("budget", "each"),
    [
        (dp.epsilon(1), Fraction(1, 10)),
        (dp.rho(1), Fraction(exp(-0.1) - 0.9)),
        (dp.epsilon(1, delta=1e-6), (Fraction(1, 10), Fraction(0))),
    ],
    ids=repr,
)
def test_a_session_adds_numbers_and_no_curves(budget, each):
    with dp.session([0.5] * 10, budget=budget) as ask:
        for _ in range(7):
            ask(LAPLACE)
        found = np.array(ask.spent)
    assert found == pytest.approx(7 * np.array(each, dtype=float), rel=1e-9)


@pytest.mark.usefixtures("_no_curves")
def test_compositions_need_what_the_two_tests_take_away():
    with pytest.raises(TypeError):
        dp.compose(LAPLACE, LAPLACE).map(1)


@pytest.mark.parametrize("part", [LaplaceProfile(Fraction(600)), ConcentratedProfile(Fraction(1))])
def test_a_search_for_an_epsilon_ends(part):
    """A distribution may have no epsilon at a tiny delta, or no finite mass: others serve."""
    summed = PointProfile(Fraction(10**7), Fraction(0))
    for delta in (Fraction(1, 100), Fraction(1, 10**200)):
        whole = composed_profile([part], summed, 10**4)
        assert whole.delta(whole.epsilon(delta)) <= delta
