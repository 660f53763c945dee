"""The options that several commands share, and what they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Final

import opendp_lite as dp
from opendp_lite.cli import when_run
from opendp_lite.cli.numbers import as_typed, is_number, number
from opendp_lite.exact import confidence_of, exact, open_probability, positive, whole

Group = argparse._ArgumentGroup
Keys = list[str | None]

DROP: Final = "drop"
"""The word that leaves out rows without a value."""


def add_data(group: Group, column: str, *, several: bool = False) -> None:
    """The file, its column or columns, and how the file is written."""
    add_file(group)
    group.add_argument(
        "--column",
        metavar="NAME",
        nargs="+" if several else None,
        help=f"{column}, or with --no-header its number, which counts from 1; a file with one "
        "column needs neither",
    )


def add_file(group: Group) -> None:
    """The file, and how it is written."""
    group.add_argument(
        "file",
        metavar="FILE",
        help="a CSV file, packed with gzip or not; a .parquet or .feather file; a pattern in "
        "quotes, such as 'data/*.parquet'; a folder of files of one kind; or - for standard input",
    )
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="--header: the first line holds names that are public, and errors may show them; "
        "--no-header: the first line is data. By default the first line is a header if all its "
        "cells look like names, and errors never show it",
    )
    group.add_argument(
        "--na",
        metavar="MARK",
        action="append",
        default=[],
        help="a cell that means a missing value, besides the empty cell, NA, N/A, NaN, null, None "
        "and a single point; may be given several times",
    )
    group.add_argument(
        "--text",
        choices=("refuse", "missing"),
        default="refuse",
        help="a column of numbers that holds text is refused (default), or its text counts as "
        "missing values; a refusal tells one bit about the data that the privacy loss does not "
        "count",
    )
    group.add_argument(
        "--delimiter",
        metavar="CHAR",
        type=_delimiter,
        default=",",
        help="the character between cells, or the word tab (default: a comma)",
    )


def add_privacy(group: Group, *, delta: str | None) -> None:
    """The budget; ``delta`` says what it is for, None where it is of no use."""
    group.add_argument(
        "--epsilon",
        metavar="E",
        type=number,
        help="pure differential privacy, 1 is a common choice"
        + ("" if delta is None else "; with --delta: approximate"),
    )
    if delta is None:
        group.set_defaults(delta=None)
    else:
        group.add_argument("--delta", metavar="D", type=number, help=delta)
    group.add_argument(
        "--rho",
        metavar="R",
        type=number,
        help="zero-concentrated differential privacy; 0.03 means epsilon = 1.04 at delta = 1e-6",
    )


def add_people(group: Group) -> None:
    """Who is protected, where a person may have several rows."""
    group.add_argument(
        "--person",
        metavar="NAME",
        help="the column that tells people apart: the privacy loss is then for all rows of a "
        "person; goes with --most",
    )
    group.add_argument(
        "--most",
        metavar="K",
        type=number,
        help="at most so many rows of each person count, chosen at random",
    )


def add_groups(group: Group) -> None:
    """A release for each group."""
    group.add_argument(
        "--by",
        metavar="NAME",
        nargs="+",
        help="a release for each group of rows: the column that tells the groups apart, or several",
    )
    group.add_argument(
        "--keys",
        metavar="KEY",
        nargs="+",
        action="append",
        help="the groups to report, chosen without looking at the data; for several columns give "
        "--keys once for each",
    )


def add_bounds(group: Group, *, required: bool, without: str = "") -> None:
    """The range of the values."""
    group.add_argument(
        "--bounds",
        metavar=("LOWER", "UPPER"),
        nargs=2,
        type=number,
        required=required,
        help="the range of the values, from what you know beforehand; values outside are clipped "
        f"to the nearer bound{without}",
    )


def add_rows(group: Group, *, missing: bool = True) -> None:
    """Missing values, and a number of rows that is public."""
    if missing:
        group.add_argument(
            "--missing",
            metavar="drop|VALUE",
            type=_missing,
            help="leave out rows without a value (default), or count them as VALUE",
        )
    else:
        group.set_defaults(missing=None)
    group.add_argument(
        "--size",
        metavar="N",
        type=number,
        help="the number of rows, if it is public; the loss is then that of replacing a row"
        + (
            ", and a missing value counts as the middle of the bounds unless --missing says "
            "otherwise"
            if missing
            else ""
        ),
    )


def add_confidence(group: Group, what: str) -> None:
    """The share of intervals that hold what is estimated."""
    group.add_argument(
        "--confidence",
        metavar="C",
        type=number,
        default=0.95,
        help=f"the share of releases whose interval holds {what} (default: 0.95)",
    )


def add_sampling(group: Group, what: str) -> None:
    """Intervals for the population."""
    group.add_argument("--sampling", action="store_true", help=what)


_FORMS: Final = (
    ".json with the statement of the privacy loss, .csv or .parquet with a row for each number"
)


def add_output(group: Group, forms: str = _FORMS) -> None:
    """The form of the result."""
    group.add_argument("--json", action="store_true", help="one JSON object with all digits")
    group.add_argument(
        "--output",
        metavar="FILE",
        help=f"also write the release to a file: {forms}",
    )
    group.add_argument(
        "--statement",
        metavar="FILE",
        help="also write what the release protects, how well and what it relies on: .json, .html "
        "or .txt",
    )
    group.add_argument(
        "--ledger",
        metavar="LEDGER",
        help="a ledger that pays for the release: see opendp-lite ledger --help",
    )
    group.add_argument(
        "--note", metavar="WORDS", help='what the release is for, for the ledger: "table 3", say'
    )
    group.add_argument(
        "--data-name",
        metavar="WORDS",
        help='for other data than the ledger knows: its name there, such as "version 2"; all '
        "data spends the one budget",
    )
    group.add_argument(
        "--explain", action="store_true", help="each step, and how the privacy loss follows from it"
    )


def budget_of(arguments: argparse.Namespace) -> dict[str, float]:
    """The privacy setting: rho, epsilon, or epsilon and delta, by name.

    Raises:
        ParameterError: If there is none, or more than one.
    """
    rho, epsilon, delta = arguments.rho, arguments.epsilon, arguments.delta
    if rho is None and epsilon is None:
        raise dp.ParameterError(
            ("--delta goes with --epsilon. " if delta is not None else "")
            + "Choose how private the release is: --epsilon E (1 is a common choice), --epsilon E "
            "--delta D, or --rho R (0.03 means epsilon = 1.04 at delta = 1e-6). A smaller number "
            "protects more"
        )
    if rho is not None and (epsilon is not None or delta is not None):
        other = "--epsilon" if epsilon is not None else "--delta"
        raise dp.ParameterError(
            f"--rho and {other} belong to different privacy settings; give --rho alone, --epsilon "
            "alone, or --epsilon with --delta"
        )
    if rho is not None:
        return {"rho": as_typed(positive(rho, "--rho"))}
    parts = {"epsilon": as_typed(positive(epsilon, "--epsilon"))}
    if delta is not None:
        parts["delta"] = as_typed(open_probability(delta, "--delta"))
    return parts


def bounds_of(arguments: argparse.Namespace) -> tuple[Fraction, Fraction] | None:
    """The bounds; None where none were given."""
    return None if arguments.bounds is None else rising_ends(arguments.bounds, "--bounds")


def rising_ends(given: Sequence[float], flag: str) -> tuple[Fraction, Fraction]:
    """A lower and an upper end, refused where they do not rise."""
    lower, upper = (
        exact(end, f"{flag}: the {which} bound")
        for end, which in zip(given, ("lower", "upper"), strict=True)
    )
    if lower >= upper:
        advice = "they are equal" if lower == upper else "swap them"
        raise dp.ParameterError(f"{flag}: the lower must be below the upper; {advice}")
    return lower, upper


def size_of(arguments: argparse.Namespace) -> int | None:
    """The public number of rows; None where it is private."""
    return None if arguments.size is None else whole(arguments.size, "--size", least=1)


def level_of(arguments: argparse.Namespace) -> float:
    """The confidence."""
    return as_typed(confidence_of(arguments.confidence, "--confidence"))


def fills(arguments: argparse.Namespace) -> bool:
    """Whether missing values count as the middle of the bounds if nothing else is said.

    The number of rows of a group is private, so there they are left out.
    """
    return arguments.size is not None and arguments.by is None


def imputed(arguments: argparse.Namespace) -> Fraction | None:
    """The value that stands for a missing one, if you named it."""
    missing = arguments.missing
    if missing == DROP and arguments.size is not None:
        raise dp.ParameterError(
            "--missing drop changes the number of rows, which --size declares as public; "
            "give --missing VALUE, or leave it out for the middle of the bounds"
        )
    return None if missing is None or missing == DROP else exact(missing, "--missing")


def lists_for(
    columns: Sequence[str],
    lists: Sequence[Sequence[str]],
    na: Collection[str],
    flags: tuple[str, str],
) -> list[Keys]:
    """A list of categories for each column; None stands for missing cells.

    Args:
        columns: As they were typed.
        lists: As they were typed.
        na: Further marks of missing cells.
        flags: Those of the columns and of the lists.
    """
    of_columns, of_lists = flags
    if len(columns) != len(lists):
        given = "once" if len(lists) == 1 else f"{len(lists)} times"
        raise dp.ParameterError(
            f"{of_lists}: {of_columns} names {len(columns)} columns and {of_lists} is given "
            f"{given}; give it once for each column"
        )
    return [_categories(each, na, of_lists) for each in lists]


def _categories(words: Sequence[str], na: Collection[str], flag: str) -> Keys:
    marks = when_run.MISSING | {mark.strip() for mark in na}
    found = [when_run.category_in(word, marks) for word in words]
    if len(set(found)) < len(found):
        twice = next(word for word, each in zip(words, found, strict=True) if found.count(each) > 1)
        raise dp.ParameterError(
            f"{flag}: {twice.strip()!r} is given twice; 1 and 1.0 are one category, and so are all "
            "marks of missing values"
        )
    return found


def _missing(text: str) -> str | float:
    if text != DROP and not is_number(text):
        raise argparse.ArgumentTypeError(f"give the word {DROP} or a number, not {text.strip()!r}")
    return DROP if text == DROP else number(text)


def _delimiter(text: str) -> str:
    return "\t" if text in ("tab", "\\t") else text
