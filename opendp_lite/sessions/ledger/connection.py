"""The new file of a ledger, and the files that SQLite makes beside it, by their names."""

from __future__ import annotations

import ctypes
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import get_ident
from time import monotonic, sleep
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from opendp_lite.base.errors import LedgerError, system_reason
from opendp_lite.sessions.ledger.entries import APPLICATION, LAYOUT, STATEMENTS

# How each of them begins, unless it is empty or begins with zeros.
_MAGIC: Final = {
    "-journal": (bytes.fromhex("d9d505f9"),),
    "-wal": (bytes.fromhex("377f0682"), bytes.fromhex("377f0683")),
    "-shm": ((3007000).to_bytes(4, sys.byteorder),),
}
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


# SQLite's notes on its locks would go along with a fork: it could never write, and would keep all
# others out while it tries. No lock is held meanwhile. So what an interruption leaves behind stops
# no other thread for ever. The hooks that must not be interrupted are functions of C.


WAIT: Final = 30.0
"""Seconds to wait for another process that holds the ledger."""
_PAUSE: Final = 1e-3


class _Use:
    """A thread's use of SQLite, from before a connection is opened until nobody holds it."""

    def __init__(self) -> None:
        self.thread = get_ident()
        self.begin()

    def begin(self) -> None:
        """Lets forks in other threads wait."""
        _USES[id(self)] = self

    def end(self) -> None:
        """Lets them go on."""
        _USES.pop(id(self), None)


class OpenConnection(sqlite3.Connection):
    """A connection that forks in other threads wait for."""

    use: _Use | None = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.process = os.getpid()
        _OPEN[id(self)] = self

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Runs a statement, in its own process alone: a fork would lock the file for all others."""
        if os.getpid() != self.process:
            raise LedgerError("the process was forked within an entry; the fork releases nothing")
        return super().execute(sql, parameters)

    def close(self) -> None:
        """Closes it in its own process. In a fork it stays open: closing would undo a write."""
        if os.getpid() == self.process:
            super().close()
            _OPEN.pop(id(self), None)
            if self.use is not None:
                self.use.end()


_USES: Final[WeakValueDictionary[int, _Use]] = WeakValueDictionary()
_OPEN: Final[WeakValueDictionary[int, OpenConnection]] = WeakValueDictionary()
# One for each thread that forks right now.
_FORKING: Final[list[None]] = []
# Not empty in a fork that was made while another thread used SQLite.
_TORN: Final[list[None]] = []


def connect(path: Path, wait: float) -> sqlite3.Connection:
    """A connection that is opened while no other thread forks.

    Args:
        path: The file, which is there.
        wait: Seconds to wait for others that hold the file.

    Raises:
        LedgerError: If a fork does not end, or SQLite cannot be used in this one.
    """
    if _TORN:
        raise LedgerError(
            "this process was forked while another thread used a ledger, so it cannot use one; "
            'start processes by multiprocessing.get_context("spawn")'
        )
    use = _Use()
    try:
        _wait_for_forks(use, wait)
        found = sqlite3.connect(
            f"{path.as_uri()}?mode=rw",
            uri=True,
            timeout=wait,
            isolation_level=None,
            factory=OpenConnection,
        )
        found.use = use
        return found
    except BaseException:
        use.end()
        raise


def _wait_for_forks(use: _Use, wait: float) -> None:
    """Returns at a moment from which on forks in other threads wait for this use."""
    end = monotonic() + wait
    while _FORKING:
        use.end()
        if monotonic() > end:
            raise LedgerError(
                "another thread forks this process, and the fork does not end; try again"
            )
        sleep(_PAUSE)
        use.begin()


def _wait_for_others() -> None:
    """Waits until no other thread uses SQLite. None begins to: the fork was told before."""
    end = monotonic() + WAIT
    while _others() and monotonic() < end:
        sleep(_PAUSE)


def _keep_copies() -> None:
    """Keeps the copies of open connections for ever, as collecting one would close it."""
    _TORN.extend(None for _ in _others())
    _FORKING.clear()
    for each in _OPEN.valuerefs():
        found = each()
        if found is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(found))


def _others() -> list[_Use]:
    """Of other threads."""
    found = (each() for each in _USES.valuerefs())
    return [each for each in found if each is not None and each.thread != get_ident()]


if hasattr(os, "register_at_fork"):  # before a fork, what was registered last comes first
    os.register_at_fork(before=_wait_for_others, after_in_child=_keep_copies)
    os.register_at_fork(before=partial(_FORKING.append, None), after_in_parent=_FORKING.pop)


Result = TypeVar("Result")
Work = Callable[[sqlite3.Connection], Result]

_EXTRA: Final = 3
_TABLES: Final = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
_INTERRUPTED: Final = (
    "a write was cut short and must be undone first, and you may not write here; open it once with "
    "the right to write, or copy it with its -journal file to where you may"
)
# What to do, by the beginning of SQLite's name for it; the first that fits.
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
        connection = connect(path, wait)
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
