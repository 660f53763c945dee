"""The options of the command line and their help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Final, NoReturn

from opendp_lite.cli.mean_command import DROP, METHODS, run_mean
from opendp_lite.cli.numbers import is_number, number, shielded
from opendp_lite.cli.reproduce_command import TITLES, run_experiment

_Group = argparse._ArgumentGroup

_PROGRAM: Final = "opendp-lite"
_FOLDER: Final = "reproduced"

_EXPERIMENTS: Final = """\
Runs a published experiment with the estimators of this package. It prints the errors and draws the
figure. Each estimator runs at its true privacy loss.

plan-...: Aumueller, Lebeda, Nelson, Pagh 2024 (PLAN). Each run becomes a line of a CSV file. If
you stop the command, give it again: it makes only the runs that are missing.

table1, figure2, figure3: Fitzsimons, Honaker, Shoemate, Singhal 2024 (Private Means and the Curious
Incident of the Free Lunch). They take seconds and show the printed numbers beside ours."""

_USAGE: Final = """\
opendp-lite mean FILE --column NAME --bounds LOWER UPPER
                        (--epsilon E | --epsilon E --delta D | --rho R) [more options]
       opendp-lite mean --help"""

_DESCRIPTION: Final = """\
Releases the mean of one column of a CSV file with differential privacy. Noise hides any one row:
the result would look much the same with or without it. For example:

  opendp-lite mean visits.csv --column mdvis --bounds 0 40 --epsilon 1

You say the column, the range that you expect, and how private the release is. The output says how
far off it may be. Invalid input exits with status 2, names the flag and releases nothing."""

_EXAMPLES: Final = """\
more examples:
  opendp-lite mean visits.csv.gz --column mdvis --bounds 0 40 --rho 0.03
  opendp-lite mean bare.csv --no-header --column 3 --bounds 0 40 --epsilon 1
  cut -d, -f1 visits.csv | opendp-lite mean - --bounds 0 40 --epsilon 1 --delta 1e-6

Choose the bounds, like all options, without looking at the data. Each run is one more release: the
losses of several runs on the same data add up. The loss is for one row: a person with several rows
is protected less."""


_NEXT: Final = """\
Start with:
  opendp-lite mean --help
  opendp-lite mean visits.csv --column mdvis --bounds 0 40 --epsilon 1

Sums, counts, medians and more are released from Python: import opendp_lite."""


class _Parser(argparse.ArgumentParser):
    """A parser whose refusals say where the options stand."""

    def error(self, message: str) -> NoReturn:
        command = self.prog if self.prog != _PROGRAM else f"{_PROGRAM} mean"
        super().error(f"{message}. See {command} --help")


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command, with its function under ``run``.

    Raises:
        SystemExit: With status 2 for an unknown option, with 0 after ``--help``.
    """
    return _parser().parse_args(shielded(argv))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=_PROGRAM,
        usage=f"{_PROGRAM} mean | reproduce ...",
        description="Releases the mean of a column of a file with differential privacy.",
        epilog=_NEXT,
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, max_help_position=30),
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(
        title="commands",
        prog=_PROGRAM,
        dest="command",
        metavar="mean or reproduce",
        required=True,
    )
    mean = commands.add_parser(
        "mean",
        help="the private mean of one column of a file",
        usage=_USAGE,
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    mean.set_defaults(run=run_mean)
    _add_data(mean.add_argument_group("the data"))
    _add_privacy(
        mean.add_argument_group("the privacy: one setting (a smaller number protects more)")
    )
    _add_estimate(mean.add_argument_group("the estimate"))
    _add_output(mean.add_argument_group("the output"))
    again = commands.add_parser(
        "reproduce",
        help="run a published experiment again",
        description=_EXPERIMENTS,
        epilog="\n".join(f"{name:16} {title}" for name, title in TITLES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    again.set_defaults(run=run_experiment)
    _add_experiment(again)
    return parser


def _add_data(group: _Group) -> None:
    group.add_argument(
        "file",
        metavar="FILE",
        help="a CSV file, packed with gzip or not; a .parquet file; or - for standard input",
    )
    group.add_argument(
        "--column",
        metavar="NAME",
        help="the name of the column, or with --no-header its number, which counts from 1; a file "
        "with one column needs neither",
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
        help="a column that holds text is refused (default), or its text counts as missing values; "
        "a refusal tells one bit about the data that the privacy loss does not count",
    )
    group.add_argument(
        "--delimiter",
        metavar="CHAR",
        type=_delimiter,
        default=",",
        help="the character between cells, or the word tab (default: a comma)",
    )


def _add_privacy(group: _Group) -> None:
    group.add_argument(
        "--epsilon",
        metavar="E",
        type=number,
        help="pure differential privacy, 1 is a common choice; with --delta: approximate",
    )
    group.add_argument(
        "--delta",
        metavar="D",
        type=number,
        help="the small probability of approximate differential privacy, say 1e-6",
    )
    group.add_argument(
        "--rho",
        metavar="R",
        type=number,
        help="zero-concentrated differential privacy; 0.03 means epsilon = 1.04 at delta = 1e-6",
    )


def _add_estimate(group: _Group) -> None:
    group.add_argument(
        "--bounds",
        metavar=("LOWER", "UPPER"),
        nargs=2,
        type=number,
        required=True,
        help="the range of the values, from what you know beforehand; values outside are clipped "
        "to the nearer bound",
    )
    group.add_argument(
        "--missing",
        metavar="drop|VALUE",
        type=_missing,
        help="leave out rows without a value (default), or count them as VALUE",
    )
    group.add_argument(
        "--size",
        metavar="N",
        type=number,
        help="the number of rows, if it is public; the loss is then that of replacing a row, "
        "and a missing value counts as the middle of the bounds unless --missing says otherwise",
    )
    group.add_argument(
        "--confidence",
        metavar="C",
        type=number,
        default=0.95,
        help="the share of releases whose interval holds the mean (default: 0.95)",
    )
    group.add_argument(
        "--sampling",
        action="store_true",
        help="interval for the population mean, treating the rows as a random sample; a twentieth "
        "of the budget is spent on their variance",
    )
    group.add_argument(
        "--method",
        choices=sorted(METHODS),
        default="best",
        help="best (default) takes recentred, joint for --epsilon alone, a sum for --size. Use "
        "the others for comparison: simplex, centered, plug-in, resized",
    )


def _add_output(group: _Group) -> None:
    group.add_argument("--json", action="store_true", help="one JSON object with all digits")
    group.add_argument(
        "--explain", action="store_true", help="each step, and how the privacy loss follows from it"
    )


def _add_experiment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "experiment", metavar="EXPERIMENT", choices=list(TITLES), help="a name from the list below"
    )
    parser.add_argument(
        "--runs",
        metavar="N",
        type=number,
        help="how often each estimator runs in each setting (table1, figure2, figure3: 10 000)",
    )
    parser.add_argument(
        "--rho", metavar="R", type=number, nargs="+", help="the budgets (default: as published)"
    )
    parser.add_argument(
        "--epsilon",
        metavar="E",
        type=number,
        nargs="+",
        help="with table1 and figure3: the budget of Laplace noise (default: as published)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer settings and runs, in less than a minute"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="with plan-...: all settings and runs as published, for hours",
    )
    parser.add_argument(
        "--workers",
        metavar="N",
        type=number,
        help="with plan-...: how many processes (default: one for a core)",
    )
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="with plan-binary: a file of transactions, such as Kosarak or POS, a line of item "
        "numbers for each or two columns; gzip allowed",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        default=_FOLDER,
        help=f"the folder for the table and the figure (default: {_FOLDER})",
    )


def _missing(text: str) -> str | float:
    if text != DROP and not is_number(text):
        raise argparse.ArgumentTypeError(f"give the word {DROP} or a number, not {text.strip()!r}")
    return DROP if text == DROP else number(text)


def _delimiter(text: str) -> str:
    return "\t" if text in ("tab", "\\t") else text


def _version() -> str:
    try:
        return f"opendp-lite {version('opendp_lite')}"
    except PackageNotFoundError:
        return "opendp-lite, not installed"
