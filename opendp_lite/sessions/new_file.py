"""The empty file in which a ledger is made."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from opendp_lite.errors import LedgerError, system_reason
from opendp_lite.sessions.sqlite_files import require_alone

_MODE: Final = 0o600
_THERE: Final = "there already; open it, or give the new ledger another name"


def make_empty(path: Path) -> None:
    """Makes a file that only its owner may read, where none was."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE))
    except FileExistsError:
        here = "a folder; name a file in it" if path.is_dir() else _THERE
        raise LedgerError(f"{str(path)!r} is {here}") from None
    except OSError as problem:
        raise LedgerError(
            f"the ledger {str(path)!r} cannot be made: {system_reason(problem)}"
        ) from None
    try:
        require_alone(path)
    except LedgerError:
        remove_empty(path)
        raise


def remove_empty(path: Path) -> None:
    """Removes what is left of a ledger that was not made; never one that others may use by now."""
    with suppress(OSError):
        if path.stat().st_size == 0:
            path.unlink()
