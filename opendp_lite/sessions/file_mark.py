"""A mark beside the content of a file: what overwrites the content leaves it as it is."""

from __future__ import annotations

import os
from errno import ENODATA, ENOSYS, ENOTSUP, EPERM
from pathlib import Path
from typing import Any, Final

from opendp_lite.errors import LedgerError, system_reason
from opendp_lite.sessions.file_place import FilePlace
from opendp_lite.sessions.ledger_entry import LedgerEntry
from opendp_lite.sessions.loss_text import write_short
from opendp_lite.sessions.sightings import Sighting, Sightings

_NAME: Final = "user.opendp_lite.ledger"
_TOLD: Final = "a mark on the file"
_NO_MARKS: Final = (ENOTSUP, ENOSYS, EPERM)
"""Sandboxes refuse the calls by EPERM."""


def marked(path: Path) -> Sightings:
    """The last entry by the mark on a file; nothing where the file system keeps no marks.

    It finds a file that ``cp`` wrote an older copy over. A copy that brings its own marks
    (``cp --archive``) it does not find: that takes a witness elsewhere.
    """
    try:
        found = Sighting.read(_call("getxattr")(path, _NAME).decode("ascii", "replace"))
    except OSError as problem:
        if problem.errno not in (ENODATA, *_NO_MARKS):
            raise LedgerError(
                f"the mark on the ledger {str(path)!r} cannot be read: {system_reason(problem)}"
            ) from None
        found = None
    return Sightings(_TOLD, [] if found is None else [found], FilePlace.of(path).identity)


def mark(path: Path, entry: LedgerEntry) -> None:
    """Marks a file with its last entry, where the file system keeps marks.

    A file system may keep less than 4 KB. So a loss of many digits is rounded up.

    Raises:
        LedgerError: If it keeps marks, and not this one: an older mark would stay.
    """
    line = Sighting.of(entry, write_short).line().encode()
    try:
        _call("setxattr")(path, _NAME, line)
    except OSError as problem:
        refused = problem.errno == EPERM and marked(path).seen
        if refused or problem.errno not in _NO_MARKS:
            raise LedgerError(
                f"the mark on the ledger {str(path)!r} cannot be written "
                f"({system_reason(problem)}); the entry counts, and nothing is released. Make room "
                "on its disk, or raise your quota there"
            ) from None


def _call(name: str) -> Any:
    """A call that some systems do not have."""
    return getattr(os, name, _refuse)


def _refuse(*given: object) -> Any:
    raise OSError(ENOTSUP, os.strerror(ENOTSUP))
