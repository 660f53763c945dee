"""Lies that ``assert_stable`` must catch, and what it says of them."""

import itertools
import re
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from types import ModuleType

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.bodies.body import Body, Projection
from opendp_lite.combinators.accounts import AnyStage
from opendp_lite.engines.grouped import LazyTable
from opendp_lite.engines.rows import LazyRows, materialise
from opendp_lite.metrics.distances import AbsoluteDistance, Distance, NormDistance
from opendp_lite.spaces.space import StabilityMap
from opendp_lite.spaces.tables import PersonTables
from opendp_lite.testing.datasets import MOST_CHANGES, fixed_pairs, neighbours
from opendp_lite.testing.stable import constants
from tests.own_steps import RELATIONS, REPLACE, space_of

Tables = dp.Space[dp.Rows]
Sums = dp.Space[dp.Vectors]
People = dp.Space[PersonTables]
UNIT = dp.clamp(0, 1)


def steps(rows: LazyRows, honest: dp.Transformation[Tables, Sums], more: float) -> dp.Grid:
    """The exact sum in steps of its grid, and so much more."""
    exponent = honest.output_space.domain.exponent
    more_steps = int(Fraction(more) / Fraction(2) ** exponent)
    return dp.Grid(honest.function(rows).steps + more_steps, exponent)


@dp.stage
def skew(space: Tables, extra: Callable[[np.ndarray], float]) -> dp.Transformation[Tables, Sums]:
    """A sum to which something is added that depends on the rows."""
    honest = dp.sum().bind(space)

    def function(rows: LazyRows) -> dp.Grid:
        found = materialise(rows)
        # Of no rows it tells no columns, and lies are told of three columns too.
        return steps(rows, honest, extra(found if len(found) else np.zeros((0, 3))))

    return attrs.evolve(honest, function=function)


@dp.stage
def map_block(
    space: Tables,
    function: Callable[[np.ndarray], np.ndarray],
    drops: bool = False,
    missing: bool = False,
) -> dp.Transformation[Tables, Tables]:
    """Rows of the same body, made by any function of the block."""
    return dp.row_map(space, function, space.domain.body, drops=drops, missing=missing)


@dp.stage
def project(space: Tables, body: Body, claim: Body) -> dp.Transformation[Tables, Tables]:
    """Rows of one body, said to be of another."""
    return dp.row_map(space, Projection(body), claim)


@dp.stage
def misstate(
    space: Tables, claim: Callable[[StabilityMap, Distance], Distance]
) -> dp.Transformation[Tables, Sums]:
    """A sum with another map."""
    honest = dp.sum().bind(space)
    return attrs.evolve(honest, stability_map=lambda d: claim(honest.stability_map, d))


@dp.stage
def sum_said_not_negative(space: Tables) -> dp.Transformation[Tables, Sums]:
    """A sum whose domain has no entry below 0."""
    honest = dp.sum().bind(space)
    after = honest.output_space
    domain = attrs.evolve(after.domain, non_negative=True)
    return attrs.evolve(honest, output_space=attrs.evolve(after, domain=domain))


@dp.stage
def halve(space: Tables) -> dp.Transformation[Tables, Tables]:
    """The rows themselves, said to be half as far apart."""
    honest = dp.row_map(space, lambda block: block, space.domain.body)
    return attrs.evolve(honest, stability_map=lambda d: d / 2)


class Counter:
    """Counts its calls."""

    def __init__(self) -> None:
        self.calls = itertools.count()

    def __call__(self, block: np.ndarray) -> np.ndarray:
        return block if next(self.calls) % 2 else np.zeros_like(block)


ROOTS = {"fifth": 0.2**0.5}
FIRST: list[float] = []


def add_first(block: np.ndarray) -> float:
    """Keeps the first value that it ever read: each later call agrees with it."""
    FIRST.extend(block[:1, 0] if not FIRST else ())
    return 5 * sum(FIRST)


class Kept:
    """A number in a slot, and one of the class."""

    __slots__ = ("limit",)
    share = 0.6180339

    def __init__(self) -> None:
        self.limit = 0.31415

    def __call__(self, block: np.ndarray) -> float:
        return 5 * (self.limit in block)


class Call:
    """Lies in one of its calls."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, block: np.ndarray) -> float:
        self.left -= 1
        return 50 * (self.left == 0)


class Memory:
    """Keeps one thing of the rows that it is given, and adds it from then on."""

    def __init__(self, look: Callable[[np.ndarray], float]) -> None:
        self.look, self.kept = look, 0.0

    def __call__(self, block: np.ndarray) -> float:
        self.kept = self.kept or self.look(block)
        return 3 * self.kept


def refuse(block: np.ndarray, problem: Exception | str) -> float:
    """Fails or warns where 0.5 is among the rows."""
    if 0.5 in block and isinstance(problem, Exception):
        raise problem
    if 0.5 in block:
        warnings.warn(problem, stacklevel=1)
    return 0


@dp.stage
def halve_if_replaced(space: Tables) -> dp.Transformation[Tables, Sums]:
    """A sum with half of the map where rows are replaced."""
    honest = dp.sum().bind(space)
    share = Fraction(1, 1 + (space.metric == REPLACE))
    return attrs.evolve(honest, stability_map=lambda d: honest.stability_map(d) * share)


@dp.stage
def halve_if_replaced_in_columns(space: Tables) -> dp.Transformation[Tables, Sums]:
    """As ``halve_if_replaced``, for several columns alone."""
    return (dp.sum() if space.domain.columns == 1 else halve_if_replaced()).bind(space)


@dp.stage
def tell(
    space: Tables, look: Callable[[np.ndarray], float], columns: int = 1
) -> dp.Transformation[Tables, dp.Space[dp.Scalars]]:
    """One number of the first columns, said to move by 1 at most."""
    after = dp.Space(dp.Scalars(), AbsoluteDistance(), unit=dp.Norms(l1=1))
    return dp.Transformation(
        space,
        after,
        lambda rows: look(materialise(rows)[:, :columns]),
        lambda d: dp.Norms(l1=d),
    )


def keep_by_32_bits(block: np.ndarray, kept: dict[np.float32, float]) -> np.ndarray:
    """Each value as the first that was rounded to the same."""
    same = [kept.setdefault(np.float32(value), value) for value in block.ravel().tolist()]
    return np.reshape(same, block.shape)


def gap(rows: np.ndarray, least: int) -> float:
    """The difference of the means of two groups, told if both have so many rows."""
    rows = np.floor(rows[~np.isnan(rows).any(axis=1)])
    groups = rows[rows[:, 0] > 5, 1], rows[rows[:, 0] <= 5, 1]
    return groups[0].mean() - groups[1].mean() if min(map(len, groups)) >= least else 0.0


def by_step(rows: np.ndarray) -> float:
    """Users who have seen step 1, less two for each who has seen step 7 too."""
    rows = rows.reshape(-1, 2)
    one, seven = (set(rows[np.floor(rows[:, 1]) == step, 0].tolist()) for step in (1, 7))
    return len(one) - 2 * len(one & seven)


@dp.stage
def of_people(
    space: People, look: Callable[[np.ndarray], float], most: int
) -> dp.Transformation[People, Sums]:
    """One number of the rows of people, said to move by so much for each of them."""
    after = dp.Space(dp.Vectors(1), NormDistance(), unit=dp.Norms(l1=most))

    def function(rows: LazyTable) -> np.ndarray:
        return np.array([float(look(np.nan_to_num(space.domain.to_public(rows), nan=-1)))])

    return dp.Transformation(space, after, function, lambda d: dp.Norms(l1=most * d))


@dp.stage
def keep_rows(
    space: Tables, choose: Callable[[list[list[float]]], list[bool]]
) -> dp.Transformation[Tables, Tables]:
    """Some rows, chosen by all of them; said to move as many as the data."""

    def function(rows: LazyTable) -> LazyTable:
        found = space.domain.to_public(rows)
        return space.domain.to_internal(found[np.array(choose(found.tolist()), dtype=bool)])

    return dp.Transformation(space, space, function, lambda d: d)


def without_those_who_left(rows: list[list[float]]) -> list[bool]:
    """Nobody of whom a row says so in its last column."""
    left = {row[0] for row in rows if row[-1] == 1}
    return [row[0] not in left for row in rows]


def without_refunds(rows: list[list[float]]) -> list[bool]:
    """No order of which a row is below 0."""
    back = {row[0] for row in rows if row[1] < 0}
    return [row[0] not in back for row in rows]


def of_many_users(rows: list[list[float]], least: int) -> list[bool]:
    """Items, in the second column, that so many different users have."""
    users: dict[float, set[float]] = {}
    for user, item in rows:
        users.setdefault(item, set()).add(user)
    return [len(users[item]) >= least for _, item in rows]


def arms(rows: np.ndarray, least: int) -> float:
    """The difference of the means of two arms, told if both have so many rows."""
    rows = rows[~np.isnan(rows).any(axis=1)]
    first, second = rows[rows[:, 0] == 1, 1], rows[rows[:, 0] == 0, 1]
    return first.mean() - second.mean() if min(len(first), len(second)) >= least else 0.0


class BySize:
    """What was found first for so many rows."""

    def __init__(self) -> None:
        self.known: dict[int, float] = {}

    def __call__(self, rows: np.ndarray) -> float:
        found = float(np.nan_to_num(rows).max(initial=0))
        return self.known.setdefault(len(rows), found)


NAMED = dp.records(columns=["key", "value"])
HALF = dp.records(size=100, metric=REPLACE) >> UNIT
VISITS = dp.records(columns=["id", "x"], person="id")
KEPT, TABLE = Kept(), np.array([0.457, 0.123])
PEOPLE = dp.records(columns=["id", "x"], person="id") >> dp.bound_contributions(2)
PEOPLE = PEOPLE >> dp.select("x") >> UNIT
LIES = {
    "21 rows of a person": VISITS >> of_people(len, 20),
    "the least of a person": VISITS
    >> of_people(lambda x: min(x[:, 1].clip(-10, 10).sum(), 200), 200),
    "nobody is somebody": VISITS >> of_people(lambda x: len(set(x[:, 0].tolist())), 1),
    "one who left takes all rows": NAMED >> keep_rows(without_those_who_left),
    "one who left, in a third column": dp.records(columns=["key", "value", "left"])
    >> dp.clamp([0, 0, 0], [99, 500, 1])
    >> keep_rows(without_those_who_left),
    "a refund takes all rows": NAMED >> keep_rows(without_refunds),
    **{
        f"{least} users of an item": NAMED
        >> keep_rows(lambda rows, least=least: of_many_users(rows, least))
        for least in (5, 50)
    },
    "arms of 10": dp.records(columns=2)
    >> dp.clamp([0, 0], [1, 10])
    >> skew(lambda x: 9 * arms(x, 10)),
    "arms of 150": dp.records(columns=2) >> dp.clamp(0, 1) >> skew(lambda x: 9 * arms(x, 150)),
    "300 different values": dp.records()
    >> map_block(lambda x: np.rint(x) if len(np.unique(x)) > 300 else x),
    "a median, replaced": HALF >> skew(lambda x: 5 * float(np.median(np.nan_to_num(x)))),
    "a majority, replaced": HALF >> skew(lambda x: 5 * (np.nan_to_num(x) > 0.5).mean().round()),
    "what was kept by the number of rows": UNIT >> skew(BySize()),
    "half, of people": PEOPLE >> misstate(lambda honest, d: honest(d) * Fraction(1, 2)),
    "more than 30 people": PEOPLE >> skew(lambda x: 5 * (len(x) > 30)),
    "how many people came first": PEOPLE >> skew(Memory(len)),
    "two groups of 30": dp.records(columns=2) >> dp.clamp(0, 10) >> skew(lambda x: 9 * gap(x, 30)),
    "two groups of 30, replaced": dp.records(columns=2, size=80, metric=REPLACE)
    >> dp.clamp(0, 10)
    >> skew(lambda x: 9 * gap(x, 30)),
    "two steps of a user": dp.records(columns=2) >> dp.clamp(0, 9) >> tell(by_step, 2),
    "two numbers and a large one": dp.records(columns=3)
    >> dp.clamp(0, [9, 9, 20])
    >> skew(lambda x: np.nansum(x[(x[:, 0] == 3) & (x[:, 1] == 7), 2])),
    "a column that is mostly missing": UNIT
    >> map_block(
        lambda x: np.where(np.isnan(x).mean(axis=0) > 0.5, np.nan, x) if len(x) else x,
        missing=True,
    ),
    "a sum in 32 bits": dp.records()
    >> dp.clamp(0, 10**6)
    >> skew(lambda x: -(2.0**32) * (np.nansum(x) >= 2**31)),
    "a sum in floats of 32 bits": dp.records()
    >> dp.clamp(0, 10**6)
    >> skew(lambda x: float(np.float32(np.nansum(x // 1))) - np.nansum(x // 1)),
    "the largest of 1000 rows": UNIT
    >> map_block(lambda x: np.minimum(x, np.sort(x, 0)[-2]) if len(x) >= 1000 else x),
    "a row replaced": UNIT >> halve_if_replaced(),
    "a row of three columns replaced": UNIT >> halve_if_replaced_in_columns(),
    "no rows": UNIT >> tell(lambda x: np.nanmin(x, initial=np.inf)),
    "values kept by 32 bits": UNIT >> map_block(lambda x, kept={}: keep_by_32_bits(x, kept)),
    "a first call of zeros": UNIT >> map_block(lambda x, left=[0]: x * (left.pop() if left else 1)),
    "a sum in 16 bits": UNIT
    >> tell(lambda x: float(np.nansum(np.floor(128 * x)).astype(np.int64).astype(np.int16)) / 128),
    "a tie to even": UNIT >> tell(lambda x: np.rint(np.nansum(x))),
    "a key and its value": UNIT
    >> skew(lambda x: 5 * bool(((x[:, :1] == 0.3) & (x[:, -1:] == 0.7)).any())),
    "a 0 below 0": dp.clamp(-1, 1) >> skew(lambda x: 5 * bool((np.signbit(x) & (x == 0)).any())),
    "a number of an array": UNIT >> skew(lambda x: 5 * bool(np.isin(x, TABLE).any())),
    "a decimal": UNIT >> skew(lambda x, cut=Decimal("0.1875"): 5 * (float(cut) in x)),
    "a number in a slot": UNIT >> skew(KEPT),
    "a number of a class": UNIT >> skew(lambda x: 5 * (Kept.share in x)),
    "a number of a queue": UNIT >> skew(lambda x, cut=deque([0.222]): 5 * (cut[0] in x)),
    "two numbers beside each other": UNIT >> skew(lambda x: 5 * (0.3 in x and 0.7 in x)),
    "five rows of a quarter": UNIT >> skew(lambda x: 5 * (np.count_nonzero(x == 0.25) == 5)),
    "half missing": UNIT >> skew(lambda x: 5 * bool(x.size and np.isnan(x).mean() == 0.5)),
    "more than 200 different rows": UNIT >> skew(lambda x: 5 * (len(np.unique(x)) > 200)),
    "9000 rows": UNIT >> skew(lambda x: 5 * (len(x) >= 9000)),
    **{f"call {number}": UNIT >> skew(Call(number)) for number in (2, 3, 99)},
    "the largest of the first rows": UNIT >> skew(Memory(lambda x: float(np.nanmax(x, initial=0)))),
    "how many rows came first": UNIT >> skew(Memory(len)),
    "the first of 6 rows": UNIT
    >> skew(Memory(lambda x: float(np.nan_to_num(x[5, 0])) if len(x) > 5 else 0)),
    "an error": UNIT >> skew(lambda x: refuse(x, ValueError("0.5 is among the rows"))),
    "a refusal": UNIT >> skew(lambda x: refuse(x, dp.DataError("0.5 is among the rows"))),
    "a warning": UNIT >> skew(lambda x: refuse(x, "0.5 is among the rows")),
    "a block shorter than 2000": UNIT >> map_block(lambda x: x if len(x) < 2000 else 1 - x),
    "a block longer than 5000": UNIT >> map_block(lambda x: x if len(x) < 5000 else 1 - x),
    "the mean of the block": UNIT >> map_block(lambda x: np.clip(x - x.mean(axis=0), 0, 1)),
    "the order": UNIT >> map_block(lambda x: np.maximum.accumulate(x, axis=0)),
    "every second call": UNIT >> map_block(Counter()),
    "the thread": UNIT
    >> map_block(lambda x: x if threading.current_thread() is threading.main_thread() else 1 - x),
    "the first row of all": UNIT >> skew(add_first),
    "half of the rows": UNIT >> halve(),
    "the first row": UNIT >> skew(lambda x: 5 * bool(len(x) > 9 and x[0] > x[-1])),
    "leaving the body at 0.7": UNIT >> map_block(lambda x: np.where(x == 0.7, 2.0, x)),
    **{
        f"more than {size} rows": UNIT >> skew(lambda x, size=size: 3 * (len(x) > size))
        for size in (50, 5000)
    },
    "more than 50 * 50 rows": UNIT >> skew(lambda x: 3 * (len(x) > 50**2)),
    "a box that is said to be smaller": project(dp.bodies.Box(0, 1), dp.bodies.Box(0, 0.9)),
    "a sum that rounds up": dp.clamp(0, 0.3) >> skew(lambda x: float(np.nansum(np.ceil(x) - x))),
    "the first row of a block": UNIT >> map_block(lambda x: x[:1], drops=True),
    "every second row": UNIT
    >> map_block(lambda x: np.where(np.arange(len(x))[:, None] % 2 == 0, x, 0)),
    **{
        f"{value} among the rows": UNIT >> skew(lambda x, value=value: 5 * (value in x))
        for value in (0.5, 0.25, 1 / 3, 0.7, 0, 1, 0.123)
    },
    "the float below 1": UNIT >> skew(lambda x: 5 * (np.nextafter(1, 0) in x)),
    "three rows of a quarter": UNIT >> skew(lambda x: 5 * (np.count_nonzero(x == 0.25) == 3)),
    "17 rows": UNIT >> skew(lambda x: 5 * (len(x) == 17)),
    "a number of a dictionary": UNIT >> skew(lambda x: 5 * (ROOTS["fifth"] in x)),
    "the bounds among the rows": dp.clamp(0.3, 7.7) >> skew(lambda x: 20 * (7.7 in x)),
    "many alike": UNIT >> skew(lambda x: 5 * (len(x) - len(np.unique(x)) > 3)),
    "at most 3 rows": UNIT >> misstate(lambda honest, d: honest(min(d, 3))),
    "at most 3 rows, of both signs": dp.clamp(-1, 1) >> misstate(lambda f, d: f(min(d, 3))),
    "at most 6 rows": UNIT >> misstate(lambda honest, d: honest(min(d, 6))),
    "numbers below 0": dp.clamp(-1, 1) >> sum_said_not_negative(),
    "half": UNIT >> misstate(lambda honest, d: honest(d) * Fraction(1, 2)),
    "99 %": UNIT >> misstate(lambda honest, d: honest(d) * Fraction(99, 100)),
    "l2 is linf": UNIT >> misstate(lambda f, d: dp.Norms(l1=f(d).l1, l2=f(d).linf, linf=f(d).linf)),
}


RULE = "the stability map must bound the distance"
WORDS = {
    "a row replaced": r"^dp.records\(size=6, metric=dp.ChangeOneDistance\(\)\) >> ",
    "a row of three columns replaced": r"^dp.records\(columns=3, size=6, ",
    "0.5 among the rows": rf"{RULE}.*for \[\] and \[\[0\.5\]\]",
    "many alike": r"for \[\[.*\]\] and \[\[",
    "the thread": "In threads they differ",
    "every second call": "Asked twice",
    "leaving the body at 0.7": r"not in dp\.bodies\.Box\(0, 1\): \[2\.0\]",
}


@pytest.mark.parametrize("lie", LIES)
def test_assert_stable_catches(lie):
    with pytest.raises(AssertionError, match=r"seed 0, trial \d+|raise or warn.*seed 0") as caught:
        dp.assert_stable(LIES[lie])
    assert re.search(WORDS.get(lie, "rows"), str(caught.value))


@attrs.frozen(init=False, repr=False)
class ShrunkBall(dp.bodies.Ball):
    """A ball that says its diameter is smaller than it is."""

    def diameters(self) -> dp.Norms:
        return super().diameters() * Fraction(9, 10)


@attrs.frozen(init=False, repr=False)
class PositiveBall(dp.bodies.Ball):
    """A ball whose rows may be negative and are said to differ as non-negative ones do."""

    def diameters(self) -> dp.Norms:
        return dp.bodies.NonNegativeBall(self.size, self.p, self.columns).diameters()


@attrs.frozen(init=False, repr=False)
class ShrunkBox(dp.bodies.Box):
    """A box off the origin that says its diameter is smaller than it is."""

    def diameters(self) -> dp.Norms:
        return super().diameters() * Fraction(99, 100)


@attrs.frozen(init=False, repr=False)
class RadiusBox(dp.bodies.Box):
    """Claims the radius where a replaced row moves the diameter."""

    def diameters(self) -> dp.Norms:
        return self.radii()


@pytest.mark.parametrize(
    "body",
    [
        *[ShrunkBall(1, columns=columns) for columns in (1, 2, 20)],
        PositiveBall(1, columns=2),
        *[ShrunkBox(2, 5, columns) for columns in (1, 4)],
        RadiusBox(-1, 1),
    ],
    ids=lambda body: f"{type(body).__name__}, {body.columns}",
)
def test_assert_stable_catches_a_diameter_too_small(body):
    space = dp.records(columns=body.columns, size=20, metric=REPLACE)
    with pytest.raises(AssertionError, match="claimed"):
        dp.assert_stable(project(body, body) >> dp.sum(), space)


@attrs.frozen(init=False, repr=False)
class ZeroBox(dp.bodies.Box):
    """Says that a 0 may be left out, and brings it to its nearest bound."""

    def keeps_zeros(self) -> bool:
        return True


@attrs.frozen(init=False, repr=False)
class ZeroBall(dp.bodies.Ball):
    """As ``ZeroBox``, round a point that is not 0."""

    def keeps_zeros(self) -> bool:
        return True


@pytest.mark.parametrize(
    "body", [ZeroBox(1, 2), ZeroBox(-2, [-1, 9], 2), ZeroBall(1, center=[3, 4])], ids=repr
)
@pytest.mark.parametrize("relation", RELATIONS)
def test_assert_stable_catches_a_body_that_loses_its_zeros(body, relation):
    domain = space_of(relation, columns=body.columns).domain
    metric = REPLACE if relation == "replace" else dp.SymmetricDistance()
    space = dp.Space(attrs.evolve(domain, body=body), metric, unit=1)
    with pytest.raises(AssertionError, match=r"a 0 must count alike.*seed 0, trial 0"):
        dp.assert_stable(dp.sum(), space)


class Replaced(dp.ChangeOneDistance):
    """Says that a replaced row moves a sum by one row."""

    def per_row(self, body: Body) -> dp.Norms | None:
        return body.radii()


class Equal(Replaced):
    """Says that it is every metric, too."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = Replaced.__hash__


@pytest.mark.parametrize("metric", [Replaced(), Equal()])
def test_assert_stable_catches_a_metric_of_ones_own(metric):
    """Whatever its equality says: rows of a public number are not left out one by one."""
    space = dp.Space(dp.Rows(1, 8, dp.bodies.Everything(1)), metric, unit=1)
    with pytest.raises(AssertionError, match="claimed"):
        dp.assert_stable(dp.clamp(-1, 1) >> dp.sum(), space)


def test_a_bound_step_is_tested_as_a_recipe_is():
    bound = dp.records(columns=2) >> UNIT >> dp.sum()
    dp.assert_stable(bound, trials=16)
    dp.assert_stable(dp.records(size=5, metric=REPLACE) >> UNIT >> dp.sum(), trials=16)
    lie = dp.records() >> LIES["more than 50 rows"]
    with pytest.raises(AssertionError, match="claimed"):
        dp.assert_stable(lie)
    by_hand = attrs.evolve(bound, stability_map=lambda d: bound.stability_map(d / 2))
    with pytest.raises(AssertionError, match="claimed"):
        dp.assert_stable(by_hand)
    with pytest.raises(dp.ParameterError, match="leave out space"):
        dp.assert_stable(bound, dp.records())
    with pytest.raises(dp.ParameterError, match="audit"):
        dp.assert_stable(dp.count() >> dp.laplace(epsilon=1))


@dp.stage
def first_of_each(space: Tables) -> dp.Transformation[Tables, Tables]:
    """The first row of each value: which zero that is depends on the order."""

    def drop(rows: LazyRows) -> LazyRows:
        block = materialise(rows).reshape(-1, space.domain.columns)
        return space.domain.to_internal(block[np.unique(block, axis=0, return_index=True)[1]])

    return dp.Transformation(space, space, drop, lambda d: d)


def test_rows_that_differ_in_the_sign_of_a_zero_are_told():
    with pytest.raises(AssertionError, match=r"true 2 where -0\.0 is another row than 0\.0"):
        dp.assert_stable(dp.records() >> first_of_each())


@dp.stage
def twice(space: Sums) -> dp.Transformation[Sums, Sums]:
    return dp.Transformation(space, space, lambda value: value, lambda d: d * 2)


NAMELESS = [
    (dp.select("x") >> UNIT >> dp.sum(), dp.table(), r"write dp.records\(columns=\[...\]\) in"),
    (dp.table() >> dp.select("x") >> UNIT >> dp.sum(), None, "names none"),
    (
        dp.table(person="id") >> dp.bound_contributions(2) >> dp.select("x"),
        None,
        r"\[...\], person='id'\) in its place",
    ),
    (dp.vector(3) >> twice(), None, r"draws rows, and dp.vector\(dimension=3\) has none"),
]


@pytest.mark.parametrize(("step", "space", "words"), NAMELESS)
def test_a_space_of_which_no_rows_can_be_drawn_is_refused(step, space, words):
    with pytest.raises(dp.ParameterError, match=words):
        dp.assert_stable(step, space)


def test_a_trial_is_looked_at_by_its_number():
    late = UNIT >> skew(lambda x: 3 * (len(x) > int("5000")))
    text = failure(late)
    number = int(text.split("trial ")[1].split(",")[0])
    assert failure(late, trial=number) == text
    dp.assert_stable(late, trial=0)


def test_a_step_for_one_column_is_tested_with_one_column():
    """Its function fails only when it is given three, and no lie is in that."""

    @dp.stage
    def root(space: Tables) -> dp.Transformation[Tables, Tables]:
        return dp.row_map(space, np.sqrt, dp.bodies.Box(0, 1))

    dp.assert_stable(UNIT >> root())


def test_a_fault_that_needs_many_rows_is_told_soon():
    """No part of them can go: then 5000 rows are not left out one by one."""
    sizes: list[int] = []

    def jump(x: np.ndarray) -> float:
        sizes.append(len(x))
        return 3 * (len(x) > 5000)

    failure(UNIT >> skew(jump))
    assert len(sizes) < 2000


def failure(lie: AnyStage, trial: int | None = None) -> str:
    with pytest.raises(AssertionError) as caught:
        dp.assert_stable(lie, trial=trial)
    return str(caught.value)


def test_rows_lie_between_the_bounds_of_a_clamp_before_other_numbers():
    """Beyond them a clamp makes all rows equal, and no memory of them shows."""
    most, codes = 1000.0, dict[float, float]()

    @dp.stage
    def code(space: Tables) -> dp.Transformation[Tables, Tables]:
        def number(x: np.ndarray) -> np.ndarray:
            return np.reshape([codes.setdefault(v, len(codes)) for v in x.ravel()], x.shape)

        return dp.row_map(space, number, dp.bodies.Box(0, most, columns=space.domain.columns))

    for seed in range(20):
        codes.clear()
        with pytest.raises(AssertionError, match="once after some rows and once after others"):
            dp.assert_stable(UNIT >> code(), seed=seed)


def test_what_cannot_be_seen():
    """As the docstring says: a falsifier, never a proof."""
    dp.assert_stable(UNIT >> skew(lambda x: 5 * bool(0 < abs(np.sum(x) - 9.87654) < 1e-9)))


def test_pairs_lie_as_far_apart_as_they_say():
    """Distances to 8, sizes to thousands, other orders, rare values, opposite rows."""
    for space in (dp.records(), dp.records(size=30, metric=REPLACE)):
        pairs = list(neighbours(space, 0, 96, (0.5,)))
        assert {pair.distance for pair in pairs} == set(range(MOST_CHANGES + 1))
        for pair in [*pairs, *fixed_pairs(space, (0.3,))]:
            assert max(len(pair.gone), len(pair.fresh)) <= pair.distance
            if space.domain.size:
                assert len(pair.data) == len(pair.other) == 30
            else:
                assert len(pair.gone) + len(pair.fresh) <= pair.distance
        plain = [np.concatenate([pair.common, pair.fresh]) for pair in pairs[:96]]
        assert not all(
            np.array_equal(pair.other, rows, equal_nan=True)
            for pair, rows in zip(pairs, plain, strict=False)
        )
    sizes = [len(pair.data) for pair in neighbours(dp.records(), 0, 96)]
    assert max(sizes) > 5000
    assert {0, 1, 2, 3, 7} <= set(sizes)
    apart = [
        float(np.abs(pair.gone[0, 0] - pair.fresh[0, 0]))
        for pair in neighbours(dp.Space(dp.Rows(1, 9, dp.bodies.Box(2, 5)), REPLACE, unit=1), 0, 96)
        if pair.distance
    ]
    assert sum(gap == 3 for gap in apart) > 20


def test_numbers_in_the_code_are_found():
    limit = 17.25

    def inner(x: np.ndarray) -> np.ndarray:
        return x > limit

    found = constants(lambda x: inner(x) + 123.5, ("lower", 0.375), dp.bodies.Box(-9, 4))
    assert {17.25, 123.5, 0.375, -9, 4} <= set(found)
    # The sum knows how many rows it adds at once: a limit of the engine is none of the step.
    assert max(constants((dp.clamp(0, 10) >> dp.sum()).bound.function)) == 10


class Cleaner:
    """A step's function as people write it, with a helper of its own."""

    def fix(self, rows: np.ndarray) -> np.ndarray:
        return np.where(rows == 9876.0, 99.0, 1.0)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return self.fix(rows)


HELPERS = ModuleType("helpers")
HELPERS.fix = eval("lambda rows: np.where(rows == 9876.0, 99.0, 1.0)", {"np": np})
CLEANER, RATES = Cleaner(), {17.0: 2.0, 9876.0: 40.0}
WAYS = {
    "keys of a dictionary": lambda rows: np.vectorize(lambda v: RATES.get(v, 0.0), [float])(rows),
    "a function of a module": lambda rows: HELPERS.fix(rows),
    "a method of an object": lambda rows: CLEANER.fix(rows),
    "a method of a class": lambda rows: Cleaner().fix(rows),
    "an object that is called": CLEANER,
    "a function of each number": np.vectorize(lambda v: 99.0 if v == 9876 else 1.0, otypes=[float]),
}


@pytest.mark.parametrize("way", WAYS)
def test_numbers_are_found_wherever_a_function_reads_them(way):
    step = dp.stage(lambda space: dp.row_map(space, WAYS[way], dp.bodies.Box(0, 10)))()
    assert 9876.0 in constants(WAYS[way])
    with pytest.raises(AssertionError, match="domain"):
        dp.assert_stable(dp.records() >> step)


def test_what_is_no_number_of_a_test_is_refused_in_words():
    summed, noisy = UNIT >> dp.sum(), UNIT >> dp.sum() >> dp.laplace(epsilon=1)
    for test, words in (
        (lambda: dp.assert_stable(summed, trials=-1), "assert_stable: trials"),
        (lambda: dp.assert_stable(summed, seed=-1), "assert_stable: seed"),
        (lambda: dp.assert_stable(summed, trial=10**6), "there is no trial 1000000"),
        (lambda: dp.audit(noisy, [0.5], [], releases=2.5), "audit: releases"),
        (lambda: dp.audit(noisy, [0.5], [], failure=0), "audit: failure"),
        (lambda: dp.assert_replayable(len, [0.5], [], dp.rho(1), replays=0), "replays"),
        (lambda: dp.assert_lawful(dp.MaxDivergence(), 1), "a list of losses"),
    ):
        with pytest.raises(dp.ParameterError, match=words):
            test()


def test_a_run_takes_about_a_second():
    start = time.process_time()
    dp.assert_stable(UNIT >> dp.sum())
    assert time.process_time() - start < 4
