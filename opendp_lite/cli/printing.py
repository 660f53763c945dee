"""Text to the standard streams, with an exit status."""

from __future__ import annotations

import os
import sys
from typing import Final

from opendp_lite.cli.told import Told

_REFUSED: Final = 2
_NOBODY_READS: Final = 141


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
