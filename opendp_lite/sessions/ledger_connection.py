"""One transaction on the file of a ledger, on a connection of its own."""

from __future__ import annotations

import ctypes
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Final

from opendp_lite.errors import LedgerError
from opendp_lite.sessions.ledger_schema import APPLICATION, LAYOUT, STATEMENTS
from opendp_lite.sessions.sqlite_files import require_siblings

WAIT: Final = 30.0
"""Seconds to wait for another process that holds the ledger."""

_EXTRA: Final = 3
_TABLES: Final = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
_INTERRUPTED: Final = (
    "a write was cut short and must be undone first, and you may not write here; open it once with "
    "the right to write, or copy it with its -journal file to where you may"
)
_WORDS: Final = {
    "SQLITE_BUSY": "another process holds it for too long; try again",
    "SQLITE_LOCKED": "another process holds it for too long; try again",
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

_OPEN: Final = RLock()
"""Held while a connection is open, and by each fork. SQLite's notes on its locks would go along: a
fork could never write, and would keep all others out while it tries."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_OPEN.acquire, after_in_parent=_OPEN.release, after_in_child=_OPEN.release
    )


@contextmanager
def transaction(path: Path, *, writing: bool, wait: float = WAIT) -> Iterator[sqlite3.Connection]:
    """A transaction that ends with ``commit``; whatever else happens undoes it.

    The file has a rollback journal and ``synchronous = EXTRA``: when a commit returns, the entry
    and the end of the journal are on the disk. A write-ahead log would need a second file of
    shared memory, and a copy of the ledger without its log would lack its last entries.

    Raises:
        LedgerError: In words, for all that SQLite refuses.
    """
    with opened(path, wait) as connection:
        connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
        _require_tables(connection, path)
        yield connection


@contextmanager
def opened(path: Path, wait: float) -> Iterator[sqlite3.Connection]:
    """A connection for one transaction, which is closed after it.

    So none is there to be used in a fork or in another thread, and the file that stands at the
    path is the one that is read.
    """
    require_siblings(path)
    process = os.getpid()
    with _OPEN:
        connection = None
        try:
            connection = sqlite3.connect(
                f"{path.as_uri()}?mode=rw", uri=True, timeout=wait, isolation_level=None
            )
            _set_up(connection, path)
            yield connection
        except sqlite3.Error as problem:
            raise refusal(path, problem) from None
        finally:
            if connection is not None:
                _let_go(connection, process)


def commit(connection: sqlite3.Connection, process: int) -> None:
    """Makes a transaction last, in the process that began it alone."""
    if os.getpid() != process:
        raise LedgerError("the process was forked within an entry; the fork releases nothing")
    connection.execute("COMMIT")


def _let_go(connection: sqlite3.Connection, process: int) -> None:
    """Closes a connection; a fork keeps it for ever, since closing would undo the other's write."""
    if os.getpid() == process:
        connection.close()
    else:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


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
    if {sql for (sql,) in connection.execute(_TABLES)} != set(STATEMENTS):
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
