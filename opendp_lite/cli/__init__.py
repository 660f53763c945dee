"""The command line: private releases of a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from opendp_lite.base.errors import OpenDPLiteError
from opendp_lite.cli.arguments import parse
from opendp_lite.cli.printing import describe_file_trouble, refuse, show, spell_flags

_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        argv: The words after the name of the program, or None for those of this process.

    Returns:
        The exit status: 0 for a result, 2 for a refusal, 130 for an interruption, 141 if nobody
        reads the output.
    """
    arguments = parse(sys.argv[1:] if argv is None else argv)
    try:
        return show(arguments.run(arguments))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as problem:
        return refuse(describe_file_trouble(problem))
    except OpenDPLiteError as problem:
        return refuse(". ".join([spell_flags(problem), *getattr(problem, "__notes__", ())]))
    except Exception as problem:
        # The text of an unforeseen exception may quote the data: only its type is shown.
        return refuse(
            f"opendp-lite failed ({type(problem).__name__}) and shows no result; please report "
            "the command that you typed, without the data"
        )
