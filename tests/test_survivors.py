"""The mutants that no test notices: each has a reason, and its line is still there.

``tests/mutants/survivors.tsv`` is written by hand from what ``python tests/mutants ROOM`` prints. A
line that has changed since leaves the file with its mutant, or is run again.
"""

import csv
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADER, *LINES = (ROOT / "tests/mutants/survivors.tsv").read_text("utf-8").splitlines()
RUNS = [line for line in LINES if line.startswith("#")]
SURVIVORS = list(
    csv.DictReader(
        [HEADER, *(line for line in LINES if not line.startswith("#"))],
        delimiter="\t",
        quoting=csv.QUOTE_NONE,
    )
)


def test_each_survivor_has_a_line_and_a_reason():
    for each in SURVIVORS:
        lines = (ROOT / "opendp_lite" / each["file"]).read_text("utf-8").split("\n")
        assert each["old"] in map(str.strip, lines), f"{each['file']}: no line {each['old']!r}"
        assert each["new"] != each["old"], each
        assert each["why"].endswith("."), each


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
