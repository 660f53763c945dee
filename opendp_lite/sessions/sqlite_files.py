"""The files that SQLite makes beside a ledger, and deletes, by their names."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from opendp_lite.errors import LedgerError

_MAGIC: Final = {
    "-journal": (bytes.fromhex("d9d505f9"),),
    "-wal": (bytes.fromhex("377f0682"), bytes.fromhex("377f0683")),
    "-shm": ((3007000).to_bytes(4, sys.byteorder),),
}
"""How each of them begins, unless it is empty or begins with zeros."""
_BEGIN: Final = 4


def require_own_name(path: Path, what: str) -> None:
    """Refuses a name that SQLite takes for a file of another ledger: it would delete it.

    Raises:
        LedgerError: If the name ends like one of SQLite's.
    """
    if path.name.casefold().endswith(tuple(_MAGIC)):
        raise LedgerError(
            f"the name of {what} ends in none of {', '.join(_MAGIC)}: SQLite makes and deletes "
            f"files of such names. Give {path.name!r} another name"
        )


def require_alone(path: Path) -> None:
    """Refuses a new ledger where one of SQLite's files would have the name of another file.

    Raises:
        LedgerError: If there is a file of such a name.
    """
    for end in _MAGIC:
        beside = path.with_name(f"{path.name}{end}")
        if beside.exists():
            raise _in_the_way(beside)


def require_siblings(path: Path) -> None:
    """Refuses a ledger beside which another file has the name of one of SQLite's.

    A journal that was left by a crash is one of SQLite's, and it is needed.

    Raises:
        LedgerError: If there is such a file, which SQLite would delete.
    """
    for end, known in _MAGIC.items():
        beside = path.with_name(f"{path.name}{end}")
        with suppress(OSError), beside.open("rb") as file:
            begin = file.read(_BEGIN)
            if begin.strip(b"\0") and begin not in known:
                raise _in_the_way(beside)


def _in_the_way(beside: Path) -> LedgerError:
    return LedgerError(
        f"a file {str(beside)!r} stands beside the ledger, and SQLite would delete it for a file "
        "of its own; move it away, or give it another name"
    )
