"""Adaptive programs: refused before data is touched, never beyond the budget, in threads too."""

import copy
import pickle
import threading
from fractions import Fraction
from math import exp, tanh

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from tests.opened import Opened
from tests.own_steps import REPLACE, doubled

PURE, ZCDP = dp.MaxDivergence(), dp.ZeroConcentratedDivergence()
TENTH = dp.count() >> dp.gaussian(rho=0.1)
TOTAL = dp.clamp(0, 4) >> dp.sum()
DATA = [1.0, 2.0, 3.0]


def ask_ten_times(ask):
    return [ask(TENTH) for _ in range(10)]


def test_a_budget_of_nothing_pays_for_nothing():
    rows = Opened()

    def program(ask):
        with pytest.raises(dp.BudgetExceeded, match="needs"):
            ask(dp.count() >> dp.laplace(epsilon=1e-200))
        return ask.spent

    estimator = dp.adaptive(program, dp.measures.PrivacyBudget(PURE, Fraction(0)))
    assert (estimator(rows.blocks), estimator.map(1), rows.times) == (0, 0, 0)


def test_a_program_asks_what_is_bound_to_no_space():
    with pytest.raises(dp.OpenDPLiteError, match="bound to no space"):
        dp.adaptive(lambda ask: ask(dp.records() >> TENTH), dp.rho(1))(DATA)


def returned(ask):
    return ask


def later(ask):
    return (ask(TENTH) for _ in range(3))


def test_ask_is_dead_when_the_program_ends():
    stored = []

    def stores(ask):
        stored.extend([ask, copy.copy(ask), copy.deepcopy(ask)])
        return ask(TENTH)

    def raises(ask):
        stored.append(ask)
        raise ZeroDivisionError

    rows = Opened()
    stored.append(dp.adaptive(returned, dp.rho(1))(rows.blocks))
    dp.adaptive(stores, dp.rho(1))(rows.blocks)
    with pytest.raises(ZeroDivisionError):
        dp.adaptive(raises, dp.rho(1))(rows.blocks)
    assert len(stored) == 5
    opened = rows.times
    for ask in stored:
        with pytest.raises(dp.SpaceError, match="ended"):
            ask(TENTH)
        assert ask._running.rows is None
    with pytest.raises(dp.SpaceError, match="ended"):
        list(dp.adaptive(later, dp.rho(1))(rows.blocks))
    assert rows.times == opened


def test_the_space_of_ask_which_sets_prices_cannot_be_replaced():
    def program(ask):
        cheap = attrs.evolve(ask.space, unit=Fraction(1, 1000))
        for name in ("space", "_account", "left", "spent"):
            with pytest.raises(AttributeError):
                setattr(ask, name, cheap)
        return ask(TOTAL >> dp.gaussian(scale=1)), ask.spent

    assert dp.adaptive(program, dp.rho(8))(DATA)[1] == 8


def test_a_thread_that_outlives_the_program_gets_nothing():
    caught, over = [], threading.Event()

    def program(ask):
        def wait_and_ask():
            over.wait()
            try:
                ask(TENTH)
            except dp.SpaceError as problem:
                caught.append(problem)

        thread = threading.Thread(target=wait_and_ask)
        thread.start()
        return thread

    thread = dp.adaptive(program, dp.rho(1))(DATA)
    over.set()
    thread.join()
    assert "ended" in str(caught[0])


def test_what_follows_a_query_may_ask_again():
    def program(ask):
        return ask(TENTH >> (lambda first: (first, ask(TENTH)))), ask.spent

    (one, two), spent = dp.adaptive(program, dp.rho(0.2))(DATA)
    assert one != two
    assert spent == 0.2


def test_gaussians_under_a_budget_of_mu_keep_their_exact_curve():
    """At rho .5 in all, by zCDP alone epsilon would be 5.2215."""

    def program(ask):
        ask(dp.count() >> dp.gaussian(rho=0.1))
        ask(dp.count() >> dp.gaussian(mu=0.5))
        ask(TOTAL >> dp.gaussian(mu=ask.left))
        with pytest.raises(dp.BudgetExceeded):
            ask(dp.count() >> dp.gaussian(mu=1e-6))
        return ask.spent

    normal = dp.adaptive(program, dp.mu(1))
    assert round(normal.epsilon(1e-6), 4) == 4.8866
    assert normal.map(3) == 3
    assert normal(DATA) == 1
    assert round(dp.adaptive(program, dp.rho(0.5)).epsilon(1e-6), 4) == 5.2215


def test_a_query_of_another_measure_is_converted_at_the_door():
    half = dp.count() >> dp.laplace(epsilon=0.5)
    pair = dp.adaptive(returned, dp.epsilon(0.5, delta=1e-6))
    chosen = dp.private_quantile([0.1, 0.5, 0.9], bounds=(0, 9), rho=0.1, confidence=None)

    def prices(ask):
        found = [ask.price(half), ask.spent]
        ask(half)
        assert ask.spent == found[0]
        return found

    def refused(query):
        def program(ask):
            with pytest.raises(dp.SpaceError, match="the budget counts"):
                ask(query)
            with pytest.raises(dp.SpaceError, match="the budget counts"):
                ask.price(query)
            return ask.spent

        return program

    assert dp.adaptive(prices, dp.epsilon(1))(DATA) == [0.5, 0.0]
    assert dp.adaptive(prices, dp.epsilon(1, delta=1e-6))(DATA) == [(0.5, 0.0), (0.0, 0.0)]
    zcdp, _ = dp.adaptive(prices, dp.rho(1))(DATA)
    assert zcdp == (half >> dp.to_zcdp()).map(1)
    mu, _ = dp.adaptive(prices, dp.mu(1))(DATA)
    assert 0.6 < mu < 0.63
    normal = dp.count() >> dp.gaussian(epsilon=0.5, delta=1e-6)
    rho = dp.adaptive(lambda ask: ask.price(normal), dp.rho(1))(DATA)
    assert dp.gaussian(rho=rho).epsilon(1e-6) == pytest.approx(0.5)
    for query, budget in (
        (TENTH, dp.epsilon(1)),
        (TENTH, dp.epsilon(1, delta=1e-6)),
        (pair, dp.rho(1)),
        (pair, dp.epsilon(1)),
        (chosen, dp.epsilon(1)),
    ):
        assert dp.adaptive(refused(query), budget)(DATA) == budget.measure.show(
            budget.measure.zero()
        )


def test_a_budget_that_carries_a_curve_claims_none():
    """A composed curve is no filter: a program may spend the number on anything."""
    loss = dp.compose(TENTH, TENTH)._loss(1)
    program = dp.adaptive(returned, dp.measures.PrivacyBudget(ZCDP, loss))
    assert program.epsilon(1e-6) == dp.adaptive(returned, dp.rho(0.2)).epsilon(1e-6)
    assert program.epsilon(1e-6) > dp.compose(TENTH, TENTH).epsilon(1e-6)


def test_programs_nest():
    """An inner program costs its budget, whatever it uses of it."""
    inner = dp.adaptive(lambda ask: ask(TENTH), dp.rho(0.4))

    def outer(ask):
        first = ask(inner)
        assert ask.spent == 0.4
        second = ask(dp.clamp(0, 1) >> dp.adaptive(lambda again: again(TENTH), dp.rho(0.5)))
        with pytest.raises(dp.BudgetExceeded):
            ask(inner)
        return first, second, ask(TENTH)

    rows = Opened()
    estimator = dp.adaptive(outer, dp.rho(1))
    assert estimator.map(1) == 1
    assert len(estimator(rows.blocks)) == 3
    assert rows.times == 3


def test_an_inner_program_cannot_use_the_outer_budget():
    def outer(ask):
        def inner(again):
            with pytest.raises(dp.BudgetExceeded):
                again(dp.count() >> dp.gaussian(rho=0.5))
            return again.spent

        return ask(dp.adaptive(inner, dp.rho(0.2))), ask.spent

    assert dp.adaptive(outer, dp.rho(1))(DATA) == (0, 0.2)


def test_adaptive_measurements_compose():
    both = dp.compose(
        dp.adaptive(ask_ten_times, dp.rho(1)), TENTH, dp.adaptive(returned, dp.rho(0.3))
    )
    assert both.map(1) == 1.4
    assert both.map(2) == 5.6
    many, one, dead = both(DATA)
    assert (len(many), type(one), dead.spent) == (10, float, 0)
    with pytest.raises(dp.ParameterError, match="to_zcdp"):
        dp.compose(TENTH, dp.adaptive(returned, dp.epsilon(1)))


SIZED = dp.records(size=3, metric=REPLACE)
FRONTS = [
    (dp.records(), lambda query: query),
    (SIZED, lambda query: query),
    (dp.records(), lambda query: dp.clamp(0, 9) >> dp.resize(5, fill=0) >> query),
    (dp.records(), lambda query: doubled() >> query),
    (SIZED, lambda query: doubled() >> dp.clamp(0, 1) >> query),
]


@pytest.mark.parametrize(("space", "after"), FRONTS)
def test_the_unit_before_the_program_is_folded(space, after):
    """A query costs in a program what it costs by itself, and the budget is for one row."""
    query = dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(rho=0.3)
    median = dp.private_quantile(0.5, bounds=(0, 1), rho=0.2, confidence=None)

    def program(ask):
        ask(query)
        spent = ask.spent
        ask(median)
        with pytest.raises(dp.BudgetExceeded):
            ask(median)
        return spent

    estimator = after(dp.adaptive(program, dp.rho(0.5)))
    bound = space >> estimator
    assert bound(DATA) == 0.3
    assert [bound.map(d) for d in (0, 1, 2, 3)] == [0, 0.5, 2, 4.5]
    assert (space >> after(query)).map(2) == 1.2


def test_fixed_scales_cost_more_for_larger_units():
    """One row moves two there: noise of a given scale costs four times as much."""

    def program(ask):
        ask(dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(scale=1))
        return ask.spent

    plain, moved = dp.adaptive(program, dp.rho(2)), doubled() >> dp.adaptive(program, dp.rho(2))
    assert (plain(DATA), moved(DATA)) == (0.5, 2)
    with pytest.raises(dp.BudgetExceeded):
        (doubled() >> dp.adaptive(program, dp.rho(1.999)))(DATA)


def test_groups():
    pure = dp.adaptive(returned, dp.epsilon(1 / 3))
    assert [pure.map(d) for d in (0, 1, 2, 3)] == [0, 1 / 3, 2 / 3, 1]
    pair = dp.adaptive(returned, dp.epsilon(0.5, 1e-6))
    assert pair.map(0) == (0, 0)
    assert pair.map(1) == (0.5, 1e-6)
    epsilon, delta = pair.map(3)
    law = 1e-6 * (1 + np.exp(0.5) + np.exp(1))
    assert (epsilon, delta) == (1.5, pytest.approx(law))
    assert delta >= law * (1 - 1e-12)


def test_a_distance_below_one_unit_costs_the_whole_budget():
    space = dp.Space(dp.Rows(1), dp.SymmetricDistance(), unit=Fraction(2))
    bound = space >> dp.adaptive(returned, dp.rho(1))
    assert [bound.map(d) for d in (0, 1, 2, 3, 4)] == [0, 1, 1, 4, 4]


def test_a_program_converts_like_any_release():
    estimator = dp.adaptive(ask_ten_times, dp.rho(1))
    plain = TOTAL >> dp.laplace(epsilon=1) >> dp.to_zcdp()
    converted = estimator.to_approximate(1e-6)
    epsilon, delta = converted.map(1)
    assert delta == 1e-6
    assert epsilon == estimator.epsilon(1e-6)
    assert epsilon >= (dp.count() >> dp.gaussian(rho=1)).epsilon(1e-6)
    assert len(converted(DATA)) == 10
    pure = dp.adaptive(lambda ask: ask(TOTAL >> dp.laplace(epsilon=1)), dp.epsilon(1))
    assert (pure >> dp.to_zcdp()).map(1) == pytest.approx(tanh(1 / 2), rel=1e-12)
    assert plain.map(1) == pytest.approx(exp(-1), rel=1e-12)
    assert (estimator >> len)(DATA) == 10


def test_repr_explanation_and_what_cannot_be_written():
    estimator = dp.adaptive(ask_ten_times, dp.rho(0.5))
    assert repr(estimator).startswith("dp.adaptive(ask_ten_times, ")
    text = estimator.explain()
    assert "rho = 0.5 zCDP" in text
    assert "budget of the program" in text
    assert "0.5" in (dp.records() >> estimator)._repr_html_()
    with pytest.raises(dp.ParameterError, match="ask_ten_times cannot be written"):
        estimator.to_json()
    assert pickle.loads(pickle.dumps(dp.records() >> estimator)).map(1) == 0.5
    local = dp.records() >> dp.adaptive(lambda ask: 1, dp.rho(1))
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(local)


def test_equal_seeds_give_equal_programs():
    estimator = dp.adaptive(ask_ten_times, dp.rho(1))
    one, two = (estimator.insecure_release(DATA, 7).value for _ in range(2))
    assert one == two
    assert len(set(one)) == 10


OVERFLOWS = (
    dp.scale(1e308) >> dp.resize(3, fill=0) >> dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(rho=0.1)
)


@pytest.mark.parametrize("value", [1e300, 1.0])
def test_the_values_never_raise_or_warn(value):
    """Not in a program that asks numpy to raise, and not in another thread."""

    def strict(ask):
        with np.errstate(all="raise"):
            return ask(OVERFLOWS)

    def elsewhere(ask):
        found = []
        thread = threading.Thread(target=lambda: found.append(ask(OVERFLOWS)))
        thread.start()
        thread.join()
        return found[0]

    for program in (strict, elsewhere):
        assert dp.adaptive(program, dp.rho(1))([value, -value, np.nan]).shape == (1,)
