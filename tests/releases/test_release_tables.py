"""Releases as rows, frames, CSV and Arrow; tables to publish."""

import csv
import io

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as arrow
import pytest

import opendp_lite as dp
from opendp_lite.releases.table import ReleaseTable

TABLE = {"sex": ["f", "m"] * 500, "age": [20.0, 50.0] * 500}
MEAN = dp.select("age") >> dp.mean(0, 100, epsilon=1)
COUNT = dp.count() >> dp.laplace(epsilon=1)
ESTIMATE = ["value", "low", "high", "standard_error"]

RELEASES = [
    (MEAN, [*ESTIMATE, "rows"], 1),
    (dp.by("sex", ["f", "m", "x"], MEAN), ["sex", *ESTIMATE, "rows"], 3),
    (dp.by(["sex", "age"], [["f"], [20, 50]], COUNT), ["sex", "age", "value"], 2),
    (
        dp.by("sex", ["f", "m"], dp.compose(n=COUNT, age=MEAN)),
        ["sex", "statistic", "value", "low", "high", "standard_error", "rows"],
        4,
    ),
    (dp.by("sex", ["f"], dp.compose(COUNT, COUNT)), ["sex", "part", "value"], 2),
    (dp.histogram("sex", categories=["f", "m"], epsilon=1), ["sex", "count", *ESTIMATE[1:]], 2),
    (
        dp.histogram(["sex", "age"], categories=["f", "m"], edges=[0, 30, 60], epsilon=1),
        ["sex", "age", "count", *ESTIMATE[1:]],
        4,
    ),
    (
        dp.select("age") >> dp.private_quantile([0.2, 0.5], bounds=(0, 100), epsilon=1),
        ["quantile", *ESTIMATE, "rows"],
        2,
    ),
    (
        dp.select("age") >> dp.cdf(0, 100, epsilon=1, cells=4, confidence=0.9, sampling=False),
        ["x", "share", "standard_error", "low", "high", "band_low", "band_high"],
        5,
    ),
]


@pytest.mark.parametrize(("pipeline", "columns", "rows"), RELEASES)
def test_each_release_is_a_table_for_every_reader(pipeline, columns, rows):
    found = (dp.table() >> pipeline)(TABLE)
    frame, records = found.to_frame(), found.records()
    assert list(frame.columns) == list(pl.DataFrame(found.table()).columns) == columns
    assert len(frame) == len(found.table()) == arrow.table(found.table()).num_rows == rows
    assert len(list(csv.reader(io.StringIO(found.to_csv())))) == rows + 1
    assert all(set(each) <= set(columns) for each in records)
    assert str(found.table()).splitlines()[0].split() == columns
    assert "<table" in found.table()._repr_html_()
    name = columns[-2]
    assert [row.get(name) for row in records] == found.table().columns[name]
    pd.testing.assert_frame_equal(pd.DataFrame(found.table()), frame)


def test_numbers_in_a_frame_are_those_of_the_release():
    found = dp.by("sex", ["f", "m"], MEAN)(TABLE)
    frame = found.to_frame().set_index("sex")
    for key, each in found.items():
        assert frame.loc[key, "value"] == each.value
        assert (frame.loc[key, "low"], frame.loc[key, "high"]) == each.interval
    counts = dp.histogram("age", edges=[0, 30, 60], epsilon=1)(TABLE)
    assert counts.to_frame()["age"].tolist() == ["0 to 30", "30 to 60"]
    assert counts.to_frame()["count"].tolist() == counts.counts.tolist()


@pytest.mark.parametrize("read", [pd.DataFrame, np.asarray])
def test_keys_alone_are_never_taken_for_the_release(read):
    for pipeline in (
        dp.by("sex", ["f"], MEAN),
        dp.histogram("sex", categories=["f"], epsilon=1),
        dp.table() >> dp.compose(n=COUNT),
    ):
        with pytest.raises(TypeError, match=r"to_frame\(\)"):
            read(pipeline(TABLE))


def test_chosen_digits_round_ends_outwards():
    row = {"value": 0.4449, "low": 0.3949, "high": 0.4941, "standard_error": 0.025}
    table = ReleaseTable.of([row], digits=2)
    assert str(table).splitlines()[1].split()[:3] == ["0.44", "0.39", "0.50"]


def test_a_column_named_as_a_statistic_keeps_its_keys():
    found = dp.histogram("count", categories=[0, 1], epsilon=1)({"count": [0, 1] * 50})
    assert list(found.records()[0])[:2] == ["count (key)", "count"]
    assert [row["count (key)"] for row in found.records()] == [0, 1]
    counted = dp.compose(n=dp.count() >> dp.laplace(epsilon=1))
    by_group = dp.by("statistic", ["u", "v"], dp.compose(each=counted))({"statistic": ["u"] * 9})
    keys = [(row["statistic (key)"], row["statistic"]) for row in by_group.records()]
    assert keys == [("u", "each, n"), ("v", "each, n")]


def test_a_table_to_publish_leaves_out_few_and_rounds_outwards():
    rows = [
        {"sex": "f", "count": 312, "low": 309, "high": 313},
        {"sex": "m", "count": 9, "low": 6, "high": 12},
        {"sex": "x", "count": 10, "low": 7, "high": 13},
    ]
    table = ReleaseTable.of(rows, suppress=10, round_to=5)
    assert table.columns == {
        "sex": ["f", "m", "x"],
        "count": [310, None, 10],
        "low": [305, None, 5],
        "high": [315, None, 15],
    }
    assert table.note.startswith("Not shown (-): fewer than 10. Rounded to multiples of 5")
    assert str(table).splitlines()[2].split() == ["m", "-", "-", "-"]
    means = [{"sex": "f", "value": 15.04, "low": 14.96, "high": 15.12, "rows": 4.0}]
    assert ReleaseTable.of(means, round_to=0.1).columns["low"] == [14.9]
    assert ReleaseTable.of(means, round_to=0.1).columns["high"] == [15.2]
    assert ReleaseTable.of(means, suppress=5).columns["value"] == [None]
    endless = [{"value": 1.0, "low": float("-inf"), "high": float("inf")}]
    assert ReleaseTable.of(endless, round_to=1).columns["high"] == [float("inf")]
    for asked in ({"round": 0}, {"suppress": -1}, {"round": "5 units"}):
        with pytest.raises(dp.ParameterError, match="table: "):
            dp.histogram("sex", categories=["f"], epsilon=1)(TABLE).table(**asked)


@pytest.mark.parametrize(("asked", "shown"), [({"round_to": 25}, "575"), ({"digits": 0}, "585")])
def test_a_rounded_number_is_not_rounded_to_its_error_too(asked, shown):
    rows = [{"value": 585.2, "low": 390.4, "high": 780.1, "standard_error": 99.0}]
    table = ReleaseTable.of(rows, **asked)
    assert str(table).splitlines()[1].split()[0] == shown == str(table["value"][0])


def test_quartiles_say_of_how_many_rows_they_are():
    rows = {"sex": ["f"] * 900 + ["m"] * 100, "age": list(range(1000))}
    ages = dp.select("age") >> dp.private_quantile([0.25, 0.5], bounds=(0, 1000), epsilon=9)
    found = dp.by("sex", ["f", "m"], ages)(rows)
    assert [round(each) for each in found.table().columns["rows"]] == pytest.approx(
        [900, 900, 100, 100], abs=30
    )
    shown = found.table(suppress=400).columns["value"]
    assert [each is None for each in shown] == [False, False, True, True]
    assert found["m"]["0.5"].rows == found["m"].rows


def test_a_count_of_a_composition_says_what_is_of_few_rows():
    rows = {"sex": ["f"] * 900 + ["m"] * 100, "age": [30.0, 40.0] * 500}
    count = dp.count() >> dp.laplace(epsilon=9)
    total = dp.select("age") >> dp.clamp(0, 99) >> dp.sum() >> dp.laplace(epsilon=9)
    found = dp.by("sex", ["f", "m"], dp.compose(n=count, total=total))(rows)
    table = found.table(suppress={"n": 400})
    assert [each is None for each in table.columns["value"]] == [False, False, True, True]
    assert table.note.endswith("Not shown (-): fewer than 400.")
    assert found["f"].table(suppress={"n": 950}).columns["value"] == [None, None]
    # What is of other groups than were counted does not say of how many rows it is.
    whole = dp.compose(n=dp.by("sex", ["f", "m"], count), total=total)(rows)
    for each, asked in ((found, 400), (whole, {"n": 400})):
        with pytest.raises(dp.ParameterError, match=r"count of a dp.compose, as in .*'n': 15"):
            each.table(suppress=asked)


def test_parts_are_rounded_by_name():
    rows = {"sex": ["f"] * 900 + ["m"] * 100, "age": [30.0, 40.5] * 500}
    count, mean = dp.count() >> dp.laplace(epsilon=9), dp.select("age") >> dp.mean(0, 99, epsilon=9)
    found = dp.by("sex", ["f", "m"], dp.compose(n=count, mean=mean, again=mean))(rows)
    by_step = found.table(round={"n": 50, "mean": 0.1})
    assert [each % 50 for each in by_step.columns["value"][::3]] == [0, 0]
    assert by_step.note.endswith("multiples of 50 (n), 0.1 (mean), intervals outwards.")
    for table in (by_step, found.table(digits={"mean": 1, "n": -1})):
        lines = [line.split() for line in str(table).splitlines()]
        assert [len(lines[place][2].partition(".")[2]) for place in (1, 2, 4, 5)] == [0, 1, 0, 1]
        assert lines[3] == [line.split() for line in str(found.table()).splitlines()][3]
        assert len(lines[2][3].partition(".")[2]) == 1 < len(lines[3][3].partition(".")[2])
    for asked in ({"digits": {"men": 1}}, {"round": {"n": 5, "men": 1}}):
        with pytest.raises(dp.ParameterError, match=r"'men'.*part of a .*; .* n, mean, again"):
            found.table(**asked)
    with pytest.raises(dp.ParameterError, match="takes one of round=5"):
        found.table(round={"n": 5}, digits={"mean": 1})
    with pytest.raises(dp.ParameterError, match="the parts here are: none"):
        found["f"]["mean"].table(digits={"mean": 1})


def test_a_part_is_of_no_more_rows_than_it_says_itself():
    rows = {"sex": ["f"] * 900 + ["m"] * 100, "age": [None] * 895 + [30.0] * 105}
    count, mean = dp.count() >> dp.laplace(epsilon=9), dp.select("age") >> dp.mean(0, 99, epsilon=9)
    sexes = dp.histogram("sex", categories=["f", "m"], epsilon=9)
    found = dp.compose(n=count, again=count, age=mean, sex=sexes)(rows)
    columns = found.table(suppress={"n": 400, "again": 300}).columns
    assert [each is None for each in columns["value"]] == [False, False, True, False, True]
    assert columns["rows"][:2] == [None, None]
    for named in ("age", "sex", "N"):
        with pytest.raises(dp.ParameterError, match=r"name of a dp.count within.* n, again, age"):
            found.table(suppress={named: 400})


def test_parts_that_are_not_all_shares_are_not_in_percent():
    rows = {"ill": [0, 1] * 500, "age": [30.0, 40.0] * 500}
    ages = dp.select("age") >> dp.mean(0, 99, epsilon=9)
    found = dp.compose(ill=dp.proportion("ill", among=[1], epsilon=9), age=ages)(rows)
    with pytest.raises(dp.ParameterError, match=r"release\['share'\].table\(percent=True\)"):
        found.table(percent=True)
    assert found["ill"].table(percent=True).columns["value"] == [100 * found["ill"].value]
    with pytest.raises(dp.ParameterError, match="for shares, and this release is none; leave it"):
        found["age"].table(percent=True)
    twice = dp.by("ill", [0, 1], ages)(rows)
    change = 3 * (twice[1] / twice[0])
    assert change.table(percent=True).columns["value"] == [100 * change.value]


def test_decimals_are_for_numbers_that_have_some():
    """A count beside a mean stays a whole number."""
    rows = [{"value": 3827}, {"value": 2.683, "low": 2.664, "high": 2.702}]
    table = ReleaseTable.of(rows, digits=2)
    assert [line.split()[0] for line in str(table).splitlines()[1:3]] == ["3827", "2.68"]
    assert table.columns["value"] == [3827, 2.68]
    assert ReleaseTable.of(rows, round_to=10).columns["value"] == [3830, 0]


def test_the_error_and_the_rows_are_not_rounded_with_the_numbers():
    means = [{"sex": "f", "value": 41.26, "low": 40.83, "high": 41.67, "standard_error": 0.208}]
    means[0]["rows"] = 2018.24
    assert str(ReleaseTable.of(means, round_to=10)).splitlines()[1].split() == [
        *["f", "40", "40", "50", "0.21", "2018"]
    ]
    assert str(ReleaseTable.of(means, digits=1)).splitlines()[1].split() == [
        *["f", "41.3", "40.8", "41.7", "0.21", "2018"]
    ]
    assert str(ReleaseTable.of(means)).splitlines()[1].split() == [
        *["f", "41.26", "40.83", "41.67", "0.21", "2018"]
    ]
    assert ReleaseTable.of(means, digits=0).to_csv().splitlines()[1] == "f,41,40,42,0.21,2018"
    for digits in (2, 3, 4):
        with pytest.raises(dp.ParameterError, match=f"round={digits} makes .* for decimals type "):
            ReleaseTable.of(means, round_to=digits)
    with pytest.raises(dp.ParameterError, match="one of round=5"):
        ReleaseTable.of(means, round_to=5, digits=2)


@pytest.mark.parametrize("late", [False, True])
def test_shares_within_each_group_are_those_of_its_histogram(late):
    ill = dp.histogram("ill", categories=["yes", "no"], epsilon=1)
    survey = {"sex": ["f", "m"] * 600, "ill": ["yes"] * 300 + ["no"] * 900}
    if late:
        within = dp.by("sex", ["f", "m"], ill >> (lambda found: found.shares()))(survey)
    else:
        counts = dp.by("sex", ["f", "m"], ill)(survey)
        within = counts.shares()
        share = counts["m"].counts[0] / counts["m"].counts.sum()
        assert within["m"]["yes"].value == pytest.approx(share)
    assert sum(each.value for each in within["f"]) == pytest.approx(1)
    rows = within.table(percent=True, digits=1, suppress=200)
    assert list(rows.columns) == ["sex", "ill", *ESTIMATE, "count"]
    assert rows.columns["value"][::2] == [None, None]
    apart = within["f"]["no"] - within["m"]["no"]
    both = [within[sex]["no"].standard_error for sex in ("f", "m")]
    assert apart.standard_error == pytest.approx(np.hypot(*both), rel=0.05)


def test_shares_print_as_percentages_with_their_counts():
    found = dp.histogram("sex", categories=["f", "m", None], epsilon=1)(TABLE)
    shares = found.shares()
    table = shares.table(percent=True, digits=1, suppress=100)
    assert table.columns.keys() == {"sex", *ESTIMATE, "count"}
    plain = [line.split() for line in str(shares.table(percent=True)).splitlines()[1:3]]
    assert all(len(cell.partition(".")[2]) == 1 for line in plain for cell in line[1:4])
    ends = {"share": 0.5, "low": 0.41276, "high": 0.58726, "standard_error": 0.03}
    assert "50.0  41.2  58.8" in str(ReleaseTable.of([ends], percent=True))
    assert table.columns["value"][2] is None
    assert table.columns["value"][0] == pytest.approx(100 * shares["f"].value, abs=0.05)
    assert table.columns["low"][0] <= 100 * shares["f"].interval[0]
    assert table.columns["high"][0] >= 100 * shares["f"].interval[1]
    assert table.columns["count"][:2] == found.counts[:2].tolist()
    assert table.columns["sex"][2] == found.table().columns["sex"][2] == "missing"
    assert shares[None] == shares["missing"]
    by_group = dp.by("sex", ["f", "m"], dp.count() >> dp.laplace(epsilon=1))(TABLE)
    for counts in (found, by_group):
        with pytest.raises(dp.ParameterError, match=r"release.shares\(\).table\(percent=True\)"):
            counts.table(percent=True)
    with pytest.raises(TypeError, match=r"take dp.histogram\('sex', categories=keys"):
        by_group.shares()


def test_releases_of_several_kinds_share_a_column():
    counted = dp.histogram("sex", categories=["f", "m"], epsilon=1)
    table = dp.compose(rows=counted, age=MEAN)(TABLE).table()
    assert list(table.columns) == ["statistic", "sex", *ESTIMATE, "rows"]
    assert None not in table.columns["value"]
    assert "rows, 95 % of releases of these rows; age, 95 % of samples like this" in table.note
    session = dp.session(TABLE, budget=dp.epsilon(1))
    assert session(MEAN).table().note.startswith("low to high: 95 % of samples like this. Values")


def test_csv_goes_into_a_file(tmp_path):
    found = dp.by("sex", ["f", "m"], MEAN)(TABLE)
    assert found.to_csv(tmp_path / "means.csv") is None
    # Not by pandas, whose parser was off by an ulp before 3.1.
    rows = csv.DictReader((tmp_path / "means.csv").read_text("utf-8").splitlines())
    assert [float(row["value"]) for row in rows] == [float(each) for each in found.values()]


def test_cells_of_several_kinds_are_text_in_arrow():
    table = ReleaseTable({"key": ["f", 1, None], "value": [1, 2.5, None]})
    assert arrow.table(table).to_pydict() == {"key": ["f", "1", None], "value": [1.0, 2.5, None]}


def test_a_release_of_a_session_is_a_table_too():
    ask = dp.session(TABLE, budget=dp.epsilon(2))
    assert len(ask(dp.by("sex", ["f", "m"], MEAN)).to_frame()) == 2
    counted = ask(COUNT)
    assert counted.records() == [{"value": counted.value}]


def test_plots_are_drawn():
    pytest.importorskip("matplotlib").use("Agg")
    for pipeline in (MEAN, dp.by("sex", ["f", "m"], MEAN), RELEASES[5][0], RELEASES[-1][0]):
        assert (dp.table() >> pipeline)(TABLE).plot().get_title()
    assert dp.session(TABLE, budget=dp.epsilon(1))(MEAN).plot().get_title()
    with pytest.raises(TypeError, match="no picture"):
        dp.session(TABLE, budget=dp.epsilon(1))(COUNT).plot()


def test_a_table_of_groups_says_of_what_intervals_are_and_what_may_hide(seeded):
    ages = {"sex": ["f"] * 3000 + ["m"] * 3000, "age": list(range(20, 80)) * 100}
    found = dp.by("sex", ["f", "m", "x"], dp.select("age") >> dp.mean(epsilon=1))(ages)
    hidden = max(each.hidden_rows or 0 for each in found.values())
    note = found.table(digits=1).note
    assert "95 % of samples like this if tails are thin or 95 % of samples like this." in note
    assert f"A far group of fewer than {hidden} rows may not be seen" in note
    assert f"A far group of fewer than {hidden} rows may not be seen" in found["f"].table().note
    assert found.table(digits=1).columns["low"][2] == -np.inf
    apart = found["f"] - found["m"]
    assert apart.hidden_rows == hidden
    low, high = apart.clipped_interval
    assert apart.interval[0] <= low < high <= apart.interval[1]


def test_joint_intervals_of_groups_hold_at_once_in_each_group_alone():
    fifths = dp.select("age") >> dp.private_quantile([0.2, 0.5], bounds=(0, 100), epsilon=1)
    alone = str((dp.table() >> fifths)(TABLE).table())
    clipped = "Values below 0 count as 0, values above 100 as 100."
    assert f"95 % of samples like this, all of them at once. {clipped}" in alone
    groups = (dp.table() >> dp.by("sex", ["f", "m"], fifths))(TABLE)
    assert str(groups) == str(groups.table())
    assert f"95 % of samples like this, all of one group at once. {clipped}" in str(groups)


def test_a_column_of_keys_keeps_its_name_beside_those_of_a_row():
    """Keys of a column called as one of the row's own were lost."""
    fifths = dp.select("age") >> dp.private_quantile([0.2, 0.5], bounds=(0, 100), epsilon=1)
    table = dp.by("quantile", ["f", "m"], fifths)({"quantile": TABLE["sex"], "age": TABLE["age"]})
    assert table.to_frame()["quantile (key)"].tolist() == ["f", "f", "m", "m"]
    assert table.to_frame()["quantile"].tolist() == ["0.2", "0.5"] * 2


def test_what_is_said_of_some_groups_names_them():
    few = dp.releases.Estimates.around([1], [1], [2], [2], 0.95, hint="few rows")
    none = dp.releases.Estimates.around([1], [1], [2], [2], 0.95)
    groups = dp.releases.ByGroup("sex", {"f": few, "m": none, "x": few})
    assert groups.table().note.endswith("Of f; x: Few rows.")
    assert dp.releases.ByGroup("sex", {"f": few}).table().note.endswith("once. Few rows.")


LEFT_OUT = "rows without a value are left out"


def test_a_table_of_means_says_what_values_count_as():
    """The interval is for the mean of clipped values, and the table is what is published."""
    found = dp.by("sex", ["f", "m"], MEAN)(TABLE)
    said = f"Values below 0 count as 0, values above 100 as 100; {LEFT_OUT}."
    for each in (found, found["f"], found["m"] - found["f"], 2 * found["f"]):
        assert f"of samples like this. {said}" in each.table().note
        assert each._repr_html_().count(said) == 1
    assert not found["f"].clipped
    assert dp.by("sex", ["f"], COUNT)(TABLE).table().note == ""
    years = dp.select("age") >> dp.mean(0, 90, epsilon=1)
    both = dp.compose(years=years, again=MEAN)(TABLE).table().note
    assert f"values above 90 as 90; {LEFT_OUT} (years); values below 0" in both
    assert both.endswith(f"values above 100 as 100; {LEFT_OUT} (again).")
    searched = (dp.select("age") >> dp.mean(epsilon=1))(TABLE).table().note
    assert "Values beyond bounds that a part of the budget finds count as these" in searched
    size = dp.records(size=1000, metric=dp.ChangeOneDistance())
    known = (size >> dp.mean(0, 100, epsilon=1))(TABLE["age"])
    assert known.as_dict()["treated"].endswith(
        "values above 100 as 100; a missing value counts as 50"
    )


def test_weights_are_not_called_rows():
    rows = {"sex": ["f", "m"] * 500, "age": [20.0, 50.0] * 500, "w": [1.0, 2.0] * 500}
    mean = dp.select("age", "w") >> dp.weighted_mean(0, 100, most=4, epsilon=9)
    table = dp.by("sex", ["f", "m"], mean)(rows).table(suppress=200, digits=1)
    assert list(table.columns) == ["sex", *ESTIMATE, "weight_over_most"]
    assert table.columns["weight_over_most"] == [None, pytest.approx(250, abs=9)]
    assert type(table.columns["weight_over_most"][1]) is int
    assert "Weights" not in table.note
    with pytest.raises(dp.ParameterError, match="this release is none"):
        dp.by("sex", ["f", "m"], mean)(rows).table(percent=True)
    assert "weights above 4 count as 4, rows without a weight are left out." in table.note
    share = dp.proportion("sex", among=["f"], weights="w", most=4, epsilon=9)(rows).table()
    assert share.note.endswith(
        "like this. Rows without a value are left out; weights above 4 count as 4, rows without a "
        "weight are left out."
    )
    missing = dp.proportion("sex", among=["f", None], epsilon=9)(rows).table()
    assert missing.note.endswith("like this.")
    few = dp.by("sex", ["x"], mean)(rows)["x"]
    assert "too few rows" in str(few)
    assert "too few rows, about" not in str(few)


def test_shares_say_of_which_rows_they_are():
    counts = dp.histogram("age", categories=[20, 40], epsilon=1)(TABLE)
    shares, by_sex = (
        counts.shares(),
        dp.by("sex", ["f"], dp.histogram("age", categories=[20], epsilon=1)),
    )
    apart = shares["20"] - shares["40"]
    for each in (shares, shares["20"], apart, by_sex(TABLE).shares()):
        assert "Shares of the rows with these categories." in each.table().note
    assert "Shares" not in counts.table().note


def test_a_last_row_adds_up_counts_and_sums():
    counts = dp.histogram("sex", categories=["f", "m", None], epsilon=1)(TABLE)
    total, table = sum(counts.values()), counts.table(total=True)
    last = {name: cells[-1] for name, cells in table.columns.items()}
    assert last == {
        "sex": "total",
        "count": total.value,
        "low": np.floor(total.interval[0]),
        "high": np.ceil(total.interval[1]),
        "standard_error": total.standard_error,
    }
    assert {type(last[name]) for name in ("count", "low", "high")} == {int}
    assert table.columns["count"][:-1] == counts.counts.tolist()
    assert counts.table(total=True, suppress=9999, round=5).columns["count"][-1] is None
    noise = dp.laplace(epsilon=1, confidence=0.95)
    ages = dp.select("age") >> dp.clamp(0, 99) >> dp.sum() >> noise
    sums = dp.by(["sex", "age"], [["f", "m"], [20, 50]], ages)(TABLE)
    paid = dp.session(TABLE, dp.epsilon(1))(dp.by("sex", ["f", "m"], dp.count() >> noise))
    for found in (sums, paid):
        total, cells = sum(found.values()), found.table(total=True).columns
        last = [cells[name][-1] for name in ("value", "low", "high")]
        assert last == [total.value, *total.interval]
    assert [sums.table(total=True).columns[name][-1] for name in ("sex", "age")] == ["total", ""]
    plain = dp.by("sex", ["f", "m"], COUNT)(TABLE)
    assert plain.table(total=True).columns["value"][-1] == sum(plain.values())
    within = dp.by("sex", ["f", "m"], dp.histogram("age", categories=[20, 50], epsilon=1))(TABLE)
    added = sum(each for one in within.values() for each in one.values())
    assert within.table(total=True).columns["count"][-1] == added.value
    unknown = dp.histogram("sex", epsilon=1, delta=1e-6)
    assert unknown(TABLE).table(total=True).columns["sex"][-1] == "total of these"
    assert len(unknown({"sex": ["f"]}).table(total=True)) == 0


NO_SUMS = [
    dp.by("sex", ["f", "m"], MEAN),
    dp.by("sex", ["f", "m"], dp.select("age") >> dp.mean(0, 100, epsilon=1, sampling=False)),
    dp.by("sex", ["f", "m"], dp.select("age") >> dp.mean(0, 100, epsilon=1, confidence=None)),
    dp.by("sex", ["f"], dp.select("age") >> dp.private_quantile(0.5, bounds=(0, 100), epsilon=1)),
    dp.by("sex", ["f"], dp.proportion("age", among=[20], epsilon=1, sampling=False)),
    dp.by("sex", ["f"], dp.compose(n=COUNT, age=MEAN)),
    dp.by("sex", ["f"], dp.histogram("age", categories=[20], epsilon=1) >> (lambda n: n.shares())),
]


@pytest.mark.parametrize("pipeline", NO_SUMS)
def test_what_is_no_sum_has_no_total(pipeline):
    refused = r"dp.compose\(all=mean, by=dp.by\('sex', keys, mean\)\)"
    with pytest.raises(dp.ParameterError, match=refused):
        pipeline(TABLE).table(total=True)
    with pytest.raises(dp.ParameterError, match=refused):
        dp.session(TABLE, dp.epsilon(9))(dp.table() >> pipeline).table(total=True)
    with pytest.raises(AttributeError, match=r"type release.table\(total=True\)$"):
        pipeline(TABLE).total()


def test_a_single_number_has_no_total():
    one = (dp.count() >> dp.laplace(epsilon=1, confidence=0.9))(TABLE["age"])
    with pytest.raises(dp.ParameterError, match="total=True adds up counts"):
        one.table(total=True)


def test_a_histogram_of_two_columns_is_laid_out_in_two_ways():
    rows = {"sex": ["f"] * 60 + ["m"] * 40, "ill": [0] * 57 + [1] * 43}
    pipeline = dp.histogram(["sex", "ill"], categories=[["f", "m", None], [0, 1]], epsilon=3)
    found = pipeline(rows)
    table = found.table(wide=True, total=True)
    first, *columns = table.columns
    assert [first, *columns] == ["sex \\ ill", "0", "1", "total"]
    assert table.columns[first] == ["f", "m", "missing", "total"]
    rows_of, columns_of = found.marginal("sex"), found.marginal("ill")
    assert table.columns["total"] == [*rows_of.counts, sum(found.values()).value]
    assert [table.columns[name][-1] for name in ("0", "1")] == columns_of.counts.tolist()
    assert [table.columns[name][:-1] for name in ("0", "1")] == found.grid().T.tolist()
    reach = [each.margin for each in (found, rows_of, columns_of)]
    said = "a count by at most {:.0f}, a row's total by {:.0f}, a column's by {:.0f}, that of all"
    assert table.note.startswith(f"In 95 % of releases noise moves {said.format(*reach)}")
    shown = found.table(wide=True, total=True, suppress=20, round=5)
    assert shown.columns["1"][0] is shown.columns["0"][1] is shown.columns["total"][2] is None
    assert all(each % 5 == 0 for each in (shown.columns["0"][0], shown.columns["total"][-1]))
    rounded = "Rounded to multiples of 5. Rounding moves a number by up to 2.5 more."
    assert f"fewer than 20. {rounded} What is not shown may follow" in shown.note
    assert shown.note.endswith("Rounded numbers may not add up to the totals.")
    assert "not shown" not in found.table(total=True).note
    lines = str(shown).splitlines()[:5]
    assert lines[0].split() == ["sex", "\\", "ill", "0", "1", "total"]
    assert lines[1].split()[::2] == ["f", "-"]
    assert len(set(map(len, lines))) == 1
    assert shown.to_frame()["1"].isna().tolist() == [True, False, True, False]
    assert shown.to_csv().splitlines()[1].startswith("f,")
    assert list(found.table(wide=True).columns)[1:] == ["0", "1"]
    assert dp.session(rows, dp.epsilon(3))(pipeline).table(wide=True).wide


def test_counts_in_two_ways_have_the_digits_of_their_error():
    keys = [["f", "m"], [20, 50]]
    found = dp.histogram(["sex", "age"], categories=keys, rho=0.1)(TABLE)
    cells = found.table(wide=True, total=True).columns["total"]
    assert all(len(str(each).partition(".")[2]) == 1 for each in cells)
    assert found.table(wide=True, round=10).columns["20"][0] in (490, 500, 510)


def test_counts_by_two_keys_are_whole_and_show_no_ends(seeded):
    count = dp.count() >> dp.laplace(epsilon=9, confidence=0.9)
    found = dp.by(["sex", "age"], [["f", "m"], [20, 50]], count)(TABLE)
    table = found.table(wide=True, round=100)
    assert str(table).splitlines()[1].split() == ["f", "500", "0"]
    assert "outwards" not in table.note
    assert str(found.table(wide=True)).splitlines()[2].split()[1].lstrip("-").isdigit()


def test_a_note_names_some_of_many_groups(seeded):
    few = dp.by("sex", [*"abcdegh"], MEAN)(TABLE).table()
    assert few.note.endswith("Too few rows.")
    few = dp.by("sex", [*"mabcdegh"], MEAN)(TABLE).table()
    assert few.note.endswith("Too few rows: a; b; c; d; e and 2 more.")


def test_keys_that_are_named_as_numbers_are_laid_out_too():
    rows = {"value": ["a", "b"] * 50, "count": [0, 1] * 50}
    found = dp.histogram(["value", "count"], categories=[["a", "b"], [0, 1]], epsilon=9)(rows)
    assert list(found.table(wide=True).columns) == ["value (key) \\ count (key)", "0", "1"]


def test_only_two_ways_are_laid_out():
    one = dp.histogram("sex", categories=["f"], epsilon=1)(TABLE)
    three = dp.histogram(["a", "b", "c"], categories=[[0], [0], [0]], epsilon=1)
    ages = (dp.select("age") >> dp.cdf(0, 100, epsilon=1, cells=4))(TABLE)
    columns = {"a": [0], "b": [0], "c": [0]}
    for found in (one, three(columns), dp.by("sex", ["f"], MEAN)(TABLE), ages):
        with pytest.raises(dp.ParameterError, match=r"wide=True is for numbers by two keys"):
            found.table(wide=True)
    with pytest.raises(dp.ParameterError, match="total=True adds up counts"):
        ages.table(total=True)
    with pytest.raises(dp.ParameterError, match="total=True with wide=True is for a"):
        dp.by("sex", ["f"], MEAN)(TABLE).table(total=True, wide=True)
    twice = dp.histogram(["a", "b"], categories=[[0], ["total", 0]], epsilon=1)(columns)
    with pytest.raises(dp.ParameterError, match="call two columns alike"):
        twice.table(wide=True, total=True)


def test_shares_and_means_by_two_keys_are_laid_out_in_two_ways(seeded):
    rows = {
        "sex": ["f"] * 600 + ["m"] * 400,
        "ill": ["no"] * 570 + ["yes"] * 30 + ["no"] * 10 + ["yes"] * 390,
    }
    ill = dp.histogram("ill", categories=["no", "yes", "?"], epsilon=9)
    found = dp.by("sex", ["f", "m"], ill)(rows).shares()
    table = found.table(wide=True, percent=True, suppress=20)
    assert list(table.columns) == ["sex \\ ill", "no", "yes", "?"]
    assert table.columns["no"] == [pytest.approx(95, abs=1), None]
    assert str(table).splitlines()[1].split() == ["f", "95.0", "5.0", "-"]
    assert table.to_frame()["?"].isna().all()
    longest = [max(e.interval[1] - e.value, e.value - e.interval[0]) for e in found["m"]][1]
    assert f"In 95 % of samples like this, a number is off by at most {100 * longest:.1f}." in (
        found.table(wide=True, percent=True).note
    )
    together = dp.histogram(["sex", "ill"], categories=[["f", "m"], ["no", "yes"]], epsilon=9)(rows)
    cells = together.shares().table(wide=True, digits=2).columns
    assert [cells["no"], cells["yes"]] == [[0.57, 0.01], [0.03, 0.39]]
    mean = dp.select("n") >> dp.mean(0, 10, epsilon=9)
    numbers = rows | {"n": [3.0] * 1000}
    means = dp.by(["sex", "ill"], [["f", "m"], ["no", "yes"]], mean)(numbers).table(wide=True)
    assert means.columns["yes"][1] == pytest.approx(3, abs=0.1)


def test_what_a_number_says_of_itself_stands_below_its_table(seeded):
    few = dp.by("sex", ["f", "x"], MEAN)(TABLE)
    assert few.table().note.endswith("Too few rows: x.")
    assert few["x"].table().note.endswith("Too few rows.")
    spread = dp.select("age") >> dp.variance(0, 60, epsilon=5)
    by_sex = dp.by("sex", ["f", "m"], spread)(TABLE).table()
    assert "wide_low to wide_high: with what clipping may move." in by_sex.note
    assert by_sex.columns["wide_low"][0] <= by_sex.columns["low"][0]
    both = dp.by(["sex", "age"], [("x", 20), ("y", 50), ("f", 20)], MEAN)(TABLE)
    assert both.table().note.endswith("Too few rows: x, 20; y, 50.")
    near = dp.by("sex", ["f", "m"], dp.select("age") >> dp.mean(0, 21, epsilon=5))(TABLE).table()
    assert "Near the bound 21, so values beyond it may be clipped" in near.note
    # A noisy number of rows hides no release of which nothing is known.
    unbounded = dp.by("sex", ["x"], dp.select("age") >> dp.mean(epsilon=1))(TABLE)["x"]
    many = attrs.evolve(unbounded, rows=142.0)
    assert many.table(suppress=15).columns["value"] == [None]


def test_a_quantile_at_a_bound_says_so_wherever_it_is_shown(seeded):
    released = (dp.select("age") >> dp.cdf(0, 40, epsilon=9))(TABLE)
    at_bound = "ear the bound 40, so values beyond it may be clipped"
    assert at_bound in str(released.quantile(0.9))
    assert at_bound not in str(released.quantile(0.3))
    both = released.quantile([0.3, 0.9])
    assert both.table().note.endswith(f"N{at_bound}: 0.9.")
    assert f"N{at_bound}: 0.9." in repr(both)
    assert "values above 40 as 40; rows without a value are left out" in both.table().note.lower()
    each = (dp.select("age") >> dp.private_quantile([0.3, 0.9], bounds=(0, 40), epsilon=9))(TABLE)
    assert each.table().note.endswith(f"N{at_bound}: 0.9.")


def test_a_share_is_left_out_where_few_have_what_it_is_of():
    rows = {"sex": ["f", "m"] * 500, "ill": [1, 1] * 3 + [0] * 994}
    table = dp.by("sex", ["f", "m"], dp.proportion("ill", among=[1], epsilon=20))(rows)
    assert table.table(suppress=15).columns["value"] == [None, None]
    assert table.table().columns["count"] == [pytest.approx(3, abs=2)] * 2
    assert (100 * table["f"] + 1).table(suppress=15).columns["value"] == [None]
    assert (1 - table["f"]).table(suppress=15).columns["value"] != [None]


def test_a_weighted_mean_says_which_column_is_the_weight():
    rows = {"age": [20.0, 50.0] * 500, "w": [1.0, 2.0] * 500}
    found = (dp.select("age", "w") >> dp.weighted_mean(0, 100, most=4, epsilon=9))(rows)
    assert "Weighted by w, the values are age; values below 0" in found.table().note


def test_the_mean_of_all_stands_among_those_of_groups():
    both = dp.compose(all=MEAN, by=dp.by("sex", ["f", "m"], MEAN))(TABLE)
    table = both.table().columns
    assert list(table) == ["sex", *ESTIMATE, "rows"]
    assert table["sex"] == ["all", "f", "m"]
    assert table["value"] == [each.value for each in (both["all"], *both["by"].values())]
    assert both.table(suppress=700).columns["value"][1:] == [None, None]
    cells = dp.compose(by=dp.by(["sex", "age"], [["f"], [20]], MEAN), all=MEAN)(TABLE).table()
    assert list(cells.columns)[:2] == ["sex", "age"]
    assert [cells.columns[name] for name in ("sex", "age")] == [["f", "all"], [20, ""]]
    # A name of another statistic, or beside other groups, would be taken for a group.
    for apart in (
        dp.compose(n=dp.count() >> dp.laplace(epsilon=1), by=dp.by("sex", ["f"], MEAN)),
        dp.compose(age=MEAN, sexes=dp.by("sex", ["f"], MEAN)),
    ):
        assert next(iter(apart(TABLE).table().columns)) == "statistic"


KEPT = "ows counted: at most 2 of a person"
PERSONS = {"id": [*range(300)] * 3, "city": ["a", "b", "b"] * 300, "x": [1.0, 2.0, 3.0] * 300}
OF_PERSONS = {
    "count": dp.count() >> dp.laplace(epsilon=9, confidence=0.9),
    "sums": dp.select("x", "id")
    >> dp.clamp(0, 9)
    >> dp.sum()
    >> dp.laplace(epsilon=9, confidence=0.9),
    "mean": dp.select("x") >> dp.mean(0, 9, epsilon=9),
    "weighted": dp.select("x", "id") >> dp.weighted_mean(0, 9, most=9, epsilon=9),
    "unbounded": dp.select("x") >> dp.mean(epsilon=9),
    "variance": dp.select("x") >> dp.variance(0, 9, epsilon=9),
    "quantile": dp.select("x") >> dp.private_quantile(0.4, bounds=(0, 9), epsilon=9),
    "quantiles": dp.select("x") >> dp.private_quantile([0.4, 0.6], bounds=(0, 9), epsilon=9),
    "cdf": dp.select("x") >> dp.cdf(0, 9, epsilon=9),
    "share": dp.proportion("city", among=["a"], epsilon=9),
    "counts": dp.histogram("city", categories=["a", "b"], epsilon=9),
    "unknown": dp.histogram("city", epsilon=9, delta=1e-6),
    "top": dp.top_k(1, "city", epsilon=9, delta=1e-6),
    "groups": dp.by("city", ["a", "b"], dp.count() >> dp.laplace(epsilon=9, confidence=0.9)),
    "means": dp.by("city", ["a", "b"], dp.select("x") >> dp.mean(0, 9, epsilon=9)),
}


@pytest.mark.parametrize("name", OF_PERSONS)
def test_numbers_of_the_rows_that_were_kept_say_so(name, seeded):
    """An interval "of these rows" was read as one of the whole table."""
    kept = dp.table(person="id") >> dp.bound_contributions(2) >> OF_PERSONS[name]
    found = kept(PERSONS)
    # A distribution prints in a line what its quantiles say.
    assert KEPT in repr(found.quantile([0.4, 0.5]) if name == "cdf" else found)
    assert KEPT in found.table().note
    if name in ("counts", "unknown"):
        assert KEPT in found.shares().table().note
    if name == "cdf":
        assert KEPT in str(found.quantile(0.5))
    assert KEPT not in repr((dp.table() >> OF_PERSONS[name])(PERSONS))
