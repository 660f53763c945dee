"""The sparse vector technique: its noises, its answers, and what it refuses.

Its exact law is for ``tests/test_exact_laws.py``.
"""

import copy
import pickle
import sys
from fractions import Fraction
from math import inf, log, nan

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.combinators.adaptive_programs import ThresholdNoise, ThresholdTest, noise_of_mean
from opendp_lite.measures.divergences import pure_for_zcdp
from opendp_lite.measures.profile import zcdp_of_pure
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from tests.opened import Opened
from tests.own_steps import REPLACE, doubled
from tests.races import race

MODULE = sys.modules["opendp_lite.combinators.adaptive_programs"]


def test_noise_in_closed_form():
    """Shares of 2 : 3 (2 c)^(2/3), or 3 c^(2/3) where values move in one direction."""
    for most, monotone, shift in ((1, False, 2), (1, True, 1), (9, False, 18), (9, True, 9)):
        noise = ThresholdNoise.of(Fraction(1, 3), most, monotone)
        first, second = 1 / noise.on_threshold, shift / noise.on_query
        assert first + second == Fraction(1, 3)
        assert float(second / first) == pytest.approx(1.5 * shift ** (2 / 3), rel=1e-5)
        assert noise.positives == most
    assert ThresholdNoise.of(Fraction(1), 10**400, monotone=False).on_query > 10**400


@pytest.mark.parametrize("rho", [Fraction(1, 10**300), Fraction(1, 50), Fraction(1), 30, 10**9])
def test_the_pure_loss_that_a_rho_pays_for(rho):
    epsilon = pure_for_zcdp(Fraction(rho))
    assert zcdp_of_pure(epsilon) <= rho < zcdp_of_pure(epsilon * (1 + Fraction(1, 10**9)))


@pytest.mark.parametrize("mean", [Fraction(1, 1000), Fraction(1, 3), 1, 700, 10**30])
def test_noise_has_its_mean_and_its_grid(mean):
    entropy, draws = InsecureSeededEntropy(1), 1000
    found = [noise_of_mean(Fraction(mean), entropy) / mean for _ in range(draws)]
    values = np.array([float(each) for each in found])
    assert abs(values.mean()) < 6 / draws**0.5
    assert abs((values < log(2) - 1).mean() - 0.5) < 3 / draws**0.5
    grid = 2 ** max(0, 20 - (int(mean).bit_length() - 1 if mean >= 1 else -10))
    assert all((each * mean + mean) * grid % 1 == 0 for each in found)
    assert values.min() >= -1


def test_noise_is_a_hair_larger_than_its_mean_says(monkeypatch):
    scales = []
    monkeypatch.setattr(MODULE, "exact_floor", lambda size, scale, *_: scales.append(scale) or 0)
    noise_of_mean(Fraction(2**20), InsecureSeededEntropy(1))
    assert 2**20 < scales[0] < 2**20 + 1


@pytest.fixture
def noiseless(monkeypatch):
    """Programs of which no comparison has noise."""
    monkeypatch.setattr(MODULE, "noise_of_mean", lambda mean, entropy, parts: Fraction(0))


FIVE = [dp.select(column) >> dp.clamp(0, 1) >> dp.sum() for column in range(5)]


def first_above(test: ThresholdTest) -> int | None:
    """The first column whose sum is above."""
    return next((column for column, query in enumerate(FIVE) if test(query)), None)


SIZED = dp.records(columns=5, size=2, metric=REPLACE)


def test_the_loss_is_the_budget_and_grows_with_groups():
    pure = dp.above_threshold(first_above, 1, epsilon=Fraction(1, 3), most=5)
    assert [pure.loss(k) for k in range(4)] == [Fraction(k, 3) for k in range(4)]
    zcdp = dp.above_threshold(first_above, 1, rho=Fraction(1, 3), most=5)
    assert [zcdp.loss(k) for k in range(4)] == [Fraction(k * k, 3) for k in range(4)]
    assert "times how far a row moves the query" in pure.explain()
    assert (SIZED >> pure).map(2) == pytest.approx(2 / 3)


def test_half_a_unit_costs_a_whole_one():
    space = dp.Space(dp.Rows(1), dp.SymmetricDistance(), unit=Fraction(2))
    step = space >> dp.above_threshold(first_above, 1, epsilon=1)
    assert [step.privacy_map(Fraction(rows)) for rows in range(5)] == [0, 1, 1, 2, 2]


def test_with_rho_each_answer_above_has_new_noise(monkeypatch):
    """As many techniques as answers above, each for its part of rho."""
    means = []

    def take(mean, entropy, parts):
        means.append(mean)
        return Fraction(0)

    monkeypatch.setattr(MODULE, "noise_of_mean", take)

    def program(test):
        return [test(dp.count(), threshold=level) for level in (0, 9, 1, 2)]

    counted = dp.above_threshold(program, 0, rho=3, most=3)
    assert counted([1.0, 2.0, 3.0]) == [True, False, True, True]
    each = ThresholdNoise.of(pure_for_zcdp(Fraction(1)), 1, monotone=False)
    level, query = each.on_threshold, each.on_query
    assert means == [level, query, level, query, query, level, query]
    means.clear()
    dp.above_threshold(program, 0, epsilon=3, most=3)([1.0, 2.0, 3.0])
    once = ThresholdNoise.of(Fraction(3), 3, monotone=False)
    assert means == [once.on_threshold] + [once.on_query] * 4


def test_answers_below_are_free_and_later_tests_are_refused_before_data():
    rows = Opened()
    counts = []

    def program(test):
        for _ in range(50):
            assert not test(dp.count(), threshold=10**9)
        assert (test.left, rows.times) == (2, 50)
        assert test(dp.count(), threshold=-(10**9))
        assert not test(dp.count(), threshold=10**9)
        assert test(dp.count(), threshold=-(10**9))
        assert test.left == 0
        counts.append(rows.times)
        for level in (10**9, -(10**9)):
            with pytest.raises(dp.BudgetExceeded, match="most="):
                test(dp.count(), threshold=level)
        counts.append(rows.times)
        return test

    test = dp.above_threshold(program, 0, epsilon=1, most=2)(rows.blocks)
    assert counts == [53, 53]
    with pytest.raises(dp.SpaceError, match="has ended"):
        test(dp.count())


Tables = dp.Space[dp.Rows]
LOW = -(10**9)


def step_that_tests(kept: list, refused: list | None = None) -> dp.Stage:
    """A step that tests while its own value is computed, and hides a refusal if it has a list."""

    @dp.stage
    def meddling(space: Tables) -> dp.Transformation[Tables, Tables]:
        def function(rows):
            try:
                kept[0](dp.count(), threshold=LOW)
            except dp.SpaceError:
                if refused is None:
                    raise
                refused.append(1)
            return rows

        return dp.Transformation(space, space, function, lambda distance: distance)

    return meddling()


def test_a_test_inside_a_test_is_refused():
    """The inner one would take the last answer, and the outer one would make it less than none."""
    kept = []

    def program(test):
        kept.append(test)
        with pytest.raises(dp.SpaceError, match="one at a time"):
            test(step_that_tests(kept) >> dp.count(), threshold=LOW)
        assert test.left == 1
        assert test(dp.count(), threshold=LOW)
        for _ in range(3):
            with pytest.raises(dp.BudgetExceeded):
                test(dp.count(), threshold=LOW)
        return test.left

    assert dp.above_threshold(program, 0, epsilon=1)([1.0, 2.0]) == 0


def test_a_refusal_that_a_step_hides_takes_no_answer():
    """Its value is what the step makes of it, and one answer is one answer."""
    kept, refused = [], []

    def program(test):
        kept.append(test)
        query = step_that_tests(kept, refused) >> dp.count()
        answers = [test(query, threshold=LOW) for _ in range(2)]
        with pytest.raises(dp.BudgetExceeded):
            test(query, threshold=LOW)
        return answers, test.left

    assert dp.above_threshold(program, 0, epsilon=1, most=2)([1.0]) == ([True, True], 0)
    assert len(refused) == 2


def test_threads_take_no_more_answers_than_there_are():
    def program(test):
        return len(race(16, lambda: test(dp.count(), threshold=LOW))), test.left

    assert dp.above_threshold(program, 0, epsilon=1, most=5)([1.0]) == (5, 0)


PEOPLE = {"id": [1, 1, 2, 3], "sex": ["f", "f", "m", "f"], "age": [12.0, 30.0, 40.0, nan]}


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(
    "space", [dp.table(), dp.records(columns=["id", "sex", "age"])], ids=["table", "named"]
)
def test_columns_of_tables_are_tested(space, monotone, noiseless):
    ages = dp.select("age") >> dp.clamp(0, 50)

    def program(test):
        values = [
            (dp.count(missing=True), 4),
            (dp.keep("sex", among=["f"]) >> dp.count(missing=True), 3),
            (dp.keep("sex", among=["f"]) >> ages >> dp.sum(), 42),
            (ages >> dp.sum(), 82),
            (dp.select("sex") >> dp.one_hot(["f"]) >> dp.sum(), 3),
        ]
        return [
            test(query, threshold=value + more) for query, value in values for more in (0, 0.001)
        ]

    pipeline = space >> dp.above_threshold(program, 0, epsilon=1, most=9, monotone=monotone)
    assert pipeline(PEOPLE) == [True, False] * 5
    assert pipeline.map(2) == 2


def test_tables_of_people_are_tested(monkeypatch):
    """Noise is in proportion to the rows that are kept of a person."""
    monkeypatch.setattr(MODULE, "noise_of_mean", lambda mean, entropy, parts: mean)

    def program(test):
        with pytest.raises(dp.SpaceError, match="bound_contributions"):
            test(dp.count())
        noise = test._account.noise
        moved = 2 * (noise.on_query - noise.on_threshold)
        query = dp.bound_contributions(2) >> dp.count()
        return [test(query, threshold=4 + moved + more) for more in (0, 0.001)]

    pipeline = dp.table(person="id") >> dp.above_threshold(program, 0, epsilon=1, most=2)
    assert pipeline(PEOPLE) == [True, False]
    assert pipeline.map(1) == 1
    with pytest.raises(dp.SpaceError, match="both directions"):
        (dp.table(person="id") >> dp.above_threshold(program, 0, epsilon=1, monotone=True)).map(1)


def test_what_is_no_query_is_refused_before_data():
    rows = Opened()
    wrong = [
        (dp.clamp(0, 1), "one number"),
        (dp.count() >> dp.laplace(epsilon=1), r"without noise.*leave out the noise of dp.laplace"),
        (dp.clamp(0, 1) >> dp.mean(epsilon=1, confidence=None), r"leave out the noise of dp.mean"),
        (dp.records() >> dp.count(), r"without noise.*leave out dp.records\(\)"),
        (dp.records() >> dp.count() >> dp.laplace(epsilon=1), "without noise"),
        (dp.count, "without noise"),
        (3, "without noise"),
        (dp.sum(), "bounded values"),
        (dp.select([0]), "one number"),
        (dp.clamp(0, 1) >> dp.simplex_augment() >> dp.sum(), "one number"),
        (dp.clamp(0, 1) >> dp.sum() >> constant(), "depends on no row"),
    ]

    def program(test):
        for query, words in wrong:
            with pytest.raises(dp.OpenDPLiteError, match=words):
                test(query)
        with pytest.raises(dp.ParameterError, match="threshold"):
            test(dp.count(), threshold=nan)
        with pytest.raises(dp.ParameterError, match="pickled"):
            pickle.dumps(test)
        assert copy.copy(test) is copy.deepcopy(test) is test
        return "done"

    assert dp.above_threshold(program, 0, epsilon=1)(rows.blocks) == "done"
    assert rows.times == 0


@dp.stage
def kept_even(space: Tables) -> dp.Transformation[Tables, Tables]:
    """A step that is stable and not row by row: one more row may remove one."""
    return dp.Transformation(space, space, lambda rows: rows, lambda distance: distance)


def test_monotone_refuses_what_a_row_may_move_down():
    growing = [
        dp.count(),
        dp.count(missing=True),
        dp.clamp(0, 3) >> dp.sum(),
        dp.drop_nan() >> dp.count(),
        dp.transformations.indicator_below(3) >> dp.sum(),
        dp.clamp(-1, 2) >> dp.transformations.square() >> dp.sum(),
        dp.clamp(0, 3) >> dp.clip_to_norm(1) >> dp.sum(),
    ]
    others = [
        dp.clamp(-1, 3) >> dp.sum(),
        dp.clip_to_norm(1) >> dp.sum(),
        dp.clamp(0, 3) >> dp.center(1) >> dp.sum(),
        dp.clamp(0, 3) >> dp.resize(5) >> dp.sum(),
        dp.clamp(0, 3) >> kept_even() >> dp.sum(),
        dp.clamp(0, 3) >> dp.sum() >> minus(),
    ]

    def program(test):
        for query in growing:
            assert not test(query, threshold=10**9)
        for query in others:
            with pytest.raises(dp.SpaceError, match="monotone=True"):
                test(query)
        return 0

    assert dp.above_threshold(program, 0, epsilon=1, monotone=True)([1.0, 2.0]) == 0
    for space in (dp.records(size=3, metric=REPLACE), dp.records() >> doubled()):
        with pytest.raises(dp.SpaceError, match="both directions"):
            (space >> dp.above_threshold(program, 0, epsilon=1, monotone=True)).map(1)


Totals = dp.Space[dp.Vectors]


@dp.stage
def minus(space: Totals) -> dp.Transformation[Totals, Totals]:
    """A sum with the other sign."""
    return dp.Transformation(
        space, space, lambda value: dp.Grid(-value.steps, value.exponent), lambda distance: distance
    )


def test_thresholds_and_values_are_compared_exactly(noiseless):
    """Ties are above, and a difference far below a float's is seen."""
    levels = [3, 3 + Fraction(1, 10**40), 3 - Fraction(1, 10**40)]

    def program(test):
        return [test(dp.count(), threshold=level) for level in levels]

    assert dp.above_threshold(program, 0, epsilon=1, most=3)([1.0, 2.0, 7.0]) == [True, False, True]


@dp.stage
def constant(space: Totals) -> dp.Transformation[Totals, Totals]:
    """A number that is the same for all rows."""
    still = dp.Norms(linf=0)
    after = dp.Space(dp.Vectors(1), dp.metrics.LInfDistance(), unit=still)
    return dp.Transformation(space, after, lambda value: np.ones(1), lambda distance: still)


@dp.stage
def strange(space: Totals) -> dp.Transformation[Totals, Totals]:
    """A step of a user's own that returns what is no number."""
    after = dp.Space(dp.Vectors(1), dp.metrics.LInfDistance(), unit=dp.Norms(linf=1))
    return dp.Transformation(
        space, after, lambda value: np.array([nan]), lambda distance: dp.Norms(linf=distance.linf)
    )


@pytest.mark.parametrize(
    "data", [[], [nan] * 3, [inf, -inf], [5e-324], [1e308] * 40, [-0.0]], ids=str
)
@pytest.mark.parametrize("loss", [1e-300, 1, 1e300])
def test_no_value_and_no_loss_makes_trouble(data, loss):
    queries = [dp.count(), dp.clamp(-1e200, 1e200) >> dp.sum(), dp.clamp(0, 1) >> dp.sum()]
    queries.append(dp.clamp(0, 1) >> dp.sum() >> strange())

    def program(test):
        return [test(query) for query in queries]

    for name in ("epsilon", "rho"):
        found = dp.above_threshold(program, 0.5, most=4, **{name: loss})(data)
        assert [type(each) for each in found] == [bool] * 4


def test_it_is_a_query_of_adaptive():
    def program(ask):
        column = ask(dp.above_threshold(first_above, 50, epsilon=Fraction(1, 2)))
        total = ask(dp.select(column) >> dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=ask.left))
        return column, total

    rows = np.zeros((2000, 5))
    rows[:, 4] = 1
    whole = dp.records(columns=5) >> dp.adaptive(program, dp.epsilon(1))
    column, total = whole(rows)
    assert whole.map(1) == 1
    assert column == 4
    assert abs(float(total[0]) - 2000) < 100


@pytest.mark.parametrize("change", [{"space": dp.table()}, {"monotone": False}])
def test_an_evolved_copy_does_not_ask_for_less_noise(change):
    """The noise is for the people of this space, and for sums that grow."""

    def program(test):
        with pytest.raises(TypeError, match=next(iter(change))):
            attrs.evolve(test, **change)
        return True

    asked = dp.above_threshold(program, threshold=1, epsilon=1, monotone=True)
    assert asked([1.0, 2.0])


def test_an_answer_is_counted_before_another_begins(monkeypatch):
    """A handler of a signal may call test at any moment, in the midst of a comparison too."""
    noise, refused = MODULE.noise_of_mean, []

    def program(test):
        def interrupted(*arguments):
            with pytest.raises(dp.SpaceError, match="one at a time"):
                test(dp.count())
            refused.append(1)
            return noise(*arguments)

        monkeypatch.setattr(MODULE, "noise_of_mean", interrupted)
        return test(dp.count()), test.left

    first = dp.above_threshold(program, threshold=-1000, epsilon=1)
    assert first([1.0] * 100) == (True, 0)
    assert refused
