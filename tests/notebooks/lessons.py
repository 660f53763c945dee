"""Lessons as they are written, and as they run."""

from __future__ import annotations

import dis
import re
import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from types import CodeType
from typing import Any, Final

FOLDER: Final = Path(__file__).parents[2] / "notebooks"
LESSONS: Final = sorted(FOLDER.glob("[0-9]_*.md"))
_EXERCISE: Final = re.compile(r"# Exercise (\d+)\b")
_CHECK: Final = re.compile(r"# Check (\d+)\n@check\(\1\)\ndef check_\1\((.*)\):\n")
WRONG: Final = ("1 / 0", "(", "np.ones((2, 3))", "'about five'", "...")
"""Two cells that fail, before and while they run; what no exercise asks for; and no answer."""
PLAUSIBLE: Final[Mapping[tuple[str, int], tuple[str, ...]]] = {
    ("3_the_curious_incident_of_the_free_lunch", 7): (
        'recentred_error = means["simplex_mean"].map(1)',
    ),
    ("4_plan", 3): (
        "scaling = sigma\nplanned = space >> dp.adaptive(program(scaling), dp.rho(rho))",
        "scaling = sigma ** (2 / 3)\nplanned = space >> dp.adaptive(program(scaling), dp.rho(rho))",
    ),
    ("4_plan", 4): (
        "plus = published_plan",
        "plus = space >> dp.estimators.plan_plus_mean(100, rho=2 * rho)",
    ),
    ("4_plan", 6): ("repair = (1, 0.998)", "repair = (0, 1)"),
    ("6_floating_point_breaks_privacy", 3): ("m = 2000", "m = np.inf"),
    ("6_floating_point_breaks_privacy", 4): ("small = 0",),
    ("6_floating_point_breaks_privacy", 6): ("full = 383", "full = -1"),
}
"""Wrong answers that a student might give, by lesson and exercise."""
_SECONDS: Final = 240


def written(path: Path) -> Any:
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


def as_text(notebook: Any) -> str:
    """The notebook as its file holds it."""
    import nbformat

    return f"{nbformat.writes(notebook)}\n"


def exercise_in(source: str) -> int | None:
    """The number of the exercise that a cell is for."""
    found = _EXERCISE.match(source)
    return None if found is None else int(found.group(1))


def solutions_of(path: Path) -> Mapping[int, str]:
    """The cells that solve a lesson, by the number of the exercise."""
    cells = written(path.parent / "solutions" / path.name).cells
    code = (cell.source for cell in cells if cell.cell_type == "code")
    return {number: each for each in code if (number := exercise_in(each)) is not None}


def answered(notebook: Any, solutions: Mapping[int, str]) -> Any:
    """The notebook with each exercise as it is, its check, then its solution and the check again."""
    cells: list[Any] = []
    for cell in notebook.cells:
        cells.append(cell)
        if found := _CHECK.match(cell.source):
            solved, again = deepcopy(cell), deepcopy(cell)
            solved.source = solutions[int(found[1])]
            cell.source = cell.source.replace("# Check", "# Precheck", 1)
            cells += [solved, again]
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


def mistaken(notebook: Any, lesson: str) -> Any:
    """The notebook with a wrong answer of each kind to each exercise, and its check again."""
    import nbformat

    checks = {
        int(found[1]): (cell.source, found[2])
        for cell in notebook.cells
        if (found := _CHECK.match(cell.source))
    }
    for number, (source, names) in checks.items():
        wrongs = ["\n".join(f"{name} = {each}" for name in names.split(", ")) for each in WRONG]
        for wrong in [*wrongs, "another = 5", *PLAUSIBLE.get((lesson, number), ())]:
            attempt = nbformat.v4.new_code_cell(f"# Exercise {number}\n{wrong}")
            attempt.metadata["tags"] = ["raises-exception"]
            again = nbformat.v4.new_code_cell(source.replace("# Check", "# Recheck", 1))
            notebook.cells += [attempt, again]
    return notebook


def printed(notebook: Any) -> Sequence[str]:
    """Runs a notebook in its folder; gives what each cell printed or showed as text."""
    from nbclient import NotebookClient

    client = NotebookClient(
        notebook,
        timeout=_SECONDS,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    client.execute()
    return [_text(cell) for cell in notebook.cells]


def _text(cell: Any) -> str:
    outputs = cell.get("outputs", ())
    streams = (output["text"] for output in outputs if output["output_type"] == "stream")
    shown = (output.get("data", {}).get("text/plain", "") for output in outputs)
    return "".join([*streams, *shown])


def main() -> None:
    """Runs a lesson, each exercise as it is and solved, and then with wrong answers.

    Prints what the checks say.
    """
    lesson = Path(sys.argv[1])
    notebook = mistaken(answered(written(lesson), solutions_of(lesson)), lesson.stem)
    for cell, text in zip(notebook.cells, printed(notebook), strict=True):
        title = cell.source.partition("\n")[0]
        if title.startswith(("# Precheck ", "# Check ", "# Recheck ")):
            print(title, "->", text.strip().partition("\n")[0])


if __name__ == "__main__":
    main()
