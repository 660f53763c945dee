"""The statement of a release in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import opendp_lite as dp

AGES = ["--column", "age", "--bounds", 0, 100, "--epsilon", 1]
MEAN = dp.mean(0, 100, epsilon=1, confidence=0.95).statement()


def test_words(made, survey, tmp_path):
    path = tmp_path / "s.TXT"
    made("mean", survey, *AGES, "--statement", path)
    assert path.read_text("utf-8") == f"{MEAN}\n"


def test_json(made, survey, tmp_path):
    path = tmp_path / "s.json"
    made("mean", survey, *AGES, "--statement", path)
    assert json.loads(path.read_text("utf-8")) == MEAN.as_dict()


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
    for path, message in {
        tmp_path / "s.pdf": "the name must end in .json or .html or .txt",
        tmp_path / "none" / "s.txt": "there is no folder",
        tmp_path / "same.json": "--output names the same file",
    }.items():
        words = ["--statement", path, "--output", tmp_path / "same.json"]
        error = refused("mean", survey, *AGES, *words)
        assert "--statement: " in error
        assert message in error
        assert error.count("\n") == 1
        assert not path.exists()


def test_a_release_is_printed_where_the_statement_cannot_be_written(
    run, survey, tmp_path, monkeypatch
):
    write = Path.write_bytes

    def full(path, contents):
        if path.suffix == ".txt":
            raise OSError(28, "No space left on device")
        return write(path, contents)

    monkeypatch.setattr(Path, "write_bytes", full)
    output = tmp_path / "r.json"
    words = ["--statement", tmp_path / "s.txt", "--output", output]
    status, out, err = run("mean", survey, *AGES, *words)
    assert status == 2
    assert out.startswith("mean of age")
    assert "writing --statement failed: No space" in err
    assert "mean" in json.loads(output.read_bytes())
