"""The commands for quantiles, variances and standard deviations, counts, sums and medians."""

import json

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


def test_quantiles_by_group(told, survey):
    words = ["--column", "age", "--quantiles", 0.5, "--bounds", 0, 100, "--rho", 1e6]
    found = told("quantile", survey, *words, "--by", "sex", "--keys", "f", "m")
    assert [(line["sex"], line["quantile"]) for line in found["releases"]] == [
        ("f", 0.5),
        ("m", 0.5),
    ]
    assert found["releases"][0]["value"] == pytest.approx(15, abs=0.1)


@pytest.mark.parametrize("size", [[], ["--size", len(VALUES)]])
def test_variance_and_standard_deviation(made, told, column, size):
    words = ["--bounds", 0, 1000, *ALMOST_SURE, *size]
    variance = told("variance", column, *words)
    deviation = told("standard-deviation", column, *words)
    assert variance["variance"] == pytest.approx(VALUES.var(), rel=0.02)
    assert deviation["standard_deviation"] == pytest.approx(VALUES.std(), rel=0.02)
    text = made("standard-deviation", column, "--bounds", 0, 1000, "--epsilon", 1).splitlines()
    assert text[0].startswith("standard deviation of the only column")
    assert text[1].endswith("for the standard deviation of the population, after clipping")


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
        float(numbers[titles.index(title)]) for title in ("lower", "wide_lower", "wide_upper")
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


SOME = np.random.default_rng(8).normal(50, 10, 2001)
PURE = ["--epsilon", 1000]
ZCDP = ["--rho", 1e6]


@pytest.fixture
def short(table):
    return table(
        "x\n" + "\n".join(map(repr, SOME.tolist())) + "\nNA\n",
        "column.csv",
    )


@pytest.mark.parametrize("budget", [PURE, ZCDP])
@pytest.mark.parametrize(
    ("words", "rows"), [([], 2002), (["--column", "x"], 2001), (["--column", "x", "--all"], 2002)]
)
def test_counts(told, short, budget, words, rows):
    found = told("count", short, *words, *budget)
    assert found["count"] == pytest.approx(rows, abs=0.01)
    low, high = found["interval"]
    assert low <= found["count"] <= high < low + 0.01


def test_counts_of_text_of_groups_and_of_people(told, survey):
    found = told("count", survey, "--column", "sex", *PURE)
    assert found["count"] == 6
    assert type(found["count"]) is int
    words = ["--column", "age", "--by", "sex", "--keys", "f", "m", *PURE]
    grouped = told("count", survey, *words)
    assert [line["count"] for line in grouped["releases"]] == [3, 2]
    people = told("count", survey, "--column", "age", "--person", "id", "--most", 1, *PURE)
    assert people["count"] == 4
    assert people["neighbours"] == "adding or removing one person"


@pytest.mark.parametrize("flag", ["--epsilon", "--rho"])
def test_the_standard_error_is_that_of_the_budget(told, short, flag):
    """Of a count and of a sum to 100: sqrt(2) times 1 / epsilon, or 1 / sqrt(2 rho)."""
    exact = {"--epsilon": 2**0.5 / 0.1, "--rho": (1 / 0.2) ** 0.5}[flag]
    for words, unit in [(["count"], 1), (["sum", "--bounds", -20, 100], 100)]:
        command, *more = words
        found = told(command, short, *more, flag, 0.1)
        assert found["standard_error"] == pytest.approx(unit * exact, rel=0.01)
        assert list(found["loss"].values())[1] == 0.1


def test_sums(told, short):
    clipped = SOME.clip(40, 60)
    words = ["--bounds", 40, 60, *PURE]
    assert told("sum", short, *words)["sum"] == pytest.approx(clipped.sum(), abs=1)
    filled = told("sum", short, *words, "--missing", 45)
    assert filled["sum"] == pytest.approx(clipped.sum() + 45, abs=1)
    sized = told("sum", short, *words, "--size", 2002)
    assert sized["sum"] == pytest.approx(clipped.sum() + 50, abs=1)
    assert sized["neighbours"] == "replacing one of 2002 rows"


def test_medians(made, told, short):
    found = told("median", short, "--bounds", 0, 1000, *ZCDP, "--of-rows")
    assert found["median"] == pytest.approx(np.median(SOME), abs=0.1)
    text = made("median", short, "--bounds", 0, 1000, "--epsilon", 1).splitlines()
    assert text[0].startswith("median of the only column")
    assert text[1].endswith("for the median of the population, after clipping")


CELLS = {
    "ordinary": ["1", "2", "3"],
    "empty": [],
    "missing": ["NA", "", "."],
    "wild": ["inf", "-inf", "1e400", "1e308", "-1e308", "5e-324", "nan", "-0.0"],
    "odd": ["\x1b[31m", "hunter2", "f" * 1000, "=1+1", "inf"],
}
NUMBERS = ("value", "count", "sum", "median", "standard_error", "variance", "standard_deviation")
BOUNDED = "--bounds 0 40 --epsilon 1"


@pytest.mark.parametrize("unit", ["", "--person id --most 2"])
@pytest.mark.parametrize(
    "command",
    [
        f"quantile --quantiles 0.5 0.6 0.7 {BOUNDED}",
        *(f"{name} {BOUNDED}" for name in ("variance", "standard-deviation", "sum", "median")),
        "count --epsilon 1",
        "histogram --categories f m --rho 1",
        "histogram --edges 0 1 --text missing --rho 1",
    ],
)
def test_values_change_nothing_but_the_numbers(told, table, command, unit):
    """The same keys and the same statement whatever a column holds."""
    documents = set()
    name, *words = command.split()
    for what, cells in CELLS.items():
        if what == "odd" and name not in ("histogram", "count"):
            continue
        path = table("id,x\n" + "".join(f'a,"{cell}"\n' for cell in cells), f"{what}.csv")
        found = told(name, path, "--column", "x", *words, *unit.split())
        for line in found.get("releases", [found]):
            numbers = [line.pop(key) for key in NUMBERS if key in line]
            ends = [line.pop(key) for key in [*line] if key.endswith("interval")]
            assert np.isfinite([*numbers, *np.ravel(ends)]).all()
        documents.add(json.dumps(found))
    assert len(documents) == 1


WEIGHTED = "city,owns,w,x\n" + "Rome,yes,.5,10\nOslo,no,1,20\nRome,yes,4,30\nOslo,NA,2,40\n" * 500


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("proportion --column owns --among yes", 2 / 3),
        ("proportion --column owns --among yes NA", 3 / 4),
        ("proportion --column x --among 10 30 --missing drop", None),
        ("proportion --column owns --among yes --weights w --most 4", 4.5 / 5.5),
        ("proportion --column owns --among yes --where x>=20 --weights w --most 4", 4 / 5),
        ("proportion --column owns --among yes --by city --keys Rome Oslo", [1, 0]),
        ("mean --column x --bounds 0 100 --weights w --most 4", 225 / 7.5),
        ("mean --column x --bounds 0 100 --weights w --most 4 --where w<3", 105 / 3.5),
        ("mean --column x --bounds 0 100 --weights w --most 4 --by city --keys Rome", [125 / 4.5]),
    ],
)
def test_shares_and_weights(told, refused, table, words, expected):
    name, *rest = words.split()
    file = table(WEIGHTED, "weighted.csv")
    if expected is None:
        assert "unrecognized arguments" in refused(name, file, *rest, *ALMOST_SURE)
        return
    found = told(name, file, *rest, "--rho", 1e6)
    numbers = [each[name] for each in found.get("releases", [found])]
    assert numbers == pytest.approx(np.ravel(expected).tolist(), abs=0.01)
    assert found["sampling"]


def test_a_word_that_no_row_has_is_told_by_the_noise(made, table):
    file = table(WEIGHTED, "weighted.csv")
    told = made("histogram", file, "--column", "city", "--categories", "Rome", "Olso", "--rho", 1)
    assert "the noise hides some of these numbers" in told
    assert "counted          where x >= 20: all rows" in made(
        "count", file, "--where", "x >= 20", "--rho", 1
    )
