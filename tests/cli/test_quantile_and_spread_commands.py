"""The commands for quantiles, variances and standard deviations."""

from __future__ import annotations

import json

import numpy as np
import pytest

VALUES = np.random.default_rng(8).normal(50, 10, 20_000)
ALMOST_SURE = ["--rho", 1000, "--json"]


@pytest.fixture
def column(table):
    return table("x\n" + "\n".join(map(repr, VALUES.tolist())) + "\n", "column.csv")


def test_quantiles_with_intervals(made, column):
    words = ["--quantiles", 0.1, 0.5, 0.9, "--bounds", 0, 1000, "--confidence", 0.9]
    found = json.loads(made("quantile", column, *words, *ALMOST_SURE))
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


def test_quantiles_by_group(made, survey):
    words = ["--column", "age", "--quantiles", 0.5, "--bounds", 0, 100, "--rho", 1e6, "--json"]
    found = json.loads(made("quantile", survey, *words, "--by", "sex", "--keys", "f", "m"))
    assert [(line["sex"], line["quantile"]) for line in found["releases"]] == [
        ("f", 0.5),
        ("m", 0.5),
    ]
    assert found["releases"][0]["value"] == pytest.approx(15, abs=0.1)


@pytest.mark.parametrize("size", [[], ["--size", len(VALUES)]])
def test_variance_and_standard_deviation(made, column, size):
    words = ["--bounds", 0, 1000, *ALMOST_SURE, *size]
    variance = json.loads(made("variance", column, *words))
    deviation = json.loads(made("standard-deviation", column, *words))
    assert variance["variance"] == pytest.approx(VALUES.var(), rel=0.02)
    assert deviation["standard_deviation"] == pytest.approx(VALUES.std(), rel=0.02)
    text = made("standard-deviation", column, "--bounds", 0, 1000, "--epsilon", 1).splitlines()
    assert text[0].startswith("standard deviation of the only column")
    assert text[1].endswith("for the standard deviation of the clipped values")


def test_a_variance_says_what_clipping_may_have_moved(made, table, tmp_path):
    values = np.random.default_rng(1).lognormal(0, 1, 1000)
    few = table("x\n" + "\n".join(map(repr, values.tolist())) + "\n")
    words = ["--bounds", 0, 1e6, "--epsilon", 1]
    output = tmp_path / "variance.csv"
    text = made("variance", few, *words, "--output", output).splitlines()
    assert text[2].startswith("wide interval")
    assert text[2].endswith("holds what clipping may have moved too")
    titles, numbers = (line.split(",") for line in output.read_text().splitlines())
    low, wide_low, wide_high = (
        float(numbers[titles.index(title)]) for title in ("lower", "wide_lower", "wide_upper")
    )
    assert wide_low <= low < wide_high
    found = json.loads(made("variance", few, *words, "--json"))
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
        assert f"intervals   {told} the clipped values" in made("quantile", rows, *words, *more)


def test_noise_that_hides_a_quantile_is_pointed_out(made, table, column):
    """With two rows and a small budget all but 5 % of intervals are about as wide as the bounds.

    So the first part fails by chance once in 6e7 tests.
    """
    words = ["--quantiles", 0.5, "--epsilon"]
    few = table("x\n1\n2\n")
    asked = ("quantile", few, "--bounds", 0, 10, *words, 1e-3)
    assert any("the noise hides some of" in made(*asked) for _ in range(6))
    assert "the noise hides" not in made("quantile", column, "--bounds", 0, 1000, *words, 1)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("quantile --quantiles 0.5 --rho 1", "arguments are required: --bounds. See opendp-lite q"),
        ("quantile --bounds 0 1 --rho 1", "arguments are required: --quantiles"),
        ("quantile --quantiles 50 --bounds 0 1 --rho 1", "got 50; 50 % is 0.5"),
        ("quantile --quantiles 0 --bounds 0 1 --rho 1", "ask for 0.01 or 0.99"),
        ("quantile --quantiles 1 --bounds 0 1 --rho 1", "ask for 0.01 or 0.99"),
        ("quantile --quantiles nan --bounds 0 1 --rho 1", "--quantiles must be finite, got nan"),
        ("quantile --quantiles 0.5 --bounds 0 1 --epsilon 1 --delta 0.1", "--delta 0.1. See"),
        ("quantile --quantiles 0.5 --bounds 1 0 --rho 1", "--bounds: the lower must be below"),
        ("variance --rho 1", "arguments are required: --bounds. See opendp-lite variance --help"),
        ("variance --bounds 1 1 --rho 1", "--bounds: the lower must be below the upper"),
        ("variance --bounds 0 1e200 --rho 1", "error: --bounds beyond 1e+100"),
        ("variance --bounds 0 1 --rho 1e-300", "error: --rho must lie between"),
        ("standard-deviation --bounds 0 1 --rho 1 --size 3", "--size 3: the file has another"),
        ("standard-deviation --bounds 0 1", "Choose how private the release is"),
    ],
)
def test_refusals(refused, column, command, message):
    name, *words = command.split()
    assert message in refused(name, column, *words)


CELLS = {
    "ordinary": "1\n2\n3\n",
    "empty": "",
    "missing": "NA\n" * 5,
    "wild": "inf\n-inf\n1e400\n1e308\n-1e308\n5e-324\nnan\n-0.0\n",
}


@pytest.mark.parametrize("unit", [[], ["--person", "id", "--most", 2]])
@pytest.mark.parametrize(
    "command", ["quantile --quantiles 0.5 0.6 0.7", "variance", "standard-deviation"]
)
def test_values_change_nothing_but_the_numbers(made, table, command, unit):
    documents = set()
    name, *words = command.split()
    for what, cells in CELLS.items():
        path = table("id,x\n" + "".join(f"a,{cell}\n" for cell in cells.split()), f"{what}.csv")
        options = ["--column", "x", "--bounds", 0, 40, "--epsilon", 1, *words, *unit]
        found = json.loads(made(name, path, *options, "--json"))
        for line in found.get("releases", [found]):
            low, high = line.pop("interval")
            value = line.pop("value" if name == "quantile" else name.replace("-", "_"))
            ends = low, high, *line.pop("wide_interval", ())
            assert np.isfinite([value, line.pop("standard_error"), *ends]).all()
        documents.add(json.dumps(found))
    assert len(documents) == 1
