"""What a command has to tell: its numbers, its text, its files and its exit status."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

import attrs

from opendp_lite.base.errors import Argument, OpenDPLiteError
from opendp_lite.numbers.exact import digits_down, digits_up

_REFUSED: Final = 2
_NOBODY_READS: Final = 141
# Those that are called otherwise than the parameter.
_FLAGS: Final = {"name": "data-name"}
_WORDS: Final = {"\t": "tab"}


EXACT: Final = 2**53
"""Whole numbers below are floats, and no others."""


def as_typed(value: Fraction) -> float:
    """The nearest number as a person would type it: 40, not 40.0."""
    return int(value) if value.denominator == 1 and abs(value) < EXACT else float(value)


def short(value: float) -> str:
    """A float without superfluous characters.

    Example:
        >>> short(1.0), short(1e-06)
        ('1', '1e-6')
    """
    mantissa, _, exponent = repr(value).partition("e")
    return mantissa.removesuffix(".0") + (f"e{int(exponent)}" if exponent else "")


def rounded_up(value: float, digits: int = 3) -> str:
    """A number with few digits that is at least as large.

    Example:
        >>> rounded_up(4.8801)
        '4.89'
    """
    return short(float(digits_up(Fraction(repr(value)), digits)))


def rounded_down(value: Fraction, digits: int = 6) -> float:
    """A number with few digits that is no larger.

    Example:
        >>> rounded_down(Fraction(2, 3)), rounded_down(Fraction(1, 2))
        (0.666666, 0.5)
    """
    return as_typed(digits_down(value, digits))


@attrs.frozen
class Told:
    """The text of a result, and what writes its files, by the flags that name them."""

    text: str
    writes: Mapping[str, Callable[[], object]] = attrs.Factory(dict)


def align_lines(entries: Mapping[str, str]) -> list[str]:
    """A line for each entry: its title, and what is said."""
    width = max(map(len, entries)) + 3
    return [f"{title:<{width}}{value}" for title, value in entries.items()]


def show(told: Told) -> int:
    """Writes the files of a result, then prints its text, even if a file could not be written.

    Returns:
        The exit status.
    """
    trouble = []
    for flag, write in told.writes.items():
        try:
            write()
        except OSError as problem:
            trouble.append(f"writing {flag} failed: {problem.strerror or type(problem).__name__}")
    status = print_text(told.text)
    if not trouble:
        return status
    return refuse(f"the release was made and is printed, but {', and '.join(trouble)}")


def print_text(text: str) -> int:
    """Prints a result in the encoding of the terminal.

    Returns:
        The exit status. If writing fails, the message says that the release was made.
    """
    if sys.stdout is None:
        return refuse("the release was made, but there is no standard output to write it to")
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(problem, BrokenPipeError):
            return _NOBODY_READS
        return refuse(f"the release was made, but writing it failed: {problem.strerror}")
    return 0


def refuse(text: str) -> int:
    """Prints an error in one line; returns the exit status."""
    print(f"opendp-lite: error: {text}", file=sys.stderr)
    return _REFUSED


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


def describe_file_trouble(problem: OSError) -> str:
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
