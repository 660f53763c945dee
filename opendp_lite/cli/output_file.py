"""The file that a release is written to."""

from __future__ import annotations

import argparse
import csv
import importlib
import io
import json
import os
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, Final

import attrs

import opendp_lite as dp
from opendp_lite.cli.report import Report
from opendp_lite.engines.file_names import files_named


def _json(report: Report) -> bytes:
    return f"{report.as_json()}\n".encode()


def _csv(report: Report) -> bytes:
    columns = report.columns()
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def _parquet(report: Report) -> bytes:
    """The table, with the statement of the loss under "opendp_lite" in the file's metadata."""
    arrow, parquet = _arrow()
    table = arrow.table(report.columns())
    statement = json.dumps({"column": report.column, **report.statement})
    found = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata({"opendp_lite": statement}), found)
    return found.getvalue()


_FORMS: Final[dict[str, Callable[[Report], bytes]]] = {
    ".json": _json,
    ".csv": _csv,
    ".parquet": _parquet,
}


def writable(path: Path, flag: str, *read: str) -> Path:
    """A file to write, as far as is known before.

    Args:
        path: The file.
        flag: The option that names it.
        read: Other files, which it must not be.

    Raises:
        ParameterError: If it cannot be written.
    """
    folder = path.parent
    if not folder.is_dir():
        raise dp.ParameterError(f"{flag}: there is no folder {str(folder)!r}; make it first")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise dp.ParameterError(f"{flag}: {str(path)!r} cannot be written; name another file")
    for other in chain.from_iterable(files_named(each) or [Path(each)] for each in read):
        if path.exists() and other.exists() and path.samefile(other):
            raise dp.ParameterError(
                f"{flag}: {str(path)!r} is a file that is read, such as the data; name another"
            )
    return path


@attrs.frozen
class OutputFile:
    """A file in a form that its name tells."""

    path: Path
    form: Callable[[Report], bytes]

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> OutputFile | None:
        """The file that ``--output`` names; None without it.

        Raises:
            ParameterError: If it cannot be written, as far as is known before the release.
        """
        if arguments.output is None:
            return None
        path = Path(arguments.output)
        form = _FORMS.get(path.suffix.lower())
        if form is None:
            raise dp.ParameterError(
                f"--output: the name ends in {', '.join(_FORMS)}, which says the form; "
                f"got {str(path)!r}"
            )
        if form is _parquet:
            _arrow()
        return cls(writable(path, "--output", arguments.file), form)

    def filled(self, report: Report) -> Callable[[], None]:
        """What writes a report to the file."""
        contents = self.form(report)

        def write() -> None:
            self.path.write_bytes(contents)

        return write


def _arrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise dp.ParameterError(
            'writing a .parquet file needs pyarrow; type: pip install "opendp_lite[arrow]"'
        ) from None
