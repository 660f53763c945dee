"""What means of one column cost, exactly and as it is divided, and the error that it buys."""

from fractions import Fraction
from functools import partial
from importlib import import_module
from math import sqrt

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.estimators.parts.budget import budget_of
from opendp_lite.estimators.parts.request import BoundedColumn, Request, Scenario
from tests.estimators.cases import BY_SHARES, REPLACE

E = dp.estimators
module = import_module("opendp_lite.estimators.means.bounded_mean")
THIRD = Fraction(1, 3)
WILD = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, -5e-324, 1e10, -1e10, 1e308, -1e308]
FIRSTS = (Fraction(1, 10), Fraction(1, 10**9), 1 - Fraction(1, 10**9), THIRD)


def main_round(plan, parts):
    """The round after a pilot that gives the sum so many parts."""
    return plan.round_of(1 - plan.first, Fraction(int(parts), module._FINEST))


@pytest.mark.parametrize("first", FIRSTS, ids=str)
@pytest.mark.parametrize("rho", [THIRD, Fraction(1, 10**30), Fraction(10**30)], ids=str)
@pytest.mark.parametrize("bounds", [(-3, 4), (0, 1e-90), (-1e90, 1)], ids=str)
def test_both_rounds_of_a_recentred_mean_cost_rho(first, rho, bounds):
    """For any first release; of a round neither the sum nor the count gets all or nothing."""
    plan = module._Rounds(BoundedColumn.between(*bounds, "here"), rho, 1.0, first)
    pilot = plan.pilot
    random = np.random.default_rng(1).normal(0, 100, (40, 2))
    with np.errstate(all="ignore"):
        for total, rows in [*random, *((a, b) for a in WILD for b in WILD)]:
            found = plan.parts(total * float(plan.column.half), rows, pilot)
            rest = main_round(plan, found)
            costs = pilot.of_total, pilot.of_rows, rest.of_total, rest.of_rows
            assert all(type(each) is Fraction and each > 0 for each in costs)
            assert pilot.of_total + pilot.of_rows == rho * first
            assert sum(costs) == rho
            assert Fraction(1, 128) <= rest.of_total / (rho * (1 - first)) <= Fraction(127, 128)


def test_the_second_round_follows_the_first():
    """With many rows the sum gets what is best for the mean found: h / (h + D) of everything."""
    column = BoundedColumn.between(-1, 1, "here")
    plan = module._Rounds(column, Fraction(1, 2), 1.0, Fraction(1, 10))
    for mean in (0.0, 0.25, 0.5, -0.5, 1.0, -1.0):
        rest = main_round(plan, plan.parts(1e6 * mean, 1e6, plan.pilot))
        share = (plan.pilot.of_total + rest.of_total) / Fraction(1, 2)
        expected = min(1 / (1 + abs(mean)), 0.965)
        assert float(share) == pytest.approx(expected, abs=1 / 128)
    nothing = main_round(plan, plan.parts(0.0, 0.0, plan.pilot))
    assert float(nothing.of_total / plan.rho) == pytest.approx(0.57, abs=0.02)


def test_what_is_asked_of_the_noise_is_what_is_paid(monkeypatch):
    """Each Gaussian that a release is made of, by its own loss for one row."""
    paid = []

    def spied(rho):
        mechanism = dp.gaussian(rho=rho)

        class Spy:
            def bind(self, space):
                measurement = mechanism.bind(space)
                paid.append(Fraction(measurement.privacy_map(space.unit)))
                return measurement

        return Spy()

    monkeypatch.setattr(module, "gaussian", spied)
    for place, data in enumerate([[], [4.0] * 50, [-3.0, 4.0] * 30, [np.nan]]):
        # Each of its own: what is bound once is kept, with the noises that it was made with.
        rho = THIRD / (place + 1)
        bound = E.recentred_mean(-3, 4, rho=rho).bound
        first = paid[-2:]
        paid.clear()
        bound(data)
        assert len(paid) == 2
        assert all(each > 0 for each in paid)
        assert sum(first + paid) == rho
        assert sum(first) == rho / 10


BOTH = {
    **BY_SHARES,
    "mean": dp.mean,
    "resized_mean": E.resized_mean,
    "known_size_mean": E.known_size_mean,
}


def bound(name: str, make, **asked) -> dp.Measurement:
    space = dp.records(size=9, metric=REPLACE) if name == "known_size_mean" else dp.records()
    return space >> make(-3, 4, **asked)


@pytest.mark.parametrize(
    ("loss", "share"),
    [
        ({"rho": THIRD}, Fraction(1, 10)),
        ({"epsilon": THIRD}, Fraction(3, 20)),
        ({"epsilon": 1, "delta": 1e-6}, Fraction(1, 10)),
    ],
    ids=str,
)
def test_what_sampling_takes(loss, share):
    whole = budget_of("here", loss.get("rho"), loss.get("epsilon"), loss.get("delta"))
    parts = [Request.of("here", *each, **loss).budget for each in ((None, False), (0.9, 0))]
    assert [each.amount for each in parts] == [whole.amount, whole.amount]
    asked = Request.of("here", 0.9, True, **loss)
    assert asked.budget.amount == whole.amount * (1 - share)
    assert asked.for_squares.amount == whole.amount * share


_SHARES = (({"rho": Fraction(1, 2)}, Fraction(1, 10)), ({"epsilon": Fraction(1)}, Fraction(3, 20)))


def test_a_sampling_mean_has_the_noise_of_what_is_left():
    truth = Scenario(30, 1.0)
    for name, make in BOTH.items():
        for loss, share in _SHARES:
            sampling = bound(name, make, **loss, confidence=0.9, sampling=True)
            left = {key: value * (1 - share) for key, value in loss.items()}
            readings = [
                each.facts.simulate(truth, 50, np.random.default_rng(4))
                for each in (sampling, bound(name, make, **left, confidence=None))
            ]
            assert np.array_equal(readings[0].total, readings[1].total)
            assert np.array_equal(readings[0].rows, readings[1].rows)


@pytest.mark.parametrize(
    ("bounds", "mean", "plug_in", "center", "simplex", "resize"),
    [
        ((0, 100), 50.0, (6.325, 1.581), (4.243, 1.118), (2.0, 0.7071), (5.657, 1.414)),
        ((-6.43, 6.43), 1.65, (0.550, 0.1450), (0.550, 0.1450), (0.2655, 0.0939), None),
        ((-5, 5), 0.0, (0.4243, 0.1118), (0.4243, 0.1118), (0.2, 0.0707), None),
    ],
)
def test_published_shares_come_to_the_published_errors(
    bounds, mean, plug_in, center, simplex, resize
):
    """docs/errata.md, section 2: 100 rows, epsilon or rho of 1/2, to first order."""
    makes = {E.plug_in_mean: plug_in, E.centered_mean: center, E.simplex_mean: simplex}
    for make, expected in makes.items():
        for loss, error in zip(({"epsilon": 0.5}, {"rho": 0.5}), expected, strict=True):
            estimator = make(*bounds, **loss).bound
            quotient = estimator.facts.simulate(
                Scenario(100, mean), 1, np.random.default_rng(0)
            ).ratio
            found = quotient.errors.deviation(np.array(mean - quotient.about)) / 100
            assert float(found) == pytest.approx(error, rel=2e-3)
    for loss, error in zip(({"epsilon": 0.5}, {"rho": 0.5}), resize or (), strict=False):
        estimator = E.resized_mean(*bounds, **loss)
        assert dp.expected_error(estimator, 100, mean) == pytest.approx(error, rel=0.03)


def test_the_published_splits():
    """Var(sum) = width^2 Var(count), exactly."""
    rho, epsilon = budget_of("here", rho=1), budget_of("here", epsilon=1)
    assert rho.even_share(Fraction(100), Fraction(100)) == Fraction(1, 2)
    assert rho.even_share(Fraction(50), Fraction(100)) == Fraction(1, 5)
    assert epsilon.even_share(Fraction(100), Fraction(100)) == Fraction(1, 2)
    assert epsilon.even_share(Fraction(50), Fraction(100)) == Fraction(1, 3)
    for name in ("plug_in_mean", "centered_mean"):
        for loss in ({"rho": 0.3}, {"epsilon": 0.3}):
            estimator = BOTH[name](20, 100, **loss).bound
            errors = estimator.facts.simulate(
                Scenario(9, 30), 1, np.random.default_rng(0)
            ).ratio.errors
            assert errors.total_deviation == pytest.approx(80 * errors.rows_deviation, rel=1e-12)


def test_counts_of_a_sum_and_of_rows_count_by_inverse_variances():
    def off(make, **asked):
        simulate, generator = make(-3, 7, **asked).bound.facts.simulate, np.random.default_rng(0)
        return simulate(Scenario(9, 1), 1, generator).ratio.errors.rows_deviation

    alone, both = off(E.simplex_mean, rho=0.8), off(E.simplex_mean, rho=1, extra_count=0.2)
    assert both**-2 == pytest.approx(alone**-2 + 2 * 0.2)
    assert off(E.resized_mean, rho=1) == pytest.approx(1)


def test_the_share_for_a_guess_is_the_best():
    """Of all shares in fiftieths, for the error to first order."""
    shares = [Fraction(i, 50) for i in range(1, 50)]

    def off(estimator, mean):
        reading = estimator.bound.facts.simulate(Scenario(9, mean), 1, np.random.default_rng(0))
        return float(reading.ratio.errors.deviation(np.array(mean - reading.ratio.about)))

    for name in ("plug_in_mean", "centered_mean"):
        make = partial(BOTH[name], -3, 7)
        for loss in ({"rho": 0.3}, {"epsilon": 0.3}):
            for guess in (-3, 2.5):
                least = min(off(make(share=each, **loss), guess) for each in shares)
                assert off(make(guess=guess, **loss), guess) <= least * (1 + 1e-9) + 1e-9


PRIVATE = [name for name in BOTH if name not in ("mean", "known_size_mean")]


@pytest.mark.parametrize("name", ["recentred_mean", "joint_mean", *PRIVATE])
def test_a_public_number_of_rows_is_sent_to_the_sized_mean(name):
    makes = {"recentred_mean": E.recentred_mean, "joint_mean": E.joint_mean, **BOTH}
    loss = {"epsilon": 1} if name == "joint_mean" else {"rho": 1}
    with pytest.raises(dp.SpaceError, match=r"public, size=9: use known_size_mean\(\)"):
        dp.records(size=9, metric=REPLACE) >> makes[name](0, 1, **loss)


@pytest.mark.parametrize("bounds", [(-1e100, 1e100), (0, 1e-100)], ids=str)
@pytest.mark.parametrize("loss", [1e-30, 1e30])
def test_budgets_at_the_ends_release_numbers(bounds, loss):
    """Below 1e-300 a share of the second round was NaN, and a square beyond floats."""
    makes = dict(BOTH, recentred_mean=E.recentred_mean, joint_mean=E.joint_mean)
    for name, make in makes.items():
        for kind in ("rho", "epsilon"):
            wrong = ("recentred_mean", "epsilon"), ("joint_mean", "rho")
            if (name, kind) in wrong or name == "resized_mean":
                continue
            space = (
                dp.records(size=2, metric=REPLACE) if name == "known_size_mean" else dp.records()
            )
            found = (space >> make(*bounds, **{kind: loss}, confidence=0.9))([0.5, 1e100])
            ends = found.interval
            assert np.isfinite([found.rows, found.standard_error]).all()
            assert bounds[0] <= ends[0] <= found.value <= ends[1] <= bounds[1]


def test_a_mean_says_which_was_chosen():
    sized = dp.records(size=9, metric=REPLACE)
    chosen = {
        "the estimator is recentred_mean: ": dp.mean(0, 1, rho=1, confidence=None).explain(),
        "the estimator is joint_mean: ": dp.mean(0, 1, epsilon=1, confidence=None).explain(),
        "the estimator is known_size_mean: ": (
            sized >> dp.mean(0, 1, epsilon=1, confidence=None)
        ).explain(),
    }
    assert all(words in text for words, text in chosen.items())
    assert "times as likely, plus 1e-06" in dp.mean(0, 1, rho=1, confidence=None).explain()
    assert (
        "the estimator is recentred_mean: "
        in dp.mean(0, 1, epsilon=1, delta=1e-6, confidence=None).explain()
    )
    for make, other, loss in (
        (dp.mean, E.recentred_mean, {"rho": 0.2}),
        (dp.mean, E.joint_mean, {"epsilon": 0.2}),
    ):
        values = [
            each(0, 9, **loss, confidence=None).insecure_release([4.0] * 9, 3).value
            for each in (make, other)
        ]
        assert values[0] == values[1]


SIZED = dp.records(size=300, metric=dp.ChangeOneDistance())


@pytest.mark.parametrize(
    ("estimator", "rows", "mean"),
    [
        (dp.mean(0, 100, rho=0.1, confidence=None), 300, 40.0),
        (dp.mean(0, 100, epsilon=0.3, confidence=None), 300, 40.0),
        (dp.mean(0, 100, epsilon=0.3, confidence=None), 5, 90.0),
        (SIZED >> dp.mean(0, 100, epsilon=0.3, confidence=None), 300, 40.0),
        (E.simplex_mean(0, 100, epsilon=1, delta=1e-6), 300, 40.0),
        (E.plug_in_mean(0, 100, epsilon=0.3), 300, 40.0),
    ],
    ids=str,
)
def test_it_is_the_error_of_releases(estimator, rows, mean, seeded):
    """Six standard errors of a mean square of 700 releases."""
    bound = estimator if isinstance(estimator, dp.Measurement) else estimator.bound
    data = [mean] * rows
    squares = np.array([(bound(data) - mean) ** 2 for _ in range(700)])
    told = dp.expected_error(estimator, rows, mean)
    assert abs(squares.mean() - told**2) < 6 * squares.std() / sqrt(700) + 0.03 * told**2


def test_rows_that_are_sampled_have_a_spread(seeded):
    data = np.tile([10.0, 70.0], 150)
    estimator = E.resized_mean(0, 100, rho=0.1)
    squares = np.array([(estimator(data) - 40) ** 2 for _ in range(300)])
    told = dp.expected_error(estimator, 300, 40, spread=30)
    assert abs(squares.mean() - told**2) < 6 * squares.std() / sqrt(300) + 0.03 * told**2
    assert told > dp.expected_error(estimator, 300, 40) == dp.expected_error(estimator, 300, 40, 0)
    far = [dp.expected_error(E.resized_mean(0, 100, rho=10), 300, 40, each) for each in (500, 1000)]
    assert far[1] == pytest.approx(2 * far[0], rel=0.03)


def test_closed_forms():
    """To first order, with many rows; 20 000 releases know an error to 0.5 %, Laplace 0.8 %."""
    error = partial(dp.expected_error, n=10**6)
    assert error(E.simplex_mean(-1, 1, rho=0.5), guess=0.5) * 1e6 == pytest.approx(
        sqrt(2 * 1.25), rel=0.04
    )
    assert error(E.centered_mean(-1, 1, rho=0.5, share=0.5), guess=0) * 1e6 == pytest.approx(
        sqrt(2), rel=0.04
    )
    assert error(E.joint_mean(-1, 1, epsilon=1), guess=1) * 1e6 == pytest.approx(
        sqrt(10 / 3 + 49 / 9), rel=0.35
    )
    sized = dp.records(size=10**6, metric=dp.ChangeOneDistance())
    found = error(sized >> E.known_size_mean(-1, 1, epsilon=1), guess=0.5)
    assert found * 1e6 == pytest.approx(2 * sqrt(2), rel=0.05)


def test_asking_twice_comes_to_the_same_and_spends_no_entropy(monkeypatch):
    def refused():
        raise AssertionError("entropy was asked for")

    monkeypatch.setattr(import_module("opendp_lite.pipeline.core"), "SecureEntropy", refused)
    estimator = dp.mean(0, 100, rho=0.5, confidence=None)
    assert dp.expected_error(estimator, 100, 40) == dp.expected_error(estimator, 100, 40)


@pytest.mark.parametrize(
    "make",
    [
        lambda loss: dp.mean(0, 100, rho=loss, confidence=None),
        lambda loss: dp.mean(0, 100, epsilon=loss, confidence=None),
        lambda loss: E.plug_in_mean(0, 100, rho=loss, confidence=0.95, sampling=True),
        lambda loss: SIZED >> dp.mean(0, 100, epsilon=loss, confidence=None),
    ],
)
@pytest.mark.parametrize("error", [0.02, 3.0])
def test_the_loss_for_an_error_is_the_least_of_three_digits(make, error):
    loss = dp.budget_for(make, error=error, n=300, guess=40)
    assert float(f"{loss:.3g}") == loss
    assert dp.expected_error(make(loss), 300, 40) <= error
    digit = 10.0 ** (np.floor(np.log10(loss)) - 2)
    below = loss - (digit if loss / digit > 100.5 else digit / 10)
    assert dp.expected_error(make(below), 300, 40) > error


@pytest.mark.parametrize(
    ("make", "allowed", "words"),
    [
        (partial(dp.mean, 0, 100), 1e-30, "no budget up to 1e12 brings the error down to 1e-30"),
        (partial(dp.mean, 0, 100), 0.05, "the smallest budget already meets an error of 0.05"),
        (partial(dp.mean, 0, 100), 0, "error must be above 0"),
        (
            dp.mean(0, 100, rho=1, confidence=None),
            1,
            r"takes a function .* Got the estimator dp.mean",
        ),
    ],
)
def test_errors_that_no_loss_or_any_meets(make, allowed, words):
    estimator = (lambda rho: make(rho=rho)) if isinstance(make, partial) else make
    with pytest.raises(dp.ParameterError, match=words):
        dp.budget_for(estimator, error=allowed, n=10**9, guess=40)


@pytest.mark.parametrize(
    ("estimator", "asked", "words"),
    [
        (0.5, {}, r"expected_error takes an estimator, such as dp.mean\(.*\), got 0.5"),
        (dp.mean(0, 1, rho=1, confidence=None), {"n": 0}, "n must be a whole number of at least 1"),
        (dp.mean(0, 1, rho=1, confidence=None), {"n": 2.5}, "n must be a whole number"),
        (dp.mean(0, 1, rho=1, confidence=None), {"guess": float("nan")}, "guess"),
        (
            dp.mean(0, 1, rho=1, confidence=None),
            {"guess": 2},
            "guess must lie in the bounds 0 to 1, .* got 2",
        ),
        (
            SIZED >> dp.mean(0, 1, rho=1, confidence=None),
            {},
            "rows is public, n must be 300, got 9",
        ),
        (dp.mean(0, 1, rho=1, confidence=None), {"spread": float("inf")}, "spread"),
    ],
)
def test_refusals(estimator, asked, words):
    with pytest.raises(dp.ParameterError, match=words):
        dp.expected_error(estimator, **({"n": 9, "guess": 0.5} | asked))


def test_what_it_does_not_know_is_refused():
    table = dp.records(columns=2)
    for other in (
        table >> dp.weighted_mean(0, 1, most=1, rho=1, confidence=None),
        table >> E.simplex_vector_mean(1, rho=1),
        dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1),
        dp.mean(0, 1, rho=1, confidence=None) >> float,
    ):
        with pytest.raises(dp.SpaceError, match=r"for the means of one column: mean, .*accuracy"):
            dp.expected_error(other, 9, 0.5)


def test_the_noise_of_the_spread_is_not_taken_for_that_of_the_mean():
    assert not dp.mean(0, 9, epsilon=1, confidence=0.95).bound.facts.laws
