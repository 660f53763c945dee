"""Dates by period: the same from every container, row by row, and what is refused."""

from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opendp_lite as dp
from opendp_lite.metrics.distances import SpreadDistance

NOISE = dp.laplace(epsilon=1e9)
COUNT = dp.count() >> NOISE
UNITS = ("day", "week", "month", "quarter", "year")
SOME = [date(2024, 1, 1), date(2024, 2, 29), None, date(2023, 12, 31), date(2024, 6, 30)] * 3
X = [1.0, 2.0, 4.0, 8.0, 16.0] * 3


def first_day(day: date, unit: str) -> date:
    """As the calendar has it."""
    starts = {
        "day": day,
        "week": day - timedelta(days=day.weekday()),
        "month": day.replace(day=1),
        "quarter": day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
        "year": day.replace(month=1, day=1),
    }
    return starts[unit]


def tables(folder: Path):
    frame = pd.DataFrame({"day": pd.to_datetime(SOME), "x": X})
    yield "dates", {"day": np.array(SOME, "M8[D]"), "x": X}
    yield "nanoseconds", {"day": np.array(SOME, "M8[ns]"), "x": X}
    yield "list", {"day": SOME, "x": X}
    yield "list of numpy's", {"day": list(np.array(SOME, "M8[us]")), "x": X}
    yield "pandas", frame
    yield "categorical", frame.assign(day=frame.day.astype("category"))
    yield "objects", pd.DataFrame({"day": pd.Series(SOME, dtype=object), "x": X})
    yield "polars", pl.DataFrame({"day": SOME, "x": X})
    yield "lazy polars", pl.DataFrame({"day": SOME, "x": X}).lazy()
    yield "pyarrow", pa.table({"day": SOME, "x": X})
    yield "dictionary", pa.table({"day": pa.array(SOME).dictionary_encode(), "x": X})
    pq.write_table(pa.table({"day": SOME, "x": X}), folder / "days.parquet")
    yield "Parquet", dp.parquet(folder / "days.parquet")
    yield "blocks", dp.Blocks(lambda: (frame[i : i + 4] for i in range(0, 15, 4)))
    since = [None if day is None else (day - date(1970, 1, 1)).days for day in SOME]
    yield "days since 1970", {"day": since, "x": X}
    yield "floats", {"day": np.array(since, float), "x": X}
    duckdb = pytest.importorskip("duckdb")
    held = pa.table({"day": SOME, "x": X})
    yield "duckdb", duckdb.from_arrow(held)
    dask = pytest.importorskip("dask.dataframe")
    yield "dask", dask.from_pandas(frame, npartitions=2)


def texts(folder: Path):
    written = [None if day is None else f" {day:%d.%m.%Y}" for day in SOME]
    yield "list", {"day": written, "x": X}
    yield "pandas", pd.DataFrame({"day": written, "x": X})
    yield "categorical", pd.DataFrame({"day": pd.Categorical(written), "x": X})
    yield "polars", pl.DataFrame({"day": written, "x": X})
    yield "dictionary", pa.table({"day": pa.array(written).dictionary_encode(), "x": X})
    path = folder / "days.csv"
    pd.DataFrame({"day": written, "x": X}).to_csv(path, index=False)
    yield "CSV", dp.csv_table(path, {"day": str, "x": float})


@pytest.mark.parametrize("unit", ["week", "quarter"])
def test_every_container_has_the_same_periods(unit, tmp_path):
    keys = dp.periods(unit, "2023-12-25", "2024-06-30")
    days = [day for day in SOME if day is not None]
    expected = [sum(first_day(day, unit) == key for day in days) for key in keys]
    assert sum(expected) == len(days)
    total = dp.select("x") >> dp.clamp(0, 99) >> dp.sum() >> NOISE
    totals = [
        sum(x for x, day in zip(X, SOME, strict=True) if day and first_day(day, unit) == key)
        for key in keys
    ]
    for form, found in ((None, tables(tmp_path)), ("%d.%m.%Y", texts(tmp_path))):
        start = dp.period("day", unit, form=form)
        for name, data in found:
            counts = (start >> dp.histogram("day", categories=keys, epsilon=1e9))(data)
            assert counts.counts.tolist() == expected, name
            groups = (start >> dp.by("day", keys, total))(data)
            assert np.hstack(list(groups.values())).round(3).tolist() == totals, name


@settings(derandomize=True, deadline=None, database=None)
@given(st.dates(), st.sampled_from(UNITS), st.sampled_from(["D", "s", "us"]))
def test_a_period_begins_when_the_calendar_says(day, unit, kind):
    first = first_day(day, unit)
    assert dp.periods(unit, day, day) == [first]
    held = np.array([day], f"M8[{kind}]")
    query = dp.period("day", unit) >> dp.select("day")
    number = (first - date(1970, 1, 1)).days
    assert query({"day": held}).tolist() == [number]
    assert query({"day": np.array([float(number)])}).tolist() == [number]


@settings(derandomize=True, deadline=None, database=None)
@given(st.dates(), st.integers(0, 900), st.sampled_from(UNITS))
def test_all_periods_between_two_dates_are_listed(first, more, unit):
    last = min(date.max, first + timedelta(days=min(more, (date.max - first).days)))
    days = (first + timedelta(days=ahead) for ahead in range((last - first).days + 1))
    assert dp.periods(unit, first, last) == sorted({first_day(day, unit) for day in days})


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "us", "ns", "ps"])
def test_a_year_that_python_does_not_have_is_missing(unit):
    far = np.array([2**62, -(2**62), "NaT"], f"M8[{unit}]")
    query = dp.period("day", "week") >> dp.select("day") >> COUNT
    assert round(query({"day": far})) == (2 if unit in ("ns", "ps") else 0)
    far_numbers = np.array([1e300, -1e300, np.inf, np.nan, 20240131.0])
    assert round(query({"day": far_numbers})) == 0


def test_text_that_says_no_date_is_missing():
    odd = [
        "2024-01-31",
        "2024-02-30",
        "",
        "31.01.2024",
        "2024-1-5",
        None,
        "x" * 99,
        "2024-01-31 10",
    ]
    query = dp.period("day", "month", form="%Y-%m-%d") >> dp.histogram(
        "day", categories=[date(2024, 1, 1), None], epsilon=1e9
    )
    assert query({"day": odd}).counts.tolist() == [2, 6]
    assert query(pl.DataFrame({"day": odd})).counts.tolist() == [2, 6]


def test_steps_before_read_the_dates_and_steps_after_the_periods():
    """In filters, in groups inside and outside, and for the choice of a person's rows."""
    data = {"day": [date(2024, 1, day) for day in (1, 2, 8, 9)], "id": [1, 1, 1, 2]}
    monday, next_monday = weeks = dp.periods("week", "2024-01-01", "2024-01-08")
    month = dp.period("day", "week")
    kept = dp.keep("day", among=[date(2024, 1, 2)])
    for way, rows in ((kept >> month, 1), (month >> kept, 0)):
        assert round((way >> COUNT)(data)) == rows
    counts = dp.histogram("day", categories=weeks, epsilon=1e9)
    inside = dp.by("day", [date(2024, 1, 9)], month >> counts)
    assert inside(data)[date(2024, 1, 9)].counts.tolist() == [0, 1]
    outside = month >> dp.by(
        "day",
        weeks,
        dp.select("day")
        >> dp.private_quantile(0.5, bounds=(19_000, 20_000), epsilon=1e6, confidence=None),
    )
    assert outside(data)[monday] == 19723
    twice = month >> dp.period("day", "month") >> dp.select("day")
    assert twice(data).tolist() == [19723] * 4
    one = dp.table(person="id") >> month >> dp.bound_contributions(1, groups=("day", 2)) >> counts
    assert one(data).counts.tolist() == [1, 2]
    sampled = dp.sample(1, month >> counts)
    assert sampled(data).counts.tolist() == [2, 2]
    assert next_monday == date(2024, 1, 8)


@pytest.mark.parametrize(("column", "several"), [("day", False), (["day", "x"], True)])
def test_keys_of_another_release_are_days_where_no_step_made_periods(column, several):
    table = {"day": SOME, "x": X}
    (key,) = (dp.period("day", "month") >> dp.by("day", [SOME[0]], COUNT))(table)
    found = dp.by(column, [(key, 1.0) if several else key], COUNT)(table)
    assert "2024-01-01" in str(found)


def test_rows_of_different_days_may_share_a_week():
    """So what is known of rows in different days is not known of weeks: the noise is larger."""
    days = dp.table(person="id") >> dp.bound_contributions(1, groups=("day", 4))
    assert isinstance(days.output_space.metric, SpreadDistance)
    weeks = days >> dp.period("day", "week")
    assert weeks.output_space.metric == dp.SymmetricDistance()
    other = days >> dp.period("seen", "week")
    assert other.output_space.metric == days.output_space.metric
    categories = dp.periods("day", "2024-01-01", "2024-01-06")
    of_days, of_weeks = (
        (way >> dp.histogram("day", categories=categories, rho=0.5))({"day": [], "id": []})
        for way in (days, weeks)
    )
    assert of_weeks.standard_error == 2 * of_days.standard_error


def test_a_period_costs_nothing_and_neighbours_stay_neighbours():
    """The falsifiers draw days as numbers, which are read alike."""
    weeks = dp.periods("week", "1969-12-01", "1970-02-01")
    space = dp.records(columns=["day", "x"])
    for after in (
        dp.select("day", "x"),
        dp.select("day") >> dp.one_hot(weeks) >> dp.sum(),
        dp.select("day") >> dp.one_hot([], edges=weeks) >> dp.sum(),
        dp.keep("day", between=(weeks[1], weeks[3])) >> dp.count(),
        dp.combinators.group_by("day", weeks, dp.select("x") >> dp.clamp(0, 1) >> dp.sum()),
    ):
        dp.assert_stable(dp.period("day", "week") >> after, space, trials=6)
    sized = dp.records(columns=["day", "x"], size=9, metric=dp.ChangeOneDistance())
    dp.assert_stable(
        dp.period("day", "month") >> dp.select("day") >> dp.one_hot(weeks) >> dp.sum(),
        sized,
        trials=6,
    )


def test_groups_of_two_columns_are_found_by_the_labels_that_print():
    rows = {"day": [date(2024, 1, 9), date(2024, 2, 6)] * 50, "sex": ["f", "f", "m", "m"] * 25}
    for period, label in (("month", "2024-02"), ("week", "2024-W06"), ("quarter", "2024-Q1")):
        keys = [dp.periods(period, "2024-01-01", "2024-02-29"), ["f", "m", "2024-02"]]
        counted = (
            dp.by(["day", "sex"], keys, dp.count() >> dp.laplace(epsilon=9)),
            dp.histogram(["day", "sex"], categories=keys, epsilon=9),
        )
        for found in (dp.period("day", period) >> each for each in counted):
            release = found(rows)
            for sex in keys[1]:
                first = dp.periods(period, "2024-02-06", "2024-02-06")[0]
                assert release[label, sex] == release[first, sex] == release[str(first), sex]
            listed = rf"\('{label}', 'x'\); did you mean \('{label}', '[fm]'\)\? There are \('2024-"
            with pytest.raises(dp.ParameterError, match=listed):
                release[label, "x"]
            # The first month of a quarter is not the quarter.
            part = "2024-01" if period == "quarter" else "2024"
            for odd in (label, (label,), (label, "f", "f"), (part, "f"), ([label], "f")):
                with pytest.raises((dp.ParameterError, TypeError)):
                    release[odd]


REFUSALS = {
    "dp.period('day', 'hour')": "one of day, week, month, quarter, year; got 'hour'",
    "dp.period('day', 3)": "one of day, week",
    "dp.period(3, 'week')": "by name, such as 'age'",
    "dp.period('day', 'week', form='%Y')": "form says how text is written",
    "dp.period('day', 'week', form='%Y-%m-%d %z')": "form says how text is written",
    "dp.period('day', 'week', form=3)": "form says how text is written",
    "dp.records(columns=['x']) >> dp.period('day', 'week')": "no column 'day'",
    "dp.table(person='day') >> dp.period('day', 'week')": "tells people apart",
    "dp.periods('week', '2024-02-01', '2024-01-01')": "comes before first=2024-02-01",
    "dp.periods('week', '1.2.2024', '2024-01-01')": "text such as '2024-01-31'",
    "dp.periods('week', 3, '2024-01-01')": "text such as '2024-01-31'",
    "dp.periods('weeks', '2024-01-01', '2024-02-01')": "one of day, week",
    "QUERY({'dy': [1.0]})": "period: the table has no column 'dya'|no column 'day'",
    "QUERY(pl.DataFrame({'day': ['2024-01-01']}))": r"say how it is written, as in form='%Y-%m-%d'",
    "QUERY(pd.DataFrame({'day': pd.date_range('2024', periods=2, tz='UTC')}))": "time zone of them",
    "QUERY(pd.DataFrame({'day': pd.period_range('2024', periods=2, freq='M')}))": "holds none",
}


@pytest.mark.parametrize("code", REFUSALS)
def test_what_is_typed_wrong_is_refused_in_words(code):
    query = dp.period("day", "week") >> dp.histogram("day", categories=SOME[:1], epsilon=1)
    with pytest.raises(dp.OpenDPLiteError, match=REFUSALS[code]):
        eval(code, {**globals(), "QUERY": query})


def test_no_rows_and_nothing_but_missing_dates():
    query = dp.period("day", "week") >> dp.histogram("day", categories=SOME[:1], epsilon=1e9)
    for column in ([], [None], np.array(["NaT"], "M8[ns]"), np.array([]), pd.Series([pd.NaT])):
        assert query({"day": column}).counts.tolist() == [0]
    assert query(pd.DataFrame({"day": pd.Categorical([None])})).counts.tolist() == [0]
    assert datetime(2024, 1, 1, 9) not in query({"day": []})
