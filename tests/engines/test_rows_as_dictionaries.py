"""Lists of a dictionary for each row, and frames that stand for those of other libraries."""

import importlib.util
import sqlite3
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import opendp_lite as dp
from tests.engines.refusals import refusal

ROWS = [{"sex": "f", "x": 1.0}, {"x": 2.0, "sex": "m"}, {"sex": "f"}, {"x": None, "sex": None}]
NOISE = dp.laplace(epsilon=1e9)
TOTAL = dp.clamp(0, 9) >> dp.sum() >> NOISE
BY_SEX = dp.by("sex", ["f", "m", None], dp.count() >> NOISE)


@pytest.mark.parametrize(
    "rows", [ROWS, tuple(ROWS), list(map(MappingProxyType, ROWS)), [*ROWS[:3], None]]
)
def test_a_list_of_dictionaries_is_a_table(rows):
    """What a row lacks is missing."""
    assert dict(BY_SEX(rows)) == {"f": 2, "m": 1, None: 1}
    assert (dp.select("x") >> TOTAL)(rows).round(6).tolist() == [3]
    named = dp.records(columns=["sex", "x", "nobody"])
    assert round((named >> dp.select("nobody") >> dp.count() >> NOISE)(rows)) == 0
    blocks = dp.Blocks(lambda: [rows[:2], rows])
    assert dict(BY_SEX(blocks)) == {"f": 3, "m": 2, None: 1}
    session = dp.session(rows, dp.epsilon(3e9))
    assert dict(session(BY_SEX).value) == {"f": 2, "m": 1, None: 1}


def test_a_list_without_rows_has_any_column():
    """So that nobody learns by a refusal whether there is one."""
    assert dict(BY_SEX([])) == {"f": 0, "m": 0, None: 0}
    assert (dp.select("x") >> TOTAL)([]).round(6).tolist() == [0]
    assert TOTAL([]).round(6).tolist() == [0]


def test_a_list_of_missing_rows_has_any_column():
    """As with a row that is there: nobody learns by a refusal whether there is one."""
    for missing in ([None], (None, None)):
        assert dict(BY_SEX(missing)) == {"f": 0, "m": 0, None: len(missing)}
        assert (dp.select("x") >> TOTAL)(missing).round(6).tolist() == [0]
        assert TOTAL(missing).round(6).tolist() == [0]
        named = dp.records(columns=["sex", "x"]) >> dp.select("x") >> dp.count(missing=True)
        assert (named >> NOISE)(missing) == len(missing)
        sized = dp.table(size=len(missing), metric=dp.ChangeOneDistance())
        assert (sized >> dp.select("x") >> TOTAL)(missing).round(1).tolist() == [4.5 * len(missing)]


@pytest.mark.parametrize(
    "query",
    [
        dp.select("x") >> TOTAL,
        dp.select("x", "y") >> TOTAL,
        dp.keep("x", between=(0, 9)) >> dp.count() >> NOISE,
        dp.by("x", [1], dp.count() >> NOISE),
        dp.by("x", dp.count() >> dp.laplace(epsilon=1), epsilon=9, delta=1e-6),
        dp.histogram("x", categories=[1], epsilon=1),
        dp.proportion("x", among=[1], epsilon=1),
        dp.table(person="x") >> dp.bound_contributions(1) >> dp.count() >> NOISE,
        dp.table(person="a") >> dp.bound_contributions(1) >> dp.select("x") >> TOTAL,
        dp.table(person="a") >> dp.bound_contributions(1) >> dp.by("x", [1], dp.count() >> NOISE),
        dp.sample(0.5, dp.select("x") >> TOTAL),
        dp.table() >> dp.adaptive(lambda ask: ask(dp.select("x") >> TOTAL), budget=dp.epsilon(1e9)),
        dp.linear_regression("x", ["a"], bounds=[(0, 9), (0, 9)], epsilon=1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("first", [{"b": 2.0, "a": 1.0}, {"a": 1.0, "x": 1.0}])
def test_no_row_decides_which_columns_there_are_or_in_which_order(query, first):
    """A query of a name runs whether or not a row has it, and none goes by the places."""
    rows = [{"a": 1.0, "b": 2.0}] * 40
    for data in ([None], [None, first]):
        query(data)
        query(dp.Blocks(lambda data=data: [data, rows]))
        dp.session(data, dp.epsilon(1e12, delta=0.5), space=query.bound.input_space)(query)
    for data in (rows, [first, *rows], [*rows, first]):
        query(data)
        query(dp.Blocks(lambda data=data: [data, [], data[:1]]))
        dp.session(data, dp.epsilon(1e12, delta=0.5), space=query.bound.input_space)(query)
        total = dp.records(columns=2) >> dp.select(0) >> TOTAL
        refusal(lambda data=data, total=total: total(data), "in no order")
        refusal(lambda data=data: TOTAL(data), "in no order")
        refusal(lambda data=data: dp.histogram(categories=[1], epsilon=1)(data), "in no order")


@pytest.mark.parametrize("odd", [{}, {"x": 7.0}])
def test_no_row_decides_whether_the_others_are_dictionaries(odd):
    """Else all others would count as missing, and the count of one row more would be 0."""
    count = dp.records(columns=["x"]) >> dp.select("x") >> dp.count()
    for others in ([[5.0]], [5.0], ["a"]):
        for data in ([odd, *others], [*others, odd]):
            refusal(lambda data=data: count(data), "some rows of the list are dictionaries")
            blocks = dp.Blocks(lambda data=data: [data])
            refusal(lambda blocks=blocks: count(blocks), "some rows of the list are dictionaries")


def test_a_row_that_spells_a_name_as_a_number_is_no_reason_to_refuse_the_others():
    total = dp.select("1") >> TOTAL
    rows = [{"1": 2.0}, {1: 3.0}, {1: 5.0, "1": 4.0}]
    assert round(total(rows).item()) == 9


def test_text_in_a_dictionary_is_not_shown():
    secret = [{"sex": "patient 42", "x": "patient 42"}]
    refusal(lambda: (dp.select("x") >> TOTAL)(secret), "text")


class Lies:
    """Says that it equals 1."""

    def __eq__(self, other: object) -> bool:
        return other == 1

    def __hash__(self) -> int:
        return hash(1)

    def __repr__(self) -> str:
        return "Lies()"


MODIN = importlib.util.find_spec("modin") is not None


@pytest.mark.skipif(not MODIN, reason="Modin is not installed")
def test_frames_and_columns_of_modin_are_read_some_rows_at_a_time():
    modin = importlib.import_module("modin.pandas")
    frame = pd.DataFrame({"sex": ["f", "m", "f", "f"], "x": [1.0, 2.0, float("nan"), 4.0]})
    frame["day"] = pd.to_datetime(["2024-01-01", "2024-01-08", "2024-02-01", "2024-02-29"])
    data = modin.DataFrame(frame)
    assert dict(BY_SEX(data)) == {"f": 3, "m": 1, None: 0}
    assert (dp.select("x") >> TOTAL)(data).round(6).tolist() == [7]
    assert TOTAL(data["x"]).round(6).tolist() == [7]
    months = dp.periods("month", "2024-01-01", "2024-02-01")
    monthly = dp.period("day", "month") >> dp.histogram("day", categories=months, epsilon=1e9)
    assert monthly(data).counts.tolist() == [2, 2]
    refusal(lambda: (dp.select("y") >> TOTAL)(data), "no column 'y'")


NARWHALS = importlib.util.find_spec("narwhals") is not None


@pytest.mark.skipif(not NARWHALS, reason="narwhals is not installed")
def test_frames_of_narwhals_are_those_of_their_libraries():
    nw = importlib.import_module("narwhals")
    frames = (
        pd.DataFrame(ROWS),
        pl.DataFrame(ROWS),
        pl.DataFrame(ROWS).lazy(),
        pa.Table.from_pylist(ROWS),
    )
    for frame in frames:
        assert dict(BY_SEX(nw.from_native(frame))) == {"f": 2, "m": 1, None: 1}
    column = nw.from_native(pd.Series([1.0, 2.0]), series_only=True)
    assert TOTAL(column).round(6).tolist() == [3]
    assert (dp.select("x") >> TOTAL)({"x": column}).round(6).tolist() == [3]


def test_a_cursor_is_refused_with_what_to_type():
    connection = sqlite3.connect(":memory:")
    cursor = connection.execute("select 1 as x")
    refusal(lambda: (dp.select("x") >> TOTAL)(cursor), r"pandas\.read_sql\(query, connection\)")
    connection.close()


@pytest.mark.parametrize("odd", [np.True_, 1 + 0j, np.float32(1), Lies()], ids=repr)
@pytest.mark.parametrize("form", [None, "%Y-%m-%d"])
def test_no_row_decides_how_others_are_read_as_days(odd, form):
    """Values that are equal, and are not all days."""
    first = dp.periods("day", "1970-01-02", "1970-01-02")
    days = dp.period("d", "day", form=form) >> dp.histogram("d", categories=first, epsilon=1e9)
    for data in ([1] * 50, [odd, *[1] * 50], [*[1] * 50, odd], [odd, *[1] * 50, {}]):
        assert days({"d": data}).counts.item() in (50, 51)
