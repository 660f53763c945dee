"""What holds for every ask: of a program, of a session, of a part of one, and of a ledger."""

import copy
import pickle
import time
from fractions import Fraction

import pytest

import opendp_lite as dp
from opendp_lite.measures.divergences import AdditiveMeasure
from tests.opened import Opened
from tests.races import race

TENTH = dp.count() >> dp.gaussian(rho=0.1)
TOTAL = dp.clamp(0, 4) >> dp.sum()
NEXT_TO_NOTHING = dp.count() >> dp.gaussian(rho=1e-9)
PAIR = dp.epsilon(1, delta=1e-6)


@pytest.fixture(params=["program", "session", "part", "ledger"])
def run(request, tmp_path):
    """Runs a function of ask under a budget, wherever ask comes from."""

    def run_on(rows: Opened, budget: dp.measures.PrivacyBudget, function):
        # A program adds up pairs, and the others do where all of delta is for queries.
        whole = budget.loss[1] if isinstance(budget.loss, tuple) else None
        match request.param:
            case "program":
                return dp.adaptive(function, budget)(rows.blocks)
            case "session":
                return function(dp.session(rows.blocks, budget, query_delta=whole))
            case "part":
                ask = dp.session(rows.blocks, budget, query_delta=whole)
                return function(ask.split(1)[0])
        path = tmp_path / "a.ledger"
        ledger = dp.Ledger.create(path, budget, unit="row", query_delta=whole)
        return function(ledger.session(rows.blocks))

    return run_on


def test_ten_tenths_are_the_budget_and_an_eleventh_is_not(run):
    rows = Opened()

    def program(ask):
        before = rows.times
        for _ in range(10):
            ask(TENTH)
        for _ in range(3):
            with pytest.raises(dp.BudgetExceeded, match=r"rho = 1e-09 zCDP; 1 of 1 .*spent"):
                ask(NEXT_TO_NOTHING)
        return ask.spent, ask.left, rows.times - before

    assert run(rows, dp.rho(1), program) == (1.0, 0, 10)


@pytest.mark.parametrize(
    ("budget", "queries", "spent", "more"),
    [
        (
            dp.epsilon(1),
            [TOTAL >> dp.laplace(epsilon=1 / 3)] * 3,
            1,
            dp.count() >> dp.laplace(epsilon=1e-9),
        ),
        (
            dp.rho(0.7),
            [dp.private_quantile(0.5, bounds=(0, 9), rho=0.6, confidence=None), TENTH],
            0.7,
            dp.count() >> dp.laplace(epsilon=1e-9) >> dp.to_zcdp(),
        ),
        (
            PAIR,
            [TOTAL >> dp.gaussian(epsilon=0.5, delta=5e-7)] * 2,
            (1, 1e-6),
            TOTAL >> dp.gaussian(epsilon=1e-9, delta=1e-12),
        ),
        (
            PAIR,
            [TOTAL >> dp.gaussian(epsilon=0.1, delta=1e-6)],
            (0.1, 1e-6),
            TOTAL >> dp.gaussian(epsilon=0.1, delta=1e-12),
        ),
        (
            PAIR,
            [TOTAL >> dp.gaussian(epsilon=1, delta=1e-9)],
            (1, 1e-9),
            TOTAL >> dp.gaussian(epsilon=1e-6, delta=1e-9),
        ),
        (PAIR, [dp.count() >> dp.laplace(epsilon=0.3)], (0.3, 0), TENTH.to_approximate(1e-5)),
        (dp.rho(0.5), [dp.count() >> dp.gaussian(mu=1)], 0.5, NEXT_TO_NOTHING),
        (dp.mu(1), [dp.count() >> dp.gaussian(rho=0.5)], 1, NEXT_TO_NOTHING),
        (dp.rho(0.3), [dp.adaptive(lambda ask: ask(TENTH), dp.rho(0.3))], 0.3, NEXT_TO_NOTHING),
        (dp.rho(0.2), [dp.compose(TENTH, TENTH)], 0.2, NEXT_TO_NOTHING),
    ],
    ids=[
        *("pure", "zcdp", "pairs", "delta alone", "epsilon alone", "no delta"),
        *("mu", "rho", "program", "composition"),
    ],
)
def test_prices_are_known_before_and_add_up_and_refusals_touch_no_data(
    run, budget, queries, spent, more
):
    rows, measure = Opened(), budget.measure

    def program(ask):
        zero, before = ask.spent, rows.times
        prices = [measure.loss(ask.price(query)) for query in queries]
        assert (ask.spent, rows.times) == (zero, before)
        for query, price in zip(queries, prices, strict=True):
            found = ask(query)
            assert not isinstance(found, dp.releases.Release) or found.price == price
        for _ in range(3):
            with pytest.raises(dp.BudgetExceeded, match="needs"):
                ask(more)
        assert rows.times - before == len(queries)
        return ask.spent, measure.show(measure.compose(prices))

    assert run(rows, budget, program) == (spent, spent)


NO_QUERIES = [
    *((given, "ends in noise") for given in (dp.clamp(0, 1), TOTAL, 3, lambda x: x, dp.sum)),
    (dp.adaptive(lambda ask: None, dp.epsilon(0.1, delta=1e-6)), "the budget counts"),
    (dp.clamp([0, 0], [1, 1]) >> dp.sum() >> dp.gaussian(rho=0.1), "columns"),
    (dp.gaussian(rho=0.1), "Put|counts its loss"),
]


def test_what_is_no_query_is_refused_before_data(run):
    rows = Opened()

    def program(ask):
        before = rows.times
        for given, words in NO_QUERIES:
            for wrong in (ask, ask.price):
                with pytest.raises(dp.OpenDPLiteError, match=words):
                    wrong(given)
        return ask.spent, rows.times - before

    assert run(rows, dp.rho(1), program) == (0, 0)


def test_a_query_that_fails_is_paid_for(run):
    """Rows that cannot be read once more."""
    rows = Opened()

    def program(ask):
        rows.pieces = None  # Which is no iterable.
        with pytest.raises(dp.DataError, match="could not be read"):
            ask(TENTH)
        return ask.spent

    assert run(rows, dp.rho(1), program) == 0.1


def test_copies_are_the_same_ask_and_none_is_pickled(run):
    def program(ask):
        copy.copy(ask)(TENTH)
        copied = copy.deepcopy(ask)
        copied(TENTH)
        with pytest.raises(dp.BudgetExceeded):
            ask(TENTH)
        with pytest.raises(dp.ParameterError, match="cannot be pickled"):
            pickle.dumps(ask)
        return copied.spent, ask.spent

    assert run(Opened(), dp.rho(0.2), program) == (0.2, 0.2)


def test_parts_of_a_budget(run):
    def program(ask):
        ask(TENTH)
        first, second, third = ask.split(3)
        assert first.left == second.left == third.left == Fraction(3, 10)
        first(dp.count() >> dp.gaussian(rho=0.3))
        with pytest.raises(dp.BudgetExceeded, match=r"0.3 of 0.3 .*spent"):
            first(NEXT_TO_NOTHING)
        assert (ask.spent, first.left, second.left) == (0.4, 0, Fraction(3, 10))
        inner = second.split(2)[0]
        inner(dp.count() >> dp.gaussian(rho=0.15))
        assert (ask.spent, second.spent, inner.left) == (0.55, 0.15, 0)
        ask(dp.count() >> dp.gaussian(rho=0.4))
        second(dp.count() >> dp.gaussian(rho=0.05))
        with pytest.raises(dp.BudgetExceeded, match=r"1 of 1 .*spent"):
            third(NEXT_TO_NOTHING)
        assert third.left == 0
        for wrong in (0, -1, 1.5, "2", True):
            with pytest.raises(dp.ParameterError, match="split"):
                ask.split(wrong)
        return ask.left

    assert run(Opened(), dp.rho(1), program) == 0


def test_threads_cannot_overspend_while_a_price_is_worked_out(run, monkeypatch):
    """Between reading what is spent and writing the price, another thread gets its turn."""

    def slow(self, losses):
        total = sum(losses, Fraction(0))
        time.sleep(0.002)
        return total

    monkeypatch.setattr(AdditiveMeasure, "compose", slow)
    rows = Opened()

    def program(ask):
        before = rows.times
        found = race(24, lambda: ask(TENTH))
        return len(found), ask.spent, rows.times - before

    assert run(rows, dp.rho(1), program) == (10, 1, 10)
