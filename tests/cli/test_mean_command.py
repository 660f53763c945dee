"""The mean command and what all share: what they print, refuse, and that values never show.

Where noise is not seeded, a bound is at least 11 standard deviations of Gaussian noise or 50 of
Laplace noise away: a false failure has a chance below 1e-20.
"""

import gzip
import io
import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import opendp_lite as dp
from opendp_lite.cli import when_run
from opendp_lite.cli.arguments import parse as parsed
from opendp_lite.cli.output import rounded_up
from opendp_lite.numbers.exact import exact

RAND_HIE = Path(__file__).parents[2] / "docs" / "data" / "rand_hie.csv"
CLAMPED_MEAN = 2.839722634967806
ROWS = 20190
EXACTLY = ["--rho", "1e12"]
METHODS = {"best": [], "sized": ["--size", str(ROWS)]}
BUDGETS = {
    "rho": ["--rho", "0.5"],
    "epsilon": ["--epsilon", "1"],
    "delta": ["--epsilon", "1", "--delta", "1e-6"],
}
ASKED = {"rho": {"rho": 0.5}, "epsilon": {"epsilon": 1.0}, "delta": {"epsilon": 1.0, "delta": 1e-6}}
SECRET = "hunter2"
SIMPLE = ["mean", RAND_HIE, "--column", "mdvis", "--bounds", 0, 40, "--rho", 1]


@pytest.fixture
def mean(made):
    """Runs ``mean`` on the RAND table: its standard output, after it succeeded."""

    def call(*words: object) -> str:
        return made("mean", RAND_HIE, "--column", "mdvis", "--bounds", 0, 40, *words)

    return call


def process(
    *words: object, stdout=subprocess.PIPE, **options
) -> subprocess.CompletedProcess[bytes]:
    """Runs the command line as a process of its own."""
    command = [sys.executable, "-W", "error", "-m", "opendp_lite", *map(str, words)]
    piped = {"stdout": stdout, "stderr": subprocess.PIPE, **options}
    return subprocess.run(command, check=False, timeout=120, **piped)


def lines(text: str) -> dict[str, str]:
    """The labels and values of the human output."""
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in text.splitlines())


@pytest.mark.parametrize(
    ("words", "clipped"),
    [
        ([], "rows without a value are left out"),
        (["--missing", "drop"], "rows without a value are left out"),
        (["--missing", "3"], "a missing value counts as 3"),
        (["--size", ROWS], "a missing value counts as 20"),
        (["--size", ROWS, "--missing", "0.5"], "a missing value counts as 0.5"),
    ],
)
def test_what_was_clipped_is_said(mean, words, clipped):
    bounds = "values below 0 count as 0, values above 40 as 40"
    assert lines(mean("--epsilon", "1", *words))["clipped"] == f"{bounds}; {clipped}"


def test_human_output(mean, tmp_path):
    """The noise has a deviation of 0.0018; a digit of 2.8397 changes at 0.04, 20 deviations."""
    found = lines(mean("--rho", "0.5", "--of-rows"))
    assert list(found) == [
        "mean of mdvis",
        "95 % interval",
        "standard error",
        "protected",
        "clipped",
        "next",
        "pipeline",
    ]
    number = r"2\.8\d\d\d"
    assert re.fullmatch(number, found["mean of mdvis"])
    assert re.fullmatch(r"0\.001[89] \(noise only\)", found["standard error"])
    assert found["protected"] == (
        "any one row, added or removed: rho = 0.5 zCDP, which is epsilon = 4.89 at delta = 1e-6"
    )
    interval = rf"{number} to {number} for the mean of these rows, after clipping"
    assert re.fullmatch(interval, found["95 % interval"])
    assert found["next"].startswith("add up the losses of all releases of this data")
    assert found["pipeline"] == "dp.mean(0, 40, rho=0.5, sampling=False)"
    dp.Ledger.create(tmp_path / "a", budget=dp.rho(1), unit="row")
    paid = lines(mean("--rho", "0.5", "--of-rows", "--ledger", str(tmp_path / "a")))
    assert set(found) - set(paid) == {"next"}  # The ledger adds the losses up.


def test_the_interval_is_for_the_population_unless_you_say_otherwise(mean):
    """The rows alone move the mean by 0.032, and the noise by 0.0018."""
    found = lines(mean("--rho", "0.5"))
    assert re.fullmatch(r"0\.03\d \(noise and sampling\)", found["standard error"])
    assert found["95 % interval"].endswith(" for the mean of the population, after clipping")
    assert found["noise interval"].endswith(" holds that of these rows")
    assert found["pipeline"] == "dp.mean(0, 40, rho=0.5)"
    told = json.loads(mean("--rho", "0.5", "--json"))
    wide, narrow = (high - low for low, high in (told["interval"], told["noise_interval"]))
    assert 0.1 < wide < 0.15
    assert 0.006 < narrow < 0.012
    assert told["sampling"] is True


def test_values_are_aligned(mean):
    text = mean("--rho", "0.5", "--size", ROWS)
    starts = {len(re.match(r".+?\s{2,}", line)[0]) for line in text.splitlines()}
    assert len(starts) == 1


@pytest.mark.parametrize(
    ("words", "privacy"),
    [
        (["--epsilon", "1"], "added or removed: epsilon = 1 (pure differential privacy)"),
        (["--epsilon", "0.25", "--delta", "1e-7"], "removed: epsilon = 0.25 at delta = 1e-7"),
        (["--epsilon", "1", "--size", ROWS], "any one row, replaced by any other: epsilon = 1 ("),
        (["--rho", "0.03"], "removed: rho = 0.03 zCDP, which is epsilon = 1.04 at delta = 1e-6"),
        (["--epsilon", "0.7", "--delta", "1e-5", "--method", "plug-in"], "epsilon = 0.7 at delta"),
    ],
)
def test_loss_in_words(mean, words, privacy):
    assert privacy in lines(mean(*words))["protected"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_json_has_the_claim_of_the_pipeline(mean, method, budget):
    found = json.loads(mean("--json", "--explain", *BUDGETS[budget], *METHODS[method]))
    space = found["pipeline"].split(" >> ")[0] if method == "sized" else "dp.records()"
    pipeline = eval(found["pipeline"], {"dp": dp})
    measures = {
        "rho": "ZeroConcentratedDivergence",
        "epsilon": "MaxDivergence",
        "delta": "ApproximateDivergence",
    }
    asked = ASKED[budget]
    assert found["loss"] == {"measure": measures[budget], **asked}
    whole = tuple(asked.values()) if len(asked) > 1 else next(iter(asked.values()))
    assert pipeline.map(1) == whole
    assert pipeline.check(1, whole)
    assert found["neighbours"].startswith("replacing" if method == "sized" else "adding")
    assert ("epsilon_at_delta" in found) == (budget == "rho")
    if budget == "rho":
        assert found["epsilon_at_delta"] == {"epsilon": pipeline.epsilon(1e-6), "delta": 1e-6}
    assert space in pipeline.explain()
    assert found["explain"] == pipeline.explain().splitlines()
    assert any(line.startswith("loss for ") for line in found["explain"])
    assert abs(found["mean"] - CLAMPED_MEAN) < 50 * found["standard_error"]


@pytest.mark.parametrize(
    ("mean", "error", "shown"),
    [
        (2.860426, 0.00281, ("2.8604", "0.0028")),
        (2.860426, 0.00996, ("2.860", "0.010")),
        (52341.7, 284.0, ("52340", "280")),
        (52341.7, 28.4, ("52342", "28")),
        (-0.001, 0.5, ("0.00", "0.50")),
        (0.0, 500000.0, ("0", "500000")),
        (1.0, 9.99e-17, ("1", "1e-16")),
        (3e20, 2e18, ("3.000e+20", "2.0e+18")),
        (0.0, 1e-20, ("0", "1.0e-20")),
        (7.0, 0.0, ("7", "0")),
    ],
)
def test_digits(mean, error, shown):
    told = dp.Estimate(mean, error, (mean, mean), 0.95, 1.0)
    assert told.justify(mean, error) == shown


@pytest.mark.parametrize(("typed", "read"), [("1/2", "1/2"), ("12/19", "12/19"), ("0.1", "1/10")])
def test_a_budget_may_be_a_fraction(typed, read):
    asked = parsed(["mean", "a.csv", "--column", "a", "--bounds", "0", "1", "--epsilon", typed])
    assert exact(asked.epsilon, "epsilon") == Fraction(read)


def test_epsilon_is_rounded_up():
    assert rounded_up(4.8801) == "4.89"
    assert rounded_up(4.88) == "4.88"
    assert rounded_up(0.0010001) == "0.00101"
    assert rounded_up(1.0e-9) == "1e-9"
    assert rounded_up(123456.0) == "124000"


def test_missing_values(told, table):
    path = table("id,x\n1,10\n2,\n3,NA\n4,20\n5\n6,-99\n")
    for words, expected in (
        (["--na", "-99", "--missing", "drop"], 15),
        ([], (30 - 50) / 3),
        (["--na", "-99", "--size", "6", "--missing", "40"], (30 + 4 * 40) / 6),
    ):
        options = ["--column", "x", "--bounds", -50, 100, *EXACTLY, *words]
        assert told("mean", path, *options)["mean"] == pytest.approx(expected, abs=0.01)


def test_shapes_of_input(told, table, monkeypatch):
    text = "\ufeffname;x\nAnn;1\nBob;2\n"
    options = ["--delimiter", ";", "--bounds", 0, 4, "--column", "x", *EXACTLY]
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": ["a", "b"]}), where := table("", "d.parquet"))
    packed = gzip.compress(text.encode())
    found = [
        told("mean", table(text), *options),
        told("mean", table(packed, "data.bin"), *options),
        told("mean", table(text.replace(";", "\t")), "--delimiter", "tab", *options[2:]),
        told("mean", where, *options[2:]),
    ]
    for data in (text.encode(), packed):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        found.append(told("mean", "-", *options))
    assert [each["mean"] for each in found] == pytest.approx([1.5] * 6, abs=1e-4)


def test_the_only_column_needs_no_name(made, table):
    words = ["mean", table("size\n1\n2\n"), "--bounds", -5, 5, "--rho", 1]
    assert made(*words).startswith("mean of the only column ")
    assert made(*words, "--header").startswith("mean of size ")


def test_a_private_row_is_not_printed(made, told, refused, table):
    """The first line of a table without a header is a person."""
    path = table("Alice Smith,HIV positive,\nBob,negative,31\n")
    options = ["--bounds", 0, 100, "--epsilon", 1]
    for column in ("age", "Alice", "31", "3"):
        error = refused("mean", path, "--column", column, *options)
        assert "--no-header, --column 3" in error
        assert "HIV" not in error
        assert "Smith" not in error
    words = ["mean", path, "--no-header", "--column", 3, *options]
    assert made(*words).startswith("mean of column 3 ")
    assert told(*words)["column"] == "column 3"


def test_text_may_count_as_missing(told, refused, table):
    path = table("name,age\nAnn,41\nBob,unknown\n")
    options = ["--column", "age", "--bounds", 0, 100, *EXACTLY]
    assert "--text missing" in refused("mean", path, *options)
    found = told("mean", path, "--text", "missing", *options)
    assert found["mean"] == pytest.approx(41, abs=0.01)


def test_too_much_noise_is_pointed_out(run, mean, table, monkeypatch):
    """From a release that is given, so that no noise decides."""
    for error, start in ((0.25, "the noise hides the mean: use more rows"), (0.2499, "add up the")):
        found = dp.Estimate(0.5, error, (0.0, 1.0), 0.95, 1.0)
        monkeypatch.setattr(dp.Measurement, "_release", lambda *_, found=found: found)
        _, out, _ = run("mean", table("x\n1\n"), "--bounds", 0, 1, "--rho", 1)
        assert lines(out)["next"].startswith(start)


def test_refusals_of_files(refused, table, tmp_path):
    options = ["--bounds", 0, 1, "--rho", 1]
    for path, message in {
        tmp_path / "none.csv": "there is no file",
        tmp_path: "bare.csv: choose a column (--column ...), as the first",
        tmp_path / "none.parquet": "there is no file",
        table("", "empty.csv"): "the file is empty; its first line must hold the names",
        table("x,y\n1,2\n", "two.csv"): "choose a column (--column ...), as the first line is not",
        table(
            f"x\n1\n{SECRET}\n", "text.csv"
        ): "the only column holds text, not numbers. Leave only",
        table(f"{SECRET},1\n", "bare.csv"): "It is not shown, as it may be a person's row",
        table(
            gzip.compress(b"x\n" + b"1\n" * 999)[:-9], "cut.csv"
        ): "the gzip file is damaged or cut",
        table(SECRET, "no.parquet"): "no.parquet: the file is of another format, or it is damaged",
    }.items():
        error = refused("mean", path, *options)
        assert error.startswith("opendp-lite: error: ")
        assert error.count("\n") == 1
        assert message in error
        assert SECRET not in error
    csv_only = refused("mean", table("", "x.parquet"), *options, "--na", "x")
    assert "--delimiter, --na and --text are for CSV files" in csv_only


def test_text_late_in_the_file_releases_nothing(refused, table):
    path = table("x\n" + "1\n" * 200_000 + f"{SECRET}\n")
    first = refused("mean", table(f"x\n{SECRET}\n", "b.csv"), "--bounds", 0, 1, "--rho", 1)
    assert refused("mean", path, "--bounds", 0, 1, "--rho", 1) == first


def test_missing_pyarrow_is_said(refused, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "opendp_lite.engines.files.arrow", None)
    error = refused("mean", tmp_path / "x.parquet", "--bounds", 0, 1, "--rho", 1)
    assert 'needs pyarrow, which is not installed; type: pip install "opendp_lite[arrow]"' in error


def test_no_standard_input(refused, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    error = refused("mean", "-", "--bounds", 0, 1, "--rho", 1)
    assert "there is no standard input to read; give the name of a file" in error


def test_what_is_unforeseen_shows_no_value(refused, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr(when_run, "csv_column", broken)
    error = refused("mean", "x.csv", "--bounds", 0, 1, "--rho", 1)
    assert "opendp-lite failed (ZeroDivisionError) and shows no result" in error
    assert SECRET not in error


def test_one_release_is_made(mean, monkeypatch):
    calls = []
    release = dp.Measurement._release
    monkeypatch.setattr(
        dp.Measurement, "_release", lambda self, *given: calls.append(self) or release(self, *given)
    )
    for method in METHODS.values():
        mean("--rho", "0.5", *method)
    assert len(calls) == len(METHODS)


def test_help_and_version(run):
    status, out, _ = run("mean", "--help")
    assert status == 0
    for word in ("--bounds", "--rho", "--size", "without looking at the data", "examples:"):
        assert word in out
    assert max(map(len, out.splitlines())) <= 100
    status, out, _ = run("--version")
    assert (status, out.split()[0]) == (0, "opendp-lite")
    assert run()[0] == run("median")[0] == 2


def test_names_that_a_terminal_should_not_see(run, table):
    path = table("\x1b[31mred,b\n1,2\n")
    status, out, _ = run(
        "mean", path, "--header", "--column", "\x1b[31mred", "--bounds", 0, 1, "--rho", 1
    )
    assert status == 0
    assert "\x1b" not in out


def test_importing_the_package_does_not_import_the_command_line():
    code = "import sys, opendp_lite; print([m for m in sys.modules if 'cli' in m.split('.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert found.stdout.strip() == b"[]"


def test_as_a_process():
    options = ["--column", "mdvis", "--bounds", 0, 40, "--rho", "0.5", "--json"]
    done = process("mean", "-", *options, input=gzip.compress(RAND_HIE.read_bytes()))
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["mean"] == pytest.approx(CLAMPED_MEAN, abs=0.02)
    done = process("mean", "-", *options, input=b"")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"the file is empty" in done.stderr


def test_narrow_encodings(table):
    path = table("été\n1\n")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("mean", path, "--header", "--bounds", 0, 1, "--rho", 1, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(rb"mean of \xe9t\xe9 ")


def test_nobody_reads_the_output():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as nobody:
        done = process(*SIMPLE, stdout=nobody)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_output_that_cannot_be_written():
    with Path("/dev/full").open("wb") as full:
        done = process(*SIMPLE, stdout=full)
    assert done.returncode == 2
    assert b"the release was made, but writing it failed" in done.stderr
    assert done.stderr.count(b"\n") == 1


PEAK = """
import resource, sys
from pathlib import Path
import numpy as np
from opendp_lite import cli
from opendp_lite.engines.files import csv_arrow, csv as csv_file

# Arrow holds several blocks at once: with small ones, both files have more than these.
csv_arrow._BLOCK_BYTES = 2**18

def peak():
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.open() if line.startswith("VmHWM"))
    unit = 1024 if sys.platform == "darwin" else 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit

if sys.argv[1] == "array":
    stream = csv_file._again
    csv_file._again = lambda *given: iter([np.concatenate([*stream(*given)])])
status = cli.main(sys.argv[2:])
print(peak(), file=sys.stderr)
sys.exit(status)
"""


def peak(path: Path, how: str = "stream") -> float:
    """The largest resident memory, in megabytes, of a run on this file.

    Linux hands ``ru_maxrss`` down from the parent through exec, so ``VmHWM`` is read there.
    """
    words = ["mean", path, "--column", "x", "--bounds", 0, 1000, "--rho", 1]
    command = [sys.executable, "-c", PEAK, how, *map(str, words)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=300)
    assert done.stdout.startswith(b"mean of x ")
    return int(done.stderr) / 1024


def test_memory_does_not_grow_with_the_file(table):
    """30 MB of text, whose numbers would be 15 MB as an array and more as anything else."""
    small = table("x,y\n" + "12.3456,1234567\n" * 300_000, "small.csv")
    large = table("x,y\n" + "12.3456,1234567\n" * 1_900_000, "large.csv")
    assert large.stat().st_size > 30e6
    most = peak(small) + 8
    assert peak(large) < most
    assert peak(table(gzip.compress(large.read_bytes(), 1), "large.gz")) < most
    assert peak(large, "array") > most
