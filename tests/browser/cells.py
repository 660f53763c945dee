"""Runs the cells of lessons, given by the start of their names, where they stand: for Pyodide.

An exercise is run as it is, with dots, so that its check says that it waits. Prints one line of
JSON: for each lesson how many cells ran, and what failed.
"""

import json
import re
import sys
import traceback
import warnings
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "notebooks"
CELL = re.compile(r"```python\n(.*?)```", re.DOTALL)


def run(lesson: Path) -> list[object]:
    """How many cells ran, and the errors of others."""
    names: dict[str, object] = {"__name__": "__main__"}
    errors: list[str] = []
    cells = CELL.findall(lesson.read_text("utf-8"))
    for number, cell in enumerate(cells):
        try:
            exec(compile(cell, f"<cell {number}>", "exec"), names)
        except Exception:
            errors.append(traceback.format_exc(limit=-3))
    return [len(cells), errors]


def main() -> None:
    # The pictures have no screen here; nothing else may warn.
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    print(json.dumps({start: run(next(FOLDER.glob(f"{start}_*.md"))) for start in sys.argv[1:]}))


if __name__ == "__main__":
    main()
