"""One transaction on the file of a ledger, on a connection of its own."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from opendp_lite.errors import LedgerError
from opendp_lite.sessions.ledger_schema import APPLICATION, LAYOUT, STATEMENTS
from opendp_lite.sessions.open_connection import WAIT, connected
from opendp_lite.sessions.sqlite_files import require_siblings

Result = TypeVar("Result")
Work = Callable[[sqlite3.Connection], Result]

_EXTRA: Final = 3
_TABLES: Final = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
_INTERRUPTED: Final = (
    "a write was cut short and must be undone first, and you may not write here; open it once with "
    "the right to write, or copy it with its -journal file to where you may"
)
_WORDS: Final = {
    "SQLITE_BUSY": "another process or thread holds it for too long; try again",
    "SQLITE_LOCKED": "another process or thread holds it for too long; try again",
    "SQLITE_FULL": "the disk is full; make room",
    "SQLITE_READONLY_ROLLBACK": _INTERRUPTED,
    "SQLITE_READONLY_RECOVERY": _INTERRUPTED,
    "SQLITE_READONLY_DBMOVED": "it was replaced while it was in use; open it again",
    "SQLITE_READONLY": "it may not be written; ask its owner for the right to, or work on a copy",
    "SQLITE_CANTOPEN": "it cannot be opened; look at the rights of the file and of its folder",
    "SQLITE_PERM": "it may not be written; ask its owner for the right to",
    "SQLITE_IOERR": "the disk failed; look at the disk, then open the ledger again",
    "SQLITE_NOTADB": "it is no ledger; name the file that opendp-lite ledger create or "
    "dp.Ledger.create made",
    "SQLITE_CORRUPT": "it is damaged; restore a copy and adopt it with a reason",
    "SQLITE_CONSTRAINT": "the entry does not fit the ones before; open the ledger again",
}
"""What to do, by the beginning of SQLite's name for it; the first that fits."""


def in_transaction(path: Path, work: Work[Result], *, writing: bool, wait: float = WAIT) -> Result:
    """What work gives within a transaction that ends with ``commit``; all else undoes it.

    The file has a rollback journal and ``synchronous = EXTRA``: when a commit returns, the entry
    and the end of the journal are on the disk. A write-ahead log would need a second file of
    shared memory, and a copy of the ledger without its log would lack its last entries.

    Raises:
        LedgerError: In words, for all that SQLite refuses.
    """

    def begun(connection: sqlite3.Connection) -> Result:
        connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
        _require_tables(connection, path)
        return work(connection)

    return on_connection(path, begun, wait)


def on_connection(path: Path, work: Work[Result], wait: float) -> Result:
    """What work gives on a connection for one transaction, which is closed after it.

    So none is there to be used in a fork or in another thread, and the file that stands at the
    path is the one that is read. An interruption leaves none open, as it would within a generator.
    No cursor may stand in a variable: an interrupted statement would keep the file locked.
    """
    require_siblings(path)
    connection = None
    try:
        connection = connected(path, wait)
        _set_up(connection, path)
        return work(connection)
    except sqlite3.Error as problem:
        raise refusal(path, problem) from None
    finally:
        if connection is not None:
            try:
                connection.close()
            finally:
                connection.close()


def commit(connection: sqlite3.Connection, process: int) -> None:
    """Makes a transaction last, in the process that began it alone."""
    if os.getpid() != process:
        raise LedgerError("the process was forked within an entry; the fork releases nothing")
    connection.execute("COMMIT")


def _set_up(connection: sqlite3.Connection, path: Path) -> None:
    """Makes SQLite wait for the disk."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA synchronous = EXTRA")
    (mode,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
    if (mode, synchronous) != ("delete", _EXTRA):
        raise LedgerError(
            f"the ledger {str(path)!r} cannot be used: SQLite would not wait for the disk here"
        )


def make_tables(connection: sqlite3.Connection) -> None:
    """Makes the tables of a new ledger."""
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {LAYOUT}")


def _require_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Refuses a file with other tables than a ledger of this version has."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (layout,) = connection.execute("PRAGMA user_version").fetchone()
    name = repr(str(path))
    if application != APPLICATION:
        raise LedgerError(
            f"{name} is no ledger. If making it was cut short, it is empty: delete it and create "
            "it again"
        )
    if layout != LAYOUT:
        raise LedgerError(
            f"the ledger {name} has the layout {layout} of another version of opendp_lite, and "
            f"this version reads the layout {LAYOUT}; use the version that wrote it"
        )
    if {sql for (sql,) in connection.execute(_TABLES).fetchall()} != set(STATEMENTS):
        raise LedgerError(
            f"the tables of the ledger {name} were changed by hand; restore a copy and adopt it "
            "with a reason"
        )


def refusal(path: Path, problem: sqlite3.Error) -> LedgerError:
    """What SQLite refused, in words."""
    code = str(getattr(problem, "sqlite_errorname", type(problem).__name__))
    words = next((text for name, text in _WORDS.items() if code.startswith(name)), code)
    name = repr(str(path))
    return LedgerError(f"the ledger {name} cannot be used, and nothing is released: {words}")
