"""The histogram command: counts by category and by bin, as text, and for people.

At epsilon = 100 a count is off by 1 with a chance of e^-100.
"""

import io
import sys
from types import SimpleNamespace

import pytest

from opendp_lite.cli.arguments import parse as parsed
from opendp_lite.cli.histogram_command import HISTOGRAM
from opendp_lite.cli.release import setting_of

SURELY = ["--epsilon", 100]


@pytest.fixture
def counts(told, survey):
    """Releases with almost no noise: the counts by label."""

    def call(*words: object) -> dict[object, float]:
        found = told("histogram", survey, *words)
        titles = list(found["releases"][0])[: -4 if "--by" not in words else -3]
        return {_label(line, titles): line["count"] for line in found["releases"]}

    return call


def _label(line: dict, titles: list[str]) -> object:
    parts = [tuple(p) if isinstance(p := line[title], list) else p for title in titles]
    return parts[0] if len(parts) == 1 else tuple(parts)


def test_categories_are_text_without_space_around_it(counts):
    found = counts("--column", "sex", "--categories", "f", "m", *SURELY)
    assert found == {"f": 3, "m": 2}


def test_a_whole_number_is_one_category_however_it_is_written(counts):
    for words in (["1", "2"], ["1.0", "2.00"]):
        found = counts("--column", "education", "--categories", *words, *SURELY)
        assert found == {"1": 2, "2": 2}


@pytest.mark.parametrize("mark", ["NA", ".", "gone"])
def test_a_mark_of_missing_cells_counts_them(counts, mark):
    words = ["--column", "sex", "--categories", "f", mark, "--na", "gone"]
    assert counts(*words, *SURELY) == {"f": 3, None: 1}


def test_other_values_count_as_other(counts):
    found = counts("--column", "sex", "--categories", "f", "--other", *SURELY)
    assert found == {"f": 3, "other": 3}


@pytest.mark.parametrize("how", [["--edges", 0, 10, 20, 30], ["--bins", 0, 30, 3]])
def test_bins_hold_their_lower_edge_and_the_last_one_both(counts, how):
    assert counts("--column", "age", *how, *SURELY) == {(0, 10): 3, (10, 20): 2, (20, 30): 2}


def test_bins_are_at_equal_distances():
    words = ["histogram", "x.csv", "--bins", "0", "1", "4", "--rho", "1"]
    mechanism = setting_of(parsed(words), HISTOGRAM.asked).mechanism
    assert "edges=[0, 0.25, 0.5, 0.75, 1]" in repr(mechanism)


def test_several_columns_have_all_combinations(counts):
    words = ["--column", "sex", "education", "--categories", "f", "m", "--categories", "1", "3"]
    found = counts(*words, *SURELY)
    assert found == {("f", "1"): 2, ("f", "3"): 0, ("m", "1"): 0, ("m", "3"): 2}


def test_bins_in_groups(counts):
    words = ["--column", "age", "--edges", 0, 10, 40, "--by", "sex", "--keys", "f", "m"]
    found = counts(*words, *SURELY)
    assert found == {("f", (0, 10)): 1, ("f", (10, 40)): 2, ("m", (0, 10)): 1, ("m", (10, 40)): 1}


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
    words = ["--column", "sex", "--categories", "f", "m", "M", "--person", "id"]
    found = counts(*words, "--most", 2, "--epsilon", 200)
    assert found == {"f": 3, "m": 1, "M": 1}, "the row without id is left out"
    one = counts(*words, "--most", 1, *SURELY)
    assert one["f"] == 2
    assert one["m"] + one["M"] == 1
    text = made("histogram", survey, *words, "--most", 1, "--epsilon", 1)
    assert "any one person with all rows, added or removed: epsilon = 1 (pure" in text
    assert "rows that count of each person: at most 1, chosen at random" in text
    assert "rows without id are left out" in text


def test_the_noise_grows_with_the_rows_of_a_person(told, survey):
    words = ["--column", "sex", "--categories", "f", "--person", "id", "--epsilon", 0.1]
    errors = [told("histogram", survey, *words, "--most", most)["releases"][0] for most in (1, 4)]
    one, four = (each["standard_error"] for each in errors)
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
