"""What pages show is what is printed and what pipelines say; what they say to type can be typed."""

import re
import shlex
import subprocess
import sys
from fractions import Fraction
from math import ceil, floor, isnan
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pytest
from pyarrow import parquet

import opendp_lite as dp
from opendp_lite import cli
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.spelling.suggestions import other_names
from tests import test_exact_laws
from tests.docs.running import mask_numbers, numbers, run
from tests.long import make_table
from tests.transformations import test_small_neighbours

ROOT = Path(__file__).parents[2]
COUNT = dp.count() >> dp.laplace(epsilon=1)


def read(page: str) -> str:
    return (ROOT / page).read_text()


OF_README = re.findall(r"^\| [^|]+ \| `(dp\.[^|]+)` \|$", read("README.md"), re.MULTILINE)
PAGES_THAT_RUN = [
    "README.md",
    "docs/intervals.md",
    "docs/mean.md",
    "docs/reading-a-release.md",
    "docs/survey-table.md",
    "docs/tour.md",
]


@pytest.mark.parametrize("path", PAGES_THAT_RUN)
def test_a_page_prints_what_it_shows(path, seeded):
    """Noise moves the digits. From one seed it moves them far by chance never."""
    blocks = list(run(read(path)))
    assert blocks
    for shown, printed in blocks:
        assert mask_numbers(printed) == mask_numbers(shown)
        for found, said in zip(numbers(printed), numbers(shown), strict=True):
            few = 0.5 if said % 1 else 10
            assert isnan(found) or isnan(said) or abs(found - said) <= few + abs(said) / 5


def test_the_tour_says_how_often_a_guess_is_right():
    """Once in a block and once in the words below it: no noise moves either."""
    guess = float(dp.mean(0, 40, epsilon=1).statement().loss.guess)
    shown = re.findall(r"pure differential privacy\)\.\n([\d.]+)\n", read("docs/tour.md"))
    assert shown == [str(round(guess, 4))]
    assert f"the guess is right at most\n{100 * guess:.1f} % of the time" in read("docs/tour.md")


@pytest.mark.parametrize("typed", OF_README)
def test_what_the_readme_types_works(typed, tmp_path, monkeypatch):
    (tmp_path / "ages.csv").write_text("age\n23\n31\n")
    (tmp_path / "ages").mkdir()
    parquet.write_table(arrow.table({"age": [23.0, 31.0]}), tmp_path / "ages" / "1.parquet")
    monkeypatch.chdir(tmp_path)
    found = eval(typed, {"dp": dp, "df": {"age": np.array([23.0, 31.0])}})
    if isinstance(found, dp.Mechanism | dp.Measurement):
        loss = found.map(1)
        assert 0 < (loss[0] if isinstance(loss, tuple) else loss) <= 2


ROW = re.compile(r"^\| [^|]+ \| (.+) \|$", re.MULTILINE)
OF_OTHER_LIBRARIES = sorted(
    {
        code
        for cell in ROW.findall(read("docs/coming-from.md"))
        for code in re.findall(r"`(\(?dp\.[^`]+)`", cell)
        if "..." not in code
    }
)
COLUMN = [1.0, 2.0, 3.0]
GIVEN = {
    "dp": dp,
    **dict.fromkeys(("data", "x"), COLUMN),
    "table": {"x": COLUMN},
    "lower": 0,
    "upper": 1,
    **dict.fromkeys(("first", "second", "pipeline"), COUNT),
    "program": lambda ask: ask(dp.count() >> dp.gaussian(rho=0.1)),
}


@pytest.mark.parametrize("typed", OF_OTHER_LIBRARIES)
def test_what_the_page_on_other_libraries_types_works(typed):
    eval(typed, GIVEN)


OF_THEIRS = sorted(
    {
        (name, ours)
        for theirs, ours in re.findall(
            r"^\| ([^|]+) \| (.+) \|$", read("docs/coming-from.md"), re.MULTILINE
        )
        for code in re.findall(r"`([^`]+)`", theirs)
        for name in re.findall(r"[A-Za-z]\w*(?=\()|(?<![\w(])[A-Za-z]\w*$", code)
    }
)
PATH = re.compile(r"\bdp(?:\.\w+)+")


@pytest.mark.parametrize(("name", "ours"), OF_THEIRS)
def test_a_name_of_another_library_is_answered_as_the_page_does(name, ours):
    """Each name of the first cells is there, or what is said of it is what the row says."""
    if hasattr(dp, name):
        return
    with pytest.raises(AttributeError) as refused:
        getattr(dp, name)
    said = str(refused.value).partition("; ")[2]
    assert said.startswith(("use ", "it is ", "that is not here"))
    paths = set(PATH.findall(said))
    assert all(eval(path, {"dp": dp}) for path in paths)
    assert paths & set(PATH.findall(ours)) or not paths or "dp." not in ours


def code_of(told: str) -> str:
    """What can be typed at the start of a hint: the longest part that Python reads."""
    hint = told.removeprefix("use ").rpartition("nearest to it is ")[2]
    for end in (len(hint), *(each.start() for each in reversed([*re.finditer(r"[,:;]|$", hint)]))):
        try:
            compile(hint[:end], "hint", "eval")
        except SyntaxError:
            continue
        return hint[:end]
    return ""


HINTS = sorted({code for told in other_names().values() if "dp." in (code := code_of(told))})


# A server of PostgreSQL has tests of its own.
@pytest.mark.parametrize("code", [each for each in HINTS if not re.search(r"\.\.\.|server", each)])
def test_what_is_said_of_a_name_can_be_typed(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ("new" if "Ledger" in code else "x.csv")
    (tmp_path / "x.csv").write_text("x\n1\n")
    (tmp_path / "data").mkdir()
    parquet.write_table(arrow.table({"age": [23.0]}), tmp_path / "data" / "1.parquet")
    names = {"threshold": 3, "offset": 2, "factor": 2, "value": 0, "radius": 1, "column": "x"}
    count = dp.count() >> dp.laplace(epsilon=1, confidence=0.95)
    names |= {"path": path, "first": count(COLUMN), "second": count(COLUMN)}
    eval(code, {**GIVEN, **names})


ROWS = [
    [float(cell) for cell in re.findall(r"[\d.]+", line.replace(" %", ""))]
    for line in read("docs/choosing-epsilon.md").splitlines()
    if re.match(r"\| [\d.]+ \|", line)
]
PURE = [row for row in ROWS if len(row) == 5]
GAUSSIAN = [row for row in ROWS if len(row) == 6]


def chances_of(pipeline: dp.Mechanism) -> list[float]:
    """The right guesses, rounded up, and the share that a test misses, rounded down."""
    guess = float(pipeline.statement().loss.guess)
    return [ceil(1000 * guess) / 10, floor(100 * pipeline.tradeoff(0.05))]


@pytest.mark.parametrize("row", PURE, ids=str)
def test_the_table_of_laplace_noise(row):
    epsilon, odds, *chances, error = row
    count = dp.count() >> dp.laplace(epsilon=epsilon)
    assert count.odds() == pytest.approx(odds, abs=0.01)
    assert chances_of(count) == chances
    assert count.accuracy(0.95) == error


@pytest.mark.parametrize("row", GAUSSIAN, ids=str)
def test_the_table_of_gaussian_noise(row):
    rho, mu, epsilon, *chances, error = row
    count = dp.count() >> dp.gaussian(rho=rho)
    assert mu**2 / 2 == pytest.approx(rho, rel=0.05)
    assert count.epsilon(delta=1e-6) == pytest.approx(epsilon, abs=0.01)
    assert chances_of(count) == chances
    assert count.accuracy(0.95) == pytest.approx(error, rel=0.025)


PAGE = read("docs/command-line.md")
COMMANDS = re.findall(r"```\nopendp-lite (.*?)\n```\n\n```\n(.*?)```", PAGE, re.DOTALL)


def without_numbers(text: str) -> str:
    """Text with its released numbers taken out, which noise changes."""
    head, dashes, rest = text.partition("protected")
    return re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)?", "#", head) + dashes + rest).strip()


@pytest.mark.parametrize(("typed", "output"), COMMANDS)
def test_what_a_command_shows_is_what_it_prints(typed, output, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert cli.main(shlex.split(typed)) == 0
    assert without_numbers(capsys.readouterr().out) == without_numbers(output)


LEDGER = read("docs/ledger.md")
SHOWN = re.findall(r"```\n((?:opendp-lite|sqlite3) .*?)\n```\n\n```\n(.*?)```", LEDGER, re.DOTALL)
OF_LEDGERS = re.findall(r"^\| [^|]+ \| `(opendp-lite ledger [^|]+)` \|$", LEDGER, re.MULTILINE)


def without_times(text: str) -> str:
    """Text without what differs between two ledgers."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)
    return re.sub(r"[0-9a-f]{12,}", "HASH", text).strip()


@pytest.fixture
def survey(tmp_path, monkeypatch, capsys) -> LedgerFile:
    """The ledger of the page: after its first command, the first session and two releases."""
    monkeypatch.chdir(tmp_path)
    typed, output = SHOWN[0]
    assert cli.main(shlex.split(typed)[1:]) == 0
    assert without_times(capsys.readouterr().out) == without_times(output)
    ledger = LedgerFile.open("survey.ledger")
    schema = """{"neighbours": "adding or removing one person, """
    schema += """dp.metrics.SymmetricIdDistance('id')"}"""
    ledger.admit("data 1", "a keyed hash of their content", schema=schema)
    counted = dp.table(person="id") >> dp.bound_contributions(3) >> dp.count()
    asked = (counted >> dp.gaussian(rho=0.1)).to_json()
    ledger.finish(ledger.reserve(Fraction(1, 10), asked=asked, note="table 3").number)
    ledger.reserve(Fraction(1, 4), asked="{}", note="table 4")
    return ledger


def test_what_the_page_on_ledgers_shows_is_what_is_printed(survey, capsys):
    (show, output), (sqlite, rows) = SHOWN[1:]
    assert cli.main(shlex.split(show)[1:]) == 0
    assert without_times(capsys.readouterr().out) == without_times(output)
    try:
        found = subprocess.run(shlex.split(sqlite), capture_output=True, text=True, check=True)
    except FileNotFoundError:
        pytest.skip("the command sqlite3 is not installed")
    assert found.stdout == rows


def test_what_the_page_on_ledgers_types_works(survey, capsys):
    for typed in OF_LEDGERS:
        assert cli.main(shlex.split(typed)[1:]) == 0, capsys.readouterr().err


def test_all_tables_are_read():
    assert len(OF_README) >= 10
    assert len(OF_OTHER_LIBRARIES) > 40
    assert list(map(len, (PURE, GAUSSIAN, COMMANDS, OF_LEDGERS))) == [5, 4, 5, 5]


def test_the_page_shows_what_the_long_run_found():
    assert make_table() in read("docs/how-we-know.md")


def test_how_we_know_counts_the_cases_that_run():
    chains = len(test_small_neighbours.EXAMPLES) + len(test_small_neighbours.CASES)
    assert f"| {chains} steps and chains |" in read("docs/how-we-know.md")
    assert f"| {len(test_exact_laws.CASES)} pipelines |" in read("docs/how-we-know.md")


def test_benchmarks_that_pages_name_are_there():
    """They import parts of the package that no test of theirs holds in place."""
    for library in ("opendp", "diffprivlib"):
        pytest.importorskip(library)
    code = "import runpy; print(*runpy.run_path('tests/benchmarks/__main__.py')['GROUPS'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = "\n".join(path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md"))
    typed = re.findall(r"python tests/benchmarks(?: --processor-time)?((?: [a-z_]+)+)", pages)
    names = {word for words in typed for word in words.split()}
    assert len(names) > 25
    assert names <= set(done.stdout.split())
