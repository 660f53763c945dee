"""Writes what a teacher hands out and grades: ``python notebooks/teach.py course``.

In the folder that you name there are then

- ``source/LESSON/LESSON.ipynb``: each lesson as an assignment of nbgrader, without answers,
- ``otter/LESSON.ipynb``: the same for ``otter assign``,
- ``scores.csv``: a score sheet, a column for each exercise,
- ``slides.html``: the pictures of the lessons, one on a screen; it takes some minutes to draw them.

See docs/teach.md.
"""

from __future__ import annotations

import csv
import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jupytext
import nbformat

HERE: Final = Path(__file__).parent
_EXERCISE: Final = re.compile(r"# Exercise (\d+)\b")
_CHECK: Final = re.compile(r"check\((\d+)\)$")
_ANSWERS: Final = re.compile(
    r"Compare your answers with the\s+\[solutions\][^.]*\.md\)\.( They [^.]*\.)?"
)
_LINK: Final = re.compile(r"\[solutions\]\(solutions/[^)]*\)")
_HEADING: Final = re.compile(r"^#+ (.+?)(?: \(\d+ minutes\))?$", re.MULTILINE)
_STYLE: Final = """
section {height: 100vh; display: flex; flex-direction: column; justify-content: center;
  align-items: center; scroll-snap-align: start; font: 1.6em sans-serif}
html {scroll-snap-type: y mandatory}
img {max-width: 90vw; max-height: 75vh}
"""


def lessons() -> list[Path]:
    """The texts of the lessons, in their order."""
    return sorted(HERE.glob("[0-9]*_*.md"), key=lambda path: int(path.stem.partition("_")[0]))


def open_lesson(path: Path) -> Any:
    """The notebook that a text spells, without a word of where the answers are."""
    notebook = jupytext.read(path)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _LINK.sub("solutions of your teacher", _ANSWERS.sub("", cell.source))
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "name": "python3"}}
    return notebook


def as_assignment(path: Path) -> tuple[Any, list[int]]:
    """The lesson with the marks of nbgrader, and the numbers of its exercises.

    A student answers in the cell of an exercise. The cell below it is locked: it prints the hint,
    and then asks for the right answer, for a point.
    """
    notebook, numbers = open_lesson(path), []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        if found := _EXERCISE.match(cell.source):
            # nbgrader takes out what stands between the two marks, so the names stay as a comment.
            first, *rest = cell.source.splitlines()
            names = [f"# {line}" for line in rest]
            marked = [first, *names, "### BEGIN SOLUTION", *rest, "### END SOLUTION"]
            cell.source = "\n".join(marked)
            cell.metadata["nbgrader"] = _marks(f"exercise-{found[1]}", solution=True)
        elif found := _CHECK.match(cell.source):
            number = int(found[1])
            numbers.append(number)
            cell.source += f"\ncheck.require({number})"
            cell.metadata["nbgrader"] = _marks(f"check-{number}", grade=True)
    return notebook, numbers


def _marks(name: str, *, grade: bool = False, solution: bool = False) -> dict[str, Any]:
    points = {"points": 1} if grade else {}
    kind = {"grade": grade, "solution": solution, "locked": grade, "task": False}
    return {"grade_id": name, "schema_version": 3, "cell_type": "code", **kind, **points}


def as_otter(path: Path) -> Any:
    """The lesson as ``otter assign`` takes it: each exercise is a question, for a point."""
    notebook, cells = open_lesson(path), [_raw("ASSIGNMENT CONFIG\nexport_cell: false")]
    for cell in notebook.cells:
        is_code = cell.cell_type == "code"
        if is_code and (found := _EXERCISE.match(cell.source)):
            question = f"BEGIN QUESTION\nname: exercise-{found[1]}\npoints: 1"
            cells += [_raw(question), _raw("BEGIN SOLUTION"), cell, _raw("END SOLUTION")]
        elif is_code and (found := _CHECK.match(cell.source)):
            test = nbformat.v4.new_code_cell(f"check.require({found[1]})")
            cells += [_raw("BEGIN TESTS"), test, _raw("END TESTS"), _raw("END QUESTION"), cell]
        else:
            cells.append(cell)
    notebook.cells = cells
    return notebook


def _raw(mark: str) -> Any:
    return nbformat.v4.new_raw_cell(f"# {mark}")


def pictures(path: Path) -> Iterator[tuple[str, str, str]]:
    """Runs a lesson. Gives each picture with the heading above it and its words."""
    from nbclient import NotebookClient

    notebook, heading = open_lesson(path), ""
    words = "from opendp_lite_lessons.pictures import describe_pictures\n\ndescribe_pictures()"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(words))
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(HERE)}}).execute()
    for cell in notebook.cells:
        heading = (_HEADING.findall(cell.source) or [heading])[-1]
        for output in cell.get("outputs", ()):
            if found := output.get("data", {}).get("image/png"):
                said = output.metadata.get("image/png", {}).get("alt", heading)
                yield heading, found, said


def write_slides(target: Path) -> None:
    """Writes the pictures of all lessons as one page that needs no other file."""
    slides = []
    for path in lessons():
        title = _HEADING.findall(path.read_text("utf-8"))[0]
        slides.append(f"<section><h1>{html.escape(title)}</h1></section>")
        for heading, picture, said in pictures(path):
            image = f'<img alt="{html.escape(said)}" src="data:image/png;base64,{picture.strip()}">'
            slides.append(f"<section><h2>{html.escape(heading)}</h2>{image}</section>")
    head = f'<!doctype html><meta charset="utf-8"><title>opendp_lite</title><style>{_STYLE}</style>'
    target.write_text("\n".join([head, *slides]), "utf-8")


def write_notebook(notebook: Any, target: Path) -> None:
    """Writes a notebook, and the folder that it stands in."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"{nbformat.writes(notebook)}\n", "utf-8")


def main(folder: Path) -> None:
    """Writes all of it."""
    columns = ["student"]
    for path in lessons():
        notebook, numbers = as_assignment(path)
        write_notebook(notebook, folder / "source" / path.stem / f"{path.stem}.ipynb")
        write_notebook(as_otter(path), folder / "otter" / f"{path.stem}.ipynb")
        lesson = path.stem.partition("_")[0]
        columns += [f"{lesson}.{number}" for number in numbers]
    with (folder / "scores.csv").open("w", newline="", encoding="utf-8") as sheet:
        csv.writer(sheet).writerow([*columns, "sum"])
    write_slides(folder / "slides.html")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("say where to write: python notebooks/teach.py course")
    main(Path(sys.argv[1]))
