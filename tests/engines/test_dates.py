"""Dates and times as categories, keys and ids: the same from every container."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import opendp_lite as dp
from opendp_lite.base.dates import dates_in

DAYS = [date(2024, 1, 1), date(2024, 1, 2), None, date(1, 1, 1), date(9999, 12, 31)] * 2
TIMES = [datetime(2024, 1, 1), datetime(2024, 1, 2, 3, 4, 5, 6), None, datetime(9999, 12, 31)] * 2
MOST = dp.laplace(epsilon=1e9)
QUERIES = {
    "categories": dp.histogram("x", categories=[DAYS[0], TIMES[1], DAYS[4], None], epsilon=1e9),
    "keys": dp.histogram("x", epsilon=1e9, delta=0.5),
    "ids": dp.table(person="x") >> dp.bound_contributions(1) >> dp.count() >> MOST,
    "presence": dp.select("x") >> dp.count() >> MOST,
}


def days() -> Iterator[Any]:
    held = pa.array(DAYS, pa.date32())
    yield {"x": np.array(DAYS, "M8[D]")}
    yield {"x": np.ma.masked_array(np.array(DAYS, "M8[D]"), [each is None for each in DAYS])}
    yield pd.DataFrame({"x": pd.Series(DAYS, dtype="date32[pyarrow]")})
    yield pl.DataFrame({"x": DAYS})
    yield pa.table({"x": held})
    yield pa.table({"x": held.cast(pa.date64())})
    yield pa.table({"x": held.dictionary_encode()})
    yield dp.Blocks(lambda: (pa.table({"x": held.slice(i, 3)}) for i in range(0, 10, 3)))


def times() -> Iterator[Any]:
    array = np.array(TIMES, "M8[us]")
    yield {"x": array}
    yield pd.DataFrame({"x": array})
    yield pd.DataFrame({"x": array}).astype("category")
    yield pl.DataFrame({"x": TIMES})
    yield pl.DataFrame({"x": TIMES}).lazy()
    yield pa.table({"x": pa.array(TIMES, pa.timestamp("us"))})


@pytest.mark.parametrize("name", ["keys", "ids", "presence"])
def test_every_container_has_the_same_dates(name: str) -> None:
    for listed, containers in ((DAYS, days()), (TIMES, times())):
        expected = repr(QUERIES[name].insecure_release({"x": listed}, 5).value)
        for data in containers:
            assert repr(QUERIES[name].insecure_release(data, 5).value) == expected


def test_categories_are_dates_of_a_column_of_dates_and_times_of_one_of_times() -> None:
    dates = dp.histogram("x", categories=[DAYS[0], DAYS[4], None], epsilon=1e9)
    stamps = dp.histogram("x", categories=[TIMES[0], pd.Timestamp(TIMES[1]), None], epsilon=1e9)
    for query, containers, other in ((dates, days(), times()), (stamps, times(), days())):
        for data in containers:
            assert [round(count.value) for count in query(data).values()] == [2, 2, 2]
        for data in other:
            with pytest.raises(dp.DataError, match=r"'x': the column holds (dates|times) and"):
                query(data)
    with pytest.raises(dp.DataError, match=r"write them as datetime.date\(2024, 1, 31\)"):
        dp.histogram("x", categories=["2024-01-01"], epsilon=1)(next(days()))


def test_categories_in_an_array_of_dates() -> None:
    for unit in ("D", "us", "ns"):
        typed = dp.histogram("x", categories=np.array(TIMES[:1], f"M8[{unit}]"), epsilon=1)
        assert typed == dp.histogram(
            "x", categories=[DAYS[0] if unit == "D" else TIMES[0]], epsilon=1
        )


def test_what_python_has_no_date_of_is_text() -> None:
    found = dates_in(np.array(["2024-01-01", "2024-01-01T00:00:00.000000001"], "M8[ns]"))
    assert found.tolist() == [TIMES[0], "2024-01-01T00:00:00.000000001"]
    assert dates_in(np.array(["12024-01-01"], "M8[D]")).tolist() == ["12024-01-01"]
    frame = pd.DataFrame({"x": pd.to_datetime([1, 2, 2], unit="ns")})
    for data in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        keys = QUERIES["keys"].insecure_release(data, 1).value
        assert [*keys] == ["1970-01-01T00:00:00.000000002"]


ODD = {
    "a time zone": pd.DataFrame({"x": pd.date_range("2024", periods=3, tz="UTC")}),
    "a duration": pl.DataFrame({"x": pl.Series([1, 2, None, 3]).cast(pl.Duration("us"))}),
    "a time of the day": pa.table({"x": pa.array([1, 2, None, 3], pa.time64("us"))}),
    "bytes": {"x": np.array([b"a", b"b", b"c"])},
    "an interval": pd.DataFrame({"x": pd.interval_range(0, 3)}),
}


@pytest.mark.parametrize("name", ODD)
def test_other_types_are_counted_and_are_no_categories(name: str) -> None:
    assert QUERIES["presence"].insecure_release(ODD[name], 1).value == 3
    for query in ("categories", "keys", "ids"):
        with pytest.raises(dp.DataError, match=r"'x': values of .*time zone of them"):
            QUERIES[query](ODD[name])


def test_a_missing_date_in_a_list_is_a_missing_number() -> None:
    listed = [1.0, np.datetime64("NaT", "D"), pd.NaT, np.timedelta64("NaT", "D"), None]
    assert (dp.clamp(0, 9) >> dp.sum())(listed).tolist() == [1]
    assert QUERIES["presence"].insecure_release({"x": listed}, 1).value == 1
