"""``opendp-lite columns``."""

from __future__ import annotations

import argparse
from typing import Any

from opendp_lite.cli import flags
from opendp_lite.cli.file_input import FileInput
from opendp_lite.cli.printing import Told


def _columns(arguments: argparse.Namespace) -> Told:
    return Told("\n".join(FileInput.of(arguments, []).names()))


def add_columns(commands: argparse._SubParsersAction[Any]) -> None:
    """Adds the command to those of a parser."""
    parser = flags.add_command(commands, "columns", {"the data": flags.FILE})
    parser.set_defaults(run=_columns)
