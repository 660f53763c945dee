"""What the experiments say before they run: names, refusals, and how long it takes."""

import os
import runpy
import sys
from pathlib import Path

import pytest

import command_line
import free_lunch_experiments
import plan_experiments

TITLES = {
    name: each.title
    for chapter in (plan_experiments, free_lunch_experiments)
    for name, each in chapter.EXPERIMENTS.items()
}


@pytest.mark.parametrize("words", [(), ("--help",)], ids=" ".join)
def test_it_lists_the_experiments(run, words):
    status, out, _ = run(*words)
    assert status == 0
    for name, title in TITLES.items():
        assert f"{name:16} {title}" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("plan-z", "invalid choice: 'plan-z'"),
        ("plan-a --quick --full", "--quick and --full are different sizes; give one of them"),
        ("plan-a --runs 0", "--runs must be a whole number of at least 1, got 0"),
        ("plan-a --runs 2.5", "argument --runs: invalid int value: '2.5'"),
        ("plan-a --workers 0", "--workers must be a whole number of at least 1, got 0"),
        ("plan-a --rho a", "argument --rho: invalid _loss value: 'a'"),
        ("plan-a --rho nan", "argument --rho: must be finite and above 0, got nan"),
        ("plan-a --epsilon 1", "--epsilon is for table1 and figure3; the budgets of plan-a are"),
        ("plan-a --data x", "--data FILE goes with plan-binary: it holds transactions"),
        ("plan-binary --data missing.dat", "No such file or directory: 'missing.dat'"),
        ("table1 --data x", "--data FILE goes with plan-binary: it holds transactions"),
        ("table1 --full", "--full: table1 makes all 10000 releases as published anyway"),
        ("table1 --rho 1 2", "--rho: table1 is at one budget, got 2"),
        ("table1 --rho 0", "argument --rho: must be finite and above 0, got 0"),
        ("table1 --rho 1e-4", "--rho must lie between 0.001 and 1000, where the estimators differ"),
        ("table1 --runs 1", "--runs must be a whole number of at least 2, got 1"),
        ("table1 --runs 1000001", "--runs: table1 holds at most 1000000, got 1000001"),
        ("figure2 --epsilon 1", "--epsilon: figure2 has no Laplace noise; leave it out"),
        ("figure3 --workers 2", "--workers: figure3 takes seconds in one process; leave it out"),
    ],
)
def test_wrong_arguments(run, tmp_path, words, message):
    status, out, err = run(*words.split(), "--out", tmp_path / "new")
    assert (status, out) == (2, "")
    assert message in err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["plan-a", "table1"])
def test_files_that_are_not_its_own_are_kept(run, tmp_path, name):
    path = tmp_path / f"{name}.csv"
    path.write_text("name,age\nann,3\n")
    for folder, message in ((tmp_path, "its first line is another"), (path, "File exists")):
        status, out, err = run(name, "--quick", "--out", folder)
        assert (status, out) == (2, "")
        assert message in err
    assert path.read_text() == "name,age\nann,3\n"


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "command_line")
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(SystemExit, match=r'need tqdm, .*pip install "\.\[plot\]"'):
        runpy.run_path(str(Path(command_line.__file__).parent))


def test_on_a_busy_machine_it_says_a_longer_time(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(command_line, "_load", lambda: 0.5)
    said = command_line._estimate_time(20, 2)
    assert said == "about 20 seconds on 2 free cores, longer if they are busy"
    monkeypatch.setattr(command_line, "_load", lambda: 5.0)
    said = command_line._estimate_time(20, 2)
    assert said == "about 20 seconds on 2 free cores, 70 seconds or more at the present load"
    said = command_line._estimate_time(20, 1)
    assert said.startswith("about 20 seconds on a free core, 60 seconds")
