"""Releases by group and for people: the statement of the loss, and the budget is never exceeded."""

import re

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.cli.arguments import COMMANDS
from opendp_lite.cli.arguments import parse as parsed
from opendp_lite.cli.release import Setting, setting_of
from opendp_lite.cli.report import PrivacyClaim
from opendp_lite.numbers.exact import exact

BY_NAME = {command.name: command for command in COMMANDS}
BOUNDED = ["--bounds", "0", "100"]
ASKED = {
    "mean": ["mean", *BOUNDED],
    "mean without bounds": ["mean"],
    "quantile": ["quantile", *BOUNDED, "--quantiles", "0.1", "0.5", "0.9"],
    "variance": ["variance", *BOUNDED],
    "standard deviation": ["standard-deviation", *BOUNDED],
    "sum": ["sum", *BOUNDED],
    "histogram": ["histogram", "--categories", "f", "m"],
    "unknown": ["histogram"],
}
UNITS = {"row": [], "replaced": ["--size", "5000"], "person": ["--person", "id", "--most", "3"]}
GROUPS = {"all": [], "by": ["--by", "sex", "--keys", "f", "m"], "found": ["--by", "sex"]}
BUDGETS = {
    "epsilon": {"epsilon": 0.3},
    "delta": {"epsilon": 0.7, "delta": 1e-7},
    "rho": {"rho": 0.037},
}


def setting(which: str, unit: str, groups: str, budget: str):
    """What such a command line asks for."""
    name, *words = ASKED[which]
    loss = [word for each, value in BUDGETS[budget].items() for word in (f"--{each}", str(value))]
    options = [*words, *UNITS[unit], *GROUPS[groups], *loss]
    typed = parsed([name, "x.csv", "--column", "x", *options])
    return setting_of(typed, BY_NAME[name].asked)


def possible(which: str, budget: str, groups: str = "all") -> bool:
    """Whether the command takes the budget."""
    if groups == "found" and (which in ("quantile", "unknown") or budget != "delta"):
        return False
    if which in ("quantile", "sum"):
        return budget != "delta"
    return which != "unknown" or budget == "delta"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("which", "budget", "groups"),
    [(w, b, g) for w in ASKED for b in BUDGETS for g in GROUPS if possible(w, b, g)],
)
def test_the_loss_that_is_stated_is_that_of_the_pipeline_and_within_the_budget(
    which, unit, groups, budget
):
    made = setting(which, unit, groups, budget)
    pipeline = made.pipeline
    claim = made.claim(pipeline, explain=False)
    found = tuple(claim.loss.values()) if len(claim.loss) > 1 else next(iter(claim.loss.values()))
    assert pipeline.map(1) == found
    for name, asked in BUDGETS[budget].items():
        assert exact(claim.loss[name], name) <= exact(asked, name)
    assert claim.loss[budget if budget != "delta" else "epsilon"] > 0.99 * next(
        iter(BUDGETS[budget].values())
    )
    people = unit == "person"
    assert claim.protected.startswith("any one person") is people
    assert ("person='id'" in claim.pipeline) is people
    assert pipeline.neighbours() == {
        "row": "adding or removing one row",
        "replaced": "replacing one of 5000 rows",
        "person": "adding or removing one person",
    }[unit].replace("one of 5000 rows", "one row")
    if people:
        assert claim.neighbours == pipeline.neighbours()
        assert "dp.bound_contributions(3)" in claim.pipeline


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_release_that_loses_more_than_it_was_given_is_given_less(monkeypatch, budget):
    """As the loss of groups may be that of a twentieth more rows than a person has."""
    true = Setting.loss

    def lose_more(made, pipeline):
        return {name: 1.05 * value for name, value in true(made, pipeline).items()}

    monkeypatch.setattr(Setting, "loss", lose_more)
    groups = setting("mean", "person", "by", budget)
    for name, asked in BUDGETS[budget].items():
        assert asked / 1.1 < groups.budget[name] < asked
        assert groups.loss(groups.pipeline)[name] <= asked
    monkeypatch.setattr(
        Setting, "loss", lambda made, pipeline: {"epsilon": 9, "rho": 9, "delta": 1}
    )
    with pytest.raises(dp.ParameterError, match="no budget for each group was found"):
        setting("mean", "person", "by", budget)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ({"epsilon": 0.5}, "epsilon = 0.5 (pure differential privacy)"),
        ({"epsilon": 0.5, "delta": 0.0}, "epsilon = 0.5 (pure differential privacy)"),
        ({"epsilon": 0.5, "delta": 6.0789620347e-7}, "epsilon = 0.5 at delta = 6.08e-7"),
        ({"epsilon": 0.12345, "delta": 1e-6}, "epsilon = 0.12345 at delta = 1e-6"),
    ],
)
def test_losses_are_never_rounded_down(claim, words):
    made = PrivacyClaim("", "any one row, added or removed", "", claim, None, "", None)
    assert made.words() == f"any one row, added or removed: {words}"


@pytest.fixture
def visits(table):
    """Three sites, with means of 10, 20 and 30, and one row of another site; 100 people."""
    rows = [
        f"p{person},{site},{10 * place + 10 + (person % 3 - 1)}"
        for place, site in enumerate(["a", "b", "c"])
        for person in range(99)
    ]
    return table("id,site,x\n" + "\n".join([*rows, "q,d,99"]) + "\n")


def test_a_mean_for_each_group(made, visits):
    words = ["--bounds", 0, 100, "--rho", 1e10, "--of-rows", "--by", "site", "--keys", "a", "c"]
    text = made("mean", visits, "--column", "x", *words).splitlines()
    assert any("rows of other groups are left out" in line for line in text)
    assert text[:3] == ["mean of x", "", text[2]]
    assert text[2].split() == ["site", "mean", "std.", "error", "95", "%", "interval"]
    assert re.match(r"a +(10\.|9\.99)", text[3])
    assert any(line.startswith("intervals   each by itself holds the mean of the") for line in text)


def test_missing_values_of_groups_are_left_out_even_where_the_size_is_public(told, survey):
    words = ["--column", "income", "--bounds", 0, 10_000, "--rho", 1e10, "--size", 7]
    whole = told("mean", survey, *words)
    assert "a missing value counts as 5000" in whole["clipped"]
    assert whole["mean"] == pytest.approx((24_000 + 5000) / 7, abs=1)
    groups = told("mean", survey, *words, "--by", "sex", "--keys", "f")
    assert "rows without a value are left out" in groups["clipped"]
    assert groups["releases"][0]["mean"] == pytest.approx(1500, abs=1)
    filled = told("mean", survey, *words, "--by", "sex", "--keys", "f", "--missing", 3000)
    assert filled["releases"][0]["mean"] == pytest.approx(2000, abs=1)


@pytest.mark.parametrize("ids", [("7", "7.0"), (" 7", "7"), ("x", "x ")])
def test_an_id_is_one_however_it_is_written(told, table, ids):
    rows = [*(f"{each},100" for each in ids), *(f"p{i},0" for i in range(99))]
    path = table("id,x\n" + "\n".join(rows) + "\n")
    words = ["--column", "x", "--bounds", 0, 100, "--epsilon", 1e6]
    found = told("mean", path, *words, "--person", "id", "--most", 1)
    assert found["mean"] == pytest.approx(1, abs=0.01)


def test_an_interval_for_people_with_several_rows_says_what_it_takes(made, table):
    path = table("id,x\n" + "".join(f"{i // 2},{i % 3}\n" for i in range(200)))
    words = ["--column", "x", "--bounds", 0, 2, "--epsilon", 1, "--person", "id", "--most"]
    said = "rows of one person count as independent"
    assert said in made("mean", path, *words, 2)
    assert said not in made("mean", path, *words, 1)
    assert said not in made("sum", path, *words, 2)


def test_text_in_a_column_of_numbers_is_refused_whoever_is_chosen(refused, made, table):
    """The cell is of a person of whom one row of many counts."""
    path = table("id,x\n" + "a,1\n" * 500 + "a,hunter2\n")
    words = ["--column", "x", "--bounds", 0, 1, "--rho", 1, "--person", "id", "--most", 1]
    for _ in range(3):
        error = refused("mean", path, *words)
        assert "column 'x' holds text, not numbers" in error
        assert "hunter2" not in error
    made("mean", path, *words, "--text", "missing")


def test_columns_by_their_number(told, table):
    path = table("a,f,1\nb,m,3\n")
    words = ["--column", 3, "--by", 2, "--keys", "f", "m", "--bounds", 0, 4, "--rho", 1e10]
    out = told("mean", path, "--no-header", *words)
    assert out["column"] == "column 3"
    assert [line["column 2"] for line in out["releases"]] == ["f", "m"]
    assert [round(line["mean"]) for line in out["releases"]] == [1, 3]


def test_a_column_called_as_a_number_of_the_release(told, table):
    path = table("mean,x\na,1\n")
    words = ["--column", "x", "--by", "mean", "--keys", "a", "--bounds", 0, 4, "--rho", 1e10]
    line = told("mean", path, *words)["releases"][0]
    assert line["column mean"] == "a"
    assert line["mean"] == pytest.approx(1, abs=0.01)


def test_bounds_are_learned_in_private(made, told, table, seeded):
    values = np.random.default_rng(5).normal(1000, 5, 20_000)
    path = table("x\n" + "\n".join(map(repr, values.tolist())) + "\n")
    found = told("mean", path, "--rho", 0.5)
    assert found["mean"] == pytest.approx(1000, abs=1)
    assert found["standard_error"] < 0.1
    assert found["clipped"].startswith("values beyond bounds that a part of the budget finds")
    sized = told("mean", path, "--rho", 0.5, "--size", 20_000)
    assert "a missing value counts as the middle of these bounds" in sized["clipped"]
    few = made("mean", table("x\n1\n", "few.csv"), "--rho", 0.5)
    assert "the noise hides the mean: give --bounds, or use more rows" in few
    again = told("mean", table("x\n1\n", "few.csv"), "--rho", 0.5)
    assert again["too_few_rows"] is True
    assert "too_few_rows" not in found


def test_groups_that_nobody_named_are_found(run, refused, table):
    """Those with few rows are not shown, and where none is found there is no line."""
    path = table("sex,x\n" + "f,3\nm,5\n" * 500 + "other,9\n")
    asked = ["--column", "x", "--bounds", "0", "9", "--epsilon", "1", "--delta", "1e-6"]
    _, told, _ = run("mean", path, *asked, "--by", "sex")
    assert re.search(r"^f +[23]\.", told, re.M)
    assert re.search(r"^m +[45]\.", told, re.M)
    assert not re.search(r"^other", told, re.M)
    assert "those with a noisy count below 59 are not shown" in told
    few = table("sex,x\nf,3\n")
    _, told, _ = run("mean", few, *asked, "--by", "sex")
    assert not re.search(r"^f ", told, re.M)
    assert "those with a noisy count below 59 are not shown" in told
    lone = refused("count", few, "--epsilon", "1", "--by", "sex")
    assert "--epsilon and --delta, which find the groups" in lone
