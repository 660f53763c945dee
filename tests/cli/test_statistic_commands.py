"""The commands for quantiles, variances and standard deviations, counts, sums and medians."""

import json
from itertools import cycle

import numpy as np
import pytest

VALUES = np.random.default_rng(8).normal(50, 10, 20_000)
ALMOST_SURE = ["--rho", 1000]


@pytest.fixture
def column(table):
    return table("x\n" + "\n".join(map(repr, VALUES.tolist())) + "\n", "column.csv")


def test_quantiles_with_intervals(made, told, column):
    words = ["--quantiles", 0.1, 0.5, 0.9, "--bounds", 0, 1000, "--confidence", 0.9]
    found = told("quantile", column, *words, *ALMOST_SURE, "--of-rows")
    assert [line["quantile"] for line in found["releases"]] == [0.1, 0.5, 0.9]
    for line in found["releases"]:
        assert line["value"] == pytest.approx(np.quantile(VALUES, line["quantile"]), abs=0.1)
        low, high = line["interval"]
        assert low <= line["value"] <= high < low + 1
    assert found["confidence"] == 0.9
    text = made("quantile", column, *words, "--epsilon", 1).splitlines()
    assert text[0] == "quantiles of the only column"
    assert text[2].split() == ["quantile", "value", "std.", "error", "90", "%", "interval"]
    assert [line.split()[0] for line in text[3:6]] == ["0.1", "0.5", "0.9"]
    assert any(line.startswith("clipped     values below 0 count as 0") for line in text)


def test_quantiles_of_whole_numbers_are_whole(made, told, table, refused):
    rows = table("x\n" + "3\n" * 400 + "5\n" * 400 + "9\n" * 400, "whole.csv")
    words = ["--column", "x", "--quantiles", 0.2, 0.5, "--bounds", 0.5, 20, "--whole"]
    found = told("quantile", rows, *words, *ALMOST_SURE)
    assert [line["value"] for line in found["releases"]] == [3, 5]
    assert found["pipeline"].count("candidates=range(1, 21)") == 1
    text = made("quantile", rows, *words, *ALMOST_SURE).splitlines()
    assert text[3].split() == ["0.2", "3", "0", "3", "to", "3"]
    for ends in ((0.5, 0.7), (0, 1e6)):
        typed = ["--column", "x", "--bounds", *ends, "--whole"]
        assert "--whole needs from 2 to" in refused("median", rows, *typed, *ALMOST_SURE)


@pytest.mark.parametrize("name", ["median", "standard deviation"])
def test_what_it_is_of_and_for_is_said(made, column, name):
    words = ["--bounds", 0, 1000, "--epsilon", 1]
    text = made(name.replace(" ", "-"), column, *words).splitlines()
    assert text[0].startswith(f"{name} of the only column")
    assert text[1].endswith(f"for the {name} of the population, after clipping")


def test_a_variance_says_what_clipping_may_have_moved(made, told, table, tmp_path):
    values = np.random.default_rng(1).lognormal(0, 1, 1000)
    few = table("x\n" + "\n".join(map(repr, values.tolist())) + "\n")
    words = ["--bounds", 0, 1e6, "--epsilon", 1]
    output = tmp_path / "variance.csv"
    text = made("variance", few, *words, "--output", output).splitlines()
    assert text[2].startswith("noise interval")
    assert text[3].startswith("wide interval")
    assert text[3].endswith("holds what clipping may have moved too")
    titles, numbers = (line.split(",") for line in output.read_text().splitlines())
    low, wide_low, wide_high = (
        float(numbers[titles.index(title)]) for title in ("low", "wide_low", "wide_high")
    )
    assert wide_low <= low < wide_high
    found = told("variance", few, *words)
    assert found["wide_interval"][1] >= found["interval"][1]


def test_intervals_of_several_quantiles_hold_together(made, table):
    rows = table("sex,x\n" + "f,1\nm,2\n" * 40)
    words = ["--column", "x", "--bounds", 0, 10, "--epsilon", 1, "--quantiles", 0.5]
    groups = ["--by", "sex", "--keys", "f", "m"]
    for more, told in [
        ([], "each by itself holds the quantile of"),
        ([0.9], "all of them at once hold the quantiles of"),
        ([0.9, *groups], "all of one group at once hold the quantiles of"),
    ]:
        assert f"intervals   {told} the population" in made("quantile", rows, *words, *more)


def test_noise_that_hides_a_quantile_is_pointed_out(made, table, column):
    """With two rows and a small budget all but 5 % of intervals are about as wide as the bounds.

    So the first part fails by chance once in 6e7 tests.
    """
    words = ["--quantiles", 0.5, "--epsilon"]
    few = table("x\n1\n2\n")
    asked = ("quantile", few, "--bounds", 0, 10, *words, 1e-3)
    assert any("the noise hides some of" in made(*asked) for _ in range(6))
    assert "the noise hides" not in made("quantile", column, "--bounds", 0, 1000, *words, 1)


def test_an_interval_of_whole_numbers_that_may_miss_says_so(made, told, table):
    rows = table("x,id\n" + "".join(f"{3 + i % 2},{i}\n" for i in range(600)))
    words = ["--column", "x", "--bounds", 0, 20, "--epsilon", 0.5]
    said = "if many rows share a value it may hold less often"
    for typed in (["median"], ["quantile", "--quantiles", 0.5]):
        found = made(typed[0], rows, *words, *typed[1:]).splitlines()
        assert [line.split(maxsplit=1)[1] for line in found if line.startswith("doubt ")] == [said]
    assert told("median", rows, *words)["doubt"] == said
    assert "doubt" not in made("median", rows, *words, "--whole")
    # Which rows of a person count is said in the notes.
    people = [*words, "--person", "id", "--most", 1]
    assert told("median", rows, *people)["doubt"] == said
    assert "doubt" not in told("median", rows, *people, "--whole")


CELLS = {
    "ordinary": ["1", "2", "3"],
    "empty": [],
    "missing": ["NA", "", "."],
    "wild": ["inf", "-inf", "1e400", "1e308", "-1e308", "5e-324", "nan", "-0.0"],
    "odd": ["\x1b[31m", "hunter2", "f" * 1000, "=1+1", "inf"],
}
NUMBERS = {"value", "count", "sum", "mean", "median", "variance"}
NUMBERS |= {"standard_error", "standard_deviation"}
BOUNDED = "--bounds 0 40 --epsilon 1"


@pytest.mark.parametrize(
    ("command", "unit"),
    [
        *zip(
            [
                f"quantile --quantiles 0.5 0.6 0.7 {BOUNDED}",
                *(
                    f"{name} {BOUNDED}"
                    for name in ("variance", "standard-deviation", "sum", "median")
                ),
                *(
                    f"mean --bounds 0 40 {loss}"
                    for loss in ("--rho 0.5", "--epsilon 1 --delta 1e-6")
                ),
                f"mean {BOUNDED}",
                "count --epsilon 1",
                "histogram --categories f m --rho 1",
                "histogram --edges 0 1 --text missing --rho 1",
            ],
            cycle(["", "--person id --most 2"]),
            strict=False,
        )
    ],
)
def test_values_change_nothing_but_the_numbers(made, told, table, command, unit):
    """The same lines, keys and statement whatever a column holds."""
    documents = set()
    name, *words = command.split()
    for what, cells in CELLS.items():
        if what == "odd" and name not in ("histogram", "count"):
            continue
        path = table("id,x\n" + "".join(f'a,"{cell}"\n' for cell in cells), f"{what}.csv")
        asked = name, path, "--column", "x", *words, *unit.split()
        text, found = made(*asked, "--explain"), told(*asked, "--explain")
        titles = [line.partition("  ")[0] for line in text.splitlines()]
        # By the noisy number of rows.
        titles = [each for each in titles if each not in ("next", "doubt")]
        for name_of_few in ("too_few_rows", "doubt"):
            found.pop(name_of_few, None)
        for line in found.get("releases", [found]):
            numbers = [line.pop(key) for key in NUMBERS & line.keys()]
            ends = [line.pop(key) for key in [*line] if key.endswith("interval")]
            assert np.isfinite([*numbers, *np.ravel(ends)]).all()
        documents.add(json.dumps([titles, found]))
    assert len(documents) == 1


WEIGHTED = "city,owns,w,x\n" + "Rome,yes,.5,10\nOslo,no,1,20\nRome,yes,4,30\nOslo,NA,2,40\n" * 500


def test_a_word_that_no_row_has_is_told_by_the_noise(made, table):
    file = table(WEIGHTED, "weighted.csv")
    told = made("histogram", file, "--column", "city", "--categories", "Rome", "Olso", "--rho", 1)
    assert "the noise hides some of these numbers" in told
    assert "counted          where x >= 20: all rows" in made(
        "count", file, "--where", "x >= 20", "--rho", 1
    )
