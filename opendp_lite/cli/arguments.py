"""The options of the command line and their help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Final, NoReturn

from opendp_lite.cli import when_run
from opendp_lite.cli.count_command import COUNT
from opendp_lite.cli.histogram_command import HISTOGRAM
from opendp_lite.cli.ledger_command import add_ledger
from opendp_lite.cli.mean_command import MEAN
from opendp_lite.cli.numbers import number, shielded
from opendp_lite.cli.quantile_command import MEDIAN, QUANTILE
from opendp_lite.cli.report_command import add_report
from opendp_lite.cli.reproduce_command import TITLES, run_experiment
from opendp_lite.cli.spread_command import SPREAD
from opendp_lite.cli.sum_command import SUM

COMMANDS: Final = (MEAN, COUNT, SUM, MEDIAN, QUANTILE, *SPREAD, HISTOGRAM)
"""The commands that make a release."""

_PROGRAM: Final = "opendp-lite"
_FOLDER: Final = "reproduced"

_EXPERIMENTS: Final = """\
Runs a published experiment with the estimators of this package. It prints the errors and draws the
figure. Each estimator runs at its true privacy loss.

plan-...: Aumueller, Lebeda, Nelson, Pagh 2024 (PLAN). Each run becomes a line of a CSV file. If
you stop the command, give it again: it makes only the runs that are missing.

table1, figure2, figure3: Fitzsimons, Honaker, Shoemate, Singhal 2024 (Private Means and the Curious
Incident of the Free Lunch). They take seconds and show the printed numbers beside ours."""

_NEXT: Final = """\
Start with:
  opendp-lite mean --help
  opendp-lite mean visits.csv --column mdvis --bounds 0 40 --epsilon 1

Means of many columns, densities and more are released from Python: import opendp_lite."""


class _Parser(argparse.ArgumentParser):
    """A parser whose refusals say where the options stand."""

    def error(self, message: str) -> NoReturn:
        super().error(f"{message}. See {self.prog} --help")


class _Version(argparse.Action):
    """Prints the version of the package that is installed."""

    def __call__(self, parser: argparse.ArgumentParser, *given: object) -> None:
        print(f"{_PROGRAM} {when_run.installed()}")
        parser.exit()


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command, with its function under ``run``.

    Raises:
        SystemExit: With status 2 for an unknown option, with 0 after ``--help``.
    """
    arguments, unknown = _parser().parse_known_args(shielded(argv))
    if unknown:
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    return arguments


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=_PROGRAM,
        usage=f"{_PROGRAM} COMMAND FILE ...",
        description="Releases numbers about a file with differential privacy.",
        epilog=_NEXT,
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, max_help_position=30),
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="show program's version number and exit"
    )
    commands = parser.add_subparsers(
        title="commands",
        prog=_PROGRAM,
        dest="command",
        metavar="COMMAND",
        required=True,
    )
    for command in COMMANDS:
        command.put(commands)
    add_report(commands)
    add_ledger(commands)
    again = commands.add_parser(
        "reproduce",
        help="run a published experiment again",
        description=_EXPERIMENTS,
        epilog="\n".join(f"{name:16} {title}" for name, title in TITLES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    again.set_defaults(run=run_experiment, parser=again)
    _add_experiment(again)
    return parser


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
        "--quick",
        action="store_true",
        help="less than a minute on two free cores",
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
