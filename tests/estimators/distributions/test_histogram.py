"""Histograms: their loss, their error, their intervals, and how they read."""

import datetime
import json
import pickle
from fractions import Fraction
from math import sqrt
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import binom

import opendp_lite as dp
from opendp_lite.samplers.rounded_laws import DiscreteLaplace
from tests.public_names import modules_in

REPLACE = dp.records(columns=["sex", "age"], size=40, metric=dp.ChangeOneDistance())
SURVEY = {"sex": ["f", "m", None, "f", "?"] * 8, "age": [3.0, 10.0, 20.0, float("nan"), 21.0] * 8}
EXACT = {"epsilon": 60}
"""So little noise that a count is exact in all but 1e-26 of the releases."""


def counts(pipeline, data=SURVEY):
    return {key: found.value for key, found in pipeline(data).items()}


@pytest.mark.parametrize(
    ("space", "budget", "deviation"),
    [
        (dp.table(), {"epsilon": 1}, DiscreteLaplace(Fraction(1), 0).standard_deviation),
        (dp.table(), {"rho": 0.1}, sqrt(5)),
        (REPLACE, {"rho": 0.1}, sqrt(10)),
        (REPLACE, {"epsilon": 0.1}, sqrt(2) * 20),
        (dp.table(), {"epsilon": 0.1}, sqrt(2) * 10),
    ],
)
def test_noise_is_scaled_to_what_a_row_moves(space, budget, deviation):
    """Six deviations of 8000 counts and squares, 4e-9."""
    bound = space >> dp.histogram("age", categories=range(100, 8100), **budget)
    found = bound.insecure_release(SURVEY, seed=6).value
    assert found.standard_error == pytest.approx(deviation, rel=1e-3)
    assert abs(np.mean(found.counts**2.0) / deviation**2 - 1) < 6 * sqrt(5.5 / 8000)
    assert abs(found.counts.mean()) < 6 * deviation / sqrt(8000)
    assert found.counts.min() < 0


def test_epsilon_and_delta_buy_the_better_noise():
    loose = dp.table() >> dp.histogram("a", categories=[1, 2], epsilon=1, delta=1e-6)
    found = loose.insecure_release({"a": []}, seed=1).value
    assert found.counts.dtype == np.int64
    assert found.standard_error < 1.44
    replaced = REPLACE >> dp.histogram("age", categories=[1, 2], epsilon=1, delta=0.3)
    assert replaced.insecure_release(SURVEY, seed=1).value.standard_error < 2


@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"rho": 0.1}, {"epsilon": 2, "delta": 1e-9}])
def test_intervals_cover(budget):
    """Of 400 histograms of 20 bins; false by chance once in 1e7."""
    bound = dp.table() >> dp.histogram("a", categories=range(20), **budget, confidence=0.8)
    true = np.arange(20) * 3
    data = {"a": np.repeat(np.arange(20), true)}
    found = [bound.insecure_release(data, seed=seed).value for seed in range(400)]
    each = sum(int(inside(one.intervals, true).sum()) for one in found)
    together = sum(bool(inside(one.joint_intervals, true).all()) for one in found)
    assert each >= binom.ppf(1e-7, 8000, 0.8)
    assert together >= binom.ppf(1e-7, 400, 0.8)
    narrow = sum(bool((abs(one.counts - true) <= one.joint_margin / 2).all()) for one in found)
    assert narrow < binom.ppf(1e-7, 400, 0.8)


def inside(intervals, true):
    return (intervals[:, 0] <= true) & (true <= intervals[:, 1])


def test_what_is_counted():
    by_sex = dp.histogram("sex", categories=["m", "f"], **EXACT)
    assert counts(by_sex) == {"m": 8, "f": 16}
    with_rest = dp.histogram("sex", categories=["m", "f", None], other=True, **EXACT)
    assert counts(with_rest) == {"m": 8, "f": 16, None: 8, "other": 8}
    ages = dp.histogram("age", edges=[3, 10, 20], **EXACT)
    assert counts(ages) == {(3, 10): 8, (10, 20): 16}
    beyond = dp.histogram("age", edges=[3.5, 10, 20], other=True, **EXACT)
    assert counts(beyond) == {(3.5, 10): 0, (10, 20): 16, "other": 16}
    assert counts(REPLACE >> dp.histogram("age", edges=[0, 50], **EXACT)) == {(0, 50): 32}


def test_a_contingency_table():
    both = dp.histogram(["sex", "age"], categories=[["f", None], [3, 20, 21]], **EXACT)(SURVEY)
    assert both["f", 3].value == 8
    assert both[None, 20].value == 8
    assert both.grid().tolist() == [[8, 0, 0], [0, 8, 0]]
    assert list(both) == [("f", 3), ("f", 20), ("f", 21), (None, 3), (None, 20), (None, 21)]
    assert repr(both).splitlines()[:3] == [
        "sex \\ age  3  20  21",
        "f          8   0   0",
        "missing    0   8   0",
    ]
    cells = [cell.text for cell in ElementTree.fromstring(both._repr_html_()).iter("td")]
    assert cells == ["f", "8", "0", "0", "missing", "0", "8", "0"]


def test_bins_within_categories_by_group():
    """A column with categories and one with edges: a histogram for each group, at one loss."""
    pipeline = dp.by("sex", ["f", "m"], dp.histogram("age", edges=[0, 5, 50], **EXACT))
    assert pipeline.loss(1) == 60
    found = pipeline(SURVEY)
    assert counts(lambda _: found["f"]) == {(0, 5): 8, (5, 50): 0}
    unknown = dp.by("sex", ["f", "m"], dp.histogram("age", epsilon=30, delta=0.3))
    assert counts(lambda _: unknown(SURVEY)["f"]) == {3: 8}


def test_the_column_may_be_left_out():
    for make in (list, pl.Series, pa.array, lambda v: {"sex": v}, lambda v: pa.table({"sex": v})):
        data = make(SURVEY["sex"])
        found = dp.histogram(categories=["f", "m"], **EXACT)(data)
        assert found.counts.tolist() == [16, 8]
        assert list(dp.histogram(epsilon=30, delta=0.3)(data)) == ["?", "f", "m"]


@pytest.mark.parametrize("space", [dp.records(), dp.table(), dp.records(columns=["a"])])
@pytest.mark.parametrize(
    "make", [list, np.array, pd.Series, pl.Series, lambda v: np.array(v)[:, None]]
)
def test_bare_numbers(make, space):
    bound = space >> dp.histogram(edges=[0, 10, 20], **EXACT)
    assert counts(bound, make([1, 2, 12, 20, 21])) == {(0, 10): 2, (10, 20): 2}
    bound = space >> dp.histogram(categories=[2, 20], **EXACT)
    assert counts(bound, make([1, 2, 12, 20, 20])) == {2: 1, 20: 2}


def test_positions_of_an_array():
    bound = dp.records(columns=2) >> dp.histogram(1, categories=[1, 2], **EXACT)
    assert counts(bound, np.array([[1.0, 2.0], [1.0, 2.0]])) == {1: 0, 2: 2}


MIXED = {
    "sex": ["f", "m", None, "f", "x", "m"],
    "city": ["Rome", "Oslo", "Rome", "Rome", "Rome", "Bern"],
    "age": [0.0, 10.0, 5.0, 20.0, 10.0, np.nan],
    "income": [1, 2, 3, 4, 5, 6],
}


def counted(*columns: str, **declared):
    """The counts that are not 0, with nearly no noise."""
    found = dp.histogram(list(columns), **declared, epsilon=200)(MIXED)
    return {key: int(found[key].value) for key in found if found[key].value}


def test_categories_of_one_column_and_edges_of_another():
    ends = [0, 10, 20]
    found = counted("sex", "age", categories=["f", "m"], edges=ends)
    assert found == {("f", (0, 10)): 1, ("f", (10, 20)): 1, ("m", (10, 20)): 1}
    lists = counted("sex", "age", categories=[["f", "m"]], edges=[ends])
    assert lists == found
    assert counted("sex", "age", categories=["f", None], edges=[0, 9], other=True) == {
        ("f", (0, 9)): 1,
        ("f", "other"): 1,
        (None, (0, 9)): 1,
        ("other", "other"): 2,
    }
    assert counted("age", "income", edges=[ends, [1, 3.5, 6]]) == {
        ((0, 10), (1, 3.5)): 2,
        ((10, 20), (1, 3.5)): 1,
        ((10, 20), (3.5, 6)): 2,
    }
    three = counted(
        "sex", "city", "age", categories=[["f"], ["Rome", "Oslo"]], edges=range(0, 30, 20)
    )
    assert three == {("f", "Rome", (0, 20)): 2}
    both = dp.histogram(["sex", "age"], categories=["f", "m"], edges=ends, epsilon=1)(MIXED)
    assert both.axes == (("f", "m"), ((0, 10), (10, 20)))
    assert repr(both).startswith("sex \\ age  0 to 10  10 to 20\nf")


def test_an_array_is_counted_as_the_table_is():
    values = np.column_stack([[1.0, 2, 1, np.nan, 7], [0.5, 1.5, 2, 1, 0.5]])
    declared = {"categories": [1, 2], "edges": [0, 1, 2], "epsilon": 200}
    table = {"a": values[:, 0], "b": values[:, 1]}
    of_rows = (dp.records(columns=2) >> dp.one_hot([[1, 2]], edges=[[0, 1, 2]]) >> dp.sum())(values)
    found = dp.histogram(["a", "b"], **declared)(table)
    assert found.counts.tolist() == of_rows.tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize("metric", [None, dp.ChangeOneDistance()])
def test_a_row_is_in_one_cell_of_categories_and_edges(metric):
    space = dp.table(size=None if metric is None else 6, metric=metric)
    cells = dp.select("sex", "age") >> dp.one_hot([["f", "m"]], edges=[[0, 10, 20]]) >> dp.sum()
    moved = (space >> cells).map(1)
    assert moved.l1 == (1 if metric is None else 2)
    assert moved.linf == 1
    mixed = dp.histogram(["sex", "age"], categories=["f", "m"], edges=[0, 10, 20], epsilon=0.5)
    assert (space >> mixed).map(1) == 0.5


def test_unknown_categories_of_people_in_several_cities():
    """The noise that is shown is the one that is added: Gaussian noise at a threshold of 72."""
    people = {"id": np.arange(6000) // 10, "city": [f"c{n % 10}" for n in range(6000)]}
    space = dp.table(person="id") >> dp.bound_contributions(1, groups=("city", 10))
    found = (space >> dp.histogram("city", epsilon=1, delta=1e-6))(people)
    assert found.threshold == 72
    assert found.standard_error == pytest.approx(13.43, abs=0.01)
    assert set(found) == {f"c{n}" for n in range(10)}


def test_unknown_categories():
    pipeline = dp.histogram("city", epsilon=1, delta=1e-6)
    step = dp.select("city") >> dp.measurements.thresholded_counts(epsilon=1, delta=1e-6)
    assert pipeline.loss(1) == step.loss(1)
    data = {"city": ["Rome"] * 300 + ["Oslo"] * 200 + ["Bern"]}
    found = pipeline.bound.insecure_release(data, seed=1).value
    assert found.as_dict()["threshold"] == found.threshold == 15
    assert dict(zip(found, found.counts, strict=True)) == step.insecure_release(data, 1).value
    assert found["Rome"].interval[1] - found["Rome"].interval[0] == 6
    with pytest.raises(KeyError, match="few rows are not released"):
        found["Bern"]
    with pytest.raises(dp.ParameterError, match="number of keys is private"):
        _ = found.joint_intervals
    pairs = dp.histogram(["city", "n"], epsilon=30, delta=0.3)(
        {"city": ["a", "a", "b"] * 2, "n": [1, 1, 2] * 2}
    )
    assert counts(lambda _: pairs) == {("a", 1): 4, ("b", 2): 2}
    assert repr(pairs).splitlines()[1] == "a     1      4  4 to 4"
    with pytest.raises(dp.ParameterError, match="declared categories"):
        pairs.grid()


def test_it_reads_as_a_table():
    many = dp.histogram("a", categories=range(30), **EXACT)({"a": [1, 1, 29]})
    lines = repr(many).splitlines()
    assert lines[:3] == ["a   count  95 % interval", "0       0  0 to 0", "1       2  2 to 2"]
    assert lines[-3] == "... and 10 more: type release.table()"
    assert lines[-1] == "The noise hides some of these numbers: 0, and others."
    assert len(lines) == 24
    odd = dp.histogram("a", categories=["Oslo", "Olso"], **EXACT)({"a": ["Oslo"] * 9})
    assert repr(odd).endswith("some of these numbers: Olso. Did you mean Oslo?")
    assert len(str(many.table()).splitlines()) == 32
    none = dp.histogram("a", categories=[7, 8], **EXACT)({"a": [1, 1, 29]})
    assert repr(none).endswith(
        "The noise hides all of these numbers: check the column and the keys."
    )
    midnights = pd.date_range("2024-01-01", periods=2)
    dated = dp.histogram("a", categories=midnights, **EXACT)(pd.DataFrame({"a": midnights}))
    for shown in (repr(dated), repr(dated.table()), dated.table().to_csv()):
        assert "2024-01-02" in shown
        assert "00:00" not in shown
    assert dated[midnights[1]].value == 1
    odd = dp.histogram("a", categories=["<b>", "a\nb"], **EXACT)({"a": ["<b>"]})
    assert "<b>" not in odd._repr_html_()
    assert "&lt;b&gt;" in odd._repr_html_()
    assert len(str(odd.table()).splitlines()) == 4
    wide = dp.histogram(["a", "b"], categories=[range(30), range(30)], rho=1)({"a": [], "b": []})
    assert "and 18 more" in repr(wide)
    assert "and 10 more" in wide._repr_html_()
    full = dp.histogram(["a", "b"], categories=[range(20), range(12)], rho=1)({"a": [], "b": []})
    assert "more" not in repr(full)


def test_it_is_a_mapping_and_goes_into_json():
    found = dp.histogram("sex", categories=["m", "f", None], **EXACT)(SURVEY)
    assert len(found) == 3
    assert "f" in found
    assert "x" not in found
    assert found.get("x") is None
    assert found["f"] == dp.Estimate(16, found.standard_error, (16, 16), 0.95)
    with pytest.raises(KeyError, match="there are 'm', 'f', None"):
        found["x"]
    assert found.shares().values.tolist() == [0.25, 0.5, 0.25]
    read = json.loads(json.dumps(found.as_dict()))
    assert read["categories"] == ["m", "f", None]
    assert read["counts"] == [8, 16, 8]
    assert read["joint_intervals"] == [[8, 8], [16, 16], [8, 8]]
    negative = dp.releases.Histogram(("a",), (1, 2), np.array([-3, -1]), 1.0, 3, 4, 0.95)
    assert negative.shares().values.tolist() == [0.5, 0.5]
    assert negative.shares().intervals.tolist() == [[0, 1], [0, 1]]
    assert negative.counts.clip(0).tolist() == [0, 0]


def test_a_release_stays_as_it_is():
    found = dp.histogram("sex", categories=["m", "f", None], **EXACT)(SURVEY)
    assert pickle.loads(pickle.dumps(found)) == found
    assert found != dp.histogram("sex", categories=["m", "f"], **EXACT)(SURVEY)
    with pytest.raises(ValueError, match="read-only"):
        found.counts[0] = 1


@pytest.mark.parametrize("epsilon", [1e-25, 1e-9, 1e25])
def test_extreme_budgets(epsilon):
    found = dp.histogram("sex", categories=["m", "f"], epsilon=epsilon)(SURVEY)
    true = np.array([8, 16])
    assert (abs(found.counts - true) <= 50 / epsilon).all()
    assert np.isfinite(found.intervals).all()
    assert found.margin >= 0
    assert "interval" in repr(found)


def test_one_release_whatever_the_order():
    generator = np.random.default_rng(0)
    data = generator.integers(0, 50, 100_000)
    bound = dp.table() >> dp.histogram("a", categories=range(50), epsilon=1)
    found = bound.insecure_release({"a": data}, seed=1).value.counts
    again = bound.insecure_release({"a": generator.permutation(data)}, seed=1).value.counts
    assert found.tolist() == again.tolist()
    assert abs(found - np.bincount(data)).max() < 40


@pytest.mark.parametrize("cells", [2, 5, 20])
def test_sums_over_other_columns_have_the_error_of_their_noises(cells):
    """Exactly: the law of a sum of discrete Laplace noises, by convolution."""
    axes = [["a", "b"], list(range(cells))]
    found = dp.histogram(["x", "y"], categories=axes, epsilon=1)({"x": ["a"] * 9, "y": [0] * 9})
    sums = found.marginal("x")
    assert sums.counts.tolist() == found.grid().sum(axis=1).tolist()
    assert (sums.columns, sums.categories, sums.axes) == (("x",), ("a", "b"), None)
    one = np.exp(-np.abs(np.arange(-60, 61)))
    law = np.ones(1)
    for _ in range(cells):
        law = np.convolve(law, one / one.sum())
    places = np.arange(len(law)) - len(law) // 2
    assert sums.standard_error == pytest.approx(np.sqrt((law * places**2).sum()), rel=1e-6)
    held = law[np.abs(places) <= sums.margin].sum()
    assert 0.95 <= held <= 0.95 + 2 * law[np.abs(places) >= sums.margin].sum()
    assert law[np.abs(places) <= sums.joint_margin].sum() >= 1 - 0.05 / (2 * cells)


def test_noise_that_two_numbers_share_is_known():
    table = {"x": ["a", "b"] * 50, "y": [0, 1, 1, 0] * 25, "sex": ["f", "m", "m", "f"] * 25}
    counting = dp.histogram(["x", "y"], categories=[["a", "b"], [0, 1]], epsilon=1)
    found = counting(table)
    sums = found.marginal("x")
    assert (sums["a"] - sums["b"]).standard_error == pytest.approx(2**0.5 * sums.standard_error)
    with pytest.raises(dp.ParameterError, match="have the same noise"):
        sums["a"] - found["a", 0]
    groups = dp.by("sex", ["f", "m"], dp.histogram("x", categories=["a", "b"], epsilon=1))(table)
    f, m = (groups[key].shares() for key in "fm")
    apart = dp.difference(f["a"], m["a"], independent=True)
    assert (f["a"] - m["a"]).interval == apart.interval
    # Of one group both are shares of one table, which depend.
    within = dp.difference(f["a"], f["b"], independent=True)
    assert (f["a"] - f["b"]).interval != within.interval
    for asked in ((), ("x", "y"), ("z",)):
        with pytest.raises(dp.ParameterError, match="marginal takes some of the columns x, y"):
            found.marginal(*asked)


@pytest.mark.parametrize(
    ("period", "shown"),
    [
        ("week", ["2025-W01", "2025-W02"]),
        ("month", ["2024-12", "2025-01"]),
        ("quarter", ["2024-Q4", "2025-Q1"]),
        ("year", ["2024", "2025"]),
    ],
)
def test_tables_show_periods_as_people_write_them(period, shown):
    """Only what a step made periods of, and only their first days."""
    rows = {"day": [datetime.date(2024, 12, 30), datetime.date(2025, 1, 8)] * 50, "x": [1, 2] * 50}
    keys = dp.periods(period, "2024-12-30", "2025-01-08")
    made, wait = dp.period("day", period), dp.select("x") >> dp.mean(0, 9, epsilon=9)
    counted, odd = dp.histogram("day", categories=keys, epsilon=9), datetime.date(2024, 12, 31)
    pairs = dp.histogram(["day", "x"], categories=[keys, [1, 2]], epsilon=9)
    by_both = dp.by(["day", "x"], [(keys[0], 1), (keys[1], 2)], wait)
    found = (made >> counted)(rows)
    for each in (found, (made >> dp.by("day", keys, wait))(rows)):
        assert [line.split()[0] for line in str(each).splitlines()[1:3]] == shown
        assert [line.split()[0] for line in str(each.table()).splitlines()[1:3]] == shown
        assert [line.split(",")[0] for line in each.to_csv().splitlines()[1:]] == shown
        assert list(each) == keys
        assert each[shown[1]] == each[keys[1]]
        assert not modules_in(each)
        assert str(pickle.loads(pickle.dumps(each))) == str(each)
    assert found.shares().names == tuple(shown)
    assert found.rolling(2).names == (" to ".join(shown),)
    for each in ((made >> pairs)(rows), (made >> pairs)(rows).marginal("day")):
        assert str(each).splitlines()[1].startswith(f"{shown[0]} ")
    assert f"{shown[0]}, 1" in str((made >> by_both)(rows))
    # Each of these counts other rows than those of a period.
    assert str(counted(rows)).splitlines()[1].startswith(f"{keys[0]} ")
    other = (made >> dp.histogram("day", categories=[odd], epsilon=9))(rows)
    assert str(other).splitlines()[1].startswith("2024-12-31 ")
    again = dp.histogram("day", categories=list(found), epsilon=9)
    twice = made >> dp.period("day", "week") >> dp.histogram("day", categories=[keys[0]], epsilon=9)
    for each in (again(rows), twice(rows)):
        assert str(each).splitlines()[1].startswith(f"{keys[0]} ")
    # They are typed again as days.
    assert repr(again) == repr(counted)


def test_the_years_of_periods_have_four_digits():
    """As dates have, and as ISO 8601 asks for."""
    rows = {"day": [datetime.date(1, 1, 3), datetime.date(99, 1, 4)] * 50}
    for period, shown in (("week", "0001-W01"), ("month", "0099-01"), ("year", "0099")):
        keys = dp.periods(period, "0001-01-01", "0099-12-31")
        counted = dp.period("day", period) >> dp.histogram("day", categories=keys, epsilon=9)
        assert shown in counted(rows).shares().names


def test_first_days_without_a_period_are_days():
    days = {"day": [datetime.date(2024, 1, 1) + datetime.timedelta(n % 60) for n in range(600)]}
    months = dp.periods("month", "2024-01-01", "2024-02-28")
    counted = dp.histogram("day", categories=months, epsilon=1)
    assert "put dp.period('day', 'month') before" in str(counted(days))
    monthly = (dp.period("day", "month") >> counted)(days)
    assert "put dp.period" not in str(monthly)
    each = dp.histogram("day", categories=dp.periods("day", "2024-01-01", "2024-01-09"), epsilon=1)
    assert "put dp.period" not in str(each(days))
    january = monthly[datetime.date(2024, 1, 1)]
    for said in (
        "2024-01",
        "2024-01-01",
        pd.Timestamp("2024-01-01"),
        datetime.datetime(2024, 1, 1),
    ):
        assert monthly[said] == january
    for said in ("2024", "2025-01", pd.Timestamp("2024-01-01 09:00")):
        with pytest.raises(dp.ParameterError, match="there is no key"):
            monthly[said]
