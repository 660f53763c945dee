"""The file that the statement of a release is written to."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import opendp_lite as dp
from opendp_lite.cli.file_to_write import FileToWrite
from opendp_lite.statements.statement import Statement

_PAGE: Final = (
    "<!doctype html><html lang='en'><meta charset='utf-8'><title>Statement of privacy</title>"
    "<body style='font-family:sans-serif;margin:2em'>{}</body></html>"
)


def _json(statement: Statement) -> bytes:
    return f"{json.dumps(statement.as_dict(), indent=2, allow_nan=False)}\n".encode()


def _html(statement: Statement) -> bytes:
    return f"{_PAGE.format(statement.as_html())}\n".encode()


def _text(statement: Statement) -> bytes:
    return f"{statement}\n".encode()


_FORMS: Final[dict[str, Callable[[Statement], bytes]]] = {
    ".json": _json,
    ".html": _html,
    ".txt": _text,
}


def statement_file(arguments: argparse.Namespace) -> FileToWrite[Statement] | None:
    """The file that ``--statement`` names; None without it.

    Raises:
        ParameterError: If it cannot be written, as far as is known before the release.
    """
    found = FileToWrite.of(arguments, "--statement", _FORMS)
    output = None if arguments.output is None else Path(arguments.output).resolve()
    if found is not None and found.path.resolve() == output:
        raise dp.ParameterError("--statement: --output names the same file; name another one")
    return found
