"""Sessions: one budget over several releases, refused before any row is read."""

import operator
import pickle
import sys
from decimal import Decimal
from fractions import Fraction
from random import Random

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pytest

import opendp_lite as dp
from opendp_lite.combinators.accounts import Account, MemoryAccount, Witness
from opendp_lite.combinators.accounts import watch as watched
from opendp_lite.measures.budgets import PrivacyBudget
from tests.opened import Opened
from tests.races import race

TENTH = dp.count() >> dp.gaussian(rho=0.1)
LOUD = dp.count() >> dp.laplace(scale=1)
SURVEY = {"age": [41.0, 38.0, 25.0] * 100, "sex": ["f", "m", "f"] * 100, "id": list(range(300))}
MAKERS, KINDS = [dict, pd.DataFrame, pl.DataFrame], ["dict", "pandas", "polars"]
PEOPLE = dp.table(person="id")


def test_prices_from_another_measure_have_few_digits_and_are_not_rounded_down():
    ask = dp.session(SURVEY["age"], dp.rho(1))
    half = dp.count() >> dp.laplace(epsilon=0.5)
    price = ask(half).price
    exact = Fraction((half >> dp.to_zcdp()).loss(1))
    assert exact <= price <= exact * (1 + Fraction(1, 2**59))
    assert price.denominator.bit_length() < 80


def test_a_query_that_does_not_fit_is_refused_before_any_row_is_read():
    rows = Opened()
    ask = dp.session(rows.blocks, dp.epsilon(1))
    wrong = [
        (TENTH, "loses rho = 0.1 zCDP. Write epsilon= in the query"),
        (dp.scalar() >> dp.laplace(epsilon=1), "counts its loss"),
        (attrs.evolve(dp.records(), unit=Fraction(1, 2)) >> LOUD, "counts its loss"),
    ]
    for query, words in wrong:
        with pytest.raises(dp.OpenDPLiteError, match=words):
            ask(query)
    for note in (None, 3, b"table", "table 3\nand 4", "a" * 2001):
        with pytest.raises(dp.ParameterError, match="note"):
            ask(dp.count() >> dp.laplace(epsilon=0.1), note=note)
    assert (ask.spent, rows.times) == (0, 0)


@pytest.mark.parametrize("make", MAKERS, ids=KINDS)
def test_a_misspelled_column_costs_nothing(make):
    ask = dp.session(make(SURVEY), dp.rho(1))
    mean = dp.mean(0, 100, rho=0.1, confidence=None)
    for query in (
        dp.select("agee") >> mean,
        dp.select("agee") >> dp.mean(rho=0.1, confidence=None),
        dp.select("agee") >> dp.adaptive(lambda inner: inner(mean), dp.rho(0.1)),
        dp.by("sexx", ["f", "m"], dp.select("age") >> mean),
        dp.by("sex", ["f", "m"], dp.select("agee") >> mean),
        dp.histogram("sexx", categories=["f", "m"], rho=0.1),
        dp.keep("agee", between=(0, 40)) >> dp.count() >> dp.gaussian(rho=0.1),
        dp.compose(dp.select("age") >> mean, dp.select("agee") >> mean),
        mean,
    ):
        with pytest.raises(dp.OpenDPLiteError, match="column"):
            ask(query)
        assert ask.spent == 0
    people = dp.session(make(SURVEY), dp.rho(1), space=PEOPLE)
    for query in (
        dp.bound_contributions(2) >> dp.select("agee") >> mean,
        dp.bound_contributions(2, groups=("sexx", 1)) >> dp.select("age") >> mean,
    ):
        with pytest.raises(dp.OpenDPLiteError):
            people(query)
        assert people.spent == 0


@pytest.mark.parametrize("make", MAKERS, ids=KINDS)
def test_what_a_session_answers_is_what_the_pipeline_would(make):
    """Each kind of first step: none of them is refused for want of rows.

    Every tolerance is more than 20 deviations of the noise, so chance fails it in less than 1e-80
    of runs: a mean of 100 rows or more errs by at most 0.05, and a count by 0.15.
    """
    ask = dp.session(make(SURVEY), dp.rho(1000))
    mean = dp.mean(0, 100, rho=100, confidence=None)
    assert abs(float(ask(dp.select("age") >> mean)) - 34.67) < 1
    assert abs(ask(dp.by("sex", ["f", "m"], dp.select("age") >> mean)).value["m"] - 38) < 1
    counts = ask(dp.histogram("sex", categories=["f", "m"], rho=100)).value
    assert np.allclose(counts.counts, [200, 100], atol=3)
    kept = dp.keep("age", between=(0, 40)) >> dp.count() >> dp.gaussian(rho=100)
    assert abs(ask(kept).value - 200) < 3
    people = dp.session(make(SURVEY), dp.rho(1000), space=PEOPLE)
    bounded = dp.bound_contributions(2) >> dp.select("age")
    assert abs(people(bounded >> mean).value - 34.67) < 2
    by = dp.bound_contributions(2) >> dp.by("sex", ["f", "m"], dp.select("age") >> mean)
    assert abs(people(by).value["f"] - 33) < 2


def test_the_unit_is_the_same_for_all_releases():
    ask = dp.session(SURVEY, dp.rho(1))
    with pytest.raises(dp.SpaceError, match=r"one row.*one person.*space=dp.table\(person='id'\)"):
        ask(PEOPLE >> dp.bound_contributions(2) >> TENTH)
    cheap = attrs.evolve(dp.records(), unit=Fraction(1, 1000))
    with pytest.raises(dp.SpaceError, match="the session counts"):
        ask(cheap >> dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(scale=1))
    with pytest.raises(dp.SpaceError):
        dp.session(SURVEY, dp.rho(1), space=PEOPLE)(dp.table() >> TENTH)
    # In an array the names are places: the other column would say whose rows they are.
    there, other = (dp.records(columns=names, person="id") for names in (["id", "x"], ["x", "id"]))
    with pytest.raises(dp.SpaceError, match=r"told apart by another column.*columns=\['x', 'id'\]"):
        dp.session(np.zeros((9, 2)), dp.rho(1), space=there)(
            other >> dp.bound_contributions(1) >> TENTH
        )
    named = {"id": [1, 1], "x": [2, 3]}
    query = other >> dp.bound_contributions(1) >> TENTH
    for rows in ([], [None], [{"id": 1.0, "x": 2.0}], [[1.0, 2.0]]):  # Whatever the rows are.
        with pytest.raises(dp.SpaceError, match="told apart by another column"):
            dp.session(rows, dp.rho(1), space=there)(query)
    for space in (there, PEOPLE):  # By its name it is one column.
        assert dp.session(named, dp.rho(1), space=space)(query).number == 1
    replaced = dp.records(size=300, metric=dp.ChangeOneDistance())
    sized = dp.session(SURVEY["age"], dp.rho(1), space=replaced)
    assert sized(dp.clamp(0, 100) >> dp.sum() >> dp.gaussian(rho=0.5)).number == 1
    assert ask.spent == 0


@pytest.mark.parametrize("space", [dp.records(), dp.table(), PEOPLE])
@pytest.mark.parametrize("unit", [0, Fraction(1, 1000)])
def test_no_session_counts_its_loss_for_less_than_one(space, unit):
    with pytest.raises(dp.SpaceError, match="protects one at least"):
        dp.session(SURVEY, dp.rho(1), space=attrs.evolve(space, unit=Fraction(unit)))


def test_a_query_that_fails_is_paid_for():
    def broken():
        raise OSError

    ask = dp.session(dp.Blocks(broken), dp.rho(1))
    with pytest.raises(dp.DataError, match="could not be read") as refusal:
        ask(TENTH)
    (note,) = refusal.value.__notes__
    assert "was booked before the data was read, and is not given back" in note
    assert (ask.spent, ask(dp.adaptive(lambda inner: 3, dp.rho(0.1))).number) == (0.1, 2)


def test_a_number_alone_says_how_far_off_it_may_be():
    ask = dp.session(SURVEY, dp.epsilon(9))
    count, level = dp.count() >> dp.laplace(epsilon=1), "95 % of releases of these rows"
    assert str(ask(count)).endswith(f" (noise of at most 3 in {level})")
    groups = str(ask(dp.by("sex", ["f", "m"], count)))
    assert groups.endswith(f"\nEach number has noise of at most 3 in {level}.")
    total = dp.select("age") >> dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=1)
    assert "(noise of at most 300 in" in str(ask(total))
    wide = dp.select("age") >> dp.clamp(0, 1e6) >> dp.sum() >> dp.laplace(epsilon=1)
    number, _, error = str(ask(wide)).partition(" ")
    assert number.endswith("0000") or number == "0"
    assert "noise of at most 3000000 in" in error
    for known in (dp.count() >> dp.laplace(epsilon=1, confidence=0.9), count >> float):
        assert "at most" not in str(ask(known))


def test_a_release_is_true_as_its_value_is():
    ask = dp.session([3.0] * 900, dp.epsilon(9))
    assert ask(dp.count() >> dp.laplace(epsilon=1))
    assert ask(dp.mean(0, 9, epsilon=1))


def test_a_number_alone_is_not_taken_for_exact():
    ask = dp.session(SURVEY, dp.epsilon(9))
    count = ask(dp.count() >> dp.laplace(epsilon=1))
    known = ask(dp.count() >> dp.laplace(epsilon=1, confidence=0.9))
    for compute in (operator.truediv, operator.add):
        for pair in ((known, count), (count, known), (known.value, count)):
            with pytest.raises(TypeError, match=r"Add confidence=0\.95 to its noise step"):
                compute(*pair)
    assert count / 2 == count.value / 2
    assert (known / float(count)).value == known.value.value / count.value
    with pytest.raises(AttributeError, match=r"add confidence=0\.95 to its noise step"):
        count.interval  # noqa: B018
    assert count.as_dict() == {"value": count.value}
    assert known.as_dict() == known.value.as_dict()


def test_a_closed_session_holds_no_data():
    with dp.session(SURVEY, dp.rho(1)) as ask:
        ask(TENTH)
    with pytest.raises(dp.SpaceError, match="closed"):
        ask(TENTH)
    assert ask._open.data is None
    assert repr(ask) == "<session, closed, rho = 0.1 zCDP spent, rho = 0.9 zCDP left>"
    whole = dp.session(SURVEY, dp.rho(1))
    part = whole.split(2)[0]
    whole.close()
    with pytest.raises(dp.SpaceError, match="closed"):
        part(TENTH)
    with pytest.raises(ZeroDivisionError), dp.session(SURVEY, dp.rho(1)) as ask:
        raise ZeroDivisionError
    with pytest.raises(dp.SpaceError, match="closed"):
        ask(TENTH)


def test_releases_are_numbered():
    ask = dp.session(SURVEY, dp.rho(1))
    assert sorted(race(16, lambda: ask(TENTH).number)) == list(range(1, 11))
    later = dp.session(SURVEY, dp.rho(1)).split(2)
    assert [part(TENTH).number for part in later] == [1, 2]
    assert later[0](TENTH, note="table 3").receipt.spent == Fraction(3, 10)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.session(SURVEY, budget=1), r"dp.rho\(1\)"),
        (lambda: dp.session(SURVEY, dp.rho(1)).split(10**7), "at most 10000"),
        (lambda: dp.session(SURVEY, dp.ZeroConcentratedDivergence()), "budget"),
        (lambda: dp.session(SURVEY, dp.rho(1), space="id"), "space"),
        (lambda: dp.session(SURVEY, dp.rho(1), space=dp.clamp(0, 1)), "space"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(dp.ParameterError, match=words):
        make()


def test_a_release_reads_as_its_value():
    release = dp.session(SURVEY["age"], dp.rho(1))(
        dp.mean(0, 100, rho=1, confidence=0.95, sampling=False), "x"
    )
    assert str(release) == str(release.value)
    assert float(release) == float(release.value)
    assert repr(release).startswith("<release 1, rho = 1 zCDP: ")
    assert release.note == "x"


@pytest.mark.parametrize(
    "loss",
    [
        *(Fraction(-99, 100), -1, True, None, "1", [1], (Fraction(1), Fraction(0))),
        *(float("inf"), float("nan"), 1.0, np.float64(1), np.int64(1), np.bool_(True)),
        *(Decimal(1), np.array([1]), 1j),
    ],
    ids=repr,
)
def test_what_is_no_exact_loss_is_no_budget(loss):
    with pytest.raises(dp.ParameterError, match="the loss of a budget must be"):
        PrivacyBudget(dp.MaxDivergence(), loss)
    with pytest.raises(dp.ParameterError, match="the loss of a budget must be"):
        PrivacyBudget(dp.ApproximateDivergence(), (Fraction(1), loss))


@pytest.mark.parametrize("delta", [1, 2, Fraction(3, 2)])
def test_a_budget_with_a_delta_of_one_promises_nothing(delta):
    with pytest.raises(dp.ParameterError, match="at least 0 and below 1, got"):
        PrivacyBudget(dp.ApproximateDivergence(), (1, delta))


def test_a_budget_is_under_a_measure():
    with pytest.raises(dp.ParameterError, match="under a measure such as"):
        PrivacyBudget("rho", Fraction(1))


def test_numbers_that_compare_as_they_like_are_plain_in_a_budget():
    class Endless(int):
        def __lt__(self, other):
            return False

        def __gt__(self, other):
            return True

        __ge__, __le__ = __gt__, __lt__

    class Spent(Fraction):
        numerator = property(lambda self: Endless(1))
        denominator = property(lambda self: Endless(10))
        __lt__ = __le__ = Endless.__lt__
        __gt__ = __ge__ = Endless.__gt__

    for budget in (
        PrivacyBudget(dp.MaxDivergence(), Spent(1, 10)),
        dp.epsilon(Spent(1, 10)),
        PrivacyBudget(dp.MaxDivergence(), Endless(1)),
        dp.epsilon(Endless(1)),
    ):
        parts = (budget.loss, budget.loss.numerator, budget.loss.denominator)
        assert [type(each) for each in parts] == [Fraction, int, int]
        with pytest.raises(dp.BudgetExceeded):
            dp.session([1.0], budget)(dp.count() >> dp.laplace(epsilon=2))
    pair = PrivacyBudget(dp.ApproximateDivergence(), (Spent(1), Spent(1, 10)))
    assert {type(part) for part in pair.loss} == {Fraction}


def test_an_evolved_copy_does_not_count_its_loss_for_another_unit():
    """A price for one row is below that for one person with many rows."""
    visits = {"id": [1] * 30, "age": [40.0] * 30}
    people, count = dp.table(person="id"), dp.count() >> dp.laplace(epsilon=1)

    def asks(ask):
        with pytest.raises(TypeError, match="space"):
            attrs.evolve(ask, space=dp.table())(count)
        return ask.space == people and ask.left == 1

    assert asks(dp.session(visits, dp.epsilon(1), space=people))
    assert (people >> dp.adaptive(asks, dp.epsilon(1)))(visits)


def test_a_converted_loss_is_not_negative():
    class Odd(type(dp.rho(1).measure)):
        def profile(self, loss):
            return type(dp.rho(1).measure)().profile(Fraction(-3))

    def query(rows, entropy):
        return 1

    ask = dp.session([1.0, 2.0], dp.rho(1))
    with pytest.raises(dp.ParameterError, match="a number of at least 0"):
        ask(dp.Measurement(dp.records(), Odd(), query, Fraction))
    assert ask.left == 1


@pytest.mark.parametrize("part", [False, True])
def test_what_interrupts_a_payment_cannot_pay_too(part):
    """As a signal handler or a finalizer does, which runs in the thread that holds the lock."""
    ask = dp.session([1.0] * 10, dp.rho(1))
    ask = ask.split(1)[0] if part else ask
    releases, refused = [], []

    def interrupt(frame, event, argument):
        checked = event == "return" and frame.f_code is Account.require.__code__
        if checked and frame.f_back.f_code.co_name != "__call__":
            sys.setprofile(None)
            try:
                releases.append(ask(dp.count() >> dp.gaussian(rho=1)))
            except (dp.SpaceError, dp.BudgetExceeded) as problem:
                refused.append(problem)

    sys.setprofile(interrupt)
    try:
        releases.append(ask(dp.count() >> dp.gaussian(rho=1)))
    finally:
        sys.setprofile(None)
    assert len(releases) == len(refused) == 1
    assert ask.left == 0


def test_a_part_says_what_the_whole_may_still_spend():
    ask = dp.session(SURVEY, dp.rho(1))
    first, _ = ask.split(2)
    inner = first.split(1)[0]
    ask(dp.count() >> dp.gaussian(rho=0.9))
    assert (ask.left, first.left, inner.left) == (Fraction(1, 10),) * 3
    place = inner(dp.count() >> dp.gaussian(rho=0.05)).statement().position
    assert (place.budget, place.spent, place.left) == (
        "rho = 1 zCDP",
        "rho = 0.95 zCDP",
        "rho = 0.05 zCDP",
    )


@pytest.mark.parametrize(
    ("budget", "rho"), [(dp.mu(1), Fraction(1, 4)), (dp.mu(1), Fraction(1, 3)), (dp.rho(1), 1 / 3)]
)
def test_a_statement_does_not_round_up_what_is_left(budget, rho):
    ask = dp.session(SURVEY, budget)
    place = ask(dp.count() >> dp.gaussian(rho=rho)).statement().position
    stated, truth = Fraction(place.left.split()[2]), ask.left
    assert 0.99999 * truth <= stated <= truth


def test_what_is_left_can_be_spent_whole():
    """A loss that was typed in epsilon is no longer than it was typed, under a delta too."""
    for seed in range(12):
        random = Random(seed)
        ask = dp.session([1.0] * 9, budget=dp.epsilon(1, delta=1e-6))
        for _ in range(random.randint(1, 4)):
            share = random.random() / 20
            ask(dp.count() >> dp.gaussian(rho=share / 1000) >> dp.to_approximate(1e-8))
            ask(dp.count() >> dp.laplace(epsilon=share))
        ask(dp.count() >> dp.laplace(epsilon=ask.left[0]))
        assert ask.left[0] == 0


def test_a_copy_with_another_map_is_put_together_by_hand():
    """No lie about the loss stands under the name of the pipeline that it was made from."""
    true = dp.records() >> dp.count() >> dp.laplace(epsilon=1)
    lie = attrs.evolve(true, privacy_map=lambda distance: distance / 1000)
    assert lie.recipe == ()
    assert "a part that was put together by hand" in lie.statement().trusted
    assert lie != true
    with pytest.raises(dp.ParameterError, match="has no recipe"):
        pickle.dumps(lie)
    tail = attrs.evolve(
        dp.records() >> dp.clamp(0, 9) >> dp.sum(),
        stability_map=lambda distance: dp.Norms(l1=distance),
    )
    joined = tail >> dp.laplace(epsilon=1)
    assert "a part that was put together by hand" in joined.statement().trusted


def test_an_ask_pays_by_the_account_that_it_was_opened_with():
    query = dp.count() >> dp.laplace(epsilon=1)
    rich = MemoryAccount(dp.epsilon(100))
    ask = attrs.evolve(dp.session([1.0], budget=dp.epsilon(1)), account=rich)
    with pytest.raises(dp.SpaceError, match="another account"):
        ask(query)

    def program(inside):
        return attrs.evolve(inside, account=rich)(query)

    with pytest.raises(dp.SpaceError, match="another account"):
        dp.adaptive(program, dp.epsilon(1))([1.0])


def test_a_witness_gets_one_answer():
    """An answer was paid for once, so who watches sees one draw of the noise."""
    seen = []

    class Greedy(Witness):
        def see_answer(self, query, price, answer):
            seen.append(answer())
            with pytest.raises(dp.SpaceError, match="a second time"):
                answer()
            return seen[-1]

        def see_program(self, program):
            return program()

    ask = dp.session([1.0] * 9, budget=dp.epsilon(1))
    release = watched(Greedy(), lambda: ask(dp.count() >> dp.laplace(epsilon=1)))
    assert seen == [release.value]


def test_a_note_is_what_was_checked():
    class Note(str):
        def __str__(self):
            return "table 3\nleft: everything"

    ask = dp.session([1.0], budget=dp.epsilon(1))
    release = ask(dp.count() >> dp.laplace(epsilon=1), note=Note("table 3"))
    assert type(release.order.note) is str
    assert "everything" not in str(release.statement())


def test_a_unit_of_the_space_is_the_unit_of_the_session():
    space = dp.vector(3, dp.metrics.LInfDistance(), unit=5)
    ask = dp.session([1.0, 2.0, 3.0], budget=dp.epsilon(10), space=space)
    ask(dp.noisy_max(epsilon=1))
    assert ask.spent == 1


FORTY_FOUR = dp.epsilon(3.2, delta=1e-6)


def test_more_small_queries_fit_than_their_sum():
    """32 of them add up to the budget, and no session of it answers 45."""
    ask = dp.session([1.0] * 9, FORTY_FOUR)
    query = dp.count() >> dp.laplace(epsilon=0.1)
    prices = [ask(query).price for _ in range(44)]
    assert prices[0] == (Fraction(1, 10), 0)
    assert ask.budget == FORTY_FOUR
    assert ask.budget.measure.show(tuple(map(sum, zip(*prices, strict=True)))) == ask.spent
    with pytest.raises(dp.BudgetExceeded, match=r"needs epsilon = 0\.0\d+; \(3\.1"):
        ask(query)
    last = ask(dp.count() >> dp.laplace(epsilon=ask.left[0]))
    assert last.statement().position.budget == "epsilon = 3.2 at delta = 1e-06"
    assert pickle.loads(pickle.dumps(last)).price == last.price


@pytest.mark.parametrize(
    "query",
    [
        dp.count() >> dp.gaussian(rho=0.01),
        dp.count() >> dp.gaussian(mu=0.1),
        dp.sample(0.01, dp.count() >> dp.gaussian(rho=0.5)),
        dp.compose(dp.count() >> dp.gaussian(rho=0.01), dp.count() >> dp.gaussian(rho=0.01)),
        dp.adaptive(lambda ask: ask(TENTH), dp.rho(0.1)),
    ],
    ids=repr,
)
def test_a_budget_of_epsilon_and_delta_pays_for_what_has_no_epsilon(query):
    ask = dp.session([1.0] * 9, FORTY_FOUR)
    costs = [ask(query).price for _ in range(2)]
    assert costs[0][0] > costs[1][0] > 0
    assert [delta for _, delta in costs] == [Fraction(1, 10**6), 0]
    with pytest.raises(dp.SpaceError, match=r"loses .*dp\.to_approximate"):
        dp.session([1.0] * 9, FORTY_FOUR, query_delta=1e-6)(query)


def test_queries_spend_a_part_of_delta():
    keys = dp.histogram(epsilon=0.1, delta=1e-6)
    words = (
        r"^Write delta=1\.25e-07 or less in the query: so much is left of 1\.25e-07, .*query_delta="
        r".*\(0, 0\) of \(3\.2, 1e-06\) has been spent\. Ask for less, or give a larger budget$"
    )
    with pytest.raises(dp.BudgetExceeded, match=words):
        dp.session(["a"] * 9, FORTY_FOUR)(keys)
    ask = dp.session(["a"] * 9, FORTY_FOUR)
    ask(dp.histogram(epsilon=0.1, delta=1.25e-7))
    with pytest.raises(dp.BudgetExceeded, match=r"^Write delta=\d\.?\d*e-\d+ or less .* left of 1"):
        ask(dp.histogram(epsilon=0.1, delta=1.25e-7))
    ask = dp.session(["a"] * 9, FORTY_FOUR, query_delta=1e-6)
    assert 0 < ask(keys).price[1] <= Fraction(1, 10**6)
    with pytest.raises(dp.ParameterError, match="from 0 to 1e-06; got 1e-05"):
        dp.session(["a"], FORTY_FOUR, query_delta=1e-5)
    with pytest.raises(dp.ParameterError, match="query_delta is a part of the delta of a budget"):
        dp.session(["a"], dp.rho(1), query_delta=1e-6)


def test_parts_of_a_filter_divide_what_is_left():
    ask = dp.session([1.0] * 9, FORTY_FOUR)
    ask(dp.count() >> dp.laplace(epsilon=1.2))
    first, second = ask.split(2)
    assert first.budget.loss[0] == second.budget.loss[0] == 1
    first(dp.count() >> dp.laplace(epsilon=1))
    with pytest.raises(dp.BudgetExceeded):
        first(dp.count() >> dp.laplace(epsilon=0.1))
    assert ask.spent == (2.2, 0.0)


def test_a_meter_counts_without_a_budget():
    ask = dp.meter({"age": [41.0] * 9, "id": [1] * 9}, delta=1e-5, space=PEOPLE)
    assert ask.spent == (0.0, 0.0)
    query = dp.bound_contributions(2) >> dp.count() >> dp.laplace(epsilon=0.5)
    first = ask(query, note="table 1")
    assert (ask.spent, first.price, first.number) == ((0.5, 0.0), (Fraction(1, 2), 0), 1)
    ask(dp.bound_contributions(1) >> dp.count() >> dp.gaussian(rho=2))
    assert ask.spent[0] > dp.mu(2).epsilon(1e-5)
    assert ask.spent[1] == 1e-5
    assert repr(ask) == f"<meter, {ask.spent} spent>"
    said = str(first.statement())
    assert "No budget bounds what may still be released" in said
    assert "The budget for all" not in said
    for refused in (lambda: ask.left, lambda: ask.budget, lambda: ask.split(2)):
        with pytest.raises(dp.SpaceError, match="a meter has no budget"):
            refused()
    with pytest.raises(dp.BudgetExceeded):
        ask(dp.bound_contributions(1) >> dp.count() >> dp.gaussian(rho=1e6))
    ask.close()
    with pytest.raises(dp.SpaceError, match="closed"):
        ask(query)
    with pytest.raises(dp.ParameterError, match="delta"):
        dp.meter([1.0], delta=0)


def test_what_a_session_releases_is_formatted_as_its_value():
    release = dp.session([0.25] * 1000, dp.epsilon(1e9))(dp.mean(0, 1, epsilon=1e8))
    assert f"{release:.1%}" == f"{release.value:.1%}" == "25.0%"
    assert f"{release}" == str(release)
