"""The command line: private releases of a file."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        argv: The words after the name of the program, or None for those of this process.

    Returns:
        The exit status: 0 for a result, 2 for a refusal, 130 for an interruption, 141 if nobody
        reads the output.
    """
    try:
        # Imported only here, so that an interruption of the imports is quiet too.
        found: int = import_module("opendp_lite.cli.arguments").run(argv)
    except KeyboardInterrupt:
        # As shells say of Ctrl-C: 128 and the number of its signal.
        return 130
    return found
