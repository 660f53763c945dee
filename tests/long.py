"""The long run: what the suite has no time for.

    python -m tests.long                      # two hours; goes on where the last run stopped
    python -m tests.long pairs mutants --minutes 5
    python -m tests.long --last               # what was found, when and at which commit

Slices of each check are run in turn, by its share of the time, and each is a line more in
``tests/long.tsv``. A slice draws from its number, so a later run tries others. For two cores start
it twice, with other checks. Faults are printed. What is not installed (OpenDP, z3, Spark with
Java, Python 3.11 and 3.12, of which it makes environments in .venv) is left out.
"""

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import attrs
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests/long.tsv"
HEAD = "| checked | how many | faults | when | commit | again |\n|---|---|---|---|---|---|\n"
COMPARED = "duckdb", "mpmath", "polars", "zarr"
Found = tuple[int, list[str]]


def record_pairs(number: int) -> Found:
    """All pairs among twenty small datasets, eight times for every eighth pipeline."""
    from tests.recorded_pairs import find_faults, list_pipelines

    done, faults = 0, []
    for bound in [*list_pipelines()][number % 8 :: 8]:
        for seed in range(8 * number, 8 * number + 8):
            pairs, found = find_faults(bound, 20, seed)
            done += pairs
            faults += [str((bound, seed, *fault)) for fault in found]
    return done, faults


def draw_chains(number: int):
    """Up to four of the suite's steps, joined at random, without end."""
    import opendp_lite as dp
    from tests.transformations import test_small_neighbours as small

    tables = small.MET, small.NEARLY_MET, small.NOT_MET
    parts = [each for table in tables for stages in table.values() for each in stages]
    parts += [*small.NAMED, dp.sum(), dp.sum(), dp.count()]
    generator = np.random.default_rng(number)
    while True:
        columns, relation = generator.integers(1, 4), small.RELATIONS[generator.integers(2)]
        bound = dp.records(columns=["a", "b", "c"][:columns], **relation)
        try:
            for place in generator.integers(len(parts), size=generator.integers(1, 5)):
                bound = bound >> parts[place]
        except dp.OpenDPLiteError:  # steps that do not follow each other
            continue
        yield bound


def enumerate_pipelines(number: int) -> Found:
    """Chains of steps on all small neighbours."""
    from tests.transformations import test_small_neighbours as small

    faults = []
    for bound in islice(draw_chains(number), 250):
        try:
            for true, claimed in small.compare_results(bound):
                pairs = zip(true, claimed, strict=False)
                assert all(most is None or moved <= most for moved, most in pairs)
        except Exception as fault:
            faults.append(f"seed {number}: {bound}: {fault!r}")
    return 250, faults


def blame_honest(number: int) -> Found:
    """What the falsifiers say of the suite's own chains of steps, mechanisms and estimators.

    By chance an audit fails once in 1e7. What pairs rows at random is no part of the list.
    """
    import opendp_lite as dp
    from tests import recorded_pairs as pairs

    checks = [
        (partial(dp.assert_stable, bound, seed=number), bound)
        for bound in islice(draw_chains(number), 40)
    ]
    for bound in [*pairs.list_pipelines()][number % 256 :: 256]:
        rows, one, two = pairs.choose_rows(bound), *pairs.list_datasets(bound, 2, number)
        if apart := pairs.count_moved(bound, one, two):
            given = (rows[list(each)] for each in (one, two))
            checks.append((partial(dp.audit, bound, *given, apart), bound))
    faults = []
    for check, checked in checks:
        try:
            check()
        except Exception as fault:
            faults.append(f"seed {number}: {checked}: {fault!r}")
    return len(checks), faults


def compare_with_opendp(number: int) -> Found:
    """Random pipelines, and what OpenDP's library says of each."""
    import pytest

    try:
        from tests.measurements import test_same_maps_as_opendp as other
    except pytest.skip.Exception:
        return 0, []
    generator, faults = np.random.default_rng(1000 + number), []
    for place in range(4000):
        try:
            other.check_pipeline(generator)
        except Exception as fault:
            faults.append(f"seed {1000 + number}, pipeline {place}: {fault!r}")
    return 4000, faults


def read_rows(number: int) -> Found:
    """Columns of each type, with other cells, and all queries of them."""
    import warnings

    import duckdb

    from tests.engines import test_one_row as law

    warnings.simplefilter("ignore")
    seed, faults = 1000 + number, []
    with TemporaryDirectory() as folder:
        checks = {
            kind: partial(law.check, kind, seed, Path(folder), 30)
            for kind in filter(law.held, law.KINDS)
        }
        for kind, pool in law.DUCKDB.items():
            ask = duckdb.connect().sql
            checks[f"DuckDB {kind}"] = partial(law.check_query, ask, kind, pool, seed, 30)
        for kind, check in checks.items():
            try:
                check()
            except Exception as fault:
                faults.append(f"seed {seed}: {kind}: {fault!r}")
    return len(checks), faults


def run_mutants(number: int) -> Found:
    """Mutants of a room; those that survive, and of which nobody has said why, are faults.

    Two hundred, as the tests of a room are measured anew each time.
    """
    package, tests = ROOT / "opendp_lite", ROOT / "tests"
    rooms = sorted(each.name for each in package.iterdir() if (tests / each.name).is_dir())
    room, seed = rooms[number % len(rooms)], str(100 + number // len(rooms))
    shown = call(sys.executable, "tests/mutants", room, "--kills", "1", "--seed", seed)
    alive = re.findall(r"^survived: (.*)$", shown, re.MULTILINE)
    count = re.search(r"^(\d+) mutants", shown, re.MULTILINE)
    return int(count[1]) if count else 0, alive


def run_tests(*given: str, python: str = sys.executable) -> Found:
    shown = call(python, "-m", "pytest", "-q", "-rfE", *given)
    passed = re.search(r"(\d+) passed", shown)
    faults = re.findall(r"^(?:FAILED|ERROR) .*$", shown, re.MULTILINE)
    if not passed and not faults and "skipped" not in shown:
        faults = [f"nothing ran: {shown.strip()[-200:]}"]
    return int(passed[1]) if passed else 0, faults


def run_on(version: str, lowest: bool) -> Found:
    """The suite but for pages and tools on another Python, with the lowest versions or newest.

    The lowest are of the libraries whose results are compared, not of tools such as pytest. Tests
    run in two processes.
    """
    if not shutil.which(f"python{version}"):
        return 0, []
    made = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = made["optional-dependencies"]
    names = "accounting", "dask", "fast", "plot", "postgresql", "wavelets"
    tested = [each for each in extras["test"] if each.startswith(COMPARED)]
    ours = [*made["dependencies"], *extras["spark"][1:], *tested]
    ours += [each for name in names for each in extras[name]]
    if lowest:
        ours = [each.replace(">=", "==") for each in ours]
    tools = ("opendp_lite", "py", "mypy", *COMPARED)
    others = [each for each in extras["test"] if not each.startswith(tools)]
    own = ROOT / ".venv" / f"python{version}"
    call(f"python{version}", "-m", "venv", "--clear", str(own))
    python = str(own / "bin/python")
    needed = ["pytest>=8", "pytest-timeout", "pytest-xdist"]
    call(python, "-m", "pip", "install", "-q", str(ROOT), *ours, *others, *needed)
    left_out = "site", "browser", "notebooks", "docs", "test_typing.py", "test_editors.py"
    # Old libraries warn of their own ends.
    options = ["-n", "2", "-W", "ignore::DeprecationWarning"]
    options += [f"--ignore=tests/{each}" for each in left_out]
    return run_tests("tests", *options, python=python)


def call(*order: str) -> str:
    """What a command prints. Workers of Spark import the package too."""
    own = {"OPENBLAS_NUM_THREADS": "1", "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    told = {"cwd": ROOT, "env": os.environ | own, "capture_output": True, "text": True}
    done = subprocess.run(order, check=False, **told)
    return done.stdout + done.stderr


@attrs.frozen
class Check:
    """What is counted, the share of the time in minutes, and a slice by its number."""

    what: str
    share: int
    run: Callable[[int], Found]
    once: bool = False  # at each commit


SPARK = "tests/engines/test_spark.py", "tests/measures/test_dp_events.py"
CHECKS = {
    "pairs": Check("pairs of neighbours: what each noise is given", 60, record_pairs),
    "pipelines": Check("random pipelines on all small neighbours", 25, enumerate_pipelines),
    "opendp": Check("random pipelines beside OpenDP's maps", 25, compare_with_opendp),
    "rows": Check("columns: each row as it is alone", 10, read_rows),
    "honest": Check("honest steps given to falsifiers", 25, blame_honest),
    "examples": Check("examples run", 25, lambda _: run_tests("opendp_lite", "docs", "README.md")),
    "mutants": Check("mutants; alive and not yet explained", 60, run_mutants),
    "lemmas": Check(
        "lemmas of z3, laws of Rocq", 1, lambda _: run_tests("tests/proofs"), once=True
    ),
    "spark": Check("tests of Spark, of dp_accounting", 4, lambda _: run_tests(*SPARK), once=True),
    "3.11": Check("tests on 3.11, all oldest", 20, lambda _: run_on("3.11", True), once=True),
    "3.12": Check("tests on 3.12, all newest", 20, lambda _: run_on("3.12", False), once=True),
}


def read() -> list[dict[str, str]]:
    return list(csv.DictReader(RECORD.read_text("utf-8").splitlines(), delimiter="\t"))


def make_table() -> str:
    """A row for each check: the sums of all its slices, or the last where it is run once."""
    table = HEAD
    for name, check in CHECKS.items():
        found = [each for each in read() if each["check"] == name]
        if found := found[-1:] if check.once else found:
            done, faults = (sum(int(each[key]) for each in found) for key in ("done", "faults"))
            days = " to ".join(dict.fromkeys((found[0]["day"], found[-1]["day"])))
            table += f"| {check.what} | {done} | {faults} | {days} | {found[-1]['commit']} "
            table += f"| `python -m tests.long {name}` |\n"
    return table


def run(names: list[str], minutes: float) -> None:
    """Slices of the check that is furthest behind its share, as long as there is time."""
    until, commit = time.monotonic() + 60 * minutes, call("git", "rev-parse", "--short=8", "HEAD")
    while names and time.monotonic() < until:
        slices = {name: [each for each in read() if each["check"] == name] for name in names}
        spent = {name: sum(int(each["seconds"]) for each in slices[name]) for name in names}
        name = min(names, key=lambda name: spent[name] / CHECKS[name].share)
        began = time.monotonic()
        if CHECKS[name].once and commit.strip() in (each["commit"] for each in slices[name]):
            names.remove(name)
            continue
        done, faults = CHECKS[name].run(len(slices[name]))
        print(f"{name}: {done}, {len(faults)} faults", *faults, sep="\n  ", flush=True)
        if not done and not faults:  # not installed
            names.remove(name)
            continue
        line = name, commit.strip(), f"{datetime.now(UTC):%Y-%m-%d}", done, len(faults)
        with RECORD.open("a", encoding="utf-8") as record:
            record.write("\t".join(map(str, (*line, int(time.monotonic() - began)))) + "\n")


if __name__ == "__main__":
    words = argparse.ArgumentParser("long", description=__doc__)
    words.add_argument("checks", nargs="*", default=list(CHECKS), help=", ".join(CHECKS))
    words.add_argument("--minutes", type=float, default=120)
    words.add_argument("--last", action="store_true", help="print the table and run nothing")
    given = words.parse_args()
    if unknown := set(given.checks) - set(CHECKS):
        words.error(f"no such check: {', '.join(unknown)}; there are {', '.join(CHECKS)}")
    if not given.last:
        run(given.checks, given.minutes)
    print(make_table(), end="")
