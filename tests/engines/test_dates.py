"""Dates and times as categories, keys and ids: the same from every container."""

import pickle
import sys
from datetime import UTC, date, datetime
from itertools import combinations, permutations

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


def days():
    held = pa.array(DAYS, pa.date32())
    yield {"x": np.array(DAYS, "M8[D]")}
    yield {"x": list(np.array(DAYS, "M8[D]"))}
    masked, shown = [each is None for each in DAYS], [each or DAYS[0] for each in DAYS]
    yield {"x": np.ma.masked_array(np.array(shown, "M8[D]"), masked)}
    yield pd.DataFrame({"x": pd.Series(DAYS, dtype="date32[pyarrow]")})
    yield pl.DataFrame({"x": DAYS})
    yield pa.table({"x": held})
    yield pa.table({"x": held.cast(pa.date64())})
    yield pa.table({"x": held.dictionary_encode()})
    yield dp.Blocks(lambda: (pa.table({"x": held.slice(i, 3)}) for i in range(0, 10, 3)))


def times():
    array = np.array(TIMES, "M8[us]")
    yield {"x": array}
    yield {"x": list(array)}
    yield pd.DataFrame({"x": array})
    yield pd.DataFrame({"x": array}).astype("category")
    yield pl.DataFrame({"x": TIMES})
    yield pl.DataFrame({"x": TIMES}).lazy()
    yield pa.table({"x": pa.array(TIMES, pa.timestamp("us"))})


def everywhere():
    """Each container, a list first, and whether it holds the days or the times."""
    for listed, containers in ((DAYS, days()), (TIMES, times())):
        for data in ({"x": listed}, *containers):
            yield listed is DAYS, data


def counts_of(query, data) -> list[int]:
    return [round(count.value) for count in query(data).values()]


@pytest.mark.parametrize("name", ["keys", "ids", "presence"])
def test_every_container_has_the_same_dates(name):
    found = {True: set[str](), False: set[str]()}
    for of_days, data in everywhere():
        found[of_days].add(repr(QUERIES[name].insecure_release(data, 5).value))
    assert list(map(len, found.values())) == [1, 1]


def test_a_category_that_is_a_date_is_a_whole_day():
    """A time that begins a day is that date, in every container alike."""
    dates = dp.histogram("x", categories=[DAYS[0], DAYS[1], DAYS[4], None], epsilon=1e9)
    midnights = dp.histogram("x", categories=[TIMES[0], TIMES[3], None], epsilon=1e9)
    stamps = dp.histogram("x", categories=[pd.Timestamp(TIMES[1]), DAYS[1], DAYS[0]], epsilon=1e9)
    for query, of_days, of_times in (
        (dates, [2, 2, 2, 2], [2, 2, 2, 2]),
        (midnights, [2, 2, 2], [2, 2, 2]),
        (stamps, None, [2, 0, 2]),
    ):
        for holds_days, data in everywhere():
            counts = of_days if holds_days else of_times
            assert counts is None or counts_of(query, data) == counts
    # Of a list only the values say that they are dates.
    for data in (
        data for data in days() if not isinstance(data, dict) or isinstance(data["x"], np.ndarray)
    ):
        with pytest.raises(dp.DataError, match=r"'x': the column holds dates and"):
            stamps(data)
    for data, typed in ((next(days()), "date"), (next(times()), "datetime")):
        with pytest.raises(dp.DataError, match=rf"write them as datetime.{typed}\(2024, 1, 31\)"):
            dp.histogram("x", categories=["2024-01-01"], epsilon=1)(data)
    with pytest.raises(dp.ParameterError, match="to the microsecond"):
        dp.histogram("x", categories=[pd.Timestamp(1)], epsilon=1)


@pytest.mark.parametrize("end", [0, 1], ids=["whole days", "nanoseconds"])
def test_a_time_is_one_person_whatever_the_type_of_its_column(end):
    """One row of a person counts, and the same person has one in each block."""
    times = [pd.Timestamp(1577836800 * 10**9 + end + day * 86400 * 10**9) for day in (0, 0, 1)]
    typed = pd.DataFrame({"id": pd.Series(times, dtype="datetime64[ns]"), "x": 1.0})
    objects, arrow = typed.astype({"id": object}), pa.Table.from_pandas(typed)
    people = dp.records(columns=["id", "x"], person="id")
    counted = people >> dp.bound_contributions(1) >> dp.select("x") >> dp.count()
    for first, second in permutations([typed, objects, arrow], 2):
        blocks = dp.Blocks(lambda pair=(first, second): iter(pair), names=["id", "x"])
        assert int(counted(blocks)) == 2


def test_categories_in_an_array_of_dates():
    for unit in ("D", "us", "ns"):
        typed = dp.histogram("x", categories=np.array(TIMES[:1], f"M8[{unit}]"), epsilon=1)
        assert typed == dp.histogram(
            "x", categories=[DAYS[0] if unit == "D" else TIMES[0]], epsilon=1
        )


def test_what_python_has_no_date_of_is_text():
    found = dates_in(np.array(["2024-01-01", "2024-01-01T00:00:00.000000001"], "M8[ns]"))
    assert found.tolist() == [TIMES[0], "2024-01-01T00:00:00.000000001"]
    for unit in ("Y", "D", "h", "s", "ms"):
        far = np.array(["12024-01-01", "300000-01-01", "NaT"], f"M8[{unit}]")
        texts = ["12024-01-01", "300000-01-01", None]
        swapped = far.astype(far.dtype.newbyteorder(">"))
        assert dates_in(far).tolist() == dates_in(swapped).tolist() == texts
        keys = QUERIES["keys"].insecure_release({"x": np.tile(far, 3)}, 1).value
        assert [*keys] == sorted(texts[:2])
    frame = pd.DataFrame({"x": pd.to_datetime([1, 2, 2], unit="ns")})
    for data in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        keys = QUERIES["keys"].insecure_release(data, 1).value
        assert [*keys] == ["1970-01-01T00:00:00.000000002"]


ODD = {
    "a time zone": pd.DataFrame({"x": pd.date_range("2024", periods=3, tz="UTC")}),
    "a duration": pl.DataFrame({"x": pl.Series([1, 2, None, 3]).cast(pl.Duration("us"))}),
    "a time of the day": pa.table({"x": pa.array([1, 2, None, 3], pa.time64("us"))}),
    "bytes": {"x": np.array([b"a", b"b", b"c"])},
}


@pytest.mark.parametrize("name", ODD)
def test_other_types_are_counted_and_are_no_categories(name):
    assert QUERIES["presence"].insecure_release(ODD[name], 1).value == 3
    for query in ("categories", "keys", "ids"):
        with pytest.raises(dp.DataError, match=r"'x': values of .*time zone of them"):
            QUERIES[query](ODD[name])


FAR = pa.array([1, None, 2**50], pa.int64())
ZONED = pd.Series(np.array([1, "NaT", 2**50], "M8[s]"), dtype="datetime64[s, UTC]")
BEYOND = {
    "a time of a zone": FAR.view(pa.timestamp("s", tz="UTC")),
    "a part of a microsecond": FAR.view(pa.time64("ns")),
    "a duration": FAR.view(pa.duration("s")),
    "a time of a zone in polars": pl.Series([1, None, 2**53]).cast(pl.Datetime("ms", "UTC")),
    "a duration in polars": pl.Series([1, None, 2**62]).cast(pl.Duration("ms")),
    "a time of a zone in pandas": ZONED,
    "times of a zone that are categories": ZONED.astype("category"),
    "durations of Arrow that are categories in pandas": pd.Series(
        FAR.view(pa.duration("s")), dtype=pd.ArrowDtype(pa.duration("s"))
    ).astype("category"),
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_python_cannot_hold_is_there(name):
    """A count makes no object of it: one row more is no reason to refuse the others."""
    column = BEYOND[name]
    make = {pa.Array: pa.table, pl.Series: pl.DataFrame, pd.Series: pd.DataFrame}
    (table,) = (each for kind, each in make.items() if isinstance(column, kind))
    assert QUERIES["presence"].insecure_release(table({"x": column}), 1).value == 2


def test_a_missing_date_in_a_list_is_a_missing_number():
    listed = [1.0, np.datetime64("NaT", "D"), pd.NaT, np.timedelta64("NaT", "D"), None]
    assert (dp.clamp(0, 9) >> dp.sum())(listed).tolist() == [1]
    assert QUERIES["presence"].insecure_release({"x": listed}, 1).value == 1


EDGES = [date(2023, 12, 31), date(2024, 1, 1), date(2024, 1, 2)]
MOMENTS = [datetime(2024, 1, 1), datetime(2024, 1, 2, 3, 4, 5, 6), datetime(2024, 1, 3)]


def test_dates_lie_between_edges_in_every_container():
    """Edges that are dates measure days; the last interval holds both of its edges."""
    whole = dp.histogram("x", edges=EDGES, other=True, epsilon=1e9)
    for holds_days, data in everywhere():
        assert counts_of(whole, data) == [0, 4, 4 if holds_days else 2]
    exact = dp.histogram("x", edges=MOMENTS, epsilon=1e9)
    for data in ({"x": TIMES}, *times()):
        assert counts_of(exact, data) == [2, 2]
    assert counts_of(dp.histogram("x", edges=[*map(str, EDGES)], epsilon=1e9), {"x": DAYS}) == [
        0,
        4,
    ]
    crossed = dp.histogram(["w", "x"], categories=["a"], edges=[EDGES], epsilon=1e9)
    assert crossed(pl.DataFrame({"w": ["a"] * 10, "x": DAYS})).grid().round().tolist() == [[0, 4]]
    assert counts_of(dp.histogram(edges=EDGES, epsilon=1e9), np.array(DAYS, "M8[D]")) == [0, 4]
    assert dp.from_json(exact.to_json()) == exact


@pytest.mark.parametrize("unit", ["Y", "M", "D", "h", "s", "ms", "us", "25us", "ns", "ps"])
def test_every_unit_is_compared_exactly(unit):
    """As whole numbers: a float of 53 bits would not tell a nanosecond from its microsecond."""
    edges = [
        datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime(1970, 1, 1),
        datetime(1971, 1, 1),
    ]
    ticks = np.array([-1, 0, 1, "NaT"], f"M8[{unit}]")
    query = dp.histogram("x", edges=edges, other=True, epsilon=1e9)
    ends = np.array(edges, "M8[us]")
    known = ticks[:3] if unit != "ps" else np.array([-1, 0, 1], "M8[ns]")
    first = (known >= ends[0]) & (known < ends[1])
    second = (known >= ends[1]) & (known <= ends[2])
    expected = [int(first.sum()), int(second.sum()), int((~first & ~second).sum())]
    assert counts_of(query, {"x": ticks}) == expected
    far = np.array([2**62, -(2**62)], f"M8[{unit}]")
    assert sum(counts_of(query, {"x": far})) == 2


@pytest.mark.parametrize("unit", ["us", "ns", "ps", "fs", "as"])
def test_every_fine_unit_counts_the_same_microseconds(unit):
    found = np.array([7], "M8[us]").astype(f"M8[{unit}]")
    assert dates_in(found)[0] == datetime(1970, 1, 1, 0, 0, 0, 7)


def test_rows_between_two_dates_are_kept():
    """A date is the whole of its day, also at the upper end."""
    count = dp.count() >> MOST
    for ends, of_days, of_times in (
        ((DAYS[0], DAYS[1]), 4, 4),
        ((None, DAYS[0]), 4, 2),
        ((str(DAYS[0]), str(DAYS[1])), 4, 4),
        ((None, TIMES[0].isoformat()), 4, 2),
        ((DAYS[1], None), 4, 4),
        ((TIMES[0], TIMES[1]), 4, 4),
        ((datetime(2024, 1, 1, 0, 0, 0, 1), TIMES[1]), 2, 2),
    ):
        kept = dp.keep("x", between=ends) >> count
        for holds_days, data in everywhere():
            assert round(kept(data)) == (of_days if holds_days else of_times)
    nano = {"x": np.array(["2024-01-01T00:00:00.000000001", "2024-01-01"], "M8[ns]")}
    assert round((dp.keep("x", between=(None, TIMES[0])) >> count)(nano)) == 1


BAD = {
    "dp.histogram('x', edges=[DAYS[0], 3], epsilon=1)": "all dates, or all numbers",
    "dp.histogram('x', edges=[DAYS[0], TIMES[1]], epsilon=1)": "all dates, or all times",
    "dp.histogram('x', edges=[DAYS[0]], epsilon=1)": "2 to 2.24 rising edges",
    "dp.histogram('x', edges=[DAYS[1], DAYS[0]], epsilon=1)": "2024-01-02 comes before 2024-01-01",
    "dp.histogram('x', edges=[ZONED, ZONED], epsilon=1)": "no time zone",
    "dp.histogram('x', edges=[pd.Timestamp(1), TIMES[0]], epsilon=1)": "to the microsecond",
    "dp.bins([DAYS[0], DAYS[1]])": r"dp.histogram\('day', edges",
    "dp.keep('x', between=(DAYS[0], 3))": "all dates, or all numbers",
    "dp.keep('x', between=(DAYS[1], DAYS[0]))": "holds nothing; swap the two",
    "dp.keep('x', between=(ZONED, None))": "no time zone",
    "BETWEEN({'x': np.array([1.0])})": "needs a column of dates, and this one holds none",
    "BETWEEN(np.array([[1.0]]))": "needs a column of dates, and this one holds numbers",
    "BETWEEN(pl.DataFrame({'x': ['2024']}))": r"holds text; put dp.period\('day', 'day', form=",
    "BETWEEN(ODD['a time zone'])": "dates without a time zone",
    "COUNTED({'x': np.array(['a'])})": r"holds text; put dp.period",
    "COUNTED(ODD['a time zone'])": "dates without a time zone",
}


@pytest.mark.parametrize("code", BAD)
def test_what_is_no_date_is_refused_in_words(code):
    """By what was typed and by the type of the column, never by its values."""
    start = dp.records(columns=["x"]) if "np.array([[" in code else dp.table()
    names = {
        "BETWEEN": start >> dp.keep("x", between=(DAYS[0], None)) >> dp.count() >> MOST,
        "COUNTED": dp.histogram("x", edges=DAYS[:2], epsilon=1),
        "ZONED": datetime(2024, 1, 1, tzinfo=UTC),
    }
    with pytest.raises(dp.OpenDPLiteError, match=BAD[code]):
        eval(code, {**globals(), **names})


def test_values_that_are_no_dates_are_beyond_all_edges():
    odd = ["2024-01-01", 5, datetime(2024, 1, 1, tzinfo=UTC), None, pd.NaT, [], b"", DAYS[0]]
    for data in ({"x": odd}, pd.DataFrame({"x": pd.Series(odd, dtype=object)})):
        assert counts_of(dp.histogram("x", edges=EDGES, other=True, epsilon=1e9), data) == [0, 1, 0]
        assert round((dp.keep("x", between=(None, DAYS[4])) >> dp.count() >> MOST)(data)) == 1
    empty = (
        {"x": []},
        {"x": [None]},
        pd.DataFrame({"x": [None, None]}),
        pl.DataFrame({"x": DAYS[:0]}),
    )
    for data in (*empty, pd.DataFrame({"x": [float("nan")]})):
        assert counts_of(dp.histogram("x", edges=EDGES, epsilon=1e9), data) == [0, 0]


AGES = pd.Series([3.0, 18.0, 19.0, 64.0, 65.0, None, 200.0] * 2)
CUT = pd.cut(AGES, [0, 18, 65])
MONTHS = pd.Series(pd.PeriodIndex(["2024-01", "2024-02", "NaT", "2024-01"] * 2, freq="M"))


@pytest.mark.parametrize(
    ("column", "keys", "counts"),
    [
        (CUT, list(CUT.cat.categories), [4, 6]),
        (CUT.astype(object), list(CUT.cat.categories), [4, 6]),
        (CUT, [pd.Interval(18, 65), pd.Interval(0, 18, closed="left"), None], [6, 0, 4]),
        (MONTHS, list(pd.period_range("2024-01", "2024-03", freq="M")), [4, 2, 0]),
        (MONTHS, [pd.Period("2024-02", "M"), pd.Period("2024-01", "D"), None], [2, 0, 2]),
    ],
)
def test_intervals_and_periods_of_pandas_are_keys(column, keys, counts):
    frame = pd.DataFrame({"x": column})
    count = dp.histogram("x", categories=keys, epsilon=1e9)
    groups = dp.by("x", keys, dp.count() >> MOST)
    for data in (
        frame,
        {"x": column},
        dp.Blocks(lambda: (frame[i : i + 3] for i in (0, 3, 6, 9, 12))),
    ):
        assert counts_of(count, data) == counts
        assert dict(groups(data)) == dict(zip(keys, counts, strict=True))
    for pipeline in (count, groups):
        assert dp.from_json(pipeline.to_json()) == pipeline == pickle.loads(pickle.dumps(pipeline))
    unknown = dp.histogram("x", epsilon=1e9, delta=0.5)(frame)
    known = {str(key): rows for key, rows in zip(keys, counts, strict=True) if rows and key}
    assert known.items() <= {key: each.value for key, each in unknown.items()}.items()


def test_other_columns_hold_no_intervals():
    for data, words in (
        (pd.DataFrame({"x": CUT}), "no category is one; write pandas.Interval"),
        (pd.DataFrame({"x": MONTHS}), "of type Period and no category is one"),
    ):
        with pytest.raises(dp.DataError, match=words):
            dp.histogram("x", categories=["(0, 18]"], epsilon=1)(data)
    with pytest.raises(dp.DataError, match=r"edges=\[0, 10, 20\]"):
        dp.histogram("x", categories=list(CUT.cat.categories), epsilon=1)({"x": np.array([3.0])})


NANO_LATER = pd.Timestamp("2024-12-31T12:00:00.000000999")
FAR_OFF = np.datetime64("300000", "Y")


@pytest.mark.parametrize("moment", [NANO_LATER, NANO_LATER.to_datetime64(), FAR_OFF])
def test_a_moment_in_a_list_lies_where_it_does_in_an_array(moment):
    numpys = moment if isinstance(moment, np.datetime64) else moment.to_datetime64()
    edges = [datetime(2024, 12, 31, 12), datetime(2024, 12, 31, 12, 0, 0, 1), datetime(9999, 1, 1)]
    for low, high in combinations([None, *edges, None], 2):
        if (low, high) == (None, None):
            continue
        count = dp.keep("x", between=(low, high)) >> dp.select("x") >> dp.count()
        listed = np.fromiter([moment, None], object, 2)
        found = [count({"x": each}) for each in (np.array([numpys]), [moment], listed)]
        assert found[0] == found[1] == found[2], (low, high)


MIDNIGHTS = [
    np.datetime64("2024-01-01"),
    np.datetime64("2024-01-01", "s"),
    np.datetime64("2024-01-01", "ns"),
    pd.Timestamp("2024-01-01"),
    date(2024, 1, 1),
    datetime(2024, 1, 1),
]
SAME_MOMENTS = {
    "midnights": [[each] for each in MIDNIGHTS],
    "units": [np.array(["12000-01-01T03"], f"M8[{unit}]") for unit in ("h", "s", "ms", "us")],
    "days": [np.array(["12000-01-01"], f"M8[{unit}]") for unit in ("Y", "D", "s", "us")],
    "bytes": [np.array(["2024-01-01T00:00:00.000000001"], f"{end}M8[ns]") for end in "<>"],
    "arrow": [pa.array([1 << 45], pa.timestamp("ms")), pa.array([1000 << 45], pa.timestamp("us"))],
    "columns": [np.array(["2024-01-01"], f"M8[{unit}]") for unit in ("D", "s", "us")],
}


@pytest.mark.parametrize("name", SAME_MOMENTS)
def test_moments_that_are_equal_are_one_person(name):
    """One who was two had each of a bounded number of rows twice, at the price of one."""
    cells = SAME_MOMENTS[name]
    count = dp.table(person="id") >> dp.bound_contributions(1) >> dp.count()
    assert count(dp.Blocks(lambda: iter([{"id": each} for each in cells]))) == 1
    if name == "midnights":
        assert count({"id": MIDNIGHTS}) == 1


def test_spans_of_pandas_in_a_file_ask_for_pandas(monkeypatch):
    spans = pd.cut(pd.Series([1, 2]), [0, 1, 2])
    text = dp.histogram("x", categories=list(spans), epsilon=1).to_json()
    assert dp.from_json(text).map(1) == 1
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(dp.ParameterError, match="pip install pandas"):
        dp.from_json(text)


@pytest.mark.parametrize("unit", ["W", "h", "m", "25s", "7D"])
def test_a_moment_that_is_too_far_for_a_finer_unit_keeps_its_text(unit):
    """A cast of all would fail, or wrap, by one of them."""
    near = np.array(["12000-01-06"], f"M8[{unit}]")
    far, back = (np.array([end]).view(f"M8[{unit}]") for end in (2**63 - 1, 1 - 2**63))
    alone, beside = dates_in(near), dates_in(np.concatenate([near, far, back]))
    assert beside[0] == alone[0]
    assert len({*beside.tolist()}) == 3
