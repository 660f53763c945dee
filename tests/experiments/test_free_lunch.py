"""Table 1 and figures 2 and 3 of the Free Lunch paper: the cells, and the command."""

import csv
from math import pi, sqrt
from statistics import NormalDist
from xml.etree import ElementTree

import attrs
import numpy as np
import pytest
from scipy.stats import ks_2samp

import free_lunch_estimators
from free_lunch_estimators import (
    ESTIMATORS,
    FreeLunchCell,
    FreeLunchSetting,
    estimators_of,
    simulate_cell,
    simulate_cells,
)
from free_lunch_experiments import (
    EXPERIMENTS,
    GAUSSIAN,
    LAPLACE,
    LAWS,
    LOG_NORMAL,
    NORMAL,
    ROWS,
    RUNS,
    TABLE_1,
    UNIFORM,
    ErrorPair,
    rows,
    truth,
)
from free_lunch_results import FIELDS, describe_errors
from opendp_lite.estimators.parts.request import Scenario

DATASETS = (LOG_NORMAL, NORMAL, UNIFORM)
PUBLISHED = {LAPLACE: 0.5, GAUSSIAN: 0.5}
MANY = 200_000
FAILURE = 1e-6
"""How often all checks of one test together may fail by chance, were the seeds not fixed."""


def sure(checks: int) -> float:
    """Beyond so many standard errors none of so many normal numbers lies, but for ``FAILURE``."""
    return -NormalDist().inv_cdf(FAILURE / checks / 2)


@pytest.fixture(scope="module")
def many() -> list[FreeLunchCell]:
    """All cells of the table, far more exactly than printed."""
    return simulate_cells(EXPERIMENTS["table1"], PUBLISHED, MANY, int)


def lines(path) -> list[dict[str, str]]:
    """The lines of a table."""
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def standard_errors(found: FreeLunchCell) -> list[float]:
    """How far both errors of a cell lie from the printed ones."""
    off = [found.absolute.standard_errors, found.squared.standard_errors]
    return [each for each in off if each is not None]


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda each: each.name)
def test_rows(dataset):
    found = rows(dataset)
    assert found.shape == (ROWS,)
    assert found.min() >= dataset.lower
    assert found.max() <= dataset.upper
    assert found.mean() == pytest.approx(dataset.mean, abs=1e-9 * dataset.width)
    assert truth(dataset).variance == found.var()
    assert found is rows(dataset)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1


def test_rows_are_of_their_laws():
    assert truth(UNIFORM).variance == pytest.approx(100**2 / 12, rel=0.3)
    assert truth(NORMAL).variance == pytest.approx(1, rel=0.4)
    assert np.median(rows(LOG_NORMAL)) < LOG_NORMAL.mean
    assert 1 < truth(LOG_NORMAL).variance < 3


def test_printed_numbers_are_errors_of_their_noise():
    """A misprint or a slip in copying would show: both errors belong to one law."""
    assert len(TABLE_1) == 24
    for (_, law, estimator), errors in TABLE_1.items():
        ratio = errors.absolute / errors.squared
        if law == "Gaussian":
            assert ratio == pytest.approx(sqrt(2 / pi), rel=0.01)
        else:
            assert 0.98 * sqrt(1 / 2) < ratio < 0.755, estimator


def test_every_cell_that_is_explained_agrees_with_the_printed_one(many):
    printed = [each for each in many if each.squared.printed is not None]
    explained = [each for each in printed if each.unexplained is None]
    assert len(printed) == 24
    assert len(explained) == 18
    off = [abs(number) for each in explained for number in standard_errors(each)]
    assert len(off) == 36
    assert max(off) < sure(36)


def test_what_is_not_explained_is_off(many):
    unexplained = [each for each in many if each.unexplained is not None]
    assert {each.setting.dataset for each in unexplained} == {NORMAL}
    assert {each.estimator.name for each in unexplained} == {"plug-in", "center", "resize"}
    for each in unexplained:
        assert min(standard_errors(each)) > 3
        assert 2 < each.squared.percent < 8


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_another_share_of_the_budget_would_be_seen(law):
    """The printed numbers tell shares apart: they hold at 1/2, 1/5 or 1/3, and not at 0.4."""
    other = attrs.evolve(law, share=lambda widths: 0.4)
    for estimator in estimators_of(law):
        if estimator.name in ("plug-in", "center", "resize"):
            here = simulate_cell(estimator, FreeLunchSetting(UNIFORM, law, 0.5), MANY, int).squared
            there = estimator.expected(FreeLunchSetting(UNIFORM, other, 0.5)).squared
            assert abs(there - here.printed) > 5 * here.standard_error * sqrt(MANY / RUNS)


CELLS = [
    (FreeLunchSetting(dataset, law, 0.5), estimator)
    for dataset in DATASETS
    for law in LAWS
    for estimator in estimators_of(law)
]
CLOSED_FORMS = [
    (setting, estimator)
    for setting, estimator in CELLS
    if estimator.expected(setting) != ErrorPair()
]


def name_of(each) -> str:
    return getattr(each, "name", "") or f"{each.dataset.name}-{each.law.name}"


@pytest.mark.parametrize(("setting", "estimator"), CLOSED_FORMS, ids=name_of)
def test_closed_forms(setting, estimator):
    """Where rows are so many that the first order is all, the errors are those of the formulas."""
    dataset, random, crowd = setting.dataset, np.random.default_rng(20_000), 10**7
    estimates = estimator.forecast(setting, Scenario(crowd, dataset.mean), MANY, random)
    distances = np.abs(estimates - dataset.mean) * (crowd / ROWS)
    squares = distances**2
    expected, checks = estimator.expected(setting), 2 * len(CLOSED_FORMS)
    limit = sure(checks) * squares.std() / sqrt(MANY)
    assert abs(squares.mean() - expected.squared**2) < limit
    if expected.absolute is not None:
        limit = sure(checks) * distances.std() / sqrt(MANY)
        assert abs(distances.mean() - expected.absolute) < limit


@pytest.mark.parametrize(("setting", "estimator"), CELLS, ids=name_of)
def test_releases_follow_the_forecast(setting, estimator):
    """What is simulated is what the rows get, at the loss that is stated."""
    mechanism = estimator.mechanism(setting)
    assert mechanism.map(1) == 0.5
    released = [mechanism(rows(setting.dataset)) for _ in range(200)]
    random = np.random.default_rng(5)
    simulated = estimator.forecast(setting, truth(setting.dataset), 20_000, random)
    assert ks_2samp(released, simulated).pvalue > FAILURE / len(CELLS)


def test_ours_are_better_than_theirs(many):
    found = {
        (each.setting.dataset, each.setting.law, each.estimator.name): each.squared.found
        for each in many
    }
    for dataset in DATASETS:
        assert found[dataset, GAUSSIAN, "recentred"] < 0.88 * found[dataset, GAUSSIAN, "simplex"]
        assert found[dataset, LAPLACE, "core-1"] < 0.95 * found[dataset, LAPLACE, "simplex"]
        assert found[dataset, LAPLACE, "core-2.35"] < 0.93 * found[dataset, LAPLACE, "simplex"]


def test_a_cell_is_the_same_at_every_call(many):
    first = many[0]
    again = simulate_cell(first.estimator, first.setting, MANY, int)
    assert np.array_equal(again.estimates, first.estimates)
    assert len({each.squared.found for each in many}) == len(many)


def test_monte_carlo_errors_are_as_stated(monkeypatch):
    """The spread of a cell over seeds is its standard error."""
    setting = FreeLunchSetting(UNIFORM, GAUSSIAN, 0.5)
    found = []
    for seed in range(400):
        monkeypatch.setattr(free_lunch_estimators, "_seed", lambda *names, seed=seed: seed)
        found.append(simulate_cell(ESTIMATORS[1], setting, 1000, int))
    for kind in ("absolute", "squared"):
        entries = [getattr(each, kind) for each in found]
        spread = np.std([each.found for each in entries], ddof=1)
        stated = np.mean([each.standard_error for each in entries])
        # A standard deviation of 400 normal numbers errs by 1 / sqrt(800) of itself.
        assert abs(spread / stated - 1) < sure(2) / sqrt(800)


def test_other_losses_have_no_printed_numbers():
    found = simulate_cells(EXPERIMENTS["table1"], {LAPLACE: 1.0, GAUSSIAN: 0.5}, 100, int)
    for each in found:
        assert each.setting.law is GAUSSIAN or each.squared.printed is None
    text = describe_errors(found)
    assert "plug-in, printed" in text
    found = simulate_cells(EXPERIMENTS["table1"], {LAPLACE: 1.0, GAUSSIAN: 1.0}, 100, int)
    assert "printed" not in describe_errors(found)
    assert "*" not in describe_errors(found)


def test_a_difference_that_should_not_be_is_said():
    found = simulate_cells(EXPERIMENTS["figure2"], PUBLISHED, RUNS, int)
    assert "8 of 8 errors lie within 3 standard errors of the printed ones" in describe_errors(
        found
    )
    assert "*" not in describe_errors(found)
    entry = attrs.evolve(found[0].squared, found=2.0)
    off = describe_errors([attrs.evolve(found[0], squared=entry), *found[1:]])
    assert "  2.0000*" in off
    assert "* no reason is known:\n" in off
    off = " ".join(off.split())
    assert "7 of 8 errors lie within 3 standard errors of the printed ones" in off
    assert "The other has a star." in off


def test_a_star_marks_what_lies_beyond_monte_carlo_error():
    """No more and no less: also where a reason for a difference is known."""
    found = simulate_cells(EXPERIMENTS["table1"], PUBLISHED, RUNS, int)
    text = describe_errors(found)
    table, _, words = text.partition(" errors lie within 3 standard errors")
    printed = [entry for each in found for entry in (each.absolute, each.squared) if entry.printed]
    beyond = sum(abs(entry.standard_errors) > 3 for entry in printed)
    assert len(printed) == 48
    assert table.count("*") == beyond
    assert table.endswith(f"{48 - beyond} of 48")
    assert f"The other {beyond} have a star." in words.replace("\n", " ")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_from_the_releases_to_the_figure(run, tmp_path, name):
    status, out, err = run(name, "--quick", "--out", tmp_path / "new")
    assert status == 0, err
    experiment = EXPERIMENTS[name]
    path = tmp_path / "new" / f"{name}.csv"
    found = lines(path)
    number = len(experiment.datasets) * sum(len(estimators_of(law)) for law in experiment.laws)
    assert len(found) == 2 * number
    assert f"{name}: {number} cells of 1000 releases" in err
    kinds = ["csv"] if name == "table1" else ["csv", "png", "svg"]
    written = [f"written: {path.with_suffix('.' + kind)}" for kind in kinds]
    assert out.splitlines()[-len(kinds) :] == written
    assert max(map(len, out.splitlines()[: -len(kinds)])) <= 100
    if name != "table1":
        assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
        drawing = ElementTree.parse(path.with_suffix(".svg")).getroot()
        assert drawing.tag.endswith("svg")
        assert len(list(drawing.iter())) > 100
    if name == "figure2":
        before = {each: each.read_bytes() for each in path.parent.iterdir()}
        assert run(name, "--quick", "--out", path.parent)[0] == 0
        assert {each: each.read_bytes() for each in path.parent.iterdir()} == before


def test_the_table(run, tmp_path):
    status, out, _ = run("table1", "--out", tmp_path)
    assert status == 0
    found = lines(tmp_path / "table1.csv")
    assert tuple(found[0]) == FIELDS
    for line in found:
        assert line["loss"] == "0.5"
        assert line["runs"] == "10000"
        assert line["error"] in ("mean absolute", "root mean squared")
        assert 0 < float(line["standard_error"]) < 0.02 * float(line["found"])
        printed = line["printed"] != ""
        assert printed == (line["estimator"] in ("plug-in", "simplex", "center", "resize"))
        assert line["explained"] in (("yes", "no") if printed else ("",))
        assert (line["note"] != "") == (line["explained"] == "no")
        if printed:
            ratio = float(line["found"]) / float(line["printed"])
            assert float(line["percent"]) == pytest.approx(100 * (ratio - 1), abs=0.01)
            assert abs(float(line["standard_errors"])) < 8
    assert sum(line["explained"] == "yes" for line in found) == 36
    assert sum(line["explained"] == "no" for line in found) == 12
    for printed in TABLE_1.values():
        assert f"{printed.absolute:.4f}" in out
        assert f"{printed.squared:.4f}" in out
    assert "of 48 errors lie within 3 standard errors of the printed ones" in out
    assert "* no bounds give all the printed rows of Normal" in out
    assert "Normal, Laplace, center" in out


def test_budgets_and_runs(run, tmp_path):
    words = ("--rho", 2, "--epsilon", 1, "--runs", 500, "--out", tmp_path)
    assert run("table1", *words)[0] == 0
    found = lines(tmp_path / "table1.csv")
    assert {(line["mechanism"], line["loss"]) for line in found} == {
        ("Gaussian", "2.0"),
        ("Laplace", "1.0"),
    }
    assert {line["runs"] for line in found} == {"500"}
    assert {line["printed"] for line in found} == {""}


@pytest.mark.parametrize(("loss", "runs"), [(0.001, 2), (1000, 7)])
def test_few_runs_at_the_ends(run, tmp_path, loss, runs):
    words = ("--rho", loss, "--epsilon", loss, "--runs", runs, "--out", tmp_path)
    status, _, err = run("table1", *words)
    assert status == 0, err
    for line in lines(tmp_path / "table1.csv"):
        assert float(line["found"]) > 0
