"""The cells as a CSV file, a line for each error."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import opendp_lite as dp
from opendp_lite.reproduce.free_lunch.free_lunch_cells import ErrorEntry, FreeLunchCell
from opendp_lite.reproduce.output import writing

FIELDS: Final = (
    "dataset",
    "mechanism",
    "estimator",
    "loss",
    "runs",
    "error",
    "found",
    "standard_error",
    "expected",
    "printed",
    "percent",
    "standard_errors",
    "explained",
    "note",
)


def refuse_others(path: Path) -> None:
    """Raises ``DataError`` if a file of another kind would be overwritten."""
    if not path.exists():
        return
    with path.open("rb") as stream:
        first = stream.readline()
    if first != (",".join(FIELDS) + "\n").encode():
        raise dp.DataError(
            f"{str(path)!r} is not a table of these errors: its first line is another; give "
            "another folder with --out, or move the file away"
        )


def write(path: Path, cells: Sequence[FreeLunchCell]) -> None:
    """Overwrites the table. The same command gives the same table."""
    with writing(path), path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(FIELDS)
        for cell in cells:
            writer.writerows(_lines(cell))


def _lines(cell: FreeLunchCell) -> Iterator[tuple[object, ...]]:
    setting = cell.setting
    names = (setting.dataset.name, setting.law.name, cell.estimator.name)
    for kind, entry in (("mean absolute", cell.absolute), ("root mean squared", cell.squared)):
        yield (*names, setting.loss, entry.runs, kind, *_numbers(entry), *_why(cell))


def _numbers(entry: ErrorEntry) -> tuple[str, ...]:
    numbers = (entry.found, entry.standard_error, entry.expected, entry.printed)
    off = (entry.percent, entry.standard_errors)
    return (
        *("" if number is None else f"{number:.6g}" for number in numbers),
        *("" if number is None else f"{number:.2f}" for number in off),
    )


def _why(cell: FreeLunchCell) -> tuple[str, str]:
    if cell.squared.printed is None:
        return "", ""
    return ("yes", "") if cell.unexplained is None else ("no", cell.unexplained)
