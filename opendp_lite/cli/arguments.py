"""The options of the command line and their help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final, NoReturn

from opendp_lite.base.errors import OpenDPLiteError, name_like
from opendp_lite.cli import commands as released
from opendp_lite.cli import flags, when_run
from opendp_lite.cli.file_input import FileInput
from opendp_lite.cli.flags import is_number, shield
from opendp_lite.cli.histogram_command import HISTOGRAM
from opendp_lite.cli.ledger_command import add_ledger
from opendp_lite.cli.output import Told, describe_file_trouble, refuse, show, spell_flags
from opendp_lite.cli.report_command import add_report

COMMANDS: Final = (*released.COMMANDS, HISTOGRAM)
"""The commands that make a release."""

_PROGRAM: Final = "opendp-lite"
# The flags that take a certain number of numbers.
_PAIRS: Final = ("--bounds", "--bins")

# Below it, flags that have little in common would be offered.
_CLOSE: Final = 0.8
_NEXT: Final = """\
Start with:
  opendp-lite mean --help
  opendp-lite mean visits.csv --column mdvis --bounds 0 40 --epsilon 1

Means of many columns, densities and more are released from Python: import opendp_lite."""


class _Parser(argparse.ArgumentParser):
    """A parser whose refusals say where the options stand."""

    def error(self, message: str) -> NoReturn:
        stop = "" if message.endswith("?") else "."
        super().error(f"{message}{stop} See {self.prog} --help")


class _Version(argparse.Action):
    """Prints the version of the package that is installed."""

    def __call__(self, parser: argparse.ArgumentParser, *given: object) -> None:
        print(f"{_PROGRAM} {when_run.find_version()}")
        parser.exit()


def run(argv: Sequence[str] | None) -> int:
    """Runs a command; see ``main`` for the exit status."""
    arguments = parse(sys.argv[1:] if argv is None else argv)
    try:
        return show(arguments.run(arguments))
    except OSError as problem:
        return refuse(describe_file_trouble(problem))
    except OpenDPLiteError as problem:
        return refuse(". ".join([spell_flags(problem), *getattr(problem, "__notes__", ())]))
    except Exception as problem:
        # The text of an unforeseen exception may quote the data: only its type is shown.
        return refuse(
            f"opendp-lite failed ({type(problem).__name__}) and shows no result; please report "
            "the command that you typed, without the data"
        )


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command, with its function under ``run``.

    Raises:
        SystemExit: With status 2 for an unknown option, with 0 after ``--help``.
    """
    parser = _parser()
    words = shield(argv)
    for flag, word, after in zip(words, words[1:], [*words[2:], "--"], strict=False):
        parts = [part.strip() for part in word.split(",")]
        if flag in _PAIRS and len(parts) > 1 and after[:1] == "-" and all(map(is_number, parts)):
            parser.error(f"{flag} takes its numbers with spaces between: {flag} {' '.join(parts)}")
    if {"--header", "--no-header"} <= set(argv):
        parser.error("--header and --no-header contradict each other; give one")
    arguments, unknown = parser.parse_known_args(words)
    if unknown:
        known = list(arguments.parser._option_string_actions)
        longer = [flag for flag in known if flag.startswith(unknown[0])]
        near = longer or name_like(unknown[0], known, _CLOSE)
        way = f"; a column is named by --column {unknown[0]}" if unknown[0][0] != "-" else ""
        meant = f"; did you mean {near[0]}?" if near else way
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
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
        title="commands", prog=_PROGRAM, dest="command", metavar="COMMAND", required=True
    )
    for command in COMMANDS:
        command.put(commands)
    columns = flags.add_command(commands, "columns", {"the data": flags.FILE})
    columns.set_defaults(run=lambda typed: Told("\n".join(FileInput.of(typed, []).names())))
    add_report(commands)
    add_ledger(commands)
    return parser
