"""Columns of a CSV or Parquet file as text and as numbers, and that their values never show."""

import gzip
import io

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.values import Values
from opendp_lite.engines.files import csv_rows
from opendp_lite.engines.files.cells import MISSING, category_in
from tests.engines import refusals

SECRET = "hunter2"
PEOPLE = "id,sex,age\n1,f,41\n2, m ,NA\n1.0,f,7\n3\n"
KINDS = {"id": str, "sex": str, "age": float}


def read(data: str | bytes, kinds, **options) -> dict[str, list]:
    """The columns of this text."""
    data = data.encode() if isinstance(data, str) else data
    return joined(dp.csv_table(io.BytesIO(data), kinds, **options))


def joined(blocks: dp.Blocks) -> dict[str, list]:
    found: dict[str, list] = {}
    for block in blocks.open():
        for name, cells in block.items():
            values = cells.column if isinstance(cells, Values) else cells
            found.setdefault(name, []).extend(values.tolist())
    return found


def refusal(data: str, kinds, **options) -> str:
    """The message of the ``DataError``, which names no value in any part of its traceback."""
    return refusals.refusal(lambda: read(data, kinds, **options), secret=SECRET)


def test_text_and_numbers():
    found = read(PEOPLE, KINDS)
    assert found["id"] == ["1", "2", "1", "3"]
    assert found["sex"] == ["f", "m", "f", None]
    assert np.array_equal(found["age"], [41, np.nan, 7, np.nan], equal_nan=True)
    assert read(gzip.compress(PEOPLE.encode()), {"sex": str})["sex"] == ["f", "m", "f", None]
    assert list(read(PEOPLE, {"age": float, "id": str})) == ["age", "id"]


@pytest.mark.parametrize(
    ("cell", "category"),
    [
        ("f", "f"),
        ("  f\t", "f"),
        ("3", "3"),
        ("3.0", "3"),
        ("3.", "3"),
        ("-3.00", "-3"),
        *((cell, cell) for cell in ("03", "3.10", "3.0a", "1.0.0", ".0", "1e0", "٣.0", "na")),
        *((mark, None) for mark in sorted(MISSING)),
        (" NA ", None),
    ],
)
def test_the_category_of_a_cell(cell, category):
    assert category_in(cell, MISSING) == category


def test_marks_of_missing_cells_are_for_all_columns():
    found = read("a,b\ngone,gone\nx,1\n", {"a": str, "b": float}, na=["gone"])
    assert found["a"] == [None, "x"]
    assert np.isnan(found["b"][0])


def test_columns_by_their_number():
    assert read("f,1\nm,2\n", {2: float, 1: str}, header=False) == {
        "2": [1.0, 2.0],
        "1": ["f", "m"],
    }


def test_text_among_numbers_is_refused_after_the_whole_file_was_read(monkeypatch):
    monkeypatch.setattr(csv_rows, "_BLOCK_ROWS", 2)
    monkeypatch.setattr(csv_rows, "_HELD_ROWS", 1)
    for place in (0, 1, 5):
        cells = ["1"] * 6
        cells[place] = SECRET
        text = "s,x,y\n" + "".join(f"a,1,{cell}\n" for cell in cells)
        kinds = {"s": str, "x": float, "y": float}
        assert refusal(text, kinds).startswith("column 'y' holds text, not numbers. ")
        seen: list[object] = []
        blocks = dp.csv_table(io.BytesIO(text.encode()), kinds).open()
        with pytest.raises(dp.DataError):
            seen.extend(blocks)
        assert len(seen) == 3, "three blocks of two rows"
        assert len(read(text, kinds, text="missing")["y"]) == 6


def test_the_first_of_the_columns_that_hold_text_is_named():
    kinds = {"y": float, "x": float}
    assert refusal(f"x,y\n{SECRET},1\n2,{SECRET}\n", kinds).startswith("column 'y' holds")
    assert refusal(f"x,y\n{SECRET},1\n2,3\n", kinds).startswith("column 'x' holds")


@pytest.mark.parametrize(
    "first", [f"{SECRET},41,x", "id,sex", "id,age", f"id,{SECRET},41", "1,2,3", "sex,age,ID"]
)
def test_nothing_of_a_first_line_shows(first):
    """One text, whichever of the columns are there."""
    assert refusal(f"{first}\n1,2,3\n", KINDS) == refusal("a,b,c\n1,2,3\n", KINDS)


def test_other_refusals():
    assert "did you mean 'sex'?" in refusal("id,sex\n1,f\n", {"sec": str}, header=True)
    assert "two columns have the name 'a'" in refusal("a,a\n1,f\n", {"a": str})
    assert "more cells than the first line" in refusal(f"a,b\n1,2,{SECRET}\n", {"a": str})
    assert "not proper CSV" in refusal(f'a,b\n1,"{SECRET}\n', {"a": str, "b": str})
    assert "there is no column 3" in refusal("1,2\n", {1: str, 3: str}, header=False)
    for kinds, message in (
        ({}, "needs the columns to read and what each holds"),
        (["a"], "needs the columns to read and what each holds"),
        ({"a": bool}, r"a column holds str \(text\) or float \(numbers\)"),
        ({"a": str, " a": str}, "a column is asked for twice"),
        ({1: str}, "a column of a table with a header has a name"),
    ):
        with pytest.raises(dp.ParameterError, match=message):
            dp.csv_table(io.BytesIO(b"a\n"), kinds)
    with pytest.raises(dp.ParameterError, match=r"\{'age': float, 'sex': str\}"):
        dp.csv_table("people.csv")
    with pytest.raises(dp.ParameterError, match="has a number that counts from 1"):
        dp.csv_table(io.BytesIO(b"a\n"), {"a": str}, header=False)


def test_pipelines(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_rows, "_BLOCK_ROWS", 3)
    path = tmp_path / "x.csv"
    path.write_text("id,sex,age\n" + "".join(f"{i},{'fm'[i % 2]},{i}\n" for i in range(100)))
    table = dp.csv_table(path, KINDS)
    for _ in range(2):
        counts = dp.histogram("sex", categories=["f", "m"], epsilon=100)(table)
        assert counts.counts.tolist() == [50, 50]
    ages = dp.records(columns=["age", "id"]) >> dp.select("age") >> dp.clamp(0, 50) >> dp.sum()
    assert ages(table).tolist() == [np.clip(np.arange(100), 0, 50).sum()]
    people = dp.table(person="id") >> dp.bound_contributions(1) >> dp.select("age")
    assert (people >> dp.clamp(0, 50) >> dp.sum())(table).tolist() == ages(table).tolist()
    assert (dp.table() >> dp.select("sex") >> dp.count())(table) == 100


@pytest.mark.parametrize("rows", [0, 1])
def test_a_column_of_another_kind_is_refused_whatever_its_rows_are(rows, tmp_path):
    """Else a refusal would tell that there is a row."""
    path = tmp_path / "people.csv"
    path.write_text("sex,age\n" + "f,41\n" * rows)
    kinds = {"sex": str, "age": float}
    queries = {
        "read as text": dp.select("sex") >> dp.clamp(0, 1) >> dp.sum(),
        "holds numbers": dp.select("age") >> dp.one_hot(["a"]) >> dp.sum(),
        "no column 'z'": dp.select("z") >> dp.count(),
    }
    for words, query in queries.items():
        for source in (path, io.BytesIO(path.read_bytes())):
            with pytest.raises(dp.DataError, match=words):
                query(dp.csv_table(source, kinds))
    assert (dp.select("sex") >> dp.count())(dp.csv_table(path, kinds)) == rows


def test_text_is_no_number_and_numbers_are_no_text():
    def counted(kind: type, categories: list) -> object:
        table = dp.csv_table(io.BytesIO(b"a\n1\n2\n"), {"a": kind})
        return dp.histogram("a", categories=categories, epsilon=100)(table).counts.tolist()

    assert counted(str, ["1", "2"]) == counted(float, [1, 2]) == [1, 1]
    for kind, categories, words in (
        (str, [1, 2], "the column holds text and the categories are numbers"),
        (float, ["1", "2"], "the column holds numbers and the categories are text"),
        (float, ["1", 2], "numbers and some of the categories are text"),
    ):
        with pytest.raises(dp.DataError, match=words):
            counted(kind, categories)
    table = dp.csv_table(io.BytesIO(b"a\n1\n2\n"), {"a": str})
    with pytest.raises(dp.DataError, match="it is read as text; declare it as float"):
        (dp.select("a") >> dp.clamp(0, 1) >> dp.sum())(table)
