"""The loss of a secret sample, against closed forms and against the curves of known pairs."""

from fractions import Fraction
from math import comb, exp, expm1, log1p
from typing import Any

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.combinators.losses_of_samples import (
    AmplifiedProfile,
    SampledGaussianProfile,
    SampledGroupProfile,
    Sampling,
    amplified_epsilon,
    amplify,
)
from opendp_lite.measurements.noise import LaplaceProfile
from opendp_lite.measures.curve import curved_pair
from opendp_lite.measures.profile import (
    ConcentratedProfile,
    GaussianProfile,
    PointProfile,
    Profile,
    PureProfile,
)
from opendp_lite.numbers.exact import exp_up

PURE, APPROXIMATE = dp.MaxDivergence(), dp.ApproximateDivergence()
MU = dp.measures.GaussianDivergence()
TENTH = Fraction(1, 10)
CURVES = [
    GaussianProfile(Fraction(1)),
    PureProfile(Fraction(2)),
    PointProfile(Fraction(1), Fraction(1, 1000)),
    ConcentratedProfile(Fraction(1, 2)),
]


def amplified(measure, losses, rate, units):
    """That of units that come or go."""
    return amplify(measure, losses, Sampling(rate), units)


@pytest.mark.parametrize("epsilon", [1e-30, 1e-6, 0.01, 0.5, 1, 3, 20, 200])
@pytest.mark.parametrize("rate", [1e-25, 1e-9, 0.01, 0.5, 0.999])
def test_the_closed_form_rounded_up(epsilon, rate):
    e, q = Fraction(epsilon), Fraction(rate)
    found = amplified_epsilon(e, q)
    assert exp_up(found) * (1 + Fraction(1, 10**35)) >= 1 + q * (exp_up(e) - 1)
    assert float(found) == pytest.approx(log1p(rate * expm1(epsilon)), rel=1e-9, abs=1e-38)
    assert found <= e


def test_ends_of_the_range():
    assert amplified_epsilon(Fraction(0), TENTH) == 0
    assert amplified_epsilon(Fraction(7, 3), Fraction(1)) == Fraction(7, 3)
    huge = Fraction(2) ** 1100
    assert huge - 3 < amplified_epsilon(huge, TENTH) < huge


def test_a_sample_of_a_sample_has_the_product_of_the_rates():
    twice = amplified_epsilon(amplified_epsilon(Fraction(2), TENTH), Fraction(1, 2))
    assert float(twice - amplified_epsilon(Fraction(2), TENTH / 2)) == pytest.approx(0, abs=1e-35)


@pytest.mark.parametrize("inner", CURVES, ids=repr)
@pytest.mark.parametrize("rate", [Fraction(1, 1000), TENTH, Fraction(9, 10)])
def test_a_curve_is_the_inner_one_moved(inner, rate):
    """delta'(log(1 + rate (e^epsilon - 1))) = rate delta(epsilon), and back by ``epsilon``."""
    curve = AmplifiedProfile(inner, rate)
    for epsilon in (0.01, 0.3, 0.9, 1.7, 5):
        moved = Fraction(log1p(float(rate) * expm1(epsilon)))
        delta = curve.delta(moved)
        assert float(delta) == pytest.approx(float(rate * inner.delta(Fraction(epsilon))), rel=1e-9)
    for delta in (Fraction(1, 10**3), Fraction(1, 10**5) + rate / 1000):
        epsilon = curve.epsilon(delta)
        assert curve.delta(epsilon) <= delta * (1 + Fraction(1, 10**12))
        assert epsilon == 0 or curve.delta(epsilon * Fraction(99, 100)) > delta
    assert curve.delta(Fraction(0)) <= rate
    assert curve.epsilon(rate) == 0
    if inner.pure is not None:
        assert curve.delta(curve.pure) == 0
        assert curve.pure == amplified_epsilon(inner.pure, rate)
    levels = [curve.delta(Fraction(step, 4)) for step in range(12)]
    assert levels == sorted(levels, reverse=True)


def test_a_delta_that_cannot_be_had_is_refused_in_its_own_numbers():
    curve = AmplifiedProfile(PointProfile(Fraction(1), Fraction(1, 100)), TENTH)
    assert curve.epsilon(Fraction(1, 1000)) == amplified_epsilon(Fraction(1), TENTH)
    for delta in (Fraction(0), Fraction(1, 1001)):
        with pytest.raises(dp.ParameterError, match=f"delta = {float(delta):g}; give a larger"):
            curve.epsilon(delta)


def test_tiny_rates_and_huge_epsilons_do_not_leave_the_curve():
    curve = AmplifiedProfile(GaussianProfile(Fraction(1)), Fraction(1, 10**60))
    assert 0 < curve.delta(Fraction(0)) <= Fraction(1, 10**60)
    assert curve.delta(Fraction(2) ** 1100) < Fraction(1, 10**300)


def linear(measure, loss):
    return lambda units: measure.group(loss, units)


def test_groups_of_a_pure_loss():
    """A loss that adds over rows adds over rows of a sample; one that does not grow is used."""
    loss = Fraction(1)
    one = amplified_epsilon(loss, TENTH)
    for units in (1, 2, 5, 5000):
        assert amplified(PURE, linear(PURE, loss), TENTH, units) == units * one
    for units in (2, 5):
        flat = amplified(PURE, lambda _: loss, TENTH, units)
        assert float(flat) == pytest.approx(log1p((1 - 0.9**units) * expm1(1)))
    assert amplified(PURE, lambda _: loss, TENTH, 5000) == loss


def test_groups_of_an_approximate_loss():
    loss = Fraction(1), Fraction(1, 10**6)
    (epsilon, delta) = amplified(APPROXIMATE, linear(APPROXIMATE, loss), TENTH, 1)
    assert (float(epsilon), delta) == (pytest.approx(log1p(0.1 * expm1(1))), Fraction(1, 10**7))
    many = amplified(APPROXIMATE, linear(APPROXIMATE, loss), TENTH, 3)
    assert many == APPROXIMATE.group((epsilon, delta), 3)
    hit, spill = 1 - 0.9**3, loss[1]
    flat = amplified(APPROXIMATE, lambda _: loss, TENTH, 3)
    assert float(flat[0]) == pytest.approx(log1p(hit * expm1(1)))
    assert float(flat[1]) == pytest.approx(hit * float(spill))
    assert flat[1] >= spill * (1 - Fraction(9, 10) ** 3)

    def noisy(units):
        curve = GaussianProfile(Fraction(units**2))
        return curved_pair((curve.epsilon(spill), spill), curve)

    found = amplified(APPROXIMATE, noisy, TENTH, 3)
    assert found[0] == APPROXIMATE.profile(found).epsilon(found[1])


def test_the_group_bound_covers_rows_that_each_add_their_own_coin():
    """Of k rows in the sample the loss is exactly the mean of e^(j epsilon) over binomial j."""
    for units in (2, 3, 7):
        exactly = sum(
            comb(units, j) * 0.1**j * 0.9 ** (units - j) * exp(j) for j in range(units + 1)
        )
        claimed = float(amplified(PURE, linear(PURE, Fraction(1)), TENTH, units))
        assert exp(claimed) == pytest.approx(exactly)


def test_a_loss_takes_its_curve_along():
    ratio = GaussianProfile(Fraction(1))
    delta = Fraction(1, 10**5)
    loss = curved_pair((ratio.epsilon(delta), delta), ratio)
    found = amplified(APPROXIMATE, lambda _: loss, TENTH, 1)
    assert APPROXIMATE.profile(found) == AmplifiedProfile(ratio, TENTH)
    plain = amplified(APPROXIMATE, lambda _: tuple(loss), TENTH, 1)
    assert APPROXIMATE.profile(found).delta(TENTH) < APPROXIMATE.profile(plain).delta(TENTH)
    whole = amplified(APPROXIMATE, lambda _: loss, Fraction(1), 1)
    assert (tuple(whole), APPROXIMATE.profile(whole)) == (tuple(loss), ratio)


def test_a_pure_loss_takes_the_curve_of_randomised_response_along():
    """At rate 1/2 of epsilon 3 the total variation is half of the pipeline's."""
    found = amplified(PURE, linear(PURE, Fraction(3)), Fraction(1, 2), 1)
    curve = PURE.profile(found)
    assert curve == AmplifiedProfile(PureProfile(Fraction(3)), Fraction(1, 2))
    most = expm1(3) / (1 + exp(3)) / 2
    assert float(curve.delta(Fraction(0))) == pytest.approx(most)
    assert PureProfile(Fraction(found)).delta(Fraction(0)) > Fraction(most) * Fraction(3, 2)


@pytest.mark.parametrize("noise", [dp.gaussian(rho=0.5), dp.gaussian(mu=1)], ids=repr)
def test_a_concentrated_loss_stays_and_its_curve_is_that_of_the_sample(noise):
    whole = dp.clamp(0, 1) >> dp.sum() >> noise
    part = dp.sample(0.1, whole)
    assert part.loss() == whole.loss()
    assert part.privacy_profile() == AmplifiedProfile(GaussianProfile(Fraction(1)), TENTH)
    assert part.epsilon(1e-6) < whole.epsilon(1e-6) / 2
    hundred = dp.compose([dp.sample(0.01, whole)] * 100)
    assert hundred.epsilon(1e-6) == pytest.approx(0.95422, rel=1e-4)


def test_a_group_counts_on_the_farthest_that_one_of_its_units_moves():
    """Where two units move twice as far as one, and three no farther than two."""
    for units in (2, 3):
        found = amplified(MU, lambda units: Fraction(min(units, 2) ** 2), TENTH, units)
        curve = MU.profile(found)
        assert curve == SampledGaussianProfile(Fraction(1), TENTH, units)
        assert curve.rho == Fraction(units**2, 2)


def test_another_measure_is_refused():
    with pytest.raises(dp.ParameterError, match="no loss of a secret sample is known under"):
        amplified("a measure of one's own", lambda _: Fraction(0), TENTH, 1)


def test_a_sample_of_a_loss_at_one_delta_is_composed():
    """Its curve begins at the rate times that delta, and nothing is asked of it below."""
    inner = PointProfile(Fraction(1), Fraction(1, 10**6))
    curve = AmplifiedProfile(inner, TENTH)
    assert curve.least_delta == Fraction(1, 10**7)
    assert AmplifiedProfile(PureProfile(Fraction(1)), TENTH).least_delta == 0
    loss = amplified_epsilon(Fraction(1), TENTH)
    assert curve.epsilon(curve.least_delta) == loss
    parts = [curved_pair((loss, curve.least_delta), curve)] * 2
    both = APPROXIMATE.profile(APPROXIMATE.together(parts))
    assert both.epsilon(Fraction(1, 10**5)) <= 2 * loss
    assert both.delta(2 * loss) == Fraction(2, 10**7)


def test_a_level_below_the_first_computed_one_has_no_smaller_delta():
    """Where rate times shift is below all roundings. True deltas by mpmath, at 60 digits."""
    for sigma, rate, units, level, true in (
        (76, "1e-12", 2, 0.0, 1.0498405e-14),
        (410, "1e-12", 5, 1.3975345775880519e-15, 4.198968e-15),
        (600, "1e-12", 2, 8.657707465431804e-17, 1.2869962e-15),
    ):
        curve = SampledGaussianProfile(Fraction(1, sigma**2), Fraction(rate), units)
        found = curve.delta(Fraction(level))
        assert true * (1 - 1e-6) <= found <= units * Fraction(rate) * (1 + Fraction(1, 2**40))


@pytest.mark.parametrize("rate", [Fraction(1, 10**40), 1 - Fraction(1, 10**20)])
def test_numbers_of_hits_without_a_probability_are_no_warning(rate):
    curve = SampledGaussianProfile(Fraction(1), rate, 12)
    assert 0 <= curve.delta(Fraction(1)) <= min(1, 12 * rate)


def test_samples_of_several_releases_are_composed():
    inner = dp.compose([dp.count() >> dp.laplace(epsilon=epsilon) for epsilon in (3, 1)])
    two = dp.records() >> dp.compose([dp.sample(0.5, inner)] * 2)
    # With the row against without it: each release is randomised response.
    pairs = [((p + q) / 2, q) for p, q in _both(3, 1)]
    for level in (0.0, 0.5, 2.0):
        there, back = (
            sum(max(0.0, a * c - exp(level) * b * d) for a, b in each for c, d in each)
            for each in (pairs, [(q, p) for p, q in pairs])
        )
        assert max(there, back) <= two.delta(level) <= 1.3 * max(there, back)


def _both(*epsilons: float) -> list[tuple[float, float]]:
    """The probabilities of all answers of coins with these losses."""
    found = [(1.0, 1.0)]
    for epsilon in epsilons:
        likely = 1 / (1 + exp(-epsilon))
        coin = ((likely, 1 - likely), (1 - likely, likely))
        found = [(p * x, q * y) for p, q in found for x, y in coin]
    return found


@pytest.mark.parametrize(("among", "size"), [(7, 1), (7, 3), (7, 6), (7, 7), (40, 9)])
def test_a_sample_of_a_fixed_size_meets_a_replaced_unit_as_often_as_it_says(among, size):
    """By counting all samples: those without the units are (n - k choose m)."""
    sampling = Sampling(Fraction(size, among), among)
    assert sampling.size == size
    for units in range(1, among + 3):
        missed = Fraction(comb(max(among - units, 0), size), comb(among, size))
        found = sampling.hit(units)
        assert 0 <= found - (1 - missed) < Fraction(1, 2**200)
    assert Sampling(Fraction(1, 10**4), 10**7).hit(5000) == Fraction(1, 2)


def test_a_fixed_size_has_the_formula_of_advanced_joint_convexity():
    """Both ways round: what Poisson's samples have beyond it holds for units that come or go."""
    found = amplify(PURE, linear(PURE, Fraction(1)), Sampling(TENTH, 40), 1)
    assert found == amplified(PURE, linear(PURE, Fraction(1)), TENTH, 1)
    assert PURE.profile(found) == AmplifiedProfile(PureProfile(Fraction(1)), TENTH, several=True)
    gaussian = GaussianProfile(Fraction(4))
    given = curved_pair((Fraction(1), Fraction(1, 8)), gaussian)
    epsilon, delta = amplify(APPROXIMATE, lambda _: given, Sampling(TENTH, 40), 1)
    assert delta == Fraction(1, 80)
    assert float(epsilon) == pytest.approx(log1p(0.1 * expm1(1)))
    several = amplify(PURE, lambda _: Fraction(1), Sampling(TENTH, 40), 3)
    assert several == amplified_epsilon(Fraction(1), Sampling(TENTH, 40).hit(3))


@attrs.frozen(eq=False)
class FiniteProfile(Profile):
    """The exact curve of pairs of finite laws."""

    pairs: tuple[tuple[Any, Any], ...]
    known: dict[bytes, Any] = attrs.field(factory=dict)

    def deltas(self, levels):
        """Each curve is asked for the same levels by each side."""
        key = np.asarray(levels).tobytes()
        if key not in self.known:
            p, q = np.array(self.pairs).transpose(1, 0, 2)
            sticks = [np.maximum(p - each * q, 0.0).sum(axis=1).max() for each in np.exp(levels)]
            self.known[key] = np.maximum(np.array(sticks), 0.0)
        return self.known[key]

    def _delta(self, epsilon: Fraction) -> Fraction:
        return Fraction(float(self.deltas(np.array([float(epsilon)]))[0]) * (1 + 1e-12))


def binomial(number: int, rate: float) -> list[float]:
    return [comb(number, j) * rate**j * (1 - rate) ** (number - j) for j in range(number + 1)]


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.7])
@pytest.mark.parametrize(("units", "seed"), [(2, 0), (2, 1), (3, 0), (5, 1)])
def test_several_units_of_any_release_lose_no_more_than_the_curve_says(rate, units, seed):
    """Random laws of five answers, by how many of the units that come and go are in the sample.

    All pairs of laws of so many units as differ are in the curve for that number.
    """
    random = np.random.default_rng(seed)
    steep = 10.0 ** random.uniform(-1, 0.5)
    laws = {each: random.dirichlet([1.0] * 5) for each in np.ndindex(units + 1, units + 1)}
    base = random.dirichlet([1.0] * 5)
    for (j, k), law in laws.items():
        tilted = base * np.exp(steep * (j - k) * np.log(law / base).clip(-1, 1))
        laws[j, k] = tilted / tilted.sum()
    curves = tuple(
        FiniteProfile(
            tuple(
                (laws[one], laws[two])
                for one in laws
                for two in laws
                if abs(one[0] - two[0]) + abs(one[1] - two[1]) <= apart
            )
        )
        for apart in range(1, units + 1)
    )
    share = Fraction(rate)
    whole = AmplifiedProfile(curves[-1], Sampling(share).hit(units), several=True)
    found = SampledGroupProfile(curves, share, whole, directed=True)
    levels = np.array([0.0, 1e-4, 0.003, 0.03, 0.1, 0.4, 1.0, 3.0])
    claims = [float(found.delta(Fraction(level))) for level in levels]
    for coming, side in enumerate(found.sides):
        ups, downs = binomial(coming, rate), binomial(units - coming, rate)
        p = sum(w * laws[j, 0] for j, w in enumerate(ups))
        q = sum(w * laws[0, k] for k, w in enumerate(downs))
        true = FiniteProfile(((p, q),)).deltas(levels)
        assert (true <= side(levels) * (1 + 1e-12) + 1e-15).all()
        assert (side(levels) <= whole.deltas(levels) * 1.02 + 1e-3).all()
        assert all(
            least <= claim * (1 + 1e-12) + 1e-15 for least, claim in zip(true, claims, strict=True)
        )


@pytest.mark.parametrize(("units", "rate"), [(2, 0.1), (3, 0.01)])
def test_the_curve_of_several_units_is_near_that_of_laplace_noise(units, rate):
    """By integration: where all come or all go it is a tenth above at most, so half is too low."""
    places = np.linspace(-40, 40, 800_001)

    def law(shift: int):
        return np.exp(-np.abs(places - shift)) / 2 * (places[1] - places[0])

    curves = tuple(LaplaceProfile(Fraction(k)) for k in range(1, units + 1))
    share = Fraction(rate)
    whole = AmplifiedProfile(curves[-1], Sampling(share).hit(units), several=True)
    found = SampledGroupProfile(curves, share, whole, directed=True)
    levels = np.array([0.0, 0.001, 0.004, 0.01])
    for coming, side in enumerate(found.sides):
        p = sum(w * law(j) for j, w in enumerate(binomial(coming, rate)))
        q = sum(w * law(-k) for k, w in enumerate(binomial(units - coming, rate)))
        true = np.maximum(p - np.exp(levels)[:, None] * q, 0).sum(axis=1)
        assert (true <= side(levels) * (1 + 1e-6)).all()
        if coming in (0, units):
            assert (side(levels) <= 1.1 * true).all()


def test_compositions_of_samples_of_several_units_halve_the_loss():
    """8.50 by the probability that any of them is in the sample."""
    one = dp.sample(0.01, dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1))
    assert 4.0 < dp.compose([one] * 1000).epsilon(1e-6, d_in=3) < 4.4
    both = dp.compose(dp.count() >> dp.laplace(epsilon=1), dp.count() >> dp.laplace(epsilon=1))
    for sampled in (one, dp.sample(0.1, both)):
        for units in (2, 3, 6, 7):
            assert sampled.epsilon(1e-6, d_in=units) <= sampled.map(units)
