"""Releases by group: what they are, what they cost, and how far neighbours move them."""

import json
import pickle
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np
import pandas as pd
import polars as pl
import pytest

import opendp_lite as dp
from opendp_lite.combinators.losses_of_samples import LossOfGroups
from opendp_lite.measurements.noise import LaplaceProfile
from opendp_lite.measures.curve import curve_of, curved_pair
from opendp_lite.measures.profile import ConcentratedProfile, GaussianProfile, PureProfile
from opendp_lite.numbers.norms import Norms
from tests.opened import Opened

NAN = float("nan")
Table = dp.Space[dp.Rows]
CHANGE, APPROXIMATE = dp.ChangeOneDistance(), dp.ApproximateDivergence()
ZCDP = dp.ZeroConcentratedDivergence()
SPACE = dp.records(columns=["key", "x"])
FIXED = dp.records(columns=["key", "x"], size=9, metric=CHANGE)
X = dp.select("x")
SUM = X >> dp.clamp(-1, 3) >> dp.sum()
MEDIAN = dp.private_quantile(0.5, bounds=(0, 9), epsilon=1, confidence=None)
SURE = 1e9
"""A loss at which noise is far below the digits that are compared."""
COUNT = dp.count() >> dp.laplace(epsilon=SURE)
TABLE = {"key": ["b", "a", None, "b", "?", "a", "b"], "x": [1.0, 2.0, 3.0, NAN, 2.5, -7.0, 0.25]}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("rows", [5, 5000, 40_000])
def test_sums_of_groups_are_exact_beyond_64_bits(rows, sign):
    """Between bounds as close as these a step is so small that int64 holds the sum of few rows."""
    each = dp.select("x") >> dp.clamp(*sorted([sign, sign * (1 + 2**-30)])) >> dp.sum()
    data = {"k": np.arange(4 * rows) % 4, "x": np.tile([sign, sign * 1.5, 0.0, np.nan], rows)}
    found = dp.combinators.group_by("k", [0, 1, 2, 3, 4], each)(data)
    assert found.tolist() == [sign * rows, sign * rows * (1 + 2**-30), sign * rows, 0, 0]
    counted = dp.combinators.group_by("k", [1, 3, 4], dp.select("x") >> dp.count())(data)
    assert counted.tolist() == [rows, 0, 0]


def test_each_group_has_its_own_release():
    keys = ["a", "b", "c", None]
    found = dp.by("key", keys, SUM >> dp.laplace(epsilon=SURE), other="rest")(TABLE)
    assert list(found) == [*keys, "rest"]
    expected = {"a": 1, "b": 1.25, "c": 0, None: 3, "rest": 2.5}
    for key, total in expected.items():
        assert found[key] == pytest.approx([total], abs=1e-4)
    counts = dp.by("key", keys, COUNT, other="rest")(TABLE)
    assert dict(counts) == {"a": 2, "b": 3, "c": 0, None: 1, "rest": 1}
    present = dp.by("key", ["b"], X >> COUNT)(TABLE)
    assert dict(present) == {"b": 2}


def test_several_columns_make_a_group_of_each_combination():
    table = {"sex": ["f", "m", "f", "?"], "school": [1, 2, 2, 1]}
    keys = [["f", "m"], [1, 2]]
    counted = dp.by(["sex", "school"], keys, COUNT)
    assert dict(counted(table)) == {("f", 1): 1, ("f", 2): 1, ("m", 1): 0, ("m", 2): 1}


TWO = ["sex", "city"]
ROWS = [("f", "Rome"), ("m", None), ("m", "Rome")]
TWO_COLUMNS = {
    "sex": ["f", "m", "f", "m", "?", "f", None],
    "city": ["Rome", None, "Oslo", "Rome", "Rome", "Rome", "Rome"],
    "x": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0],
}


def test_tuples_are_the_groups_and_there_are_no_others():
    frame = pl.DataFrame(TWO_COLUMNS)
    bounded, noisy = X >> dp.clamp(0, 99), dp.sum() >> dp.laplace(epsilon=SURE)
    for pipeline, found in (
        (COUNT, [2, 1, 1]),
        (bounded >> noisy, [33, 2, 8]),
        (bounded >> dp.resize(5, 0) >> noisy, [33, 2, 8]),
    ):
        for data in (TWO_COLUMNS, dp.Blocks(lambda: [frame[:3], frame[3:]])):
            released = dp.by(TWO, ROWS, pipeline)(data)
            assert list(released) == ROWS
            assert np.hstack(list(released.values())) == pytest.approx(found, abs=1e-4)


def test_tuples_cost_what_their_groups_do():
    """A row is in one group: not in two of six, and the map knows how many there are."""
    replaced = dp.records(columns=[*TWO, "x"], size=9, metric=CHANGE)
    for keys, cost in ((ROWS[:1], 1.0), (ROWS, 2.0)):
        counts = dp.by(TWO, keys, dp.count() >> dp.laplace(scale=1))
        assert (counts.map(1), (replaced >> counts).map(1)) == (1.0, cost)
    counts = dp.combinators.group_by(TWO, [(0, 1), (1, 0), (1, None)], dp.count())
    dp.assert_stable(counts, dp.records(columns=TWO, size=5, metric=CHANGE))


def test_tuples_and_lists_stay_apart_wherever_a_pipeline_goes():
    """In copies, in JSON, in text, and inside a step of a person's own."""

    @dp.mechanism
    def table(space: dp.Space[dp.Tables], *keys: object) -> dp.Measurement:
        return space >> dp.by(TWO, list(keys), COUNT)

    pairs = [("f", "m"), ("Rome", "Oslo")]
    lists = list(map(list, pairs))
    for keys, names in ((pairs, pairs), (lists, list(product(*pairs)))):
        pipeline = dp.by(TWO, keys, COUNT)
        assert f"{TWO}, {keys}, " in repr(pipeline)
        for again in (
            pickle.loads(pickle.dumps(pipeline)),
            dp.from_json(pipeline.to_json()),
            table(*keys),
            dp.from_json(table(*keys).to_json(), extra=[table]),
        ):
            assert list(again(TWO_COLUMNS)) == names
    same, other = (dp.by(TWO, keys, dp.count() >> dp.laplace(epsilon=1)) for keys in (pairs, lists))
    assert same != other
    assert same == dp.by(TWO, tuple(pairs), dp.count() >> dp.laplace(epsilon=1))
    assert other == dp.by(TWO, np.array(pairs), dp.count() >> dp.laplace(epsilon=1))


def test_the_keys_of_a_table_of_counts_are_tuples():
    counts = dp.histogram(TWO, epsilon=30, delta=0.3)(dp.Blocks(lambda: [TWO_COLUMNS]))
    chosen = dp.by(TWO, list(counts), COUNT)
    assert list(chosen(TWO_COLUMNS)) == list(counts)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ([["f", "m"], ("Rome", "Oslo")], "all lists, or all tuples"),
        ([("f", "Rome"), ["m", "Rome"]], "all lists, or all tuples"),
        (["f", "m"], "all lists, or all tuples"),
        ([["f", "Rome"], ["m", "Rome"], ["f", "Oslo"]], "as many lists of keys; got 3"),
        ([("f", "Rome", 3), ("m", "Rome", 1)], "a key for each of 2 columns; number 1 .* has 3"),
        ([("f", "Rome"), ("m", "Rome"), ("f", "Rome")], "number 3 of the list repeats one"),
        ([(1, "Rome"), (1.0, "Rome")], "number 2 of the list repeats one"),
        ([("f", object()), ("m", "Rome")], "got a value of type object"),
        ({"sex": ["f"], "city": ["Rome"]}, "columns first"),
    ],
)
def test_keys_that_could_mean_two_things_are_refused_before_anything_is_spent(keys, words):
    session = dp.session(TWO_COLUMNS, budget=dp.epsilon(1))
    with pytest.raises(dp.ParameterError, match=words) as refused:
        session(dp.by(TWO, keys, dp.count() >> dp.laplace(epsilon=1)))
    assert session.spent == 0
    if "repeats" not in words and "type" not in words:
        for form in ("[['f', 'm'], ['Rome', 'Oslo']]", "[('f', 'Rome'), ('m', 'Oslo')]"):
            assert form in str(refused.value)


PIPELINES = [
    X >> dp.mean(0, 10, epsilon=SURE, confidence=None),
    X >> dp.mean(0, 10, rho=SURE, confidence=None),
    X >> dp.private_quantile([0.2, 0.9], bounds=(0, 10), epsilon=1e5, confidence=None),
    X >> dp.private_quantile(0.5, candidates=[0, 2.5, 10], epsilon=1e5, confidence=None),
    X >> dp.clamp(0, 9) >> dp.resize(50, fill=0) >> dp.sum() >> dp.laplace(epsilon=SURE),
    dp.compose(SUM >> dp.gaussian(rho=SURE), dp.count() >> dp.gaussian(rho=SURE)),
    dp.keep("x", between=(2, 8)) >> COUNT,
    X
    >> dp.drop_nan()
    >> dp.transformations.square()
    >> dp.clamp(0, 50)
    >> dp.sum()
    >> dp.gaussian(rho=SURE),
]


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda each: repr(each)[:60])
def test_a_group_is_released_as_if_it_was_alone(pipeline):
    random = np.random.default_rng(5)
    table = {"key": random.choice([1.0, 2.0, 5.0, NAN], 3000), "x": random.normal(4, 2, 3000)}
    table["x"][::50] = NAN
    found = (SPACE >> dp.by("key", [1, 2], pipeline))(table)
    for key in (1, 2):
        inside = table["key"] == key
        alone = (SPACE >> pipeline)({name: each[inside] for name, each in table.items()})
        assert type(found[key]) is type(alone)
        flat = [np.hstack(np.array(each, dtype=object).ravel()) for each in (found[key], alone)]
        assert flat[0].astype(float) == pytest.approx(flat[1].astype(float), abs=0.02)


@pytest.mark.parametrize("groups", [1, 3, 500])
@pytest.mark.parametrize("body", [dp.clamp(-1, 3), dp.clamp(0.1, 0.3), dp.clip_to_norm(1e-200)])
def test_sums_by_group_are_the_exact_sums_of_the_groups(groups, body):
    random = np.random.default_rng(groups)
    table = {"key": random.integers(0, groups + 1, 200_000), "x": random.normal(0, 2, 200_000)}
    table["x"][::7] = NAN
    aggregate = X >> body >> dp.sum()
    all_at_once = dp.combinators.group_by("key", range(groups), aggregate)(table)
    for key in range(min(groups, 5)):
        inside = table["key"] == key
        alone = (SPACE >> aggregate)({name: each[inside] for name, each in table.items()})
        assert all_at_once[key] == alone[0]


@pytest.mark.parametrize("size", [None, 11])
@pytest.mark.parametrize(
    "aggregate", [SUM, dp.count(), X >> dp.count(), X >> dp.clamp(0, 4) >> dp.sum()], ids=repr
)
def test_aggregates_by_group_are_stable(aggregate, size):
    names = ["key", "x"]
    space = SPACE if size is None else dp.records(columns=names, size=size, metric=CHANGE)
    for keys in ([0, 1], [-1, None, 0.5]):
        step = dp.combinators.group_by("key", keys, aggregate, other="rest")
        dp.assert_stable(step, space, trials=6)


@pytest.mark.parametrize(("lower", "upper"), [(-2, 2), (0, 4), (-1, 3), (1, 3), (-5, -4)])
def test_a_replaced_row_moves_the_groups_as_far_as_the_map_says(lower, upper):
    """Brute force over rows at the bounds, in two groups, in none, and without a value."""
    space = dp.records(columns=["key", "x"], size=1, metric=CHANGE)
    sums = space >> dp.combinators.group_by("key", [0, 1], X >> dp.clamp(lower, upper) >> dp.sum())
    rows = list(product([0.0, 1.0, 9.0], [lower, upper, NAN]))
    gaps = [np.subtract(sums([r]), sums([s])) for r, s in product(rows, repeat=2)]
    radius, width = max(abs(lower), abs(upper)), upper - lower
    claimed = sums.map(1)
    assert claimed.l1 == max(abs(gap).sum() for gap in gaps) == 2 * radius
    assert claimed.l2_squared == max(2 * radius**2, width**2)
    assert max((gap**2).sum() for gap in gaps) == claimed.l2_squared
    assert claimed.linf == max(radius, width) == max(abs(gap).max() for gap in gaps)


@pytest.mark.parametrize(
    ("space", "keys", "rows", "moved"),
    [(FIXED, [0], 1, 4), (SPACE, [0, 1], 1, 3), (SPACE, [0, 1], 5, 15)],
)
def test_one_group_is_left_or_changed(space, keys, rows, moved):
    sums = space >> dp.combinators.group_by("key", keys, SUM)
    assert sums.map(rows) == Norms(l1=moved, linf=moved)
    dp.assert_stable(sums, trials=24)


@pytest.mark.parametrize(
    "aggregate",
    [
        X >> dp.clamp(0, 9) >> dp.resize(5, 0) >> dp.sum(),
        X >> dp.clamp(0, 9) >> dp.transformations.magnitude_counts(-2, 4),
    ],
    ids=repr,
)
def test_of_what_is_not_known_to_add_rows_up_a_replaced_row_is_two_rows(aggregate):
    step = dp.combinators.group_by("key", [0, 1], aggregate)
    assert (FIXED >> step).map(1) == (SPACE >> step).map(2)


def test_noise_costs_what_the_sensitivity_of_all_groups_says():
    incomes = X >> dp.clamp(0, 100) >> dp.sum()
    for keys in ([0, 1], range(50)):
        free = dp.by("key", keys, incomes >> dp.gaussian(scale=100))
        assert free.map(1) == 0.5
        assert (FIXED >> free).map(1) == 1.0
        assert free.epsilon(1e-6) == (incomes >> dp.gaussian(scale=100)).epsilon(1e-6)
        counts = dp.by("key", keys, dp.count() >> dp.laplace(scale=1))
        assert (counts.map(1), (FIXED >> counts).map(1)) == (1.0, 2.0)
    for budget, spent in ((dp.epsilon(1), 1), (dp.rho(0.1), 0.1), (dp.epsilon(1, 1e-6), (1, 1e-6))):
        assert dp.by("key", [0, 1], X >> dp.mean(0, 1, budget, confidence=None)).map(1) == spent


def test_a_replaced_row_costs_two_changes():
    """For mechanisms that are no noise on a sum: a row goes out of one group and into another."""
    median = dp.by(
        "key", [0, 1], X >> dp.private_quantile(0.5, bounds=(0, 9), epsilon=1, confidence=None)
    )
    assert (FIXED >> median).map(1) == 1.0
    assert median.map(1) == 1.0
    assert median.map(3) == 3.0
    gaussian = dp.by("key", [0, 1], dp.compose(SUM >> dp.gaussian(rho=1)))
    assert (gaussian.map(0), gaussian.map(1), gaussian.map(3)) == (0.0, 1.0, 9.0)
    assert (FIXED >> gaussian).map(1) == 1.0


def parted(rows: int, groups: int, most: int) -> Iterator[tuple[int, ...]]:
    """All ways to part rows among so many groups, whose order does not matter."""
    if groups == 0 or rows == 0:
        yield from [()] if rows == 0 else []
        return
    for first in range(min(rows, most), 0, -1):
        yield from ((first, *rest) for rest in parted(rows - first, groups - 1, first))


@pytest.mark.parametrize("groups", [1, 2, 3, 9])
@pytest.mark.parametrize("changes", range(1, 7))
@pytest.mark.parametrize(
    "loss",
    [
        lambda rows: Fraction(rows),
        lambda rows: Fraction(rows) ** 2,
        lambda rows: Fraction(1) if rows else Fraction(0),
        lambda rows: Fraction(rows).limit_denominator() ** 2 if rows > 2 else Fraction(3 * rows),
    ],
)
def test_the_worst_way_to_part_rows_among_groups(loss, changes, groups):
    """Against all ways, one by one; of orders no shares are known, and k rows are k at most."""
    ways = parted(changes, groups, changes)
    expected = max(sum(map(loss, way)) for way in ways)
    found = LossOfGroups(ZCDP, lambda rows: loss(int(rows)), groups)
    assert found.of(changes) == expected
    orders = dp.measures.RenyiDivergence({8: 1})
    charged = LossOfGroups(orders, lambda rows: orders.loss((loss(int(rows)), 0)), groups)
    assert charged.of(changes)[0] == (expected if groups == 1 else min(expected, changes * loss(1)))


def worst_sum(loss: Callable[[int], int], rows: int, groups: int) -> int:
    """That of the worst way to part the rows, by all ways for half of the groups and the rest."""
    alone = np.array([loss(each) for each in range(rows + 1)])
    found = None
    for bit in f"{min(groups, rows):b}":
        for more in ([] if found is None else [found], [alone] if bit == "1" else []):
            for other in more:
                first = np.zeros(rows + 1, dtype=alone.dtype) if found is None else found
                found = np.array([(first[: n + 1] + other[n::-1]).max() for n in range(rows + 1)])
    return int(found[-1])


@pytest.mark.parametrize("groups", [2, 20, 2**16])
@pytest.mark.parametrize("changes", [33, 700])
@pytest.mark.parametrize(
    ("measure", "loss"),
    [
        (dp.MaxDivergence(), lambda rows: min(rows, 1)),
        (dp.MaxDivergence(), lambda rows: min(rows, 8)),
        (dp.MaxDivergence(), lambda rows: min(rows, 500)),
        (dp.MaxDivergence(), isqrt),
        (ZCDP, lambda rows: 10 * min(rows, 1) + rows),
        (ZCDP, lambda rows: min(rows, 30) ** 2),
        (ZCDP, lambda rows: 500 * (rows >= 333) + min(rows, 1)),
    ],
)
def test_many_rows_cost_what_the_worst_way_to_part_them_does(measure, loss, changes, groups):
    """Of losses that grow with the rows, do not, or do so up to a cap."""
    worst = worst_sum(loss, changes, groups)
    found = LossOfGroups(measure, lambda rows: Fraction(loss(int(rows))), groups).of(changes)
    least = measure.group(Fraction(loss(1)), changes)
    assert min(worst, least) <= Fraction(found) <= min(worst, least) * Fraction(105, 100)


PEOPLE = dp.records(columns=["id", "key", "x"], person="id")
REPLACED = dp.records(columns=["key", "x"], size=100, metric=CHANGE)


def nothing(ask: object) -> None:
    """A program that asks nothing costs its budget all the same."""


@pytest.mark.parametrize("rows", [16, 17, 50, 1000])
@pytest.mark.parametrize(
    ("program", "losses"),
    [
        (dp.mean(rho=0.5, confidence=None), (0.5, 2.0)),
        (dp.adaptive(nothing, dp.rho(0.5)), (0.5, 2.0)),
        (dp.variance(0, 1, epsilon=1, confidence=None), (1.0, 2.0)),
    ],
    ids=repr,
)
def test_a_person_costs_what_was_typed_however_many_rows_and_groups(program, losses, rows):
    grouped = PEOPLE >> dp.bound_contributions(rows) >> dp.by("key", range(3), X >> program)
    one, two = losses
    assert grouped.map(1) == one
    assert two is None or grouped.map(2) == two


def test_replaced_rows_cost_what_they_cost_in_one_group():
    """Nine rows in one group count as eighteen that come or go, at 0.5 for two: 9^2 times that."""
    grouped = REPLACED >> dp.by("key", [0, 1], X >> dp.variance(0, 1, rho=0.5, confidence=None))
    assert [grouped.map(rows) for rows in (1, 8, 9)] == [0.5, 32.0, 40.5]


@pytest.mark.parametrize(
    ("rows", "people", "groups"), [(16, 1, 3), (17, 1, 3), (17, 2, 3), (50, 2, 1), (50, 1, 40)]
)
def test_epsilon_and_delta_are_above_the_curve_of_all_rows_in_one_group(rows, people, groups):
    """The worst way to part rows among Gaussians: in one group all of them move one sum."""
    pipeline = X >> dp.mean(0, 1, epsilon=1, delta=1e-6, confidence=None)
    chosen = PEOPLE >> dp.bound_contributions(rows)
    grouped = chosen >> dp.by("key", range(groups), pipeline)
    alone = curve_of((chosen >> pipeline).privacy_map(Fraction(people)))
    epsilon, delta = grouped.privacy_map(Fraction(people))
    assert alone.delta(epsilon) <= delta
    assert epsilon < 2.5 * people
    assert delta <= 2 * groups * Fraction(1, 10**6)


@pytest.mark.parametrize("rows", [3, 16, 17, 50])
def test_a_pair_of_groups_is_a_point_of_its_own_curve(rows):
    """The deltas of three groups add up to 3e-6, and the curve of all has 1e-6 there."""
    pipeline = X >> dp.mean(0, 1, epsilon=1, delta=1e-6, confidence=None)
    grouped = PEOPLE >> dp.bound_contributions(rows) >> dp.by("key", range(3), pipeline)
    epsilon, delta = grouped.privacy_map(Fraction(1))
    assert grouped.privacy_profile(1).delta(epsilon) <= delta
    assert grouped.map(1) == (1.0, 1e-6)


@pytest.mark.parametrize(("rows", "groups"), [(3, 3), (1000, 2**16)])
@pytest.mark.parametrize(
    "pipeline",
    [
        dp.mean(0, 1, epsilon=1, delta=1e-6, confidence=None),
        dp.variance(0, 1, epsilon=1, delta=1e-6, confidence=None),
        MEDIAN >> dp.to_approximate(1e-6),
        dp.private_quantile(0.5, bounds=(0, 9), rho=0.03, confidence=None)
        >> dp.to_approximate(1e-3),
        dp.compose(*[MEDIAN, dp.count() >> dp.laplace(epsilon=0.1)] * 5) >> dp.to_approximate(1e-6),
        dp.compose(MEDIAN),
    ],
    ids=repr,
)
def test_groups_cost_what_all_rows_in_one_group_do(pipeline, rows, groups):
    """However many rows of a person are in however many groups: at the delta that was typed."""
    chosen = PEOPLE >> dp.bound_contributions(rows)
    alone = chosen >> X >> pipeline
    grouped = chosen >> dp.by("key", range(groups), X >> pipeline)
    assert grouped.map(1) == pytest.approx(alone.map(1), rel=1e-9)
    for delta in (1e-3, 1e-9):
        assert grouped.epsilon(delta) == pytest.approx(alone.epsilon(delta), rel=1e-9)


def test_groups_that_lose_the_same_by_any_rows_have_the_curve_of_so_many_releases():
    """And not that of a thousand times the epsilon."""
    found = LossOfGroups(dp.MaxDivergence(), lambda rows: Fraction(rows > 0, 100), 2**16).of(1000)
    truth = dp.compose(*[dp.count() >> dp.laplace(epsilon=0.01)] * 1000)
    assert found == 10
    assert dp.MaxDivergence().profile(found).epsilon(Fraction(1, 10**6)) == (
        pytest.approx(truth.epsilon(1e-6), rel=1e-3)
    )


def leaked(rows: Fraction) -> tuple[Fraction, Fraction]:
    """Randomised response that tells the truth now and then, whatever is known beside."""
    return rows / 20, Fraction(rows > 0, 1000)


def of_laplace(rows: Fraction) -> tuple[Fraction, Fraction]:
    curve = LaplaceProfile(rows / 10)
    return curved_pair((curve.epsilon(Fraction(1, 100)), Fraction(1, 100)), curve)


def of_gaussian(rows: Fraction) -> tuple[Fraction, Fraction]:
    curve = GaussianProfile(rows**2 / 900)
    return curved_pair((curve.epsilon(Fraction(1, 100)), Fraction(1, 100)), curve)


def of_a_cap(rows: Fraction) -> tuple[Fraction, Fraction]:
    """One row loses as much as eight."""
    return of_laplace(Fraction(8 * -(-rows // 8)))


@pytest.mark.parametrize("loss", [leaked, of_laplace, of_gaussian, of_a_cap])
@pytest.mark.parametrize(("changes", "groups"), [(2, 2), (5, 3), (17, 2), (17, 3), (26, 2)])
def test_a_pair_holds_for_each_way_to_part_the_rows(loss, changes, groups):
    """By the composed curve of the groups of each way."""
    epsilon, delta = LossOfGroups(APPROXIMATE, loss, groups).of(changes)
    for way in parted(changes, groups, changes):
        together = APPROXIMATE.together([loss(Fraction(rows)) for rows in way])
        true = APPROXIMATE.profile(together).delta(epsilon)
        assert true <= delta * (1 + Fraction(1, 10**6))


def test_a_curve_of_one_row_gives_that_of_many_in_many_groups():
    """Against the laws: k groups with one row each, and one group with all of them."""
    one = (Fraction(1, 10), Fraction(1, 10**6))
    for curve, whole in (
        (GaussianProfile(Fraction(1, 100)), lambda k: GaussianProfile(Fraction(k * k, 100))),
        (
            ConcentratedProfile(Fraction(1, 200)),
            lambda k: ConcentratedProfile(Fraction(k * k, 200)),
        ),
        (PureProfile(Fraction(1, 10)), lambda k: PureProfile(Fraction(k, 10))),
    ):
        for size in (2, 5):
            pair = (whole(size).epsilon(one[1]), one[1])
            found = APPROXIMATE.spread(curved_pair(one, curve), pair, size)
            assert found == pair
            assert curve_of(found).delta(Fraction(1, 3)) >= whole(size).delta(Fraction(1, 3))
    pair = Fraction(1, 5), Fraction(1, 10**6)
    assert APPROXIMATE.spread(one, pair, 2) == APPROXIMATE.group(one, 2)
    assert dp.MaxDivergence().spread(Fraction(1), Fraction(2), 2) == 2


def test_many_rows_cost_what_the_law_of_groups_says():
    pure = dp.by(
        "key", [0, 1], X >> dp.private_quantile(0.5, bounds=(0, 9), epsilon=1, confidence=None)
    )
    assert pure.map(100) == 100.0
    zcdp = dp.by(
        "key", [0, 1], X >> dp.private_quantile(0.5, bounds=(0, 9), rho=1, confidence=None)
    )
    assert zcdp.map(2) == 4.0
    # No rho is above the pure loss.
    assert zcdp.map(100) < 283
    assert (
        dp.by("key", [0], X >> dp.mean(0, 1, epsilon=1, delta=1e-9, confidence=None)).map(2)[0] >= 2
    )


def test_the_curve_of_gaussians_is_kept():
    program = dp.compose(SUM >> dp.gaussian(rho=1), dp.count() >> dp.gaussian(rho=1))
    found = dp.by("key", [0, 1, 2], program)
    assert found.epsilon(1e-6) == program.epsilon(1e-6)
    assert found.epsilon(1e-6, d_in=2) == program.epsilon(1e-6, d_in=2)


def test_conversions_and_functions_after_noise_are_for_each_group():
    def doubled(value: float) -> float:
        return 2 * value

    pipeline = COUNT >> dp.to_approximate(1e-6) >> doubled
    found = dp.by("key", ["a"], pipeline)
    assert found.output_measure == dp.ApproximateDivergence()
    assert dict(found(TABLE)) == {"a": 4}
    mean = dp.by("key", ["a"], X >> dp.mean(0, 9, epsilon=SURE, confidence=None) >> doubled)
    assert mean(TABLE)["a"] == pytest.approx(2, abs=1e-4)


def test_people_see_a_table_and_programs_get_json():
    found = dp.by(
        "key", ["a", None], X >> dp.mean(0, 9, epsilon=1, confidence=0.95, sampling=False)
    )(TABLE)
    lines = str(found).splitlines()
    assert lines[0].split()[:4] == ["key", "value", "95", "%"]
    assert [line.split()[0] for line in lines[1:]] == ["a", "missing"]
    assert "missing" in found._repr_html_()
    assert set(json.loads(json.dumps(found.as_dict()))["a"]) >= {"value", "interval"}
    with pytest.raises(dp.ParameterError, match="there is no group 'x'; there are 'a', None"):
        found["x"]


def test_what_takes_several_lines_is_shown_below_its_key():
    mechanism = dp.histogram("age", edges=[0, 50, 100], epsilon=1)
    lines = repr(dp.by("sex", ["f", None], mechanism)({"sex": ["f"], "age": [3]})).splitlines()
    assert lines[:2] == ["sex", "f"]
    below = [line for line in lines[2:] if line != "missing"]
    assert len(below) < len(lines) - 2
    assert {line[:2] for line in below} == {"  "}


def test_nothing_about_values_shows_in_what_is_released():
    pipeline = dp.by("key", ["a", "b"], X >> dp.mean(0, 9, epsilon=1, confidence=None))
    for data in (
        {"key": [], "x": []},
        {"key": ["z"], "x": [NAN]},
        {"key": [None, "a"], "x": [np.inf, 1]},
    ):
        found = pipeline(data)
        assert list(found) == ["a", "b"]
        assert all(type(each) is float and 0 <= each <= 9 for each in found.values())


def test_one_pass_over_the_data():
    rows = Opened({"key": ["a", "b"], "x": [1.0, 2.0]}, columns=None)
    dp.by("key", ["a", "b", "c"], X >> dp.mean(0, 9, epsilon=1, confidence=None))(rows.blocks)
    assert rows.times == 1


def test_releases_of_several_columns_share_one_pass():
    rows = Opened({"key": ["a", "b"], "x": [1.0, 2.0], "y": [3.0, NAN]}, columns=None)
    several = dp.compose(
        SUM >> dp.laplace(epsilon=SURE),
        dp.select("y", "x") >> dp.clamp(0, 9) >> dp.sum() >> dp.laplace(epsilon=SURE),
        COUNT,
        dp.keep("key", among=["b"]) >> dp.select("x") >> COUNT,
        dp.by("key", ["a", "b"], dp.select("y") >> COUNT),
    )
    total, both, count, kept, groups = several(rows.blocks)
    assert rows.times == 1
    assert [*total, *both] == pytest.approx([3, 3, 1], abs=1e-4)
    assert (count, kept, dict(groups)) == (2, 1, {"a": 1, "b": 0})


def test_explain_shows_the_steps_of_a_group():
    text = dp.by("key", ["a"], SUM >> dp.gaussian(rho=1)).explain()
    for step in ("dp.select('x')", "dp.clamp(-1, 3)", "dp.sum()", "dp.gaussian(rho=1)", "dp.by("):
        assert step in text


KEYED = {"key": ["a", "b", "a", "c", "b", "a"], "x": [1.0, 2.0, 3.0, 4.0, NAN, 5.0]}
READING_THE_KEY = [
    dp.select("key") >> dp.one_hot(["a", "b"]) >> dp.resize(9, 0) >> dp.sum(),
    dp.select("key") >> dp.one_hot(["a", "b"]) >> dp.sum(),
    dp.select("key") >> dp.count(),
]


@pytest.mark.parametrize("aggregate", READING_THE_KEY, ids=repr)
def test_a_group_is_its_rows_alone_when_the_key_is_read_too(aggregate):
    grouped = dp.combinators.group_by("key", ["a", "b"], aggregate)(KEYED)
    for place, key in enumerate("ab"):
        rows = {
            name: np.array(KEYED[name], object)[np.array(KEYED["key"]) == key] for name in KEYED
        }
        alone = np.ravel((dp.table() >> aggregate)(rows))
        assert np.ravel(grouped)[place * len(alone) : (place + 1) * len(alone)].tolist() == (
            alone.tolist()
        )


def test_groups_in_groups_are_apart():
    inner = dp.by("key", ["a", "b"], COUNT)
    for pipeline in (inner, dp.compose(inner)):
        found = dp.by("key", ["a", "b"], pipeline)(KEYED)
        counts = {key: dict(found[key] if pipeline is inner else found[key][0]) for key in "ab"}
        assert counts == {"a": {"a": 3, "b": 0}, "b": {"a": 0, "b": 2}}


def _ask(inner):
    return dp.adaptive(lambda ask: ask(inner), budget=dp.epsilon(SURE))


@pytest.mark.parametrize(
    "around",
    [lambda inner: inner, _ask, lambda inner: dp.sample(0.5, inner)],
    ids=["by", "ask", "sample"],
)
@pytest.mark.parametrize(
    "inner", [X >> dp.variance(0, 9, epsilon=SURE), _ask(X >> COUNT)], ids=repr
)
def test_groups_in_groups_may_hold_what_needs_a_table(inner, around):
    """Each adds a column with its groups, which a table may have once: 0 rows gave a release."""
    query = dp.by(
        "key", ["a", "b"], around(dp.by("other", [0, 1], around(dp.by("key", ["a"], inner))))
    )
    rows = [{"key": "a", "other": n % 2, "x": 5.0} for n in range(8)]
    frame, empty = pd.DataFrame(rows), pd.DataFrame(rows[:0], columns=["key", "other", "x"])
    for data in (
        rows,
        rows[:1],
        [],
        frame,
        empty,
        pl.from_pandas(frame),
        dp.Blocks(lambda: [frame]),
    ):
        found = query(data)
        assert set(found) == {"a", "b"}
        assert set(found["a"][1]) == {"a"}


def test_rows_in_another_order_stay_in_their_groups():
    """A step of one's own may give rows back in any order; one row decides whether it does."""

    @dp.stage
    def outliers(
        space: dp.Space[dp.Rows],
    ) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Rows]]:
        def parts(block):
            return np.concatenate([block[block[:, 0] < -1], block[block[:, 0] > 1]])

        return dp.row_map(space, parts, space.domain.body, drops=True)

    sums = dp.combinators.group_by(
        "g", ["a", "b"], X >> dp.clamp(-10, 10) >> outliers() >> dp.sum()
    )
    data = {"g": ["a", "b"] * 50, "x": [10.0, -10.0] * 50}
    more = {"g": [*data["g"], "a"], "x": [*data["x"], 0.0]}
    assert sums(data).tolist() == sums(more).tolist() == [500, -500]


def test_noise_with_a_confidence_gives_an_estimate_for_each_group():
    counts = dp.by("key", ["a", "z"], dp.count() >> dp.laplace(epsilon=8, confidence=0.9))(KEYED)
    assert all(isinstance(each, dp.Estimate) for each in counts.values())
    assert counts["z"].interval[0] >= 0
    one = dp.by("key", ["a"], dp.count() >> dp.gaussian(rho=8, confidence=0.9))(KEYED)
    assert abs(one["a"].value - 3) < 5
    space = dp.records(columns=["key", "x", "y"])
    sums = (
        dp.select("x", "y") >> dp.clamp(0, 9) >> dp.sum() >> dp.laplace(epsilon=8, confidence=0.9)
    )
    found = (space >> dp.by("key", ["a", "b"], sums))({**KEYED, "y": [1.0] * 6})
    assert [len(each) for each in found.values()] == [2, 2]


def test_one_mechanism_composed_is_for_each_group():
    composed = dp.count() >> dp.compose(dp.laplace(epsilon=SURE))
    assert dict(dp.by("key", ["a", "b"], composed)(KEYED)) == {"a": (3,), "b": (2,)}


def test_keys_that_look_alike_are_kept_apart():
    found = dp.by("key", ["1", 1, None, "None"], dp.count() >> dp.laplace(epsilon=1))({"key": [1]})
    assert len(found.as_dict()) == 4
    assert found.get("x", 7) == 7
    assert ["1"] not in found


def test_keys_may_come_as_a_column():
    for keys in (
        pd.Series(["a", "b"]),
        pd.Index(["a", "b"]),
        pl.Series(["a", "b"]),
        np.array(["a", "b"]),
    ):
        pipeline = dp.by("key", keys, COUNT)
        assert dict(pipeline(KEYED)) == {"a": 3, "b": 2}
        assert pipeline == dp.by("key", ["a", "b"], COUNT)


def test_accuracy_of_histograms_and_compositions_by_group():
    """Each group has noise of its own: three groups of two bins are six entries."""
    bins = dp.histogram("x", edges=[0, 1, 2], epsilon=1)
    grouped = dp.by("key", ["a", "b", "c"], bins)
    assert grouped.accuracy(0.95) == bins.accuracy(0.95) == 3
    six = dp.histogram("x", edges=range(7), epsilon=1).accuracy(0.95, jointly=True)
    assert grouped.accuracy(0.95, jointly=True) == six == 5
    assert bins.accuracy(0.95, jointly=True) == 4
    both = dp.compose(rows=dp.count() >> dp.laplace(epsilon=0.5), bins=bins)
    assert dp.by("key", ["a", "b"], both).accuracy(0.95).tolist() == [6, 3]
    with pytest.raises(dp.SpaceError, match="accuracy"):
        dp.by("key", ["a"], dp.select("x") >> dp.mean(0, 1, epsilon=1, confidence=None)).accuracy(
            0.95
        )


def test_accuracy_is_known_before_anything_is_spent():
    counts = dp.count() >> dp.laplace(epsilon=1)
    assert dp.by("key", ["a", "b"], counts).accuracy(0.95) == counts.accuracy(0.95) == 3
    assert dp.histogram("key", categories=["a", "b"], epsilon=1).accuracy(0.95) == 3
    joint = dp.histogram("key", categories=range(16), epsilon=1).accuracy(0.95, jointly=True)
    assert joint > 3

    def doubled(count: int) -> int:
        return 2 * count

    with pytest.raises(dp.SpaceError, match="accuracy"):
        dp.by("key", ["a"], counts >> doubled).accuracy(0.95)
