"""The mutants that no test notices: each has a reason, and its line is still there.

``tests/mutants/survivors.tsv`` is written by hand from what ``python tests/mutants ROOM`` prints. A
line that has changed since leaves the file with its mutant, or is run again.
"""

import csv
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINES = (ROOT / "tests/mutants/survivors.tsv").read_text("utf-8").splitlines()
RUNS = [line for line in LINES if line.startswith("#")]


def read(lines: list[str]) -> list[dict[str, str]]:
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


SURVIVORS = read([line for line in LINES if not line.startswith("#")])


def test_each_survivor_has_a_line_and_a_reason():
    for each in SURVIVORS:
        lines = (ROOT / "opendp_lite" / each["file"]).read_text("utf-8").split("\n")
        assert each["old"] in map(str.strip, lines), f"{each['file']}: no line {each['old']!r}"
        assert each["new"] != each["old"], each
        assert each["why"].endswith("."), each


def test_each_curated_mutant_changes_one_line():
    """The tool leaves out one whose line was written otherwise since."""
    for each in read((ROOT / "tests/mutants/curated.tsv").read_text("utf-8").splitlines()):
        lines = (ROOT / "opendp_lite" / each["file"]).read_text("utf-8").split("\n")
        assert sum(each["old"] in line for line in lines) == 1, each


def test_each_run_says_when_and_how_many_survived():
    """``# 2026-11-27 f846aad 90 mutants 71 killed: numbers/norms ...`` for each run."""
    left = 0
    for run in RUNS:
        day, commit, mutants, _, killed, _, *rooms = run.removeprefix("# ").replace(":", "").split()
        assert date.fromisoformat(day)
        assert len(commit) == 7
        assert rooms
        left += int(mutants) - int(killed)
    assert left == len(SURVIVORS) > 0
