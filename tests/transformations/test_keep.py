"""Filters of a table: which rows stay, and how far neighbours move apart."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import opendp_lite as dp

NAN = float("nan")
CHANGE = dp.ChangeOneDistance()
TABLE = {
    "age": [12.0, 18.0, 30.0, 65.0, NAN],
    "region": ["north", "south", None, "east", "north"],
    "visits": [1, 2, 4, 8, 16],
}
VISITS = dp.select("visits") >> dp.clamp(0, 100) >> dp.sum()
CONTAINERS = [TABLE, pd.DataFrame(TABLE), pl.DataFrame(TABLE), pa.table(TABLE)]


@pytest.mark.parametrize("table", CONTAINERS, ids=lambda table: type(table).__module__)
def test_rows_that_stay(table):
    def total(*steps):
        pipeline = VISITS
        for step in reversed(steps):
            pipeline = step >> pipeline
        return pipeline(table).tolist()

    assert total(dp.keep("age", between=(18, 65))) == [14]
    assert total(dp.keep("age", between=(18, None))) == [14]
    assert total(dp.keep("age", between=(None, 18))) == [3]
    assert total(dp.keep("region", among=["north", "south"])) == [19]
    assert total(dp.keep("region", among=["east", None])) == [12]
    assert total(dp.keep("region", among=["north"]), dp.keep("age", between=(0, 99))) == [1]
    assert (dp.keep("age", between=(18, 65)) >> dp.count())(table) == 3
    assert (dp.keep("age", between=(18, 65)) >> dp.select("region") >> dp.count())(table) == 2


@pytest.mark.parametrize("table", CONTAINERS, ids=lambda table: type(table).__module__)
def test_the_column_that_decides_may_be_the_one_that_is_read(table):
    adults = dp.keep("age", between=(18, 65)) >> dp.select("age")
    assert (adults >> dp.clamp(0, 99) >> dp.sum())(table).tolist() == [113]
    assert (adults >> dp.count())(table) == 3
    among = dp.keep("region", among=["north", "east"]) >> dp.select("region")
    assert (among >> dp.one_hot(["north", "east"]) >> dp.sum())(table).tolist() == [2, 1]


def test_rows_of_an_array_stay_by_their_declared_names():
    space = dp.records(columns=["age", "visits"])
    found = space >> dp.keep("age", between=(0, 3)) >> dp.select("visits") >> dp.clamp(0, 9)
    assert (found >> dp.sum())(np.array([[1, 5.0], [4, 2.0], [3, 1.0]])).tolist() == [6]
    assert (found >> dp.sum())(np.empty((0, 2))).tolist() == [0]


@pytest.mark.parametrize(
    "stage",
    [dp.keep("a", between=(-1, 1)), dp.keep("a", among=[0, 1, None]), dp.keep("b", among=[2.5])],
    ids=repr,
)
def test_filters_are_stable(stage):
    space = dp.records(columns=["a", "b"])
    dp.assert_stable(stage, space)
    dp.assert_stable(stage >> dp.select("b") >> dp.clamp(-1, 3) >> dp.sum(), space)
    fixed = dp.records(columns=["a", "b"], size=9, metric=CHANGE)
    dp.assert_stable(stage, fixed)
    dp.assert_stable(stage >> dp.select("b") >> dp.clamp(-1, 3) >> dp.sum(), fixed)


def test_a_replaced_row_may_leave_and_another_may_come():
    """The map is attained: half of it would be exceeded."""
    space = dp.records(columns=["a", "b"], size=2, metric=CHANGE)
    kept = space >> dp.keep("a", among=[1]) >> dp.select("b") >> dp.clamp(-1, 3) >> dp.sum()
    assert kept.map(1).l1 == 6
    assert (space >> dp.keep("a", among=[1])).map(2) == 4
    rows = list(product([0.0, 1.0], [-1.0, 3.0]))
    gaps = [abs(kept([r, (1, 0)])[0] - kept([s, (1, 0)])[0]) for r, s in product(rows, repeat=2)]
    assert 3 < max(gaps) <= 6


def test_the_number_of_kept_rows_is_private():
    space = dp.records(columns=["a", "b"], size=9, metric=CHANGE)
    assert (space >> dp.keep("a", among=[1])).output_space.domain.size is None
    noisy = space >> dp.keep("a", among=[1]) >> dp.count() >> dp.laplace(epsilon=1)
    assert noisy.map(1) == 1.0


BAD = [
    (lambda: dp.keep("a"), dp.ParameterError, "one of between"),
    (lambda: dp.keep("a", between=(0, 1), among=[1]), dp.ParameterError, "one of between"),
    (lambda: dp.keep("a", between=(2, 1)), dp.ParameterError, "swap"),
    (lambda: dp.keep("a", between=5), dp.ParameterError, "a pair such as"),
    (lambda: dp.keep("a", between="ab"), dp.ParameterError, "a pair such as"),
    (lambda: dp.keep("a", among="north"), dp.ParameterError, "list of categories"),
    (lambda: dp.keep("a", among=[1, 1]), dp.ParameterError, "declared twice"),
    (lambda: dp.keep(0, among=[1]), dp.ParameterError, "picked by name"),
    (lambda: dp.records(columns=["age"]) >> dp.keep("ago", among=[1]), dp.SpaceError, "'age'"),
    (lambda: dp.records() >> dp.keep("a", among=[1]), dp.SpaceError, "table"),
]


@pytest.mark.parametrize(("build", "error", "words"), BAD)
def test_bad_parameters_are_refused_in_words(build, error, words):
    with pytest.raises(error, match=words):
        build()


def test_an_unknown_column_is_refused_before_any_row_is_read():
    with pytest.raises(dp.DataError, match="did you mean 'region'"):
        (dp.keep("regoin", among=["north"]) >> VISITS)(TABLE)
