"""The options of the command line and their help."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final, NoReturn

from opendp_lite.base.errors import Argument, OpenDPLiteError, name_like
from opendp_lite.cli import flags, when_run
from opendp_lite.cli.commands import COMMANDS
from opendp_lite.cli.file_input import FileInput
from opendp_lite.cli.flags import is_number
from opendp_lite.cli.ledger_command import add_ledger
from opendp_lite.cli.output import Told, refuse, show
from opendp_lite.cli.report_command import add_report

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
        return refuse(_describe_file_trouble(problem))
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
    words = _split_words(argv)
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
        way = f"; a column is named by --column {unknown[0]}" if unknown[0][:1] != "-" else ""
        meant = f"; did you mean {near[0]}?" if near else way
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
    return arguments


def _split_words(argv: Sequence[str]) -> list[str]:
    """The words as argparse reads them: ``--bounds=-10`` is two of them, and ``-10`` no option."""
    words: list[str] = []
    for word in argv:
        flag, equals, value = word.partition("=")
        numbers = flag[:2] == "--" and all(map(is_number, value.split(",")))
        words += [flag, value] if equals and numbers else [word]
    return [f" {word}" if word.startswith("-") and is_number(word) else word for word in words]


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


# Those that are called otherwise than the parameter.
_FLAGS: Final = {"name": "data-name"}
_WORDS: Final = {"\t": "tab"}


def spell_flags(problem: OpenDPLiteError) -> str:
    """A refusal as a person in a shell reads it: an argument is a flag, whose step is plain."""
    parts = problem.args
    for place, part in enumerate(parts):
        if isinstance(part, Argument) and part.step:
            parts = parts[place:]
            break
    return "".join(_flag(part) if isinstance(part, Argument) else str(part) for part in parts)


def _flag(argument: Argument) -> str:
    flag = _FLAGS.get(argument.name, argument.name.replace("_", "-"))
    value = argument.value
    match value:
        case True | None:
            return f"--{flag}"
        case False:
            return f"--no-{flag}"
        case _:
            typed = "..." if value is ... else shlex.quote(_WORDS.get(value, str(value)))
            return f"--{flag} {typed}"


def _describe_file_trouble(problem: OSError) -> str:
    """Says which file could not be read and what to do."""
    name = "the data" if problem.filename is None else repr(str(problem.filename))
    match problem:
        case FileNotFoundError():
            return f"there is no file {name}; check its name and folder"
        case IsADirectoryError():
            return f"{name} is a folder; give a file in it"
        case PermissionError():
            return f"you may not read {name}; ask its owner for the right to"
        case _:
            return f"{name} cannot be read: {problem.strerror or type(problem).__name__}"
