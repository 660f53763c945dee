"""``dp.by`` without keys: which groups there are, what they hold, and what all of it costs."""

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import opendp_lite as dp
from opendp_lite.combinators.accounts import find_price
from opendp_lite.combinators.grouping import by_found

SURE = 1e9
"""A loss at which noise is far below a row, and the threshold is two rows."""
COUNT = dp.count() >> dp.laplace(epsilon=SURE)
ALL = dp.by(["key", "place"], COUNT, epsilon=2 * SURE, delta=0.5)
TABLE = {
    "key": ["b", "a", None, "b", "c", "a", "b"] * 2,
    "place": [1, 2, 1, 1, None, 2, 3] * 2,
    "x": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0] * 2,
}
APPROXIMATE = dp.ApproximateDivergence()


IN_BLOCKS = dp.Blocks(lambda: (pd.DataFrame(TABLE)[i : i + 2] for i in range(0, 14, 2)))


@pytest.mark.parametrize("table", [TABLE, pl.DataFrame(TABLE).lazy(), IN_BLOCKS], ids=type)
def test_groups_are_the_rows_of_keys_that_occur_and_there_are_no_others(table):
    assert dict(ALL(table)) == {("a", 2): 4, ("b", 1): 4, ("b", 3): 2}
    total = dp.select("x") >> dp.clamp(0, 99) >> dp.sum() >> dp.laplace(epsilon=SURE)
    found = dp.by("key", total, epsilon=2 * SURE, delta=0.5)(table)
    assert np.hstack(list(found.values())) == pytest.approx([68, 146, 32], abs=1e-4)
    middle = dp.select("x") >> dp.private_quantile(0.5, bounds=(0, 99), epsilon=99, confidence=None)
    assert list(dp.by("key", middle, epsilon=2 * SURE, delta=0.5)(table)) == ["a", "b", "c"]


MIXED = [1, 1.0, True, "1", Decimal("0.1"), 0.1, Fraction(1, 10), date(2024, 1, 1), 2**60, [], None]


@pytest.mark.parametrize(
    ("column", "counts"),
    [
        (MIXED * 2, {0.1: 6, 1: 6, float(2**60): 2, "1": 2, "2024-01-01": 2}),
        (np.array([3, 7, 3, 7], np.uint8), {3: 2, 7: 2}),
        (np.array([0.5, np.nan, np.inf, 0.5, -np.inf, np.inf]), {0.5: 2, np.inf: 2}),
        (np.array(["2024-01-01", "NaT"] * 2, "M8[D]"), {"2024-01-01": 2}),
        (pd.Series([datetime(2024, 1, 1, 3)] * 2), {"2024-01-01T03:00:00": 2}),
        (pl.Series([date(2024, 1, 1), None] * 2), {"2024-01-01": 2}),
    ],
)
def test_a_group_has_the_rows_that_were_counted_for_its_key(column, counts):
    """A date shows as text, and is still that of its rows."""
    found = dp.by("key", COUNT, epsilon=2 * SURE, delta=0.5)({"key": column})
    assert dict(found) == counts
    counted = dp.histogram("key", epsilon=SURE, delta=0.5)({"key": column})
    assert {key: each.value for key, each in counted.items()} == counts


def test_what_the_pipeline_does_not_cost_finds_the_keys():
    survey = {"key": ["a"] * 500 + ["b"] * 9, "x": [1.0] * 509}
    mean = dp.select("x") >> dp.mean(0, 9, epsilon=0.8, confidence=None)
    groups = dp.by("key", mean, epsilon=1, delta=1e-6)
    keys = dp.histogram("key", epsilon=0.2, delta=1e-6)
    assert groups.map(1) == (1, 1e-6)
    found = groups(survey)
    assert (list(found), found.threshold) == (["a"], keys(survey).threshold)
    assert f"count below {found.threshold} are not shown" in repr(found)
    with pytest.raises(dp.ParameterError, match="groups with few rows are not released"):
        found["b"]
    assert "epsilon = 0.2 at delta = 1e-06 finds the keys" in str(groups.explain())
    assert groups == dp.by("key", mean, budget=dp.epsilon(1, delta=1e-6))
    assert dp.from_json(groups.to_json()) == groups


UNITS = {
    "a row": dp.table(),
    "rows replaced": dp.records(columns=["key", "x"], size=9, metric=dp.ChangeOneDistance()),
    "three rows": dp.table(person="id") >> dp.bound_contributions(3),
    "three groups": dp.table(person="id") >> dp.bound_contributions(1, groups=("key", 3)),
    "six rows": dp.table(person="id") >> dp.bound_contributions(6),
}
PIPELINES = {
    "a vector": dp.select("x") >> dp.clamp(-1, 3) >> dp.sum() >> dp.laplace(scale=9),
    "a quantile": dp.select("x")
    >> dp.private_quantile(0.5, bounds=(0, 9), epsilon=0.1, confidence=None),
    "a mean": dp.select("x") >> dp.mean(0, 9, epsilon=0.1, confidence=None),
    "a delta": dp.count() >> dp.gaussian(rho=0.01) >> dp.to_approximate(1e-7),
}


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
@pytest.mark.parametrize("before", UNITS.values(), ids=UNITS)
def test_it_costs_the_same_however_many_keys_are_found(before, pipeline):
    """At least what as many declared keys cost, and never more than was typed."""
    space = getattr(before, "output_space", before)
    most = int(space.unit) * (2 if space.metric.fixed_size else 1)
    of_found = [
        find_price(by_found(["key"], list(range(keys)), most, pipeline).bind(space), APPROXIMATE)
        for keys in (1, 2, 9)
    ]
    assert of_found[1] == of_found[2]
    assert APPROXIMATE.within(of_found[0], of_found[1])
    declared = dp.by("key", range(9), pipeline).bind(space)
    assert APPROXIMATE.within(find_price(declared, APPROXIMATE), of_found[1])
    twice = 2 * of_found[1][0], of_found[1][1] + Fraction(1, 10**6)
    whole = before >> dp.by("key", pipeline, epsilon=twice[0], delta=twice[1])
    assert whole.map(1) == tuple(map(float, twice))
    data = {"id": [1, 2, 3] * 3, "key": list("abc") * 3, "x": [1.0] * 9}
    assert len(whole(data)) <= 3


def test_no_rows_and_no_keys():
    for table in ({"key": []}, {"key": [None, float("nan")]}, pd.DataFrame({"key": []})):
        assert dict(dp.by("key", COUNT, epsilon=2 * SURE, delta=0.5)(table)) == {}


def test_a_misspelt_column_of_the_pipeline_is_not_paid_for():
    """Also where no key would be found, so that nothing would ever ask for the column."""
    for rows in ([], ["a"] * 900):
        session = dp.session({"key": rows, "x": [1.0] * len(rows)}, dp.epsilon(9, delta=1e-4))
        left = session.left
        wrong = dp.select("y") >> dp.mean(0, 9, epsilon=1, confidence=None)
        with pytest.raises(dp.DataError, match="no column 'y'"):
            session(dp.by("key", wrong, epsilon=2, delta=1e-6))
        assert session.left == left
        right = dp.select("x") >> dp.mean(0, 9, epsilon=1, confidence=None)
        assert session(dp.by("key", right, epsilon=2, delta=1e-6)).value.releases.keys() == set(
            rows
        )
        assert session.left[0] == left[0] - 2


def test_unknown_groups_within_groups_and_programs():
    inner = dp.by("place", COUNT, epsilon=2 * SURE, delta=0.1)
    found = dp.by("key", ["a", "b"], inner)(TABLE)
    assert {key: dict(each) for key, each in found.items()} == {"a": {2: 4}, "b": {1: 4, 3: 2}}
    both = dp.compose(inner, dp.by("key", COUNT, epsilon=2 * SURE, delta=0.1))
    assert [len(each) for each in both(TABLE)] == [3, 3]
