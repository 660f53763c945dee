"""Lessons as they are written, and as they run."""

import csv
import dis
import inspect
import json
import re
import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from types import CodeType
from typing import Any, Final

import attrs

FOLDER: Final = Path(__file__).parents[2] / "notebooks"
LESSONS: Final = sorted(FOLDER.glob("[0-9]*_*.md"), key=lambda path: int(path.stem.split("_")[0]))
TABLE: Final = Path(__file__).with_name("answers.tsv")
_EXERCISE: Final = re.compile(r"# Exercise (\d+)\b")
_CHECK: Final = re.compile(r"check\((\d+)\)$")
WRONG: Final = ("1 / 0", "(", "np.ones((2, 3))", "'about five'", "...")
"""Two cells that fail, before and while they run; what no exercise asks for; and no answer."""
_SECONDS: Final = 240


@attrs.frozen
class Answers:
    """What students answer to one exercise.

    Attributes:
        wrong: Code of wrong answers, with words of the hint that each gets. "wrong" stands for any.
        right: Code of answers that are right beside the solution.
    """

    wrong: dict[str, str] = attrs.Factory(dict)
    right: list[str] = attrs.Factory(list)


def read_answers() -> dict[tuple[str, int], Answers]:
    """Those of the table, by lesson and exercise."""
    stems = {path.stem.split("_")[0]: path.stem for path in LESSONS}
    found: dict[tuple[str, int], Answers] = {}
    with TABLE.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            place = stems[row["lesson"]], int(row["exercise"])
            given = found.setdefault(place, Answers())
            code = row["answer"].replace(r"\n", "\n")  # no answer has a backslash else
            if row["hint"] == "right":
                given.right.append(code)
            else:
                given.wrong[code] = row["hint"]
    return found


ANSWERS: Final = read_answers()


def written(path: Path):
    """The notebook that a text spells, without output and without what changes at each writing."""
    import jupytext
    import nbformat

    notebook = jupytext.reads(path.read_text("utf-8"), fmt="md")
    for cell in notebook.cells:
        cell.pop("id", None)
    notebook.nbformat_minor = 4
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    return notebook


def as_text(notebook) -> str:
    """The notebook as its file holds it."""
    import nbformat

    return f"{nbformat.writes(notebook)}\n"


def exercise_in(source: str) -> int | None:
    """The number of the exercise that a cell is for."""
    found = _EXERCISE.match(source)
    return None if found is None else int(found.group(1))


def check_in(source: str) -> int | None:
    """The number of the exercise that a cell checks."""
    found = _CHECK.match(source)
    return None if found is None else int(found.group(1))


def solutions_of(path: Path) -> Mapping[int, str]:
    """The cells that solve a lesson, by the number of the exercise."""
    cells = written(path.parent / "solutions" / path.name).cells
    code = (cell.source for cell in cells if cell.cell_type == "code")
    return {number: each for each in code if (number := exercise_in(each)) is not None}


def judge(number: int, attempts: Sequence[str]) -> None:
    """Runs cells in the kernel, each with its check, and prints what the checks say as JSON.

    Sent one by one, two thousand cells would take as long as all that they do.
    """
    from IPython import get_ipython
    from IPython.utils.capture import capture_output

    told, shell = [], get_ipython()
    for attempt in attempts:
        with capture_output():
            shell.run_cell(attempt)
        with capture_output() as said:
            shell.run_cell(f"check({number})")
        told.append(said.stdout.strip())
    print(json.dumps(told))


def answered(notebook, lesson: str, solutions: Mapping[int, str]):
    """The notebook with each exercise as it is, its check, and then a cell with every answer.

    The solution comes first, so that a wrong answer is refused although a right one was there. A
    cell that checks has as metadata the role and the answer of each check.
    """
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        if (number := check_in(cell.source)) is None:
            continue
        cell.metadata["roles"] = [["waits", number, ""]]
        solution = solutions[number]
        names = sorted(globals_written(solution))
        given = ANSWERS.get((lesson, number), Answers())
        wrongs = ["\n".join(f"{name} = {each}" for name in names) for each in WRONG]
        told = [(each, "wrong") for each in (*wrongs, "another = 5")]
        told += [(each, hint) for each, hint in given.wrong.items()]
        attempts = [*((each, "right") for each in (solution, *given.right)), *told]
        sources = [
            code if code is solution else f"# Exercise {number}\n{code}" for code, _ in attempts
        ]
        again = deepcopy(cell)
        again.source = f"import json\n{inspect.getsource(judge)}\njudge({number}, {sources})"
        again.source = again.source.replace("Sequence[str]", "list")
        again.metadata["roles"] = [[role, number, code] for code, role in attempts]
        cells.append(again)
    notebook.cells = cells
    return notebook


def globals_read(source: str) -> set[str]:
    """The names of the notebook that a cell reads, in its functions too."""
    waiting, found = [compile(source, "cell", "exec")], set[str]()
    while waiting:
        code = waiting.pop()
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]
        reads = ("LOAD_NAME", "LOAD_GLOBAL")
        found |= {each.argval for each in dis.get_instructions(code) if each.opname in reads}
    return found


def globals_written(source: str) -> set[str]:
    """The names of the notebook that a cell assigns or defines."""
    code = compile(source, "cell", "exec")
    return {each.argval for each in dis.get_instructions(code) if each.opname == "STORE_NAME"}


def printed(client, notebook) -> Sequence[str]:
    """Runs a notebook in a kernel that runs; gives what each cell printed or showed as text."""
    import nbformat

    client.nb = notebook
    client.reset_execution_trackers()
    client.execute_cell(nbformat.v4.new_code_cell("%reset -f"), 0)
    for place, cell in enumerate(notebook.cells):
        client.execute_cell(cell, place)
    return [_text(cell) for cell in notebook.cells]


def _text(cell) -> str:
    outputs = cell.get("outputs", ())
    streams = (output["text"] for output in outputs if output["output_type"] == "stream")
    shown = (output.get("data", {}).get("text/plain", "") for output in outputs)
    return "".join([*streams, *shown])


def main() -> None:
    """Runs lessons whose paths it reads, a line each: each exercise with wrong answers and right.

    Prints for each what the checks say, as JSON: a list (role, exercise, answer, verdict), or the
    error of a cell. All run in one kernel, each with no name of another: a kernel takes seconds
    to begin.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    folder = {"metadata": {"path": str(FOLDER)}}
    client = NotebookClient(nbformat.v4.new_notebook(), timeout=_SECONDS, resources=folder)
    with client.setup_kernel():
        for line in sys.stdin:
            lesson = Path(line.strip())
            notebook = answered(written(lesson), lesson.stem, solutions_of(lesson))
            told: Any
            try:
                texts = printed(client, notebook)
            except CellExecutionError as error:
                told = str(error)
            else:
                told = []
                for cell, text in zip(notebook.cells, texts, strict=True):
                    roles = cell.metadata.get("roles", ())
                    verdicts = json.loads(text) if len(roles) > 1 else [text.strip()]
                    told += [[*role, said] for role, said in zip(roles, verdicts, strict=False)]
            print(json.dumps({"told": told}), flush=True)


if __name__ == "__main__":
    main()
