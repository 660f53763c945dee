"""The file that the statement of a release is written to."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs

import opendp_lite as dp
from opendp_lite.cli.output_file import writable
from opendp_lite.statements.statement import Statement

_PAGE: Final = (
    "<!doctype html><html lang='en'><meta charset='utf-8'><title>Statement of privacy</title>"
    "<body style='font-family:sans-serif;margin:2em'>{}</body></html>"
)


def _json(statement: Statement) -> str:
    return json.dumps(statement.as_dict(), indent=2, allow_nan=False)


def _html(statement: Statement) -> str:
    return _PAGE.format(statement.as_html())


_FORMS: Final[dict[str, Callable[[Statement], str]]] = {
    ".json": _json,
    ".html": _html,
    ".txt": str,
}


@attrs.frozen
class StatementFile:
    """A file in a form that its name tells."""

    path: Path
    form: Callable[[Statement], str]

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> StatementFile | None:
        """The file that ``--statement`` names; None without it.

        Raises:
            ParameterError: If it cannot be written, as far as is known before the release.
        """
        if arguments.statement is None:
            return None
        path = Path(arguments.statement)
        form = _FORMS.get(path.suffix.lower())
        if form is None:
            raise dp.ParameterError(
                f"--statement: the name ends in {', '.join(_FORMS)}, which says the form; "
                f"got {str(path)!r}"
            )
        writable(path, "--statement", arguments.file, arguments.ledger)
        if arguments.output is not None and path.resolve() == Path(arguments.output).resolve():
            raise dp.ParameterError("--statement: --output names the same file; name another one")
        return cls(path, form)

    def filled(self, statement: Statement) -> Callable[[], None]:
        """What writes a statement to the file."""
        contents = f"{self.form(statement)}\n"

        def write() -> None:
            self.path.write_text(contents, encoding="utf-8")

        return write
