"""Lessons: both forms agree, every cell runs, exercises wait, and their judges know the answers.

Each runs once, all in one kernel, which forgets the names of the lesson before: an exercise as it
is, with wrong answers, and then solved. No other cell reads an answer, so that one run serves all.
All randomness of releases is the library's, so a judge is written such that it fails by chance in
less than 1e-6 of runs.
"""

import json
import os
import re
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

pytest.importorskip("jupytext", reason='lessons need pip install "opendp_lite[notebooks]"')
pytest.importorskip("nbclient", reason='lessons need pip install "opendp_lite[notebooks]"')

import lessons

Ran: TypeAlias = Callable[[Path], list[tuple[str, int, str, str]]]
SCRIPT = Path(__file__).with_name("lessons.py")
MOST_SECONDS = 120
FEWEST_WRONG = 5
FEWEST_HINTS = 3


@pytest.fixture(scope="module")
def ran() -> Iterator[Ran]:
    """The role, the exercise, the answer and the verdict of each check of a lesson."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    command = [sys.executable, str(SCRIPT)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, env=environment) as runner:

        @cache
        def run(path: Path) -> list[tuple[str, int, str, str]]:
            start = time.perf_counter()
            runner.stdin.write(f"{path}\n")
            runner.stdin.flush()
            told = next(json.loads(each) for each in runner.stdout if each.startswith("{"))["told"]
            assert isinstance(told, list), told[-3000:]
            assert time.perf_counter() - start < 2 * MOST_SECONDS, "a lesson takes two minutes"
            return [tuple(each) for each in told]

        yield run
        runner.stdin.close()


def exercises_in(path: Path) -> list[int]:
    code = [cell.source for cell in lessons.written(path).cells if cell.cell_type == "code"]
    return [number for each in code if (number := lessons.exercise_in(each)) is not None]


@pytest.mark.parametrize("path", lessons.LESSONS, ids=lambda path: path.stem)
def test_the_notebook_is_what_the_text_says(path):
    notebook = lessons.written(path)
    assert path.with_suffix(".ipynb").read_text("utf-8") == lessons.as_text(notebook), (
        "run: python tests/notebooks/pair.py"
    )
    assert not any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.parametrize("path", lessons.LESSONS, ids=lambda path: path.stem)
def test_every_exercise_has_a_check_a_solution_and_hints(path):
    code = [cell.source for cell in lessons.written(path).cells if cell.cell_type == "code"]
    exercises = exercises_in(path)
    assert exercises == list(range(1, len(exercises) + 1))
    assert len(exercises) >= 3
    assert [number for each in code if (number := lessons.check_in(each)) is not None] == exercises
    assert sorted(lessons.solutions_of(path)) == exercises
    assert all("..." in each for each in code if lessons.exercise_in(each))
    for number in exercises:
        given = lessons.ANSWERS[path.stem, number]
        assert len(given.wrong) >= FEWEST_WRONG, (number, given.wrong)
        assert len(set(given.wrong.values())) >= FEWEST_HINTS, (number, given.wrong)
        assert given.right, f"exercise {number} has one right answer, its solution"


@pytest.mark.parametrize("path", lessons.LESSONS, ids=lambda path: path.stem)
def test_no_cell_reads_an_answer(path):
    answers: set[str] = set()
    for cell in lessons.written(path).cells:
        if cell.cell_type != "code":
            continue
        found = lessons.globals_written(cell.source)
        assert not lessons.globals_read(cell.source) & (answers - found)
        answers = answers | found if lessons.exercise_in(cell.source) else answers - found


@pytest.mark.parametrize("path", lessons.LESSONS, ids=lambda path: path.stem)
def test_judges_wait_for_an_answer_and_know_what_is_right(path, ran):
    told = {role: [each for each in ran(path) if each[0] == role] for role in ("waits", "right")}
    assert [each[1] for each in told["waits"]] == exercises_in(path)
    assert all(each[3] == "Not answered yet." for each in told["waits"]), told["waits"]
    assert len(told["right"]) >= len(exercises_in(path))
    wrong = [each for each in told["right"] if not each[3].startswith("Right.")]
    assert not wrong


@pytest.mark.parametrize("path", lessons.LESSONS, ids=lambda path: path.stem)
def test_a_wrong_answer_is_refused_in_words_of_its_own(path, ran):
    refused = [each for each in ran(path) if each[0] not in ("waits", "right")]
    assert len(refused) >= (len(lessons.WRONG) + 1) * len(exercises_in(path))
    words = re.compile(r"Not yet: (?!the answer does not work here)|Not answered yet\.$")
    assert not [each for each in refused if not words.match(each[3])]
    assert not [each for each in refused if each[0] != "wrong" and each[0] not in each[3]]


@pytest.mark.parametrize("path", lessons.LESSONS, ids=lambda path: path.stem)
def test_an_assignment_has_a_point_for_each_exercise_and_no_way_to_an_answer(path):
    teach = runpy.run_path(str(lessons.FOLDER / "teach.py"))
    notebook, numbers = teach["as_assignment"](path)
    assert numbers == exercises_in(path)
    marks = [cell.metadata["nbgrader"] for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert [each["points"] for each in marks if each["locked"]] == [1] * len(numbers)
    assert sum(each["solution"] for each in marks) == len(numbers)
    other = teach["as_otter"](path).cells
    marks = [cell.source.split("\n")[0][2:] for cell in other if cell.cell_type == "raw"]
    question = "BEGIN QUESTION, BEGIN SOLUTION, END SOLUTION, BEGIN TESTS, END TESTS, END QUESTION"
    assert marks == ["ASSIGNMENT CONFIG", *question.split(", ") * len(numbers)]
    assert not any("(solutions/" in cell.source for cell in (*notebook.cells, *other))


def test_pages_name_each_lesson_by_its_number_and_title():
    page = (lessons.FOLDER / "README.md").read_text("utf-8")
    listed = dict(re.findall(r"\[(\d+ [^\]]+)\]\((\d+_\w+)\.ipynb\)", page))
    assert sorted(listed.values()) == sorted(path.stem for path in lessons.LESSONS)
    assert {lesson for lesson, _ in lessons.ANSWERS} == set(listed.values())
    for title, stem in listed.items():
        heading = (lessons.FOLDER / f"{stem}.md").read_text("utf-8").partition("\n")[0]
        assert heading.replace(".", "", 1).startswith(f"# {title}"), heading
    plan = (lessons.FOLDER.parent / "docs/teach.md").read_text("utf-8").partition("## A plan")[2]
    rows = [each for each in plan.splitlines() if each.startswith("| ") and each[2].isdigit()]
    assert len(rows) == len(lessons.LESSONS) == 12
    named = re.findall(r"lesson (\d+)(?:, (\d+) or (\d+))?", "\n".join(rows))
    assert {int(each) for found in named for each in found if each} == set(range(1, 13))
