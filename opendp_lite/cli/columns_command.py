"""``opendp-lite columns``."""

from __future__ import annotations

import argparse
from typing import Any, Final

from opendp_lite.cli import flags
from opendp_lite.cli.file_input import FileInput
from opendp_lite.cli.printing import Told

_DESCRIPTION: Final = """\
Lists the columns of a file, a line for each. For example:

  opendp-lite columns survey.csv --header
  opendp-lite columns visits.parquet

The first line of a CSV file may be a person's row, so it is shown only if you say --header: it
holds names, which are public. No other line is read. A Parquet file declares its columns."""


def _columns(arguments: argparse.Namespace) -> Told:
    return Told("\n".join(FileInput.of(arguments, []).names()))


def add_columns(commands: argparse._SubParsersAction[Any]) -> None:
    """Adds the command to those of a parser."""
    parser = flags.add_command(
        commands,
        "columns",
        {"the data": flags.FILE},
        help="the names of the columns of a file",
        description=_DESCRIPTION,
    )
    parser.set_defaults(run=_columns)
