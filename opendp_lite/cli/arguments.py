"""The options of the command line and their help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Final, NoReturn

from opendp_lite.cli import commands as released
from opendp_lite.cli import when_run
from opendp_lite.cli.flags import shield
from opendp_lite.cli.histogram_command import HISTOGRAM
from opendp_lite.cli.ledger_command import add_ledger
from opendp_lite.cli.report_command import add_report

COMMANDS: Final = (*released.COMMANDS, HISTOGRAM)
"""The commands that make a release."""

_PROGRAM: Final = "opendp-lite"

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
        print(f"{_PROGRAM} {when_run.find_version()}")
        parser.exit()


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command, with its function under ``run``.

    Raises:
        SystemExit: With status 2 for an unknown option, with 0 after ``--help``.
    """
    arguments, unknown = _parser().parse_known_args(shield(argv))
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
    return parser
