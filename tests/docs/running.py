"""Pages whose code runs from top to bottom, each block beside what it printed.

``python -m tests.docs.running docs/tour.md`` writes what the blocks of a page print now into it.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

RUN = re.compile(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?|(?<=\s)-(?=\s)")


def run(page: str) -> Iterator[tuple[str, str]]:
    """What stands under each block of code of a page, and what the block prints."""
    names = {}
    for block in RUN.finditer(page):
        printed = StringIO()
        with redirect_stdout(printed):
            exec(block[1], names)
        yield block[2] or "", printed.getvalue()


def mask_numbers(text: str) -> str:
    """Text without its numbers, of which noise makes some longer, and a small count a dash."""
    return " ".join(_NUMBER.sub("#", text).split())


def numbers(text: str) -> list[float]:
    """The numbers of a text; NaN for one that is not shown."""
    return [float("nan") if each == "-" else float(each) for each in _NUMBER.findall(text)]


def main(paths: list[str]) -> None:
    """Writes into each page what its code prints."""
    for path in map(Path, paths):
        page = path.read_text("utf-8")
        printed = iter([each for _, each in run(page)])

        def renew(block: re.Match[str], printed: Iterator[str] = printed) -> str:
            now = next(printed)
            return f"```python\n{block[1]}```" + (f"\n\n```\n{now}```" if now else "")

        path.write_text(RUN.sub(renew, page), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
