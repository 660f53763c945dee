"""The published experiments: their settings, and the command from the runs to the figure."""

import csv
import itertools
import os
import signal
import subprocess
import sys
import time
from math import inf
from pathlib import Path
from xml.etree import ElementTree

import attrs
import numpy as np
import pytest

import opendp_lite as dp
import plan_results
import plan_runs
from plan_estimators import PUBLISHED, estimators_of
from plan_experiments import (
    EXPERIMENTS,
    PlanDataset,
    Series,
    SettingGrid,
    deviations,
    draw_sample,
    fair_bits,
)
from plan_results import errors_by_cell
from plan_runs import FIELDS, Table

PROGRAM = [sys.executable, str(Path(__file__).parents[2] / "docs" / "experiments")]
NAMES = [
    "plan-a",
    "plan-b",
    "plan-c",
    "plan-low",
    "plan-binary",
    "plan-correlated",
    "plan-variance",
]
POWERS = [2**k for k in range(4, 11)]
HALVES = [0, 0.5, 1, 1.5, 2]


@pytest.fixture
def tiny(monkeypatch):
    """Makes an experiment small."""

    def shrink(name: str) -> None:
        full = EXPERIMENTS[name]
        series = tuple(attrs.evolve(each, **small(each)) for each in full.series[:2])
        monkeypatch.setitem(EXPERIMENTS, name, attrs.evolve(full, series=series))

    return shrink


def small(series: Series):
    """Few short rows in place of a series' own."""
    grid = SettingGrid((4, 8), (0.0,)) if series.axis == "d" else SettingGrid((4,), (0.0, 1.0))
    if series.name == "plan-variance":
        grid = series.full
    return {"n": 300, "quick": grid, "usual": grid, "full": grid}


def lines(path) -> list[dict[str, str]]:
    """The runs in a table."""
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def wait_for_runs(path) -> None:
    """Until a command has written some."""
    deadline = time.monotonic() + 60
    while not (path.exists() and len(path.read_text().splitlines()) > 3):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def settings(path) -> list[tuple[str, ...]]:
    """What tells one run from another."""
    return [tuple(line[field] for field in FIELDS[:8]) for line in lines(path)]


def datasets(name: str, size="full") -> list[PlanDataset]:
    """All datasets of an experiment."""
    return [each for series in EXPERIMENTS[name].series for each in series.datasets(size)]


def test_names_and_budgets():
    assert list(EXPERIMENTS) == NAMES
    for name in ("plan-a", "plan-b", "plan-c"):
        assert EXPERIMENTS[name].rhos == (1, 0.5, 0.25, 0.125, 0.0625)
    assert EXPERIMENTS["plan-low"].rhos == (0.01,)
    assert EXPERIMENTS["plan-variance"].rhos == (1e-3, 1e-2)
    assert {each.full_runs for each in EXPERIMENTS.values()} == {50, 100}


@pytest.mark.parametrize(
    ("name", "series", "n", "columns", "alphas"),
    [
        ("plan-a", "plan-a", 4000, POWERS, [0]),
        ("plan-b", "plan-b", 10_000, [512], HALVES),
        ("plan-c", "plan-c", 10_000, POWERS, [2]),
        ("plan-low", "plan-low-a", 100_000, POWERS, [0]),
        ("plan-low", "plan-low-b", 100_000, [64], HALVES),
        ("plan-low", "plan-low-c", 100_000, POWERS, [2]),
        ("plan-binary", "plan-binary", 4096, [*POWERS[4:], 2048], [0, 0.25, 0.5, 0.75, 1]),
        ("plan-correlated", "plan-correlated-a", 4000, POWERS, [0]),
        ("plan-correlated", "plan-correlated-c", 10_000, POWERS, [2]),
        ("plan-variance", "plan-variance", 10_000, [1], [0.001, 1]),
    ],
)
def test_grids_are_the_papers(name, series, n, columns, alphas):
    wanted = {PlanDataset(series, n, d, alpha) for d, alpha in itertools.product(columns, alphas)}
    assert {each for each in datasets(name) if each.experiment == series} == wanted


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", ["quick", "usual"])
def test_smaller_sizes_have_fewer_settings(name, size):
    assert datasets(name, size)
    if size == "usual":
        assert set(datasets(name, size)) <= set(datasets(name))


def test_flat_rows():
    sample = draw_sample(PlanDataset("plan-a", 4000, 16, 0.0), 0)
    assert sample.bound == 100
    assert not sample.true.any()
    assert np.allclose(sample.rows.std(axis=0), 1, atol=0.05)
    assert np.array_equal(sample.empirical, sample.rows.mean(axis=0))
    assert sample.distance(sample.true, sample.true + 1) == 4


@pytest.mark.parametrize("name", ["plan-b", "plan-c", "plan-low-b", "plan-correlated-c"])
def test_skewed_rows(name):
    dataset = PlanDataset(name, 10_000, 16, 2.0)
    sample = draw_sample(dataset, 0)
    assert np.allclose(deviations(dataset) ** 2, (16 / np.arange(1, 17)) ** 2)
    assert np.allclose(sample.rows.std(axis=0), deviations(dataset), rtol=0.05)
    assert sample.bound == 50 * 16 * 16**0.5
    assert (sample.true == 10).all()
    correlation = np.corrcoef(sample.rows.T)[0, 1:]
    wanted = 0.5 if name == "plan-correlated-c" else 0
    assert np.allclose(correlation, wanted, atol=0.05)


def test_flat_correlated_rows():
    sample = draw_sample(PlanDataset("plan-correlated-a", 40_000, 16, 0.0), 0)
    covariance = np.cov(sample.rows.T)
    assert (np.diag(covariance) > 0.95).all()
    assert (np.diag(covariance) < 2).all()
    assert (covariance[np.triu_indices(16, 1)] > -0.05).all()
    assert covariance[0, 1] > 0.1


def test_bits():
    dataset = PlanDataset("plan-binary", 4096, 256, 0.25)
    assert fair_bits(dataset) == 64
    assert fair_bits(attrs.evolve(dataset, d=6)) == 2
    sample = draw_sample(dataset, 0)
    assert set(np.unique(sample.rows)) == {0, 1}
    assert sample.bound == 1
    assert np.allclose(sample.empirical[:64], 0.5, atol=0.05)
    assert np.allclose(sample.empirical[64:], 0.01, atol=0.01)
    assert sample.distance(sample.true, sample.true + 1) == 128


def test_one_column():
    sample = draw_sample(PlanDataset("plan-variance", 10_000, 1, 0.001), 0)
    assert sample.true == [0.001]
    assert abs(sample.rows.mean() - 10) < 0.01
    assert sample.distance(np.array([0.0015]), sample.true) == pytest.approx(0.5)


def test_draws_depend_on_the_setting_and_the_run_alone():
    dataset = PlanDataset("plan-a", 50, 4, 0.0)
    first = draw_sample(dataset, 0).rows
    assert not np.array_equal(draw_sample(dataset, 1).rows, first)
    assert np.array_equal(draw_sample(dataset, 0).rows, first)
    assert dataset.seed(0) == 71200092681938
    seeds = [each.seed(run) for name in NAMES for each in datasets(name) for run in range(5)]
    assert len(set(seeds)) == len(seeds)


def test_published_numbers_belong_to_settings():
    every = {each for name in NAMES for each in datasets(name)}
    for each in PUBLISHED:
        assert each.dataset in every
        assert each.estimator in estimators_of(each.dataset.experiment)
        assert each.source


@pytest.mark.parametrize("name", NAMES)
def test_from_the_runs_to_the_figure(run, tiny, tmp_path, name):
    tiny(name)
    rhos = EXPERIMENTS[name].rhos[: 2 if name == "plan-a" else 1]
    words = ("--runs", 1, "--workers", 1, "--out", tmp_path)
    status, out, err = run(name, "--rho", *rhos, *words)
    assert status == 0, err
    table = tmp_path / f"{name}.csv"
    assert f"{name}: {len(lines(table))} runs; about 10 seconds" in err
    assert out.splitlines()[-3:] == [
        f"written: {tmp_path / name}.{kind}" for kind in ("csv", "png", "svg")
    ]
    assert "below ours" in out
    assert ("printed" in out) == (name == "plan-variance")
    planned = plan_runs.list_runs(EXPERIMENTS[name], "usual", rhos, 1)
    assert set(Table(table).results()) == set(planned)
    assert tuple(lines(table)[0]) == FIELDS
    for line in lines(table):
        assert float(line["error_true"]) >= 0
        assert float(line["error_empirical"]) >= 0
        assert (line["estimator"] == "empirical") == (line["rho"] == "inf")
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    drawing = ElementTree.parse(tmp_path / f"{name}.svg").getroot()
    assert drawing.tag.endswith("svg")
    assert len(list(drawing.iter())) > 100


def test_finished_runs_are_not_made_again(run, tiny, tmp_path):
    tiny("plan-a")
    words = ("plan-a", "--workers", 1, "--out", tmp_path, "--rho", 1)
    run(*words, "--runs", 1)
    path = tmp_path / "plan-a.csv"
    first = path.read_text()
    status, _, err = run(*words, "--runs", 1)
    assert status == 0
    assert "all 12 runs are in" in err
    assert path.read_text() == first
    # A command that was killed leaves half a line at the end.
    path.write_text(f"{first}plan-a,magni")
    assert "12 of 24 runs, the others are there already" in run(*words, "--runs", 2)[2]
    assert path.read_text().startswith(first)
    assert len(set(settings(path))) == len(lines(path)) == 24


def test_interrupted(run, tiny, tmp_path, monkeypatch):
    tiny("plan-b")
    append = Table.append
    left = iter(range(5))

    def fewer(table, result):
        if next(left, None) is None:
            raise KeyboardInterrupt
        append(table, result)

    monkeypatch.setattr(Table, "append", fewer)
    words = ("plan-b", "--rho", 1, "--runs", 1, "--workers", 1, "--out", tmp_path)
    status, out, err = run(*words)
    assert (status, out) == (130, "")
    assert "stopped: 5 of 12 runs were made and are kept in" in err
    assert "the same command goes on from there" in err
    monkeypatch.setattr(Table, "append", append)
    assert "7 of 12 runs" in run(*words)[2]
    assert len(set(settings(tmp_path / "plan-b.csv"))) == 12


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_interrupted_with_several_processes(tmp_path):
    path = tmp_path / "plan-variance.csv"
    words = ("--runs", 200, "--workers", 2, "--out", tmp_path)
    process = subprocess.Popen(
        [*PROGRAM, "plan-variance", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_runs(path)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "stopped: " in err
    assert "Traceback" not in err
    assert len(set(settings(path))) == len(settings(path)) > 0


def test_the_number_of_processes_does_not_matter(tiny):
    tiny("plan-a")
    planned = plan_runs.list_runs(EXPERIMENTS["plan-a"], "usual", (1.0,), 1)
    one, two = (
        {each.run: each for each in plan_runs._measure_all(planned, workers)} for workers in (1, 2)
    )
    assert set(one) == set(two) == set(planned)
    exact = [run for run in planned if run.estimator == "empirical"]
    assert [one[run].error_true for run in exact] == [two[run].error_true for run in exact]


def test_expected_time_grows_with_the_work():
    experiment = EXPERIMENTS["plan-a"]
    few, many = (plan_runs.list_runs(experiment, "usual", (1.0,), runs) for runs in (1, 10))
    assert plan_runs.estimate_seconds(few, 1) * 10 == pytest.approx(
        plan_runs.estimate_seconds(many, 1)
    )
    assert plan_runs.estimate_seconds(few, 2) < plan_runs.estimate_seconds(few, 1)
    assert plan_runs.list_runs(experiment, "usual", (1.0, 0.5), 1)[0].rho == inf


@pytest.mark.parametrize(("runs", "words"), [(1, "One run."), (2, "least"), (5, "quartiles")])
def test_a_figure_shows_the_spread_of_its_runs(tiny, runs, words):
    tiny("plan-a")
    experiment = EXPERIMENTS["plan-a"]
    planned = plan_runs.list_runs(experiment, "quick", (1.0,), runs)
    made = [plan_runs.measure(run) for run in planned if run.estimator in ("empirical", "ours")]
    figure = plan_results._curves_figure(experiment, "quick", (1.0,), made)
    assert words in figure.legends[0].get_title().get_text().replace("\n", " ")
    axes = figure.axes[1]
    line, band = axes.lines[-1], axes.collections[-1].get_paths()[0].vertices
    errors = errors_by_cell(made, "empirical")
    for x, y in line.get_xydata():
        values = next(
            found for (data, name, _), found in errors.items() if (data.d, name) == (x, "ours")
        )
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75) if runs >= 5 else (0, 0.5, 1))
        assert y == pytest.approx(middle)
        here = band[band[:, 0] == x][:, 1]
        assert (here.min(), here.max()) == pytest.approx((low, high))


@pytest.mark.parametrize("name", NAMES)
def test_medians_rest_on_enough_runs_and_quick_is_quick(name):
    experiment = EXPERIMENTS[name]
    assert min(experiment.quick_runs, experiment.runs, experiment.full_runs) >= 5
    runs = plan_runs.list_runs(experiment, "quick", experiment.quick_rhos, experiment.quick_runs)
    assert plan_runs.estimate_seconds(runs, 2) < 30


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,age\nann,3\n", "is not a table of runs"),
        (",".join(FIELDS) + "\nplan-a,plan\n", "line 2, is not a run of this program"),
        (
            ",".join(FIELDS) + "\nplan-a,plan,300,4,0.0,1.0,0,17,0.1,0.1,0.1\n",
            "line 2, is not a run of this program; delete the line",
        ),
    ],
)
def test_a_table_of_something_else(run, tmp_path, text, message):
    (tmp_path / "plan-a.csv").write_text(text)
    status, _, err = run("plan-a", "--quick", "--out", tmp_path)
    assert status == 2
    assert message in err
    assert (tmp_path / "plan-a.csv").read_text() == text


def test_a_process_that_dies(monkeypatch):
    monkeypatch.setattr(plan_runs, "measure", os._exit)
    with pytest.raises(dp.OpenDPLiteError, match="give the same command again with --workers 1"):
        list(plan_runs._measure_all([1, 1], 2))
