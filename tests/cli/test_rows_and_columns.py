"""Rows without a column, rows that fulfil conditions, the names of columns, and prices."""

import json
from itertools import product

import numpy as np
import pyarrow as arrow
import pytest
from pyarrow import parquet

import opendp_lite as dp
from opendp_lite.engines.files.cells import MISSING, category_in
from tests.engines.hostile_columns import held, write_csv

SURE = ["--epsilon", 1000]
SECRET = "Ann"


def test_rows_are_counted_without_a_column(made, told, survey, tmp_path):
    found = told("count", survey, *SURE)
    assert (found["count"], found["column"], found["counted"]) == (7, "rows", "all rows")
    assert made("count", survey, *SURE).startswith("count of rows    7\n")
    assert told("count", survey, "--person", "id", "--most", 1, *SURE)["count"] == 4
    groups = told("count", survey, "--by", "sex", "--keys", "f", "NA", *SURE)
    assert [line["count"] for line in groups["releases"]] == [3, 1]
    for name in ("t.parquet", "[tu].parquet"):
        parquet.write_table(
            arrow.table({"a": [[1], None], "b": ["x", "y"]}), tmp_path / "t.parquet"
        )
        assert told("count", tmp_path / name, *SURE)["count"] == 2


def test_a_first_line_that_may_be_a_row_is_no_header(told, refused, table):
    bare = table(f"{SECRET},31\nBob,\n")
    error = refused("count", bare, *SURE)
    assert "the first line is no list of names" in error
    assert "--header, or data, --no-header" in error
    assert SECRET not in error
    assert told("count", bare, *SURE, "--no-header")["count"] == 2
    assert told("count", bare, *SURE, "--header")["count"] == 1
    # What looks like names is the header, whatever follows: the next row is never taken for one.
    assert told("count", table("a,b\nc,d\n"), *SURE)["count"] == 1
    assert "the file is empty" in refused("count", table(""), *SURE)


def test_a_row_counts_as_it_does_alone(told, tmp_path):
    """Rows with other cells in two columns at once, and the options of all commands."""
    people = ("count", "--person", "k", "--most", 1, "--where", "x >= 0")
    commands = (
        ("sum", "--column", "x", "--bounds", -9, 9),
        ("sum", "--column", "x", "--bounds", 0, 9, "--where", "k=a|1", "--where", "x < 6"),
        ("sum", "--column", "x", "--bounds", 0, 9, "--by", "k", "--keys", "a", "1", "NA"),
        ("histogram", "--column", "k", "--categories", "a", "1", "\u00e9", "NA"),
        ("histogram", "--column", "x", "--edges", 0, 1, 3, 9),
        people,
    )
    numbers, texts = held("CSV float"), held("CSV str")

    def ask(rows, words):
        path = tmp_path / "rows.csv"
        path.write_bytes(b"x,k\n" + write_csv(*zip(*rows, strict=True)).partition(b"\n")[2])
        found = told(words[0], path, *words[1:], *SURE, "--text", "missing")
        return np.array(
            [each.get("sum", each.get("count")) for each in found.get("releases", [found])]
        )

    for seed, words in product(range(2), commands):
        drawn = np.random.default_rng(seed).integers(len(numbers), size=(5, 2)) % len(texts)
        rows = [("1", "a"), *((numbers[x], texts[k]) for x, k in drawn)]
        parts = {place: ask([row], words) for place, row in enumerate(rows)}
        if words is people:
            ids = [category_in(text, MISSING) for _, text in rows]
            ends = sorted(parts, key=lambda place: parts[place][0])
            parts = {ids[place]: parts[place] for place in ends}
        assert np.allclose(ask(rows, words), sum(parts.values()), atol=0.5), (words, rows)


@pytest.mark.parametrize(
    ("conditions", "rows"),
    [
        (["age >= 12"], 4),
        (["age>12"], 3),
        (["age <= 12"], 4),
        (["age < 12", "age > -1e3"], 3),
        (["sex = f"], 3),
        (["sex == f | m"], 5),
        (["sex = NA"], 1),
        (["sex = f", "age > 5"], 2),
        (["education = 2"], 2),
        (["income >= 3000", "sex=m"], 2),
    ],
)
def test_only_rows_count_that_fulfil_all_conditions(told, survey, conditions, rows):
    words = [word for each in conditions for word in ("--where", each)]
    found = told("count", survey, *words, *SURE)
    assert found["count"] == rows
    assert found["counted"].startswith(f"where {' and '.join(conditions)}: ")


def test_conditions_on_what_is_read_anyway(told, survey):
    mean = ["mean", survey, "--column", "age", "--bounds", 0, 100, "--rho", 1e6]
    assert told(*mean, "--where", "age = 15 | 25")["mean"] == pytest.approx(20, abs=0.1)
    assert told(*mean, "--where", "sex = m")["mean"] == pytest.approx(16.5, abs=0.2)
    groups = ["--by", "sex", "--keys", "f", "m", "--where", "sex = m", "--where", "age > 5"]
    found = told("count", survey, *groups, *SURE)
    assert [line["count"] for line in found["releases"]] == [0, 2]
    # A person's rows that count are chosen among those that fulfil the condition.
    people = ["--person", "id", "--most", 1, "--where", "age > 5"]
    assert told("count", survey, *people, *SURE)["count"] == 4


def test_a_word_with_a_comma_is_quoted_as_the_file_quotes_it(told, table):
    places = table('place\n"York, UK"\nBonn\n"York, UK"\n')
    words = ["--column", "place", "--categories", '"York, UK"', "Bonn"]
    found = told("histogram", places, *words, *SURE)
    assert [(line["place"], line["count"]) for line in found["releases"]] == [
        ("York, UK", 2),
        ("Bonn", 1),
    ]
    assert told("count", places, "--where", 'place = "York, UK"', *SURE)["count"] == 2


def test_bounds_may_stand_behind_an_equals_sign(told, survey):
    words = ["mean", survey, "--column", "age", "--rho", 1e6]
    assert told(*words, "--bounds=-10", "2e5")["pipeline"].startswith("dp.mean(-10, 200000")


def test_columns_are_listed_where_their_names_are_public(made, refused, survey, table, tmp_path):
    assert made("columns", survey, "--header") == "id\nsex\nage\neducation\nincome\n"
    for words in ([], ["--no-header"]):
        error = refused("columns", table(f"{SECRET},31\n"), *words)
        assert "may be a person's row" in error
        assert SECRET not in error
    assert made("columns", table("a;b \n1;2\n"), "--header", "--delimiter", ";") == "a\nb\n"
    assert "one character" in refused("columns", survey, "--header", "--delimiter", "ab")
    parquet.write_table(arrow.table({"a": [1], "b": ["x"]}), tmp_path / "t.parquet")
    assert made("columns", tmp_path / "t.parquet") == "a\nb\n"
    assert "there is no file" in refused("columns", tmp_path / "none.csv", "--header")


def test_a_price_is_told_before_anything_is_read(made, refused, survey, tmp_path):
    ledger = tmp_path / "l"
    made("ledger", "create", ledger, "--rho", 1, "--unit", "row")
    words = ["mean", tmp_path / "none.csv", "--column", "age", "--bounds", 0, 9, "--price"]
    out = made(*words, "--rho", 0.1, "--ledger", ledger)
    assert out.splitlines()[:4] == [
        "protected   any one row, added or removed: rho = 0.1 zCDP, which is epsilon = 2 at "
        "delta = 1e-6",
        "pipeline    dp.mean(0, 9, rho=0.1)",
        "price       rho = 0.1 zCDP of the ledger",
        "left now    rho = 1 zCDP",
    ]
    assert "nothing was read, paid or released" in out
    assert dp.Ledger.open(ledger).left == 1
    found = json.loads(made(*words, "--epsilon", 1, "--json", "--explain"))
    assert found["loss"] == {"epsilon": 1.0}
    assert "privacy" in " ".join(found["explanation"])
    assert "needs rho" not in made(*words, "--epsilon", 1, "--ledger", ledger)
    assert "(0.03 means" in refused(*words)
    saved = tmp_path / "saved.json"
    saved.write_text((dp.records() >> dp.count() >> dp.gaussian(rho=0.25)).to_json())
    report = ["report", tmp_path / "none.csv", "--pipeline", saved, "--price", "--ledger", ledger]
    assert made(*report).splitlines()[:2] == [
        "loss       adding or removing one row: rho = 0.25 zCDP",
        "price      rho = 0.25 zCDP of the ledger",
    ]
    assert dp.Ledger.open(ledger).left == 1
