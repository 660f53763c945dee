"""At most so many rows of a person: the coupling behind the loss, and who is a person."""

from collections import Counter
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import import_module
from itertools import combinations, permutations
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chi2

import opendp_lite as dp
from opendp_lite.engines.data.identities import Identities
from opendp_lite.engines.data.table import take
from opendp_lite.engines.rows import materialise
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.testing.stable import people_distance, symmetric_distance
from tests.exact_losses import lost

engine = import_module("opendp_lite.engines.sampling.chosen_rows")

NAN = float("nan")
NAMES = ["id", "city", "x"]
PEOPLE = dp.records(columns=NAMES, person="id")
ROWS = dp.records(columns=NAMES)
RATE = 1e-7
"""How often a chi-square test here would fail by chance; its seed is fixed as well."""
SUMMED = dp.select("x") >> dp.clamp(0, 1) >> dp.sum()


def kept(data, keys, step=None, space=PEOPLE, columns: int = 3) -> np.ndarray:
    """The rows that a step keeps, for given random words of the rows by their place."""
    bound = space >> (dp.bound_contributions(2) if step is None else step)
    table = bound.input_space.domain.to_internal(data)
    value = bound.function(attrs.evolve(table, keys=keys))
    return materialise(value.numbers()).reshape(-1, columns)


def by_place(words):
    """Keys for rows by their place in the data."""
    array = np.asarray(words, dtype=np.uint64)
    return lambda places: array[places]


@cache
def kept_by_order(name: str, stays: tuple[int, ...], order: tuple[int, ...], step, space):
    """Of some rows of a hostile table; of their random words only the order counts."""
    return kept(np.array(ADVERSARIAL[name], dtype=float)[list(stays)], by_place(order), step, space)


def orders_without(order: tuple[int, ...], stays: Iterable[int]):
    """The rows that stay, and how they follow each other."""
    places = tuple(stays)
    ranks = np.argsort(np.argsort([order[place] for place in places]))
    return places, tuple(ranks.tolist())


def drawn(seed: int, mask: int = 2**64 - 1):
    """Keys that are independent random words, of which only some bits differ."""
    entropy = InsecureSeededEntropy(seed)
    return lambda places: entropy.words(len(places)) & np.uint64(mask)


ADVERSARIAL = {
    "one person": [(1, 0, 1), (1, 0, 2), (1, 0, 3), (1, 1, 4), (1, 1, 5)],
    "equal rows": [(1, 0, 7), (1, 0, 7), (1, 0, 7), (2, 0, 7), (2, 0, 7)],
    "two people": [(1, 0, 1), (2, 0, 1), (1, 1, 2), (2, 1, 2), (1, 2, 3)],
    "nobody": [(NAN, 0, 1), (1, 0, 1), (NAN, 1, 1), (1, 0, 2), (1, 2, 3)],
    "many people": [(1, 0, 1), (2, 0, 1), (3, 0, 1), (3, 1, 2), (3, 1, 2)],
}


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_a_person_moves_at_most_its_rows_for_every_order_of_the_keys(name, rows):
    data = np.array(ADVERSARIAL[name], dtype=float)
    step, worst = dp.bound_contributions(rows), 0
    for order in permutations(range(len(data))):
        whole = kept(data, by_place(order), step)
        assert max(Counter(whole[:, 0].tolist()).values()) <= rows
        for person in np.unique(data[~np.isnan(data[:, 0]), 0]):
            others = np.flatnonzero(data[:, 0] != person).tolist()
            without = kept_by_order(name, *orders_without(order, others), step, PEOPLE)
            worst = max(worst, symmetric_distance(whole, without))
    assert worst == min(rows, max(Counter(data[:, 0].tolist()).values()))
    assert (PEOPLE >> step).map(1) == rows


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_a_row_moves_at_most_two_for_every_order_of_the_keys(name, rows):
    data = np.array(ADVERSARIAL[name], dtype=float)
    step, worst = dp.bound_contributions(rows, person="id"), 0
    for order in permutations(range(len(data))):
        whole = kept(data, by_place(order), step, ROWS)
        for row in range(len(data)):
            others = [each for each in range(len(data)) if each != row]
            without = kept_by_order(name, *orders_without(order, others), step, ROWS)
            worst = max(worst, symmetric_distance(whole, without))
    assert worst == MOVED_BY_A_ROW[name][rows - 1]
    assert (ROWS >> step).map(1) == 2


MOVED_BY_A_ROW = {
    "one person": (2, 2),
    "equal rows": (0, 1),
    "two people": (2, 2),
    "nobody": (2, 2),
    "many people": (2, 2),
}
"""The most rows that one row moves, where 1 or 2 rows of a person are kept."""


def of_pairs(data: np.ndarray, words: np.ndarray, pairs):
    """Keys for rows by their place, and then for groups of a person by who and what they are."""
    calls: list[int] = []

    def keys(places):
        calls.append(len(places))
        if len(calls) == 1:
            return words[places].astype(np.uint64)
        return np.array([pairs[tuple(data[place, :2])] for place in places], dtype=np.uint64)

    return keys


@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_groups_of_a_person_move_at_most_their_rows(rows, groups):
    """People by all of their rows, and single rows, which may bring a group in and another out."""
    generator = np.random.default_rng(rows * 10 + groups)
    step = dp.bound_contributions(rows, groups=("city", groups))
    one = dp.bound_contributions(rows, groups=("city", groups), person="id")
    worst = {"person": 0, "row": 0}
    for _ in range(80):
        count = int(generator.integers(1, 10))
        data = np.column_stack([generator.integers(0, 2, count), generator.integers(0, 3, count)])
        data = np.column_stack([data, np.arange(count)]).astype(float)
        words = generator.permutation(count)
        orders = generator.permutation(6).tolist()
        pairs = {(float(p), float(c)): orders[p * 3 + c] for p in range(2) for c in range(3)}
        whole = kept(data, of_pairs(data, words, pairs), step)
        of_each = Counter(map(tuple, whole[:, :2].tolist()))
        assert max(of_each.values()) <= rows
        assert max(Counter(person for person, _ in of_each).values()) <= groups
        for person in (0.0, 1.0):
            stay = data[:, 0] != person
            without = kept(data[stay], of_pairs(data[stay], words[stay], pairs), step)
            worst["person"] = max(worst["person"], symmetric_distance(whole, without))
        row = int(generator.integers(count))
        less, fewer = np.delete(data, row, axis=0), np.delete(words, row)
        without = kept(less, of_pairs(less, fewer, pairs), one, ROWS)
        worst["row"] = max(worst["row"], symmetric_distance(whole, without))
    assert worst == {"person": rows * groups, "row": rows + 1}
    assert (PEOPLE >> step).map(1) == rows * groups
    assert (ROWS >> one).map(1) == rows + 1
    sized = dp.records(columns=NAMES, size=9, metric=dp.ChangeOneDistance())
    assert (sized >> one).map(1) == 2 * (rows + 1)


@pytest.mark.parametrize(
    ("space", "step", "claim"),
    [
        (PEOPLE, dp.bound_contributions(3), 2),
        (PEOPLE, dp.bound_contributions(2, groups=("city", 2)), 3),
        (ROWS, dp.bound_contributions(2, person="id"), 1),
    ],
    ids=repr,
)
def test_a_smaller_map_is_refuted(space, step, claim):
    honest = space >> step
    dp.assert_stable(honest, trials=6)
    with pytest.raises(AssertionError, match="the stability map must bound"):
        dp.assert_stable(attrs.evolve(honest, stability_map=lambda d: d * claim), trials=200)


def test_a_choice_that_takes_no_keys_is_seen():
    with pytest.raises(AssertionError):
        dp.assert_stable(attrs.evolve(PEOPLE >> dp.bound_contributions(1), function=anew))


def anew(table):
    """Chooses anew at each call, whatever keys it is given."""
    return (PEOPLE >> dp.bound_contributions(1)).function(attrs.evolve(table, keys=None))


def test_a_replaced_row_moves_at_most_four():
    sized = dp.records(columns=NAMES, size=12, metric=dp.ChangeOneDistance())
    step = dp.bound_contributions(2, person="id")
    dp.assert_stable(step, sized, trials=12)
    bound = sized >> step
    assert bound.map(1) == 4
    assert bound.output_space.metric == dp.SymmetricDistance()


# The choice.


def is_even(counts, kinds: int) -> None:
    """Fails if so many kinds that are equally likely came so often, once in 1 / RATE at most."""
    found = np.zeros(kinds)
    found[: len(counts)] = list(counts)
    expected = found.sum() / kinds
    assert expected > 100
    assert ((found - expected) ** 2 / expected).sum() < chi2.isf(RATE, kinds - 1)


def subsets(rows: np.ndarray, column: int):
    """How often each set of values in a column was kept of a person."""
    order = np.lexsort((rows[:, column], rows[:, 0]))
    people, values = rows[order, 0], rows[order, column]
    parts = np.split(values, np.flatnonzero(np.diff(people)) + 1)
    return Counter(tuple(dict.fromkeys(part.tolist())) for part in parts)


@pytest.mark.parametrize("how", ["memory", "small steps", "blocks", "level keys", "equal rows"])
def test_each_choice_is_equally_likely(how, monkeypatch):
    count, rows, most = 6000, 6, 2
    data = np.zeros((count * rows, 3))
    data[:, 0], data[:, 2] = np.repeat(np.arange(count), rows), np.tile(np.arange(rows), count)
    data = data[np.random.default_rng(0).permutation(len(data))]
    given, keys = data, drawn(1)
    if how in ("small steps", "blocks"):
        monkeypatch.setattr(engine, "_WAITING", 500)
        monkeypatch.setattr(engine, "_WAITING_PIECES", 500)
    if how == "blocks":
        given = dp.Blocks(lambda: np.array_split(data, 40), columns=3)
    if how == "level keys":
        keys = drawn(2, mask=0b11)
    if how == "equal rows":
        data[:, 2] = np.minimum(data[:, 2], 1)
    found = kept(given, keys)
    assert len(found) == most * count
    if how == "equal rows":
        chosen = subsets(np.unique(found, axis=0), 2)
        ones = (found[:, 2] == 1).sum()
        spread = (count * Fraction(2 * 5 * 4, 36 * 5)) ** 0.5
        assert abs(ones - 2 * count * 5 / 6) < 6 * spread
        assert (0.0,) not in chosen
    else:
        chosen = subsets(found, 2)
        is_even(chosen.values(), len(list(combinations(range(rows), most))))


@pytest.mark.parametrize("mask", [2**64 - 1, 0b1], ids=["words", "level keys"])
def test_each_choice_of_groups_is_equally_likely(mask):
    """Whether a person has one row in a group or many."""
    count, cities = 3000, [0, 0, 0, 0, 0, 1, 2, 2, 3]
    data = np.zeros((count * len(cities), 3))
    data[:, 0], data[:, 1] = np.repeat(np.arange(count), len(cities)), np.tile(cities, count)
    data[:, 2] = np.tile(np.arange(len(cities)), count)
    found = kept(data, drawn(5, mask), dp.bound_contributions(2, groups=("city", 2)))
    is_even(subsets(found, 1).values(), 6)
    rows = subsets(found[found[:, 1] == 0], 2)
    is_even(rows.values(), 10)


def test_the_rows_of_one_release_are_of_one_choice_and_releases_differ():
    data = {"id": [1] * 200, "x": list(range(200)), "city": [0] * 200}

    @dp.mechanism
    def seen(space: dp.Space[dp.Rows]) -> dp.Measurement[Any, dp.MaxDivergence]:
        """Releases the rows: not private."""
        measure = dp.MaxDivergence()
        return dp.Measurement(space, measure, lambda rows, _: tuple(materialise(rows)), lambda d: d)

    def program(ask):
        return tuple(ask(dp.select("x") >> seen()) for _ in range(3))

    bounded = PEOPLE >> dp.bound_contributions(5)
    many = bounded >> dp.adaptive(program, dp.epsilon(1000))
    for pipeline in (many, bounded >> dp.compose(*[dp.select("x") >> seen()] * 3)):
        for given in (data, pd.DataFrame(data), dp.Blocks(lambda: [data, data], columns=None)):
            first, second = pipeline(given), pipeline(given)
            for release in (first, second):
                assert release[0] == release[1] == release[2]
                assert len(release[0]) == 5
            assert first != second
            again = [pipeline.insecure_release(given, seed=s).value for s in (1, 1, 2)]
            assert again[0] == again[1] != again[2]


def test_an_exact_result_is_of_a_new_choice_each_time():
    data = {"id": [1] * 300, "city": [0] * 300, "x": range(300)}
    data = {name: list(column) for name, column in data.items()}
    bounded = PEOPLE >> dp.bound_contributions(3) >> dp.select("x") >> dp.clamp(0, 300)
    assert len({tuple(bounded(data).tolist()) for _ in range(20)}) > 10


# Whose row it is.


def numbers(*values) -> list[float]:
    """The numbers of ids in one object column."""
    return Identities().of_values(np.fromiter(values, object, len(values))).tolist()


def test_ids_are_the_same_where_they_are_equal():
    big = 2**53
    same = numbers(5, 5.0, np.int8(5), Decimal(5), Fraction(5), np.float32(5))
    assert len(set(same)) == 1
    assert len(set(numbers(True, 1, 1.0, np.bool_(True)))) == 1
    assert len(set(numbers(0.5, Decimal("0.5"), Fraction(1, 2)))) == 1
    assert len(set(numbers("5", 5, "5 ", "", "five"))) == 5
    apart = [big, big + 1, big + 2, big - 1, -big, 2**63, 2**63 + 1, 2**64, 2**200, 2**52, -(2**52)]
    assert len(set(numbers(*apart))) == len(apart)
    assert numbers(big + 1, np.int64(big + 1), Decimal(big + 1))[0] == numbers(big + 1)[0]
    near = np.array([5, np.nextafter(np.longdouble(5), 6)])
    assert len(set(Identities().of_values(near).tolist())) == 2
    dates = numbers(date(2020, 1, 1), pd.Timestamp(2020, 1, 1), "2020-01-01", date(2020, 1, 1))
    # A day of numpy equals both, so a day and its midnight are one.
    assert dates[0] == dates[1] == dates[3]
    assert len(set(dates)) == 2


@pytest.mark.parametrize(
    "value",
    [
        *(None, NAN, pd.NA, pd.NaT, Decimal("nan"), np.float32("nan"), np.datetime64("NaT", "D")),
        *([1], {}, complex(1, 0), 1e16, -1e300, np.inf, float(2**53), np.float32(2**24)),
    ],
    ids=repr,
)
def test_an_id_that_may_be_two_peoples_is_missing(value):
    assert np.isnan(numbers(value, "a", value))[[0, 2]].all()
    data = {"id": [value, "a", value], "city": [0, 0, 0], "x": [1, 2, 3]}
    assert kept(data, drawn(0), dp.bound_contributions(9) >> dp.select("x"), columns=1) == [[2.0]]


def test_long_ids_of_an_array_are_not_rounded():
    rows = np.array([[2**53 + n % 2, 0, n] for n in range(6)])
    for data in (rows, dp.Blocks(lambda: iter([rows[:2], rows[2:]]), columns=3)):
        assert len(kept(data, drawn(0), dp.bound_contributions(2))) == 4
    floats = np.array([[2.0**53, 0, 1], [2.0**53 - 1, 0, 2]])
    assert kept(floats, drawn(0))[:, 2].tolist() == [2.0]


def test_an_id_in_several_blocks_of_several_types_is_one_person():
    blocks = [
        {"id": np.array([1, 2]), "city": [0, 0], "x": [1, 2]},
        pd.DataFrame({"id": [1.0, NAN], "city": [0, 0], "x": [3, 4]}),
        pl.DataFrame({"id": [1, 2], "city": [0, 0], "x": [5, 6]}),
        {"id": [Decimal(1), True], "city": [0, 0], "x": [7, 8]},
    ]
    data = dp.Blocks(lambda: iter(blocks), columns=None)
    found = kept(
        data, by_place(np.arange(8)), dp.bound_contributions(2) >> dp.select("x"), columns=1
    )
    assert sorted(found[:, 0].tolist()) == [1.0, 2.0, 3.0, 6.0]


def test_text_in_one_block_and_numbers_in_another_are_refused():
    blocks = [pd.DataFrame({"id": ids, "city": [0], "x": [1]}) for ids in (["1"], [1])]
    frames = [frame.astype({"id": "string"}) if n == 0 else frame for n, frame in enumerate(blocks)]
    with pytest.raises(dp.DataError, match="text in one block and numbers in another"):
        kept(dp.Blocks(lambda: iter(frames), columns=None), drawn(0))


@pytest.mark.parametrize("ids", [[None, None], ["c", None], [None, "c"]])
@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"x": range(2)},
        {"x": [1.0]},
        {"x": np.ones((2, 2))},
        {"x": np.array(["q", "r"])},
        {"x": np.array(["2020-01-01"] * 2, "M8[D]")},
    ],
    ids=["none", "unknown", "short", "wide", "text", "dates"],
)
@pytest.mark.parametrize("whole", [True, False])
def test_whether_a_column_is_refused_does_not_tell_if_a_row_is_kept(columns, ids, whole):
    odd = {"id": ids, "city": [0, 0], **columns}
    usual = {"id": ["a", "b"], "city": [0, 0], "x": [1.0, 2.0]}
    data = odd if whole else dp.Blocks(lambda: iter([usual, odd]), columns=None)
    with pytest.raises(dp.DataError):
        (PEOPLE >> dp.bound_contributions(2) >> SUMMED)(data)


def test_rows_of_an_unknown_container_are_not_picked():
    @attrs.frozen
    class Odd:
        """Neither a column of a library nor an array."""

    with pytest.raises(dp.DataError, match="Odd cannot be picked"):
        take(Odd(), np.zeros(1, dtype=np.int64))


def test_a_sparse_matrix_is_refused():
    sparse = import_module("scipy.sparse").csr_array(np.eye(3))
    with pytest.raises(dp.DataError, match="sparse"):
        kept(sparse, drawn(0))


# Blocks and sizes.


def test_a_block_that_is_filled_anew_and_blocks_in_another_order():
    """The rows are copied in one pass: what comes later, or a second time, changes nothing."""
    turns = []

    def opened():
        turns.append(1)
        buffer = np.empty((2, 3))
        for n in range(3) if len(turns) % 2 else reversed(range(3)):
            buffer[:] = [[1, 0, 2 * n], [2, 0, 2 * n + 1]]
            yield buffer

    data = dp.Blocks(opened, columns=3)
    found = kept(data, by_place([0, 5, 1, 4, 2, 3]))
    assert sorted(found[:, 2].tolist()) == [0.0, 2.0, 3.0, 5.0]
    assert len(turns) == 1


def test_one_shot_blocks_are_refused_the_second_time():
    once = iter([np.array([[1.0, 0, 1]])])
    data = dp.Blocks(lambda: once, columns=3)
    kept(data, drawn(0))
    with pytest.raises(dp.DataError, match="only once"):
        kept(data, drawn(0))


@pytest.mark.parametrize("waiting", [1, 7, 100])
def test_leaving_rows_out_early_changes_nothing(waiting, monkeypatch):
    generator = np.random.default_rng(waiting)
    data = generator.integers(0, 9, (300, 3)).astype(float)
    data[:20, 0] = NAN
    words = generator.permutation(300)
    steps = [dp.bound_contributions(2), dp.bound_contributions(1, groups=("city", 2))]
    steps.append(dp.keep("x", between=(1, 6)) >> dp.bound_contributions(3))
    for step in steps:
        whole = kept(data, by_place(words), step)
        monkeypatch.setattr(engine, "_WAITING", waiting)
        monkeypatch.setattr(engine, "_WAITING_PIECES", waiting)
        cut = dp.Blocks(lambda: iter(np.array_split(data, 23)), columns=3)
        for given in (data, cut):
            assert symmetric_distance(kept(given, by_place(words), step), whole) == 0
        monkeypatch.undo()


def test_blocks_hold_no_more_than_what_may_be_kept(monkeypatch):
    monkeypatch.setattr(engine, "_WAITING_PIECES", 50)
    held: list[int] = []
    among = engine.Piece.among

    def watched(piece, chosen):
        found = among(piece, chosen)
        held.append(len(chosen))
        assert len(found.held[0]) == len(found.places)
        return found

    monkeypatch.setattr(engine.Piece, "among", watched)
    data = np.array([[n % 5, 0, n] for n in range(5000)], dtype=float)
    found = kept(dp.Blocks(lambda: iter(np.array_split(data, 500)), columns=3), drawn(1))
    assert len(found) == 10 == max(held)
    assert len(held) > 500, "rows are left out before the end"


@pytest.mark.parametrize("data", [[], np.empty((0, 3)), {"id": [], "city": [], "x": []}])
def test_no_rows(data):
    assert len(kept(data, drawn(0))) == 0
    assert len(kept(data, drawn(0), dp.bound_contributions(2, groups=("city", 1)))) == 0
    assert np.isfinite((PEOPLE >> dp.bound_contributions(2) >> SUMMED >> noise())(data)).all()


def noise():
    """Laplace noise of scale 1."""
    return dp.laplace(scale=1)


def test_one_row_one_person_and_nobody():
    assert len(kept([[1, 0, 1]], drawn(0))) == 1
    assert len(kept([[1, 0, 1]] * 50, drawn(0))) == 2
    assert len(kept([[NAN, 0, 1]] * 50, drawn(0))) == 0
    assert (
        len(kept([[1, NAN, 1]] * 50, drawn(0), dp.bound_contributions(2, groups=("city", 3)))) == 2
    )
    assert len(kept([[1, 0, 1]] * 5, drawn(0), dp.bound_contributions(2**70))) == 5


def test_a_filter_comes_before_the_choice():
    data = np.array([[1, 0, n] for n in range(20)], dtype=float)
    found = kept(data, drawn(4), dp.keep("x", between=(17, 18)) >> dp.bound_contributions(2))
    assert sorted(found[:, 2].tolist()) == [17.0, 18.0]


# What a pipeline costs.


def test_losses_are_those_of_people():
    pure = PEOPLE >> dp.bound_contributions(3) >> SUMMED >> dp.laplace(scale=1)
    assert [pure.map(people) for people in (1, 2, 5)] == [3.0, 6.0, 15.0]
    concentrated = PEOPLE >> dp.bound_contributions(3) >> SUMMED >> dp.gaussian(scale=1)
    assert [concentrated.map(people) for people in (1, 2)] == [4.5, 18.0]
    grouped = dp.bound_contributions(2, groups=("city", 3)) >> SUMMED >> dp.laplace(scale=1)
    assert (PEOPLE >> grouped).map(1) == 6.0
    rows = ROWS >> dp.bound_contributions(3, person="id") >> SUMMED >> dp.laplace(scale=1)
    assert rows.map(1) == 2.0
    for solved in (
        dp.select("x") >> dp.mean(0, 9, epsilon=1, confidence=None),
        SUMMED >> dp.laplace(epsilon=1),
        dp.by("city", [0, 1], dp.select("x") >> dp.mean(0, 9, epsilon=1, confidence=None)),
        dp.by("city", [0, 1], SUMMED >> dp.laplace(epsilon=1)),
        dp.select("city") >> dp.one_hot([0, 1, 2]) >> dp.sum() >> dp.laplace(epsilon=1),
        dp.select("x") >> dp.private_quantile(0.5, bounds=(0, 9), epsilon=1, confidence=None),
    ):
        bound = PEOPLE >> dp.bound_contributions(3) >> solved
        assert bound.loss(1) == 1, bound
        assert bound.loss(2) == 2, bound


def test_people_cost_the_claim_at_most():
    common = [[7, 0, 0.0]] * 3
    person = [[p, c, 1.0] for p in range(2) for c in range(3) for _ in range(2)]
    bounded = PEOPLE >> dp.bound_contributions(3)
    by_city = dp.by("city", [0, 1], SUMMED >> dp.laplace(epsilon=1))
    for mechanism in (SUMMED >> dp.laplace(epsilon=1), by_city):
        pipeline = bounded >> mechanism
        assert 0.5 < lost(pipeline, common, common + person).pure <= pipeline.map(2)


def test_a_person_costs_what_all_their_rows_do():
    pipeline = PEOPLE >> dp.bound_contributions(4) >> SUMMED >> dp.laplace(scale=1)
    assert pipeline.map(1) == 4
    assert 4 - 1e-9 < lost(pipeline, [], [[1, 0, 1.0]] * 9).pure <= 4


def test_programs_and_compositions_over_people():
    def program(ask):
        people = ask(
            dp.bound_contributions(1) >> dp.select("id") >> dp.count() >> dp.gaussian(rho=1)
        )
        some = dp.keep("x", between=(1, 9)) >> dp.bound_contributions(2) >> dp.select("x")
        with pytest.raises(dp.SpaceError, match=r"bound_contributions\(3\) before it"):
            ask(dp.select("id", "x") >> dp.count() >> dp.gaussian(rho=1))
        return people, ask(some >> dp.mean(0, 9, rho=ask.left, confidence=None))

    data = {"id": [str(n // 10) for n in range(5000)], "city": ["a"] * 5000, "x": [4] * 5000}
    told = PEOPLE >> dp.adaptive(program, dp.rho(2))
    people, mean = told.insecure_release(data, seed=0).value
    assert abs(people - 500) < 10
    assert abs(mean - 4) < 0.2
    assert told.map(1) == 2.0
    assert told.map(2) == 8.0
    first = dp.bound_contributions(1) >> dp.select("x") >> dp.count() >> dp.laplace(epsilon=1)
    both = PEOPLE >> dp.compose(first, dp.bound_contributions(2) >> SUMMED >> dp.laplace(scale=1))
    assert both.map(1) == 3.0
    assert abs(both.insecure_release(data, seed=0).value[0] - 500) < 30


def test_words():
    bounded = PEOPLE >> dp.bound_contributions(3) >> SUMMED >> dp.laplace(epsilon=1)
    assert bounded.neighbours() == "adding or removing one person"
    assert bounded.neighbours(2) == "adding or removing 2 people"
    text = bounded.explain()
    assert "loss for adding or removing one person: epsilon = 1" in text
    assert "at most 3 of a person" in text
    assert "x 3" in text
    assert repr(PEOPLE) == "dp.records(columns=['id', 'city', 'x'], person='id')"
    assert repr(dp.table(person="id")) == "dp.table(person='id')"
    assert dp.from_json(bounded.to_json()) == bounded


def test_a_step_of_ones_own_is_refused_unless_it_names_people():
    @dp.stage
    def plain(space: Any) -> dp.Transformation[Any, Any]:
        return dp.row_map(space, lambda rows: rows, dp.bodies.Box(0, 1))

    with pytest.raises(dp.SpaceError, match="bound_contributions"):
        PEOPLE >> plain()
    with pytest.raises(dp.SpaceError, match="does not measure"):
        dp.Space(dp.Tables(), dp.metrics.SymmetricIdDistance("id"), unit=Fraction(1))
    with pytest.raises(dp.SpaceError, match="does not measure"):
        attrs.evolve(PEOPLE, metric=dp.SymmetricDistance())


def test_a_space_has_one_column_that_tells_people_apart():
    """Else the loss of a person would be counted for the visits that the steps tell apart."""
    with pytest.raises(dp.SpaceError, match="'visit'; name one column"):
        attrs.evolve(dp.table(person="visit"), metric=dp.metrics.SymmetricIdDistance("id"))


def test_the_distance_of_people():
    first = np.array([[1, 0], [1, 0], [2, 0], [NAN, 5]])
    for other, moved in (
        ([[1, 0], [1, 0], [2, 0]], 0),
        ([[1, 0], [1, 0]], 1),
        ([[1, 0], [2, 0]], 2),
        ([[3, 0]], 3),
        ([], 2),
    ):
        assert people_distance(first, np.array(other, float).reshape(-1, 2), 0) == moved
