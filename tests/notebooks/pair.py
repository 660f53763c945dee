"""Writes each lesson's notebook from its text: ``python tests/notebooks/pair.py``."""

from lessons import LESSONS, as_text, written

if __name__ == "__main__":  # pytest imports this file to look for examples: it must write nothing
    for path in LESSONS:
        path.with_suffix(".ipynb").write_text(as_text(written(path)), "utf-8")
