"""Lessons: both forms agree, every cell runs, exercises wait, and solutions are right.

Each runs once, in an interpreter and a kernel of its own: an exercise as it is, and then solved. No
other cell reads an answer, so that one run serves both. All randomness of releases is the
library's, so a check is written such that it fails by chance in less than 1e-6 of runs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("jupytext", reason='lessons need pip install "opendp_lite[notebooks]"')
pytest.importorskip("nbclient", reason='lessons need pip install "opendp_lite[notebooks]"')

from lessons import (
    FOLDER,
    LESSONS,
    PLAUSIBLE,
    WRONG,
    as_text,
    exercise_in,
    globals_read,
    globals_written,
    solutions_of,
    written,
)

SCRIPT = Path(__file__).with_name("lessons.py")
MOST_SECONDS = 120


@cache
def ran(path: Path) -> list[str]:
    """What the checks of a lesson print, of exercises that wait, are solved and are wrong."""
    start = time.perf_counter()
    found = subprocess.run(
        [sys.executable, str(SCRIPT), str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "Agg", "PYDEVD_DISABLE_FILE_VALIDATION": "1"},
        check=False,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    assert time.perf_counter() - start < 2 * MOST_SECONDS, "a lesson takes two minutes at most"
    return found.stdout.splitlines()


def checks_in(path: Path) -> int:
    return len(re.findall(r"^# Check \d+", path.read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_notebook_is_what_the_text_says(path: Path) -> None:
    notebook = written(path)
    assert path.with_suffix(".ipynb").read_text("utf-8") == as_text(notebook), (
        "run: python tests/notebooks/pair.py"
    )
    assert not any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_exercise_has_a_check_and_a_solution(path: Path) -> None:
    code = [cell.source for cell in written(path).cells if cell.cell_type == "code"]
    exercises = [number for each in code if (number := exercise_in(each)) is not None]
    assert exercises == list(range(1, len(exercises) + 1))
    assert len(exercises) >= 3
    assert checks_in(path) == len(exercises)
    assert sorted(solutions_of(path)) == exercises
    assert all("..." in each for each in code if exercise_in(each))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_no_cell_but_its_check_reads_an_answer(path: Path) -> None:
    answers: set[str] = set()
    for cell in written(path).cells:
        if cell.cell_type != "code" or cell.source.startswith("# Check "):
            continue
        found = globals_written(cell.source)
        assert not globals_read(cell.source) & (answers - found)
        answers = answers | found if exercise_in(cell.source) else answers - found


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_it_runs_before_the_exercises_are_done(path: Path) -> None:
    found = [line for line in ran(path) if line.startswith("# Precheck ")]
    assert len(found) == checks_in(path)
    assert all(line.endswith("-> Not answered yet.") for line in found), found


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_solutions_are_right(path: Path) -> None:
    found = [line for line in ran(path) if line.startswith("# Check ")]
    assert len(found) == checks_in(path)
    assert all(line.endswith("-> Right.") for line in found), found


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_wrong_answer_after_a_right_one_is_refused_in_words(path: Path) -> None:
    found = [line for line in ran(path) if line.startswith("# Recheck ")]
    plausible = sum(len(each) for (name, _), each in PLAUSIBLE.items() if name == path.stem)
    assert len(found) == (len(WRONG) + 1) * checks_in(path) + plausible
    words = re.compile(r"-> Not yet: (?!the answer does not work here)|-> Not answered yet\.$")
    assert all(words.search(line) for line in found), found


def test_the_list_of_lessons_names_each() -> None:
    listed = re.findall(r"\]\((\d_\w+)\.ipynb\)", (FOLDER / "README.md").read_text("utf-8"))
    assert listed == [path.stem for path in LESSONS]
