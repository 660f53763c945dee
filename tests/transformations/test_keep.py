"""Filters of a table: which rows stay, and how far neighbours move apart."""

from fractions import Fraction

import attrs
import numpy as np

import opendp_lite as dp

NAN = float("nan")
CHANGE = dp.ChangeOneDistance()
TABLE = {
    "age": [12.0, 18.0, 30.0, 65.0, NAN],
    "region": ["north", "south", None, "east", "north"],
    "visits": [1, 2, 4, 8, 16],
}
VISITS = dp.select("visits") >> dp.clamp(0, 100) >> dp.sum()


def test_rows_that_stay():
    def total(*steps):
        pipeline = VISITS
        for step in reversed(steps):
            pipeline = step >> pipeline
        return pipeline(TABLE).tolist()

    assert total(dp.keep("age", between=(18, 65))) == [14]
    assert total(dp.keep("age", between=(18, None))) == [14]
    assert total(dp.keep("age", between=(None, 18))) == [3]
    assert total(dp.keep("region", among=["north", "south"])) == [19]
    assert total(dp.keep("region", among=["east", None])) == [12]
    assert total(dp.keep("region", among=["north"]), dp.keep("age", between=(0, 99))) == [1]
    assert (dp.keep("age", between=(18, 65)) >> dp.count())(TABLE) == 3
    assert (dp.keep("age", between=(18, 65)) >> dp.select("region") >> dp.count())(TABLE) == 2


def test_the_column_that_decides_may_be_the_one_that_is_read():
    adults = dp.keep("age", between=(18, 65)) >> dp.select("age")
    assert (adults >> dp.clamp(0, 99) >> dp.sum())(TABLE).tolist() == [113]
    assert (adults >> dp.count())(TABLE) == 3
    among = dp.keep("region", among=["north", "east"]) >> dp.select("region")
    assert (among >> dp.one_hot(["north", "east"]) >> dp.sum())(TABLE).tolist() == [2, 1]


def test_rows_of_an_array_stay_by_their_declared_names():
    space = dp.records(columns=["age", "visits"])
    found = space >> dp.keep("age", between=(0, 3)) >> dp.select("visits") >> dp.clamp(0, 9)
    assert (found >> dp.sum())(np.array([[1, 5.0], [4, 2.0], [3, 1.0]])).tolist() == [6]
    assert (found >> dp.sum())(np.empty((0, 2))).tolist() == [0]


def test_a_replaced_row_may_leave_and_another_may_come():
    space = dp.records(columns=["a", "b"], size=2, metric=CHANGE)
    kept = space >> dp.keep("a", among=[1]) >> dp.select("b") >> dp.clamp(-1, 3) >> dp.sum()
    assert kept.map(1).l1 == 6
    assert (space >> dp.keep("a", among=[1])).map(2) == 4
    pairs = attrs.evolve(space, unit=Fraction(2)) >> dp.keep("a", among=[1]) >> dp.count()
    assert (pairs >> dp.laplace(epsilon=1)).map(2) == 1


def test_the_number_of_kept_rows_is_private():
    space = dp.records(columns=["a", "b"], size=9, metric=CHANGE)
    assert (space >> dp.keep("a", among=[1])).output_space.domain.size is None
    noisy = space >> dp.keep("a", among=[1]) >> dp.count() >> dp.laplace(epsilon=1)
    assert noisy.map(1) == 1.0
