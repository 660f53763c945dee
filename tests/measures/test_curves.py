"""The curve that a loss carries: that of all releases together, and of nothing else."""

import copy
import pickle
from fractions import Fraction

import pytest

import opendp_lite as dp
from opendp_lite.measures import profile

ZCDP, APPROXIMATE = dp.ZeroConcentratedDivergence(), dp.ApproximateDivergence()
NUMBER = dp.scalar()
RHO = (NUMBER >> dp.gaussian(rho=0.5)).privacy_map(NUMBER.unit)
PAIR = (NUMBER >> dp.gaussian(epsilon=1, delta=1e-6)).privacy_map(NUMBER.unit)
DELTA = Fraction(1, 10**6)


def test_a_gaussian_loss_knows_its_curve():
    assert repr(RHO) == "Fraction(1, 2)"
    assert ZCDP.profile(RHO) == profile.GaussianProfile(Fraction(1))
    assert APPROXIMATE.profile(PAIR).gaussian_ratio is not None
    for again in (copy.copy, copy.deepcopy, lambda loss: pickle.loads(pickle.dumps(loss))):
        assert ZCDP.profile(again(RHO)) == profile.GaussianProfile(Fraction(1))
        assert APPROXIMATE.profile(again(PAIR)) == APPROXIMATE.profile(PAIR)


@pytest.mark.parametrize(
    ("made", "rho"),
    [
        (lambda: ZCDP.group(RHO, 1), Fraction(1, 2)),
        (lambda: ZCDP.group(RHO, 3), Fraction(9, 2)),
        (lambda: ZCDP.left(RHO, ZCDP.zero()), Fraction(1, 2)),
        (lambda: ZCDP.split(RHO, [1])[0], Fraction(1, 2)),
        (lambda: ZCDP.loss(RHO), Fraction(1, 2)),
        (lambda: ZCDP.compose([RHO, Fraction(1)]), Fraction(3, 2)),
        (lambda: ZCDP.compose([RHO, (NUMBER >> dp.laplace(epsilon=1) >> dp.to_zcdp()).loss(1)]), 0),
        (lambda: 2 * RHO, Fraction(1)),
        (lambda: RHO + 0, Fraction(1, 2)),
        (lambda: RHO**2, Fraction(1, 4)),
        (lambda: +RHO, Fraction(1, 2)),
        (lambda: 1 * RHO, Fraction(1, 2)),
        (lambda: RHO / 1, Fraction(1, 2)),
        (lambda: sum([RHO]), Fraction(1, 2)),
        (lambda: max(Fraction(RHO), 0), Fraction(1, 2)),
        (lambda: abs(RHO), Fraction(1, 2)),
        (lambda: Fraction(RHO), Fraction(1, 2)),
    ],
)
def test_what_is_made_of_a_loss_has_the_curve_of_any_loss(made, rho):
    loss = made()
    assert rho in (0, loss)
    assert ZCDP.profile(loss) == profile.ConcentratedProfile(Fraction(loss))


@pytest.mark.parametrize(
    ("first", "second"), [(RHO, Fraction(0)), (Fraction(0), RHO), (RHO, RHO), (PAIR, (0, 0))]
)
@pytest.mark.parametrize("choose", [min, max])
def test_losses_with_a_curve_have_no_order(choose, first, second):
    """Of two curves neither need be below the other, and the one that was taken would stay."""
    with pytest.raises(TypeError, match="has no order"):
        choose(first, second)


@pytest.mark.parametrize(
    "made",
    [
        lambda: APPROXIMATE.group(PAIR, 1),
        lambda: APPROXIMATE.left(PAIR, APPROXIMATE.zero()),
        lambda: APPROXIMATE.split(PAIR, [1])[0],
        lambda: APPROXIMATE.loss(PAIR),
        lambda: APPROXIMATE.compose([PAIR, (Fraction(0), Fraction(0))]),
    ],
)
def test_what_is_made_of_a_pair_holds_at_its_own_delta_only(made):
    loss = made()
    assert loss == PAIR
    assert APPROXIMATE.profile(loss).delta(Fraction(3, 2)) >= DELTA
    assert APPROXIMATE.profile(PAIR).delta(Fraction(3, 2)) < DELTA


@pytest.mark.parametrize(
    ("measure", "budget"), [(ZCDP, RHO), (APPROXIMATE, PAIR)], ids=["zcdp", "approximate"]
)
@pytest.mark.parametrize("rows", [1, 2])
def test_a_program_with_the_budget_of_a_gaussian_is_no_gaussian(measure, budget, rows):
    """The program may spend it on any mechanism."""
    typed = Fraction(budget) if measure == ZCDP else (*budget,)
    program = dp.adaptive(len, dp.measures.PrivacyBudget(measure, budget))
    plain = dp.adaptive(len, dp.measures.PrivacyBudget(measure, measure.loss(typed)))
    assert program.loss(rows) == plain.loss(rows)
    assert program.privacy_profile(rows) == plain.privacy_profile(rows)


COUNT = dp.count() >> dp.laplace(epsilon=0.5)
TOTAL = dp.clamp(0, 9) >> dp.sum() >> dp.laplace(epsilon=0.5)
MEDIAN = dp.private_quantile(0.5, bounds=(0, 9), epsilon=1, confidence=None)


@pytest.mark.parametrize(
    "pipeline",
    [
        *(COUNT, TOTAL, MEDIAN, COUNT >> dp.to_zcdp(), COUNT >> dp.to_approximate(1e-6)),
        *(dp.count() >> dp.gaussian(rho=0.1), dp.count() >> dp.gaussian(epsilon=1, delta=1e-6)),
        *(dp.compose(COUNT, TOTAL), dp.compose(MEDIAN, MEDIAN), dp.sample(0.1, TOTAL)),
        *(MEDIAN >> dp.to_zcdp(), dp.adaptive(lambda ask: 0, dp.rho(1))),
        dp.adaptive(lambda ask: 0, dp.epsilon(1, delta=1e-6)),
    ],
    ids=repr,
)
def test_no_curve_holds_below_an_epsilon_of_zero(pipeline):
    """There even no release at all has a delta of 1 - e^epsilon."""
    curve = pipeline.privacy_profile()
    assert 0 < curve.delta(Fraction(0)) < 1
    with pytest.raises(dp.ParameterError, match="epsilon must be at least 0, got"):
        curve.delta(Fraction(-1, 2))


@pytest.mark.parametrize(
    ("one", "three"),
    [
        (profile.PureProfile(Fraction(1)), profile.PureProfile(Fraction(3))),
        (profile.ConcentratedProfile(Fraction(1, 2)), profile.ConcentratedProfile(Fraction(9, 2))),
        (
            profile.PureConcentratedProfile(Fraction(1), Fraction(1, 4)),
            profile.PureConcentratedProfile(Fraction(3), Fraction(9, 4)),
        ),
    ],
)
def test_three_units_have_three_times_the_pure_loss_and_nine_times_the_rho(one, three):
    assert one.group(3) == three


def test_the_masses_of_a_point_are_a_probability():
    masses = profile.PointProfile(Fraction(1), Fraction(1, 8)).atoms()
    assert masses.masses.sum() + masses.beyond == pytest.approx(1, abs=1e-12)
    assert masses.masses[-1] / masses.masses[0] == pytest.approx(2.718281828459045)
