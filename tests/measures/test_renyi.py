"""The filter of Renyi orders: its divergences, and the worst adversary that it allows."""

import math
from fractions import Fraction
from functools import cache

import pytest
from mpmath import exp, log, mp, mpf

import opendp_lite as dp
from opendp_lite.measures.budgets import (
    UNBOUNDED,
    RenyiDivergence,
    count_without_end,
    filter_budget,
)

ORDERS = {order: Fraction(1, 6) for order in (1.25, 2, 4.25, 8, 16, 40)}
MEASURE = RenyiDivergence(ORDERS)
SUM = dp.clamp(0, 1) >> dp.sum()


def charges(pipeline, measure=MEASURE):
    """What a query costs, part by part."""
    bound = dp.records() >> pipeline
    return measure.admit(bound.output_measure.profile(bound._loss(1)))


LAWS = {
    "randomised response": (
        dp.count() >> dp.laplace(epsilon=0.7),
        Fraction(7, 10),
        lambda a: log((exp(0.7 * a) + exp(0.7 * (1 - a))) / (1 + exp(mpf("0.7")))) / (a - 1),
    ),
    "Laplace": (
        SUM >> dp.laplace(scale=2),
        Fraction(1, 2),
        lambda a: log((a * exp((a - 1) / 2) + (a - 1) * exp(-a / 2)) / (2 * a - 1)) / (a - 1),
    ),
    "Gaussian": (SUM >> dp.gaussian(scale=2), UNBOUNDED, lambda a: a / 8),
    "several": (
        dp.compose(SUM >> dp.gaussian(scale=2), SUM >> dp.gaussian(rho=Fraction(1, 4))),
        UNBOUNDED,
        lambda a: a * (mpf(1) / 8 + mpf(1) / 4),
    ),
}


@pytest.mark.parametrize(("pipeline", "epsilon", "truth"), LAWS.values(), ids=LAWS)
def test_divergences_of_closed_forms(pipeline, epsilon, truth):
    mp.dps = 30
    found = charges(pipeline)
    assert found[:3] == (epsilon, 0, 0)
    for (order, _), each in zip(MEASURE.weights, found[3:], strict=True):
        known = truth(mpf(order.numerator) / order.denominator)
        assert known * (1 - mpf(2) ** -50) <= mpf(each.numerator) / each.denominator
        assert each <= float(known) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("rate", "scale", "highest"), [(0.01, 1, 5), (0.1, 4, 12), (0.001, 0.7, 2)]
)
def test_divergences_of_a_sample(rate, scale, highest):
    """At whole orders there is a sum, of the way that has more (Mironov, Talwar, Zhang 2019).

    Of higher orders the tail matters that was cut off.
    """
    orders = range(2, highest + 1)
    measure = RenyiDivergence(dict.fromkeys(orders, Fraction(1, highest)))
    found = charges(dp.sample(rate, SUM >> dp.gaussian(scale=scale)), measure)
    assert 0 < found[1] < 1e-18
    for order, each in zip(orders, found[3:], strict=True):
        terms = (
            math.comb(order, k)
            * (1 - mpf(rate)) ** (order - k)
            * mpf(rate) ** k
            * exp(mpf(k * (k - 1)) / (2 * mpf(scale) ** 2))
            for k in range(order + 1)
        )
        truth = log(sum(terms)) / (order - 1)
        assert truth <= float(each) <= 1.002 * truth + 2e-9


def test_a_release_has_one_event_for_both_kinds_of_path():
    """A threshold spills on both. A pair beside a curve is no second event: its curve alone counts.

    With both, who sees that the pair fails finishes by the sum of epsilons. Else the same part of
    delta is spent again on a threshold, and up to twice the delta is lost.
    """
    noise = charges(dp.count() >> dp.gaussian(epsilon=0.3, delta=1e-7))
    assert noise[:3] == (UNBOUNDED, 0, 0)
    keys = charges(dp.histogram(epsilon=0.3, delta=1e-7))
    assert keys[0] == Fraction(3, 10)
    assert 0 < keys[1] <= Fraction(1, 10**7)
    assert keys[3:] == charges(dp.count() >> dp.laplace(epsilon=0.3))[3:]
    both = charges(dp.compose(*[dp.histogram(epsilon=0.3, delta=1e-7)] * 3))
    assert both[0] == Fraction(9, 10)
    for whole, part in zip(both[1:], keys[1:], strict=True):
        assert 3 * part * (1 - Fraction(1, 10**15)) <= whole <= 3 * part * (1 + Fraction(1, 10**15))
    noisy = dp.count() >> dp.gaussian(rho=1) >> dp.to_approximate(1e-7)
    mixed = charges(dp.compose(dp.histogram(epsilon=0.3, delta=1e-7), noisy))
    assert mixed[0] == UNBOUNDED
    assert mixed[1] == keys[1]


def test_the_worst_of_several_is_at_least_each_in_all_parts():
    several = [charges(pipeline) for pipeline, _, _ in LAWS.values()]
    worst = MEASURE.worst(several)
    assert all(part <= most for each in several for part, most in zip(each, worst, strict=True))


def worst_delta(budget, queries, stretch=1):
    """The most that an adversary gets, who knows all answers: exactly, by all counts of answers.

    Each query is randomised response of an epsilon, which also tells all with probability delta.
    ``stretch`` enlarges what the budget has for divergences: a mutant of the filter.
    """
    counted = filter_budget(*budget)
    measure, loss = counted.measure, counted.loss
    loss = (*loss[:3], *(stretch * part for part in loss[3:]))
    prices = [measure.loss(query) for query in queries]
    most, odds = float(counted.loss[0]), [float(epsilon) for epsilon, _ in queries]

    @cache
    def is_allowed(counts):
        total = zip(prices, counts, strict=True)
        return measure.within(
            measure.compose([tuple(count * part for part in price) for price, count in total]), loss
        )

    @cache
    def value(counts, heads):
        reached = sum(one * more for one, more in zip(odds, heads, strict=True))
        found = [max(0.0, -math.expm1(most - reached))]
        for place, (epsilon, delta) in enumerate(queries):
            asked = tuple(count + (place == at) for at, count in enumerate(counts))
            if is_allowed(asked):
                up, down = (
                    value(asked, tuple(n + step * (place == at) for at, n in enumerate(heads)))
                    for step in (1, -1)
                )
                share = 1 / (1 + math.exp(-epsilon))
                found.append(delta + (1 - delta) * (share * up + (1 - share) * down))
        return max(found)

    return value((0,) * len(queries), (0,) * len(queries))


BUDGETS = [
    ((dp.epsilon(1, delta=0.05), 0), [(0.3, 0)]),
    ((dp.epsilon(1, delta=0.05), 0), [(0.3, 0), (0.1, 0)]),
    ((dp.epsilon(1, delta=0.1), 0.02), [(0.3, 0), (0.2, 0.005)]),
    ((dp.epsilon(1, delta=0.1), 0.05), [(0.4, 0), (0.3, 0.025)]),
    ((dp.epsilon(0.5, delta=0.01), 0), [(0.1, 0), (0.25, 0)]),
    ((dp.epsilon(2, delta=0.2), 0.1), [(0.7, 0), (0.5, 0.05)]),
    ((dp.epsilon(1, delta=0.1), 0.09), [(0.3, 0), (0.9, 0.09), (0.2, 0.01)]),
    ((dp.epsilon(1, delta=0.1), 0.1), [(0.3, 0), (0.9, 0.1)]),
]


@pytest.mark.parametrize(("budget", "queries"), BUDGETS, ids=str)
def test_no_adversary_exceeds_delta(budget, queries):
    """Whatever is asked next, and whenever one stops, on both kinds of path."""
    found = worst_delta(budget, queries)
    assert found <= budget[0].loss[1] * (1 + Fraction(1, 10**12))
    assert found > 0 or budget[1] == 0
    if budget[1] < budget[0].loss[1] / 2:
        assert worst_delta(budget, queries, stretch=2) > budget[0].loss[1]


COUNTS = {
    "count": (dp.count() >> dp.laplace(epsilon=0.1), 44),
    "Gaussian": (SUM >> dp.gaussian(rho=3.2e-4), 600),
    "sample": (dp.sample(0.01, SUM >> dp.gaussian(scale=1)), 1700),
    "sample of more": (dp.sample(0.1, SUM >> dp.gaussian(scale=4)), 580),
}


@pytest.mark.parametrize(("query", "least"), COUNTS.values(), ids=COUNTS)
def test_so_many_queries_fit_in_one_budget(query, least):
    """32 counts fit in the plain sum, and 46, 650, 1937 and 620 in the best single orders."""
    budget = filter_budget(dp.epsilon(3.2, delta=1e-6))
    price = charges(query, budget.measure)
    total = [tuple(count * part for part in price) for count in (least, 2 * least)]
    assert [budget.measure.within(each, budget.loss) for each in total] == [True, False]


@pytest.mark.parametrize("rho", [Fraction(1, 10**4), Fraction(1, 100), Fraction(1, 2)])
@pytest.mark.parametrize(
    "counted",
    [filter_budget(dp.epsilon(3.2, delta=1e-6)), count_without_end(Fraction(1, 10**6))],
    ids=["session", "meter"],
)
def test_what_was_reached_is_no_less_than_the_truth_and_near_it(counted, rho):
    """Of Gaussian noise alone the exact curve is known."""
    loss = charges(SUM >> dp.gaussian(rho=rho), counted.measure)
    epsilon, delta = counted.reach(loss)
    assert delta == Fraction(1, 10**6)
    truth = dp.mu(math.sqrt(2 * rho)).epsilon(1e-6)
    assert truth <= epsilon <= 1.2 * dp.rho(rho).epsilon(1e-6) + 0.5


def test_what_a_release_costs_adds_up_to_what_was_reached():
    counted = filter_budget(dp.epsilon(3.2, delta=1e-6))
    measure, total, costs = counted.measure, counted.measure.zero(), []
    for query in [dp.count() >> dp.laplace(epsilon=0.1), SUM >> dp.gaussian(rho=0.01)] * 3:
        price = charges(query, measure)
        costs.append(counted.cost(price, total))
        total = measure.compose([total, price])
    summed = tuple(map(sum, zip(*costs, strict=True)))
    assert summed == counted.reach(total)


@pytest.mark.parametrize("spent", [0, 3, 31, 40, 44])
def test_what_is_left_is_paid_for(spent):
    """The largest epsilon that one more release may have; a little more is refused."""
    counted = filter_budget(dp.epsilon(3.2, delta=1e-6))
    measure = counted.measure
    total = tuple(spent * part for part in measure.loss((Fraction(1, 10), 0)))
    epsilon, delta = measure.typed(measure.left(counted.loss, total))
    assert delta == Fraction(1, 8 * 10**6)
    assert 0 < delta < Fraction(1, 10**6)
    for share, fits in ((1, True), (4, False)):
        price = measure.loss((share * epsilon, 0))
        assert measure.within(measure.compose([total, price]), counted.loss) is fits


def test_parts_and_larger_budgets_are_budgets_of_their_own():
    counted = filter_budget(dp.epsilon(3.2, delta=1e-6), 4e-7)
    parts = counted.measure.split(counted.loss, (Fraction(1, 2),) * 2)
    half = filter_budget(dp.epsilon(1.6, delta=5e-7), 2e-7)
    assert parts[0] == parts[1] == counted.measure.divide(*half.stated.loss, Fraction(2, 10**7))
    larger = counted.measure.enlarge(counted.loss, (Fraction(4), Fraction(1, 10**5)))
    assert counted.measure.stated(larger)[1] == (4, Fraction(1, 10**5))
    assert larger[1] == Fraction(4, 10**6)
    with pytest.raises(dp.ParameterError, match="at most 4294967296"):
        counted.measure.enlarge(counted.loss, (Fraction(2**65), Fraction(1, 10**5)))
    assert all(a <= b for a, b in zip(counted.loss, larger, strict=True))


def test_budgets_of_other_measures_count_as_they_are_typed():
    for budget in (dp.epsilon(1), dp.rho(1), dp.mu(1)):
        assert filter_budget(budget) == budget
    whole = dp.epsilon(1, delta=1e-6)
    assert filter_budget(whole, 1e-6) == whole
    for wrong, words in ((dp.rho(1), "got a budget of rho = 1 zCDP"), (whole, "from 0 to 1e-06")):
        with pytest.raises(dp.ParameterError, match=words):
            filter_budget(wrong, 1e-5)


@pytest.mark.parametrize(
    "weights", [{}, {1: 0.5}, {1 + 1e-9: 0.5}, {2: 0}, {2: 0.6, 3: 0.5}, {2: -1}, "ab", None]
)
def test_weights_are_those_of_a_filter(weights):
    with pytest.raises(dp.ParameterError, match="Renyi divergences"):
        RenyiDivergence(weights)


def test_limits_that_were_made_by_hand_count_as_the_pair_that_they_show():
    """A limit of 1000 of an order would let a session answer at an epsilon of 500."""
    measure = RenyiDivergence({2: 1})
    limits = (Fraction(1), Fraction(0), Fraction(1, 10**6), Fraction(1000))
    budget = dp.measures.PrivacyBudget(measure, limits)
    assert filter_budget(budget) == filter_budget(dp.epsilon(1, delta=1e-6))
    assert budget.by_name() == {"epsilon": 1, "delta": 1e-6}
    program = dp.adaptive(lambda ask: ask.left, budget)
    assert program.map(1) == (1, 1e-6)
    assert (dp.records() >> program).output_measure == dp.ApproximateDivergence()
    group = measure.group(limits, 3)
    whole = dp.ApproximateDivergence().group((Fraction(1), Fraction(1, 10**6)), 3)
    assert (group[0], group[1] + group[2]) == whole


def test_weights_are_written_as_they_are():
    measure = RenyiDivergence({Fraction(7, 3): Fraction(1, 7), 2: 0.5})
    assert eval(repr(measure), {"dp": dp, "Fraction": Fraction}) == measure
    assert RenyiDivergence.of_detail(measure.detail) == measure
