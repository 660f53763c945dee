"""Writing the folder and the files of an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import opendp_lite as dp


class OutputError(dp.OpenDPLiteError):
    """A file of an experiment cannot be written."""


def make_folder(folder: Path) -> None:
    """Makes the folder that ``--out`` names.

    Raises:
        ParameterError: If the path is a file.
        OutputError: If the folder cannot be made.
    """
    try:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise dp.ParameterError(f"--out: {str(folder)!r} is no folder; give another") from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Says of a failure in this block that ``path`` could not be written.

    Raises:
        OutputError: Instead of ``OSError``.
    """
    try:
        yield
    except (FileExistsError, NotADirectoryError):
        raise
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise OutputError(
            f"{str(path)!r} cannot be written: {reason}; make room or give another "
            "folder with --out"
        ) from None
