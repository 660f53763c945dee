"""The commands for counts, sums and medians."""

from __future__ import annotations

import json

import numpy as np
import pytest

VALUES = np.random.default_rng(8).normal(50, 10, 2001)
PURE = ["--epsilon", 1000, "--json"]
ZCDP = ["--rho", 1e6, "--json"]


@pytest.fixture
def column(table):
    return table("x\n" + "\n".join(map(repr, VALUES.tolist())) + "\nNA\n", "column.csv")


@pytest.mark.parametrize("budget", [PURE, ZCDP])
@pytest.mark.parametrize(("words", "rows"), [([], 2001), (["--all"], 2002)])
def test_counts(made, column, budget, words, rows):
    found = json.loads(made("count", column, *words, *budget))
    assert found["count"] == pytest.approx(rows, abs=0.01)
    low, high = found["interval"]
    assert low <= found["count"] <= high < low + 0.01


def test_counts_of_text_of_groups_and_of_people(made, survey):
    found = json.loads(made("count", survey, "--column", "sex", *PURE))
    assert found["count"] == 6
    assert type(found["count"]) is int
    words = ["--column", "age", "--by", "sex", "--keys", "f", "m", *PURE]
    grouped = json.loads(made("count", survey, *words))
    assert [line["count"] for line in grouped["releases"]] == [3, 2]
    people = json.loads(
        made("count", survey, "--column", "age", "--person", "id", "--most", 1, *PURE)
    )
    assert people["count"] == 4
    assert people["neighbours"] == "adding or removing one person"


@pytest.mark.parametrize("flag", ["--epsilon", "--rho"])
def test_the_standard_error_is_that_of_the_budget(made, column, flag):
    """Of a count and of a sum to 100: sqrt(2) times 1 / epsilon, or 1 / sqrt(2 rho)."""
    exact = {"--epsilon": 2**0.5 / 0.1, "--rho": (1 / 0.2) ** 0.5}[flag]
    for words, unit in [(["count"], 1), (["sum", "--bounds", -20, 100], 100)]:
        command, *more = words
        found = json.loads(made(command, column, *more, flag, 0.1, "--json"))
        assert found["standard_error"] == pytest.approx(unit * exact, rel=0.01)
        assert list(found["loss"].values())[1] == 0.1


def test_sums(made, column):
    clipped = VALUES.clip(40, 60)
    words = ["--bounds", 40, 60, *PURE]
    assert json.loads(made("sum", column, *words))["sum"] == pytest.approx(clipped.sum(), abs=1)
    filled = json.loads(made("sum", column, *words, "--missing", 45))
    assert filled["sum"] == pytest.approx(clipped.sum() + 45, abs=1)
    sized = json.loads(made("sum", column, *words, "--size", 2002))
    assert sized["sum"] == pytest.approx(clipped.sum() + 50, abs=1)
    assert sized["neighbours"] == "replacing one of 2002 rows"


def test_medians(made, column):
    found = json.loads(made("median", column, "--bounds", 0, 1000, *ZCDP))
    assert found["median"] == pytest.approx(np.median(VALUES), abs=0.1)
    text = made("median", column, "--bounds", 0, 1000, "--epsilon", 1).splitlines()
    assert text[0].startswith("median of the only column")
    assert text[1].endswith("for the median of the clipped values")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("count", "Choose how private the release is"),
        ("count --epsilon 1 --delta 0.1", "unrecognized arguments: --delta 0.1. See opendp-lite c"),
        ("count --epsilon 1 --size 3", "unrecognized arguments: --size 3"),
        ("sum --epsilon 1", "arguments are required: --bounds. See opendp-lite sum --help"),
        ("sum --epsilon 1 --bounds 1 0", "--bounds: the lower must be below the upper"),
        ("median --epsilon 1", "arguments are required: --bounds. See opendp-lite median --help"),
        ("median --epsilon 1 --bounds 0 1 --quantiles 0.5", "unrecognized arguments: --quantiles"),
    ],
)
def test_what_is_typed_wrong_is_refused(refused, column, command, message):
    name, *words = command.split()
    assert message in refused(name, column, *words)
