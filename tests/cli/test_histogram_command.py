"""The histogram command: counts by category and by bin, as text, and for people.

At epsilon = 100 a count is off by 1 with a chance of e^-100.
"""

import io
import sys
from types import SimpleNamespace

import pytest

SURELY = ["--epsilon", 100]


@pytest.fixture
def counts(told, survey):
    """Releases with almost no noise: the counts by sex."""

    def call(*words: object) -> dict[object, float]:
        found = told("histogram", survey, "--column", "sex", *words)
        return {line["sex"]: line["count"] for line in found["releases"]}

    return call


@pytest.mark.parametrize("mark", ["NA", ".", "gone"])
def test_a_mark_of_missing_cells_counts_them(counts, mark):
    words = ["--categories", "f", mark, "--na", "gone"]
    assert counts(*words, *SURELY) == {"f": 3, None: 1}


def test_unknown_categories_that_are_frequent_are_shown(made, told, table):
    """The threshold is below 60 and far above 1."""
    path = table("city\n" + "Bonn\n" * 500 + " Ulm\n" * 300 + "Rare\n")
    words = ["--column", "city", "--epsilon", 1, "--delta", 1e-20]
    found = told("histogram", path, *words)
    assert [line["city"] for line in found["releases"]] == ["Bonn", "Ulm"]
    text = made("histogram", path, *words)
    assert "Rare" not in text
    assert "categories with a noisy count below the threshold are not shown" in text
    assert "threshold   " in text
    assert made("histogram", table("city\n"), *words).startswith("count of city\n\ncity  count")


def test_people_and_not_rows_are_protected(made, counts, survey):
    words = ["--categories", "f", "m", "M", "--person", "id"]
    found = counts(*words, "--most", 2, "--epsilon", 200)
    assert found == {"f": 3, "m": 1, "M": 1}, "the row without id is left out"
    one = counts(*words, "--most", 1, *SURELY)
    assert one["f"] == 2
    assert one["m"] + one["M"] == 1
    text = made("histogram", survey, "--column", "sex", *words, "--most", 1, "--epsilon", 1)
    assert "any one person with all rows, added or removed: epsilon = 1 (pure" in text
    assert "rows that count of each person: at most 1, chosen at random" in text
    assert "rows without id are left out" in text


def test_the_noise_grows_with_the_rows_of_a_person(told, survey):
    words = ["--column", "sex", "--categories", "f", "--person", "id", "--epsilon", 0.1]
    errors = [told("histogram", survey, *words, "--most", most)["releases"][0] for most in (1, 4)]
    one, four = (each["standard_error"] for each in errors)
    assert one == pytest.approx(2**0.5 / 0.1, rel=0.01)
    assert four == pytest.approx(4 * one, rel=0.01)


def test_text_output(made, survey):
    out = made(
        "histogram", survey, "--column", "sex", "--categories", "f", "m", "--epsilon", 100
    ).splitlines()
    assert out[:5] == [
        "count of sex",
        "",
        "sex  count  std. error  95 % interval  joint interval",
        out[3],
        out[4],
    ]
    assert out[3].split()[:2] == ["f", "3"]
    assert "3 to 3" in out[3]
    assert "protected   any one row, added or removed: epsilon = 100 (pure" in "\n".join(out)
    assert "counted     rows with another value are left out" in out


def test_a_pure_loss_of_delta_is_said_to_be_pure(made, told, survey):
    words = ["--column", "sex", "--categories", "f", "--epsilon", 1, "--delta", 1e-6]
    found = told("histogram", survey, *words)
    assert found["loss"] == {"measure": "ApproximateDivergence", "epsilon": 1, "delta": 0}
    assert "epsilon = 1 (pure" in made("histogram", survey, *words)


def test_joint_intervals_are_for_one_table_alone(made, survey):
    words = ["--column", "age", "--edges", 0, 10, 40, "--epsilon", 1]
    one = made("histogram", survey, *words)
    groups = made("histogram", survey, *words, "--by", "sex", "--keys", "f", "m")
    assert "joint" in one
    assert "joint" not in groups


def test_standard_input_and_the_only_column(told, monkeypatch):
    for data, words in (
        (b"sex\nf\nm\nf\n", []),
        (b"f\nm\nf\n", ["--no-header"]),
        (b"a,f\nb,m\nc,f\n", ["--no-header", "--column", 2]),
    ):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        found = told("histogram", "-", "--categories", "f", "m", *words, *SURELY)
        assert [line["count"] for line in found["releases"]] == [2, 1]
    assert found["column"] == "column 2"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"x\n1\n2\n")))
    found = told("histogram", "-", "--edges", 0, 2, 4, *SURELY)
    assert [line["count"] for line in found["releases"]] == [1, 1]


def test_parquet_columns_are_read_as_csv_columns_are(told, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "text": arrow.array(["1", "2.0", None, "1"]),
        "whole": arrow.array([1, 2, None, 1]),
        "real": arrow.array([1.0, 2.0, None, 1.0]),
        "coded": arrow.array(["1", "2", None, "1"]).dictionary_encode(),
    }
    path = tmp_path / "x.parquet"
    parquet.write_table(arrow.table(columns), path)
    for name in columns:
        words = ["--column", name, "--categories", "1", "2", "NA", *SURELY]
        found = told("histogram", path, *words)
        assert [line["count"] for line in found["releases"]] == [2, 1, 1]
