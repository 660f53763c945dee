"""A release and its statement in files: the numbers with all digits, and what the loss is."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import opendp_lite as dp

COUNTS = ["--column", "sex", "--categories", "f", "m", "NA", "--epsilon", 1]


def test_json_is_what_json_prints(made, survey, tmp_path):
    path = tmp_path / "r.json"
    out = made("histogram", survey, *COUNTS, "--json", "--output", path)
    assert path.read_text() == out
    assert json.loads(out)["loss"] == {"measure": "MaxDivergence", "epsilon": 1.0}


def test_csv_has_a_row_for_each_number(made, survey, tmp_path):
    path = tmp_path / "r.CSV"
    out = json.loads(made("histogram", survey, *COUNTS, "--json", "--output", path))
    rows = list(csv.reader(path.read_text().splitlines()))
    titles = "sex", "count", "standard_error", "low", "high", "joint_low", "joint_high"
    assert tuple(rows[0]) == titles
    for row, line in zip(rows[1:], out["releases"], strict=True):
        assert row[0] == (line["sex"] or "")
        assert [float(each) for each in row[1:]] == [
            line["count"],
            line["standard_error"],
            *line["interval"],
            *line["joint_interval"],
        ]


def test_one_number_is_a_table_of_one_row(made, survey, tmp_path):
    path = tmp_path / "r.csv"
    words = ["--column", "age", "--bounds", 0, 100, "--rho", 1]
    found = json.loads(made("mean", survey, *words, "--json", "--output", path))
    header, row = csv.reader(path.read_text().splitlines())
    assert header == ["mean", "standard_error", "low", "high", "noise_low", "noise_high"]
    assert [float(each) for each in row] == [
        found["mean"],
        found["standard_error"],
        *found["interval"],
        *found["noise_interval"],
    ]


def test_parquet_carries_the_statement_of_the_loss(made, survey, tmp_path):
    path = tmp_path / "r.parquet"
    words = ["--column", "age", "--edges", 0, 10, 40, "--rho", 1, "--other"]
    out = json.loads(made("histogram", survey, *words, "--json", "--output", path))
    table = pq.read_table(path)
    assert table.column("age").to_pylist() == ["0 to 10", "10 to 40", "other"]
    assert table.column("count").to_pylist() == [line["count"] for line in out["releases"]]
    statement = json.loads(table.schema.metadata[b"opendp_lite"])
    assert statement == {key: value for key, value in out.items() if key != "releases"}


@pytest.fixture
def two_towns(table):
    rows = ["Leeds,f"] * 300 + ["Leeds,m"] * 421 + ["York,f"] * 250 + ["York,m"]
    return table("\n".join(["town,sex", *rows]))


TOWNS = ["--categories", "Leeds", "York", "--categories", "f", "m", "--epsilon", 50]


def test_a_table_to_publish_is_printed_and_written(made, told, two_towns, tmp_path):
    path = tmp_path / "r.csv"
    words = ["histogram", two_towns, "--column", "town", "sex", *TOWNS, "--suppress", 10]
    words += ["--round", 5]
    out = made(*words, "--wide", "--total", "--output", path)
    assert path.read_text().splitlines() == [
        "town \\ sex,f,m,total",
        "Leeds,300,420,720",
        "York,250,,250",
        "total,550,420,970",
    ]
    assert "Leeds       300  420    720" in out
    assert "Not shown (-): fewer than 10. Rounded to multiples of 5." in out
    found = told(*words, "--total")
    assert [row["count"] for row in found["releases"]] == [300, 420, 250, None, 970]
    assert found["releases"][0]["low"] == 300
    assert "Not shown (-): fewer than 10." in found["note"]


def test_shares_of_groups_are_published_in_percent(made, two_towns, tmp_path):
    path = tmp_path / "r.parquet"
    words = ["--column", "sex", "--among", "m", "--by", "town", "--keys", "Leeds", "York"]
    words += ["--epsilon", 50, "--percent", "--suppress", 10, "--round", 0.5, "--output", path]
    assert "In percent." in made("proportion", two_towns, *words)
    shares = pq.read_table(path)
    assert shares.column("town").to_pylist() == ["Leeds", "York"]
    assert shares.column("value").to_pylist() == [58.5, None]


def test_a_table_that_cannot_be_made_loses_no_paid_release(made, two_towns):
    words = ["--column", "town", "sex", "--categories", "Leeds", "--categories", "f"]
    words[-1] = "town \\ sex"
    out = made("histogram", two_towns, *words, "--wide", "--epsilon", 50)
    assert "table       not made: table: wide=True would call two columns alike" in out
    assert "town   sex         count" in out


def test_no_categories_that_are_shown(made, table, tmp_path):
    words = ["--column", "x", "--epsilon", 1, "--delta", 1e-6]
    for name in ("r.csv", "r.json", "r.parquet"):
        made("histogram", table("x\na\n"), *words, "--output", tmp_path / name)
    assert (tmp_path / "r.csv").read_text() == "x,count,standard_error,low,high\n"
    assert json.loads((tmp_path / "r.json").read_text())["releases"] == []
    assert pq.read_table(tmp_path / "r.parquet").num_rows == 0


def test_a_refusal_leaves_the_file_alone(refused, table, tmp_path):
    path = tmp_path / "r.json"
    path.write_text("before")
    words = ["--column", "x", "--bounds", 0, 1, "--rho", 1, "--output", path]
    refused("mean", table("x\ntext\n"), *words)
    assert path.read_text() == "before"


@pytest.mark.parametrize("flag", ["--output", "--statement"])
def test_a_release_is_written_over_only_by_force(made, refused, survey, tmp_path, flag):
    ledger, path = tmp_path / "l", tmp_path / "r.json"
    made("ledger", "create", ledger, "--epsilon", 2, "--unit", "row")
    words = ["histogram", survey, *COUNTS, "--ledger", ledger, flag, path]
    made(*words)
    before = path.read_bytes()
    error = refused(*words)
    assert f"{flag}: {str(path)!r} is there already" in error
    assert path.read_bytes() == before
    assert dp.Ledger.open(ledger).left == 1
    made(*words, "--force")
    assert path.read_bytes() != before


def test_a_file_that_comes_during_the_release_is_kept(run, survey, tmp_path, monkeypatch):
    path, release = tmp_path / "r.json", dp.Measurement._release

    def late(self, *data):
        path.write_text("of another process")
        return release(self, *data)

    monkeypatch.setattr(dp.Measurement, "_release", late)
    status, out, err = run("mean", survey, *AGES, "--output", path)
    assert status == 2
    assert out.startswith("mean of age")
    assert "but writing --output failed: File exists" in err
    assert path.read_text() == "of another process"


def test_missing_pyarrow_is_said(refused, survey, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    error = refused("histogram", survey, *COUNTS, "--output", tmp_path / "r.parquet")
    assert "writing a .parquet file needs pyarrow, which is not installed; type: pip" in error


@pytest.mark.parametrize("command", ["histogram", "quantile", "variance", "standard-deviation"])
def test_help(run, command):
    status, out, _ = run(command, "--help")
    assert status == 0
    for word in ("--person", "--by", "--output", f"opendp-lite {command} FILE"):
        assert word in out
    assert max(map(len, out.splitlines())) <= 100


AGES = ["--column", "age", "--bounds", 0, 100, "--epsilon", 1]
MEAN = dp.mean(0, 100, epsilon=1).statement()


def test_a_statement_is_written_as_text_and_as_json(made, survey, tmp_path):
    made("mean", survey, *AGES, "--statement", tmp_path / "s.TXT")
    assert (tmp_path / "s.TXT").read_text("utf-8") == f"{MEAN}\n"
    made("mean", survey, *AGES, "--statement", tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text("utf-8")) == MEAN.as_dict()


def test_a_page_with_what_was_typed_escaped(made, table, tmp_path):
    path = tmp_path / "s.html"
    words = ["--header", "--column", "<script>", "--categories", "<b>", "f", "--epsilon", 1]
    made("histogram", table("<script>,age\nf,3\n"), *words, "--statement", path)
    page = path.read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "'<b>'" not in page


def test_it_is_for_people_where_people_are_protected(made, survey, tmp_path):
    path = tmp_path / "s.txt"
    made("mean", survey, *AGES, "--person", "id", "--most", 2, "--statement", path)
    assert "- One person, with all rows of that person." in path.read_text("utf-8")


@pytest.mark.parametrize("rows", ["age\n20\n", "age\n20\n\n99\n"])
def test_it_does_not_depend_on_the_data(made, table, tmp_path, rows):
    path = tmp_path / "s.json"
    made("mean", table(rows), *AGES, "--statement", path)
    assert json.loads(path.read_text("utf-8")) == MEAN.as_dict()


def test_refusals_come_before_the_release(refused, survey, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    same = tmp_path / "same.json"
    for flag, path, message in (
        ("--output", tmp_path / "r.txt", "the name must end in .json or .csv or .parquet"),
        ("--output", tmp_path / "none" / "r.csv", "there is no folder"),
        (
            "--output",
            survey,
            "is a file that is read, such as the data or the ledger; name another",
        ),
        ("--output", tmp_path / "folder.csv", "cannot be written"),
        ("--statement", tmp_path / "s.pdf", "the name must end in .json or .html or .txt"),
        ("--statement", tmp_path / "none" / "s.txt", "there is no folder"),
        ("--statement", same, "--output names the same file"),
    ):
        there = path.exists()
        other = ["--output", same] if flag == "--statement" else []
        error = refused("mean", survey, *AGES, flag, path, *other, "--force")
        assert f"{flag}: " in error
        assert message in error
        assert error.count("\n") == 1
        assert path.exists() is there


@pytest.mark.parametrize("flag", ["--output", "--statement"])
@pytest.mark.parametrize(
    ("name", "words"),
    [("a.json", "is a file that is read, such as the data"), ("b.json", "is the witness of the")],
)
def test_a_ledger_and_its_witness_are_not_written_over(
    made, refused, survey, tmp_path, flag, name, words
):
    ledger, witness = tmp_path / "a.json", tmp_path / "b.json"
    made("ledger", "create", ledger, "--rho", 1, "--unit", "row", "--witness", witness)
    before = (tmp_path / name).read_bytes()
    error = refused(
        "histogram", survey, *COUNTS, "--ledger", ledger, flag, tmp_path / name, "--force"
    )
    assert f"{flag}: " in error
    assert words in error
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("flag", ["--output", "--statement"])
def test_a_release_is_printed_where_a_file_cannot_be_written(
    run, survey, tmp_path, monkeypatch, flag
):
    files = {"--output": tmp_path / "r.json", "--statement": tmp_path / "s.txt"}
    lost, (kept,) = files.pop(flag), files.values()
    opened = Path.open

    def full(path, mode="r", *more):
        if path == lost and mode == "xb":
            raise OSError(28, "No space left on device")
        return opened(path, mode, *more)

    monkeypatch.setattr(Path, "open", full)
    words = ["--output", tmp_path / "r.json", "--statement", tmp_path / "s.txt"]
    status, out, err = run("mean", survey, *AGES, *words)
    assert status == 2
    assert out.startswith("mean of age")
    assert f"the release was made and is printed, but writing {flag} failed: No space" in err
    assert b"mean" in kept.read_bytes()
