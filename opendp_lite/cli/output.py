"""What a command has to tell: its numbers, its text, its files and its exit status."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import attrs

import opendp_lite as dp
from opendp_lite.cli import when_run
from opendp_lite.numbers.exact import digits_down, digits_up

Writer: TypeAlias = Callable[[Any], bytes]

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
            # As shells say of a pipe that nobody reads: 128 and the number of its signal.
            return 141
        return refuse(f"the release was made, but writing it failed: {problem.strerror}")
    return 0


def refuse(text: str) -> int:
    """Prints an error in one line; returns the exit status."""
    print(f"opendp-lite: error: {text}", file=sys.stderr)
    return 2


Content = TypeVar("Content")
Write = Callable[[], object]

# The arguments that name files that a command reads.
_READ: Final = ("file", "pipeline", "ledger")
_PAGE: Final = (
    "<!doctype html><html lang='en'><meta charset='utf-8'><title>Statement of privacy</title>"
    "<body style='font-family:sans-serif;margin:2em'>{}</body></html>"
)


def _csv(report: when_run.Report) -> bytes:
    return str(dp.releases.ReleaseTable(report.columns()).to_csv()).encode()


def _parquet(report: when_run.Report) -> bytes:
    """The table, with the statement of the loss under "opendp_lite" in the file's metadata."""
    arrow, parquet = _arrow()
    table = arrow.table(report.columns())
    statement = json.dumps({"column": report.column, **report.without_numbers})
    found = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata({"opendp_lite": statement}), found)
    return found.getvalue()


def _arrow() -> tuple[Any, Any]:
    arrow, what = when_run.with_pyarrow, "writing a .parquet file"
    return arrow("pyarrow", what), arrow("pyarrow.parquet", what)


def _as_line(text: object) -> bytes:
    return f"{text}\n".encode()


OUTPUT: Final[Mapping[str, Callable[[when_run.Report], bytes]]] = {
    ".json": lambda report: _as_line(report.as_json()),
    ".csv": _csv,
    ".parquet": _parquet,
}
"""What makes the bytes of a release, by the end of the name."""
_STATEMENT: Final[Mapping[str, Callable[[dp.releases.Statement], bytes]]] = {
    ".json": lambda stated: _as_line(json.dumps(stated.as_dict(), indent=2, allow_nan=False)),
    ".html": lambda stated: _as_line(_PAGE.format(stated.as_html())),
    ".txt": _as_line,
}


def writers(
    arguments: argparse.Namespace, output: Mapping[str, Callable[[Content], bytes]]
) -> Callable[[Content, dp.releases.Statement], dict[str, Write]]:
    """What writes the files that ``--output`` and ``--statement`` name, by their flags.

    Args:
        arguments: All that was typed.
        output: What makes the bytes of a release, by the end of the name.

    Raises:
        ParameterError: If one cannot be written, as far as is known before the release, or if the
            command reads it.
    """
    known: dict[str, Mapping[str, Writer]]
    known = {"--output": output, "--statement": _STATEMENT}
    named = {flag: vars(arguments)[flag.removeprefix("--")] for flag in known}
    files = {
        flag: _file(arguments, flag, name, known[flag])
        for flag, name in named.items()
        if name is not None
    }
    if len({path.resolve() for path, _ in files.values()}) < len(files):
        raise dp.ParameterError("--statement: --output names the same file; name another one")

    def write(path: Path, content: bytes) -> None:
        # A file that came meanwhile is not written over either.
        with path.open("wb" if arguments.force else "xb") as file:
            file.write(content)

    def prepare(content: Content, stated: dp.releases.Statement) -> dict[str, Write]:
        told = {"--output": content, "--statement": stated}
        return {
            flag: partial(write, path, form(told[flag])) for flag, (path, form) in files.items()
        }

    return prepare


def _file(
    arguments: argparse.Namespace, flag: str, name: str, forms: Mapping[str, Writer]
) -> tuple[Path, Writer]:
    """The file that a flag names and what makes its bytes."""
    typed, path = vars(arguments), Path(name)
    form = forms.get(path.suffix.lower())
    if form is None:
        raise dp.ParameterError(f"{flag}: the name must end in {' or '.join(forms)}, got {name!r}")
    folder = path.parent
    if not folder.is_dir():
        raise dp.ParameterError(f"{flag}: there is no folder {str(folder)!r}; make it first")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise dp.ParameterError(f"{flag}: {str(path)!r} cannot be written; name another file")
    if path.exists() and not arguments.force:
        raise dp.ParameterError(
            f"{flag}: {str(path)!r} is there already, and its release may have been paid for; name "
            "another file, or add --force to write over it"
        )
    if path.exists():
        read = (when_run.files_named(one) or [Path(one)] for one in map(typed.get, _READ) if one)
        if any(other.exists() and path.samefile(other) for other in chain.from_iterable(read)):
            raise dp.ParameterError(
                f"{flag}: {str(path)!r} is a file that is read, such as the data or the "
                "ledger; name another"
            )
    if path.suffix.lower() == ".parquet":
        _arrow()
    return path, form
