"""Lists of a dictionary for each row, and frames that stand for those of other libraries."""

from __future__ import annotations

import importlib.util
import sqlite3
from types import MappingProxyType
from typing import Any

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
def test_a_list_of_dictionaries_is_a_table(rows: Any) -> None:
    """What a row lacks is missing."""
    assert dict(BY_SEX(rows)) == {"f": 2, "m": 1, None: 1}
    assert (dp.select("x") >> TOTAL)(rows).round(6).tolist() == [3]
    named = dp.records(columns=["sex", "x", "nobody"])
    assert round((named >> dp.select("nobody") >> dp.count() >> NOISE)(rows)) == 0
    blocks = dp.Blocks(lambda: [rows[:2], rows])
    assert dict(BY_SEX(blocks)) == {"f": 3, "m": 2, None: 1}
    session = dp.session(rows, dp.epsilon(3e9))
    assert dict(session(BY_SEX).value) == {"f": 2, "m": 1, None: 1}


def test_a_list_without_rows_has_any_column() -> None:
    """So that nobody learns by a refusal whether there is one."""
    assert dict(BY_SEX([])) == {"f": 0, "m": 0, None: 0}
    assert (dp.select("x") >> TOTAL)([]).round(6).tolist() == [0]
    assert TOTAL([]).round(6).tolist() == [0]


def test_the_names_of_all_rows_are_those_of_the_table() -> None:
    words = refusal(lambda: BY_SEX([{"sxe": "f"}, {"x": 1}]), "did you mean 'sxe'")
    assert "'sxe', 'x'" in words
    secret = [{"sex": "patient 42", "x": "patient 42"}]
    refusal(lambda: (dp.select("x") >> TOTAL)(secret), "text")


MODIN = importlib.util.find_spec("modin") is not None


@pytest.mark.skipif(not MODIN, reason="Modin is not installed")
def test_frames_and_columns_of_modin_are_read_some_rows_at_a_time() -> None:
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
def test_frames_of_narwhals_are_those_of_their_libraries() -> None:
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


def test_a_cursor_is_refused_with_what_to_type() -> None:
    connection = sqlite3.connect(":memory:")
    cursor = connection.execute("select 1 as x")
    refusal(lambda: (dp.select("x") >> TOTAL)(cursor), r"pandas\.read_sql\(query, connection\)")
    connection.close()
