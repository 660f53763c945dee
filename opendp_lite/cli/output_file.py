"""The file that a release is written to."""

from __future__ import annotations

import argparse
import csv
import importlib
import io
import json
from collections.abc import Callable
from typing import Any, Final

import opendp_lite as dp
from opendp_lite.cli.file_to_write import FileToWrite
from opendp_lite.cli.report import Report


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


def output_file(arguments: argparse.Namespace) -> FileToWrite[Report] | None:
    """The file that ``--output`` names; None without it.

    Raises:
        ParameterError: If it cannot be written, as far as is known before the release.
    """
    found = FileToWrite.of(arguments, "--output", _FORMS)
    if found is not None and found.form is _parquet:
        _arrow()
    return found


def _arrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise dp.ParameterError(
            'writing a .parquet file needs pyarrow; type: pip install "opendp_lite[arrow]"'
        ) from None
