"""Measures, profiles and conversions against independent high precision."""

from fractions import Fraction

import numpy as np
import pytest
from mpmath import erfc, exp, log, mp, mpf, quad, sqrt

import opendp_lite as dp
from opendp_lite.measures.curve import composed_profile
from opendp_lite.measures.divergences import squared_mu_of_pure
from opendp_lite.measures.profile import (
    BoundedRangeProfile,
    ConcentratedProfile,
    GaussianProfile,
    PointProfile,
    PureProfile,
    gaussian_ratio,
)
from opendp_lite.numbers.exact import exp_up, log_up, normal_tail, rational_of_float

mp.dps = 60
MU = dp.measures.GaussianDivergence()
ZCDP = dp.ZeroConcentratedDivergence()
MILLIONTH = Fraction(1, 10**6)
MEASURES = [
    (dp.MaxDivergence(), [0, 0.1, 40]),
    (ZCDP, [0, 0.1]),
    (MU, [0, 20]),
    (dp.ApproximateDivergence(), [(0, 0), (0.1, 1e-6), (3, 0), (50, 1)]),
]


def as_mpf(value: Fraction) -> mpf:
    return mpf(value.numerator) / value.denominator


@pytest.mark.parametrize(("measure", "losses"), MEASURES, ids=lambda v: repr(v)[:30])
def test_laws(measure, losses):
    dp.assert_lawful(measure, losses)


def gaussian_delta(epsilon: mpf, root: mpf) -> mpf:
    tail = lambda x: erfc(x / sqrt(2)) / 2  # noqa: E731
    return tail(epsilon / root - root / 2) - exp(epsilon) * tail(epsilon / root + root / 2)


@pytest.mark.parametrize("root", [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(7, 2)])
def test_gaussian_curve_is_certified_and_tight(root):
    mp.dps = 60
    for epsilon in (Fraction(0), Fraction(1, 10), Fraction(1), Fraction(5), Fraction(12)):
        true = gaussian_delta(as_mpf(epsilon), as_mpf(root))
        claimed = as_mpf(GaussianProfile(root * root).delta(epsilon))
        assert true <= claimed <= true * (1 + mpf(10) ** -9) + mpf(10) ** -300


def test_numbers_of_the_specification():
    curve = GaussianProfile(Fraction(1))
    assert round(float(curve.epsilon(Fraction(1, 10**6))), 4) == 4.8866
    assert round(float(gaussian_ratio(Fraction(1), Fraction(1, 10**6))) ** -0.5, 4) == 4.2247
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(8)):
        for delta in (Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 10)):
            found = gaussian_ratio(epsilon, delta)
            assert GaussianProfile(found).delta(epsilon) <= delta
            assert GaussianProfile(found * (1 + Fraction(1, 10**11))).delta(epsilon) > delta
    assert round(float(gaussian_ratio(Fraction(1), Fraction(1, 10**5))) ** -0.5, 4) == 3.7306


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 350), (Fraction(1, 10**400), 300)])
def test_a_delta_that_no_noise_certainly_meets_is_refused(epsilon, delta):
    """The search for a ratio ends, also where every float above 0 is too large."""
    with pytest.raises(dp.ParameterError, match="infinite noise"):
        gaussian_ratio(Fraction(epsilon), Fraction(1, 10**delta))
    bound = ConcentratedProfile(Fraction(1, 2)).epsilon(Fraction(1, 10**6))
    assert round(float(bound), 3) == 5.222


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 2), Fraction(9)])
def test_zcdp_bound_is_the_infimum_over_orders(rho):
    for epsilon in (Fraction(1, 10), Fraction(2), Fraction(30)):
        claimed = as_mpf(ConcentratedProfile(rho).delta(epsilon))

        def bound(power, epsilon=epsilon):
            a = 1 + mpf(10) ** power
            exponent = (a - 1) * (a * as_mpf(rho) - as_mpf(epsilon)) + a * log(1 - 1 / a)
            return exp(exponent) / (a - 1)

        best, step = mpf(0), mpf(1)
        for _ in range(9):
            best = min((best + step * k / 4 for k in range(-32, 33)), key=bound)
            step /= 6
        least = min(mpf(1), bound(best))
        assert least * (1 - mpf(10) ** -9) <= claimed
        assert claimed <= least * (1 + mpf(10) ** -6) + mpf(10) ** -300
        gaussian = GaussianProfile(2 * rho).delta(epsilon)
        assert as_mpf(gaussian) <= claimed + mpf(10) ** -300


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 12.0])
def test_pure_to_zcdp_bounds_randomised_response_at_every_order(epsilon):
    """The proof in to_zcdp, checked at 200 orders; and no smaller rho would hold."""
    rho = mpf((dp.vector(2, unit=1) >> dp.noisy_max(epsilon=epsilon) >> dp.to_zcdp()).map(1))
    e = mpf(epsilon)
    p = exp(e) / (1 + exp(e))
    q = 1 - p
    for k in range(-160, 160, 2):
        order = 1 + mpf(10) ** (mpf(k) / 20)
        if order > 1000:
            break
        divergence = log(p**order * q ** (1 - order) + q**order * p ** (1 - order)) / (order - 1)
        assert divergence <= order * rho * (1 + mpf(10) ** -12)
    nearly_one = 1 + mpf(10) ** -8
    limit = log(p**nearly_one * q ** (1 - nearly_one) + q**nearly_one * p ** (1 - nearly_one))
    assert limit / (nearly_one - 1) / nearly_one > rho * (1 - mpf(10) ** -6)
    assert float(rho) <= epsilon**2 / 2


def test_pure_profile_is_that_of_randomised_response():
    epsilon, level = mpf(1), mpf("0.3")
    p = exp(epsilon) / (1 + exp(epsilon))
    true = p - exp(level) * (1 - p)
    claimed = as_mpf(PureProfile(Fraction(1)).delta(Fraction(3, 10)))
    assert true <= claimed <= true * (1 + mpf(10) ** -30)
    assert PureProfile(Fraction(1)).delta(Fraction(1)) == 0
    assert PureProfile(Fraction(1)).epsilon(Fraction(0)) == 1


def test_approximate_profile_keeps_its_point():
    profile = PointProfile(Fraction(1), Fraction(1, 100))
    assert profile.delta(Fraction(2)) == Fraction(1, 100)
    assert profile.epsilon(Fraction(1, 100)) == 1
    assert profile.epsilon(Fraction(1, 2)) < 1
    with pytest.raises(dp.ParameterError, match="cannot be had"):
        profile.epsilon(Fraction(1, 1000))


def test_certified_functions_bracket_the_truth():
    generator = np.random.default_rng(1)
    for _ in range(60):
        x = Fraction(float(generator.uniform(-30, 30)))
        mp.dps = 260
        low, high = (as_mpf(v) for v in normal_tail(x))
        true = erfc(as_mpf(x) / sqrt(2)) / 2
        assert low <= true <= high
        mp.dps = 60
        assert exp(as_mpf(x)) <= as_mpf(exp_up(x)) <= exp(as_mpf(x)) * (1 + mpf(10) ** -30)
        positive = abs(x) + Fraction(1, 10**6)
        gap = as_mpf(log_up(positive)) - log(as_mpf(positive))
        assert 0 <= gap < mpf(10) ** -30


def test_group_privacy_of_approximate_losses():
    """delta (1 + e^epsilon + e^(2 epsilon)) for a group of three."""
    epsilon, delta = Fraction(1, 2), Fraction(1, 10**6)
    loss, spill = dp.ApproximateDivergence().group((epsilon, delta), 3)
    true = as_mpf(delta) * (1 + exp(mpf("0.5")) + exp(mpf(1)))
    assert loss == Fraction(3, 2)
    assert true <= as_mpf(spill) <= true * (1 + mpf(10) ** -30)


def test_what_covers_a_loss_keeps_the_delta_that_was_typed():
    whole, zero, half = (Fraction(1), Fraction(1, 10**6)), Fraction(0), Fraction(1, 2)
    epsilon = half + Fraction(16, 10**7)
    covered = dp.ApproximateDivergence().cover(whole, (epsilon, zero), half)
    assert covered == (2 * epsilon, whole[1])


def test_certified_bounds_at_the_ends():
    tiny = Fraction(1, 10**45)
    assert dp.ApproximateDivergence().group((tiny, Fraction(1, 10)), 2)[1] >= Fraction(1, 5)
    for loss in (Fraction(700), Fraction(900), Fraction(5000)):
        assert Fraction(dp.to_zcdp().convert(loss, PureProfile(loss))) >= loss * (
            1 - exp_up(-loss) * 3
        )
        spill = PointProfile(loss, Fraction(0)).delta(Fraction(0))
        assert 1 - spill <= 2 * exp_up(-loss)
    assert dp.to_zcdp().convert(Fraction(900), PureProfile(Fraction(900))) == 900
    with pytest.raises(dp.ParameterError, match="finer"):
        dp.gaussian(scale=1).epsilon(Fraction(1, 10**341))
    assert dp.laplace(epsilon=1).epsilon(Fraction(1, 10**341)) == 1


def test_readings_of_floats():
    assert rational_of_float(0.1) * 10 == 1
    assert rational_of_float(1 / 3) * 3 == 1
    assert rational_of_float(0.2 / 3) * 3 == rational_of_float(0.2)
    generator = np.random.default_rng(2)
    values = np.ldexp(generator.random(3000), generator.integers(-1000, 1000, 3000)).tolist()
    for value in values:
        assert float(rational_of_float(value)) == value
        neighbour = float(np.nextafter(value, np.inf))
        assert rational_of_float(value) < rational_of_float(neighbour)


def test_gaussian_renyi_divergence_is_order_times_rho():
    sigma, shift, order = 2.0, 1.0, 3.0
    density = lambda x, m: exp(-((x - m) ** 2) / (2 * sigma**2)) / (sigma * sqrt(2 * mp.pi))  # noqa: E731
    mp.dps = 20
    moment = quad(
        lambda x: density(x, shift) ** order * density(x, 0) ** (1 - order), [-40, 0, 3, 40]
    )
    mp.dps = 60
    claimed = (dp.scalar() >> dp.gaussian(scale=sigma)).map(shift)
    assert float(log(moment) / (order - 1)) == pytest.approx(order * claimed, rel=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.MaxDivergence().loss(-1), "at least 0"),
        (lambda: dp.MaxDivergence().loss(np.nan), "finite"),
        (lambda: dp.ApproximateDivergence().loss(1), "pair"),
        (lambda: dp.ApproximateDivergence().loss((1, 2)), "at most 1"),
        (lambda: dp.MaxDivergence().split(Fraction(1), []), "shares"),
        (lambda: dp.MaxDivergence().split(Fraction(1), [Fraction(-1)]), "shares"),
        (lambda: dp.MaxDivergence.of_detail("8"), "no parameters, got '8'"),
        (lambda: dp.to_approximate(0), "between 0 and 1"),
        (lambda: dp.to_approximate(1), "between 0 and 1"),
        (lambda: (dp.gaussian(rho=1) >> dp.to_zcdp()).map(1), "MaxDivergence"),
        (
            lambda: (dp.gaussian(epsilon=1, delta=0.1) >> dp.to_approximate(0.2)).map(1),
            "already",
        ),
        (lambda: dp.gaussian(rho=1).epsilon(delta=0), "above 0"),
        (lambda: dp.gaussian(rho=1).epsilon(delta=2), "between 0 and 1"),
        (lambda: dp.gaussian(rho=1).delta(epsilon=-1), "at least 0"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(dp.OpenDPLiteError, match=words):
        make()


@pytest.mark.parametrize("epsilon", ["1/1000000", "1/10", "1", "5", "30", "600"])
def test_a_pure_loss_has_the_mu_at_which_the_trade_off_functions_touch(epsilon):
    """At the corner of randomised response both errors are 1 / (1 + e^epsilon)."""
    mp.dps = 400
    squared = squared_mu_of_pure(Fraction(epsilon))
    corner = 1 / (1 + exp(as_mpf(Fraction(epsilon))))

    def at(square: Fraction) -> mpf:
        return erfc(sqrt(as_mpf(square)) / 2 / sqrt(mpf(2))) / 2

    assert at(squared) <= corner
    assert at(squared * (1 - Fraction(1, 10**8))) > corner
    mp.dps = 60


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_the_curve_of_that_mu_is_nowhere_below_randomised_response(epsilon):
    gaussian, response = GaussianProfile(squared_mu_of_pure(epsilon)), PureProfile(epsilon)
    levels = [epsilon * n / 20 for n in range(21)]
    assert all(gaussian.delta(level) >= response.delta(level) for level in levels)
    smaller = GaussianProfile(squared_mu_of_pure(epsilon) * Fraction(98, 100))
    assert any(smaller.delta(level) < response.delta(level) for level in levels)


def test_what_each_measure_admits():
    laplace, gaussian = dp.laplace(epsilon=1), dp.gaussian(rho=0.5)
    pure, normal = laplace.privacy_profile(), gaussian.privacy_profile()
    concentrated = ZCDP.profile(Fraction(1, 2))
    assert MU.admit(normal) == 1 == MU.admit(dp.gaussian(mu=1).privacy_profile())
    assert MU.admit(pure) == squared_mu_of_pure(Fraction(1))
    assert MU.admit(concentrated) is None is MU.admit(PureProfile(Fraction(10**4)))
    assert ZCDP.admit(normal) == Fraction(1, 2) == ZCDP.admit(concentrated)
    assert 0.36 < ZCDP.admit(pure) < 0.4622
    assert dp.MaxDivergence().admit(pure) == 1
    assert dp.MaxDivergence().admit(normal) is None
    approximate = dp.ApproximateDivergence()
    assert approximate.admit(pure) == (1, 0)
    assert approximate.admit(normal) is None is approximate.admit(concentrated)


def test_the_noise_of_a_typed_mu():
    for distance in (1, 2, 3):
        plain = dp.count() >> dp.gaussian(scale=2)
        typed = dp.count() >> dp.gaussian(mu=0.5)
        assert typed.accuracy(0.9) == plain.accuracy(0.9)
        assert typed.loss(distance) == Fraction(distance, 2) ** 2 == 2 * plain.loss(distance)
        assert typed.map(distance) == distance / 2
        assert typed.epsilon(MILLIONTH, distance) == plain.epsilon(MILLIONTH, distance)
    assert typed.check(1, 0.5)
    assert not typed.check(1, 0.4999)


def test_what_may_be_typed_again_is_never_more():
    for squared in map(Fraction, (2, "1/7", 10**30, f"3/{10**30}", 0)):
        again = MU.loss(MU.typed(squared))
        assert squared * (1 - Fraction(1, 10**20)) <= again <= squared
    assert MU.typed(Fraction(9, 4)) == Fraction(3, 2)


def test_budgets():
    assert dp.rho(0.5).loss == Fraction(1, 2) == dp.epsilon(0.5).loss
    assert dp.mu(3).loss == 9
    assert dp.epsilon(1, delta=1e-6).loss == (1, MILLIONTH)
    assert dp.rho(1) == dp.rho(Fraction(1)) != dp.epsilon(1)
    assert repr(dp.mu(0.1)) == "<budget of mu = 0.1 (Gaussian differential privacy)>"
    for wrong in (0, -1, float("nan"), "1"):
        for make in (dp.rho, dp.mu, dp.epsilon):
            with pytest.raises(dp.ParameterError):
                make(wrong)
    for delta in (0, 1, 2):
        with pytest.raises(dp.ParameterError, match="delta"):
            dp.epsilon(1, delta)


@pytest.mark.parametrize("least", [Fraction(0), Fraction(1, 10**320), Fraction(1, 10**305)])
def test_a_choice_that_loses_next_to_nothing_is_composed(least):
    known = PureProfile(Fraction(1))
    both = composed_profile([BoundedRangeProfile(least), known], PureProfile(1 + least))
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(9, 10)):
        assert known.delta(epsilon) <= both.delta(epsilon)
        assert float(both.delta(epsilon)) == pytest.approx(float(known.delta(epsilon)), rel=1e-3)


@pytest.mark.parametrize("rho", [Fraction(10) ** 305, Fraction(10) ** 400])
def test_a_huge_zcdp_loss_has_a_huge_epsilon(rho):
    curve = ConcentratedProfile(rho)
    assert curve.delta(rho) == 1
    found = curve.epsilon(Fraction(1, 10**6))
    assert found >= rho
    assert curve.delta(found) <= Fraction(1, 10**6)


def test_an_epsilon_beyond_floats():
    assert ConcentratedProfile(Fraction(1)).delta(Fraction(10) ** 400) < Fraction(1, 10**300)


@pytest.mark.parametrize("shares", [[1, 0], [2, -1], []])
def test_each_share_of_a_budget_is_above_0(shares):
    with pytest.raises(dp.ParameterError, match="shares must be"):
        dp.MaxDivergence().split(Fraction(1), shares)


def test_groups_at_the_ends_of_delta():
    measure = dp.ApproximateDivergence()
    assert measure.group((Fraction(1), Fraction(1)), 2) == (2, 1)
    assert measure.group((Fraction(10) ** 9, Fraction(0)), 2) == (2 * 10**9, 0)


def test_no_pure_loss_is_no_loss_of_a_gaussian():
    assert squared_mu_of_pure(Fraction(0)) == 0
