"""The tables of a ledger in SQLite, and transactions that wait for the disk."""

from __future__ import annotations

import atexit
import ctypes
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from threading import get_ident
from time import monotonic, sleep
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

import attrs

from opendp_lite.base.errors import LedgerError
from opendp_lite.measures.measure import AnyMeasure
from opendp_lite.sessions.ledger.entries import (
    COLUMNS,
    EntryState,
    LedgerEntry,
    LedgerTerms,
    check_chain,
    find_neighbours,
)
from opendp_lite.sessions.ledger.place import require_siblings

APPLICATION: Final = 0x6F44504C
"""The mark of a ledger in the header of an SQLite file: "oDPL"."""

LAYOUT: Final = 1
"""The version of the tables."""

TERM_COLUMNS: Final = tuple(attrs.fields_dict(LedgerTerms))
"""The columns of the one row of terms."""

_WHOLE: Final = {"number": "INTEGER PRIMARY KEY", "closes": "INTEGER"}


def _table(name: str, columns: Iterable[str]) -> str:
    return f"CREATE TABLE {name} ({', '.join(map(_column, columns))})"


def _column(name: str) -> str:
    text = f"TEXT NOT NULL CHECK (typeof({name}) = 'text')"
    return f"{name} {_WHOLE.get(name, text)}"


def _keep(table: str, event: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
    )


STATEMENTS: Final = (
    _table("ledger", TERM_COLUMNS),
    _table("entries", COLUMNS),
    _table("secret", ("key",)),
    "CREATE UNIQUE INDEX entries_closed ON entries (closes) WHERE closes IS NOT NULL",
    *(_keep(table, event) for table in ("ledger", "entries") for event in ("UPDATE", "DELETE")),
)
"""What makes the tables. The triggers stop an accident, not a person who means it."""


# SQLite's notes on its locks would go along with a fork: it could never write, and would keep all
# others out while it tries. No lock is held meanwhile. So what an interruption leaves behind stops
# no other thread for ever. The hooks that must not be interrupted are functions of C.


WAIT: Final = 30.0
"""Seconds to wait for another process that holds the ledger."""
_PAUSE: Final = 1e-3


class OpenConnection(sqlite3.Connection):
    """A connection that forks in other threads wait for while it is in use, until nobody holds it.

    They wait from before it is opened: SQLite takes locks of its own to open a file. Between two
    uses it rests: a fork closes it first, so that no fork has a copy.

    Args:
        path: The file, which is there.
        wait: Seconds to wait for others that hold the file, and for forks.

    Raises:
        LedgerError: If a fork does not end, or SQLite cannot be used in this one.
    """

    def __init__(self, path: Path, wait: float) -> None:
        self.process, self.thread, self.wait = os.getpid(), get_ident(), wait
        if _TORN:
            raise LedgerError(
                "this process was forked while another thread used a ledger, so it cannot use one; "
                'start processes by multiprocessing.get_context("spawn")'
            )
        try:
            self._wait_for_forks(wait)
            self.file = _find_file(path)
            # A fork in another thread closes it.
            super().__init__(
                f"{path.as_uri()}?mode=rw",
                uri=True,
                timeout=wait,
                isolation_level=None,
                check_same_thread=False,
            )
        except BaseException:
            self._let_forks_go_on()
            raise

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Runs a statement, in its own process alone: a fork would lock the file for all others."""
        if os.getpid() != self.process:
            raise LedgerError("the process was forked within an entry; the fork releases nothing")
        return super().execute(sql, parameters)

    def close(self) -> None:
        """Closes it in its own process. In a fork it stays open: closing would undo a write."""
        if os.getpid() == self.process:
            if _RESTING.get(self.thread) is self:
                _RESTING.pop(self.thread, None)
            super().close()
            self._let_forks_go_on()

    def rest(self) -> None:
        """Ends the transaction, and keeps the connection for the next one of this thread.

        It forgets all pages: a file that another program wrote over in place may have the counter
        of changes by which SQLite knows its pages again.
        """
        if self.in_transaction:
            self.execute("ROLLBACK")
        self.execute("PRAGMA shrink_memory")
        # Another one rests already where a finalizer or a signal used a ledger meanwhile.
        if _RESTING.setdefault(self.thread, self) is not self:
            self.close()
        self._let_forks_go_on()

    def resume(self, path: Path, wait: float) -> bool:
        """Whether the connection that rested is in use again, for the file at a path.

        The file that it has open keeps its number: no other file has it meanwhile.
        """
        self._wait_for_forks(wait)
        if _RESTING.pop(self.thread, None) is not self:
            self._let_forks_go_on()
            return False
        if self.file is None or self.file != _find_file(path):
            self.close()
            return False
        if wait != self.wait:
            self.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
            self.wait = wait
        return True

    def _wait_for_forks(self, wait: float) -> None:
        """Returns at a moment from which on forks in other threads wait for this connection."""
        end = monotonic() + wait
        _OPEN[id(self)] = self
        while _FORKING:
            self._let_forks_go_on()
            if monotonic() > end:
                raise LedgerError(
                    "another thread forks this process, and the fork does not end; try again"
                )
            sleep(_PAUSE)
            _OPEN[id(self)] = self

    def _let_forks_go_on(self) -> None:
        _OPEN.pop(id(self), None)


def _find_file(path: Path) -> tuple[int, int] | None:
    """The numbers of the file at a path, if there is one."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_OPEN: Final[WeakValueDictionary[int, OpenConnection]] = WeakValueDictionary()
# One for each thread that used a ledger, by its identity.
_RESTING: Final[dict[int, OpenConnection]] = {}
# One for each thread that forks right now.
_FORKING: Final[list[None]] = []
# Not empty in a fork that was made while another thread used SQLite.
_TORN: Final[list[None]] = []


def _wait_for_others() -> None:
    """Waits until no other thread uses SQLite. None begins to: the fork was told before."""
    end = monotonic() + WAIT
    while _find_others() and monotonic() < end:
        sleep(_PAUSE)
    close_resting()


def close_resting() -> None:
    """Closes the connections that no thread uses."""
    for each in tuple(_RESTING.values()):
        each.close()


def _keep_copies() -> None:
    """Keeps the copies of open connections for ever, as collecting one would close it."""
    _TORN.extend(None for _ in _find_others())
    _FORKING.clear()
    # One may rest here that was in use for longer than the fork waited.
    for each in (*_find_open(), *_RESTING.values()):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))
    _RESTING.clear()


def _find_others() -> list[OpenConnection]:
    """The connections of other threads."""
    return [each for each in _find_open() if each.thread != get_ident()]


def _find_open() -> list[OpenConnection]:
    # A list of references is made at once, while other threads open and close theirs.
    found = (each() for each in _OPEN.valuerefs())
    return [each for each in found if each is not None]


if hasattr(os, "register_at_fork"):  # before a fork, what was registered last comes first
    os.register_at_fork(before=_wait_for_others, after_in_child=_keep_copies)
    os.register_at_fork(before=partial(_FORKING.append, None), after_in_parent=_FORKING.pop)
atexit.register(close_resting)


Result = TypeVar("Result")

_EXTRA: Final = 3
_MODE: Final = "delete"
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


def in_transaction(
    path: Path,
    work: Callable[[EntryTable], Result],
    *,
    writing: bool,
    wait: float = WAIT,
    terms: LedgerTerms | None = None,
    key: str = "",
) -> Result:
    """What work gives within a transaction that ends with ``commit``; all else undoes it.

    The file has a rollback journal and ``synchronous = EXTRA``: when a commit returns, the entry
    and the end of the journal are on the disk. A write-ahead log would need a second file of
    shared memory, and a copy of the ledger without its log would lack its last entries.

    Afterwards the connection rests, for the next transaction of this thread on the file that stands
    at the path then. Whatever was refused or interrupted closes it. No cursor may stand in a
    variable: an interrupted statement would keep the file locked.

    Args:
        path: The file, which is there.
        work: Reads the tables, and may add to them.
        writing: Whether it adds.
        wait: Seconds to wait for others that hold the file.
        terms: Of the ledger that must stand there; None for any.
        key: The secret of a new ledger, whose tables are made for these terms.

    Raises:
        LedgerError: In words, for all that SQLite refuses.
    """
    require_siblings(path)
    connection, rests = _RESTING.get(get_ident()), False
    try:
        if connection is None or not connection.resume(path, wait):
            connection = OpenConnection(path, wait)
            _set_up(connection, path)
        begin = "BEGIN IMMEDIATE" if writing else "BEGIN"
        connection.execute(begin)
        if connection.execute("PRAGMA journal_mode").fetchone() != (_MODE,):
            # Another program changed it while the connection rested.
            connection.execute("ROLLBACK")
            _set_up(connection, path)
            connection.execute(begin)
        if terms and key:
            _make_tables(connection, terms, key)
        else:
            _require_tables(connection, path)
        table = EntryTable.of(connection)
        if terms not in (None, table.terms):
            raise LedgerError(
                f"another ledger stands at {str(path)!r} now; nothing is released. Open it anew if "
                "that is meant"
            )
        found = work(table)
        connection.rest()
        rests = True
        return found
    except sqlite3.Error as problem:
        raise _refuse(path, problem) from None
    finally:
        if connection is not None and not rests:
            try:
                connection.close()
            finally:
                connection.close()


def commit(connection: sqlite3.Connection) -> None:
    """Makes a transaction last."""
    connection.execute("COMMIT")


def _set_up(connection: sqlite3.Connection, path: Path) -> None:
    """Makes SQLite wait for the disk."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA synchronous = EXTRA")
    (mode,) = connection.execute(f"PRAGMA journal_mode = {_MODE}").fetchone()
    (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
    if (mode, synchronous) != (_MODE, _EXTRA):
        raise LedgerError(
            f"the ledger {str(path)!r} cannot be used: SQLite would not wait for the disk here"
        )


def _make_tables(connection: sqlite3.Connection, terms: LedgerTerms, key: str) -> None:
    """Makes the tables of a new ledger."""
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.execute(_BEGIN, terms.row())
    connection.execute("INSERT INTO secret VALUES (?)", (key,))
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


def _refuse(path: Path, problem: sqlite3.Error) -> LedgerError:
    """What SQLite refused, in words."""
    code = str(getattr(problem, "sqlite_errorname", type(problem).__name__))
    words = next((text for name, text in _WORDS.items() if code.startswith(name)), code)
    name = repr(str(path))
    return LedgerError(f"the ledger {name} cannot be used, and nothing is released: {words}")


_SELECT: Final = f"SELECT {', '.join(COLUMNS)} FROM entries"
_INSERT: Final = f"INSERT INTO entries VALUES ({', '.join('?' * len(COLUMNS))})"
_TERMS: Final = f"SELECT {', '.join(TERM_COLUMNS)} FROM ledger"
_BEGIN: Final = f"INSERT INTO ledger VALUES ({', '.join('?' * len(TERM_COLUMNS))})"


@attrs.frozen(eq=False)
class EntryTable:
    """What a connection reads of a ledger, and adds to it. Each entry that it gives was checked.

    Attributes:
        connection: Within a transaction.
        terms: Of the ledger.
    """

    connection: sqlite3.Connection
    terms: LedgerTerms

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> EntryTable:
        """The entries of whatever ledger the connection reads."""
        return cls(connection, LedgerTerms.of_row(connection.execute(_TERMS).fetchone()))

    @property
    def measure(self) -> AnyMeasure:
        """Of its losses."""
        return self.terms.losses

    def add(self, entry: LedgerEntry) -> None:
        """Writes an entry."""
        self.connection.execute(_INSERT, entry.row())

    def all(self, seen: LedgerEntry) -> tuple[LedgerEntry, ...]:
        """All entries, each held to the one before.

        Raises:
            LedgerError: If one is not right, or the one that was seen is lost.
        """
        found = tuple(check_chain(self._read("ORDER BY number"), self.terms))
        if seen not in found:
            raise _say_lost(seen)
        return found

    def first(self) -> LedgerEntry:
        """The first entry."""
        for entry in check_chain(self._read("ORDER BY number LIMIT 1"), self.terms):
            return entry
        raise LedgerError("the ledger is damaged: it has no entries")

    def since(self, seen: LedgerEntry) -> list[LedgerEntry]:
        """An entry that was seen, and those after it, each held to the one before.

        Raises:
            LedgerError: As for ``all``.
        """
        rows = self._rows("WHERE number >= ? ORDER BY number", seen.number)
        # A row that is equal is not read and hashed once more.
        if rows[:1] != [seen.row()]:
            list(self._entries(rows[:1]))
            raise _say_lost(seen)
        return [seen, *check_chain(self._entries(rows[1:]), self.terms, seen)]

    def at(self, number: int) -> LedgerEntry | None:
        """The entry of a number, if there is one."""
        return next(self._read("WHERE number = ?", number), None)

    def is_closed(self, number: int) -> bool:
        """Whether an entry says that the run of this one ended."""
        query = "SELECT 1 FROM entries WHERE closes = ?"
        return self.connection.execute(query, (number,)).fetchone() is not None

    def count_paid(self, after: int, last: int) -> int:
        """How many entries after one, up to another, pay for a release."""
        query = "SELECT COUNT(*) FROM entries WHERE number > ? AND number <= ? AND state = ?"
        found = self.connection.execute(query, (after, last, EntryState.RESERVED.value))
        return int(found.fetchone()[0])

    def scopes(self) -> dict[str, str]:
        """The keyed hash of each content by its name."""
        query = "SELECT scope, content FROM entries WHERE state = ? ORDER BY number"
        return dict(self.connection.execute(query, (EntryState.ADMITTED.value,)).fetchall())

    def knows(self, scope: str) -> bool:
        """Whether a content has this name."""
        query = "SELECT 1 FROM entries WHERE state = ? AND scope = ? LIMIT 1"
        found = self.connection.execute(query, (EntryState.ADMITTED.value, scope))
        return found.fetchone() is not None

    def neighbours(self) -> str:
        """What the first session counted losses for; empty before there was one."""
        first = self._read("WHERE state = ? ORDER BY number LIMIT 1", EntryState.ADMITTED.value)
        return find_neighbours(next(first, None))

    def key(self) -> bytes:
        """The secret of the keyed hashes."""
        row = self.connection.execute("SELECT key FROM secret").fetchone()
        if row is None:
            raise LedgerError("the ledger is damaged: it has no key")
        return bytes.fromhex(row[0])

    def is_whole(self) -> bool:
        """Whether SQLite finds its own structure in order."""
        (state,) = self.connection.execute("PRAGMA integrity_check(1)").fetchone()
        return bool(state == "ok")

    def _read(self, where: str, *values: int | str) -> Iterator[LedgerEntry]:
        return self._entries(self._rows(where, *values))

    def _rows(self, where: str, *values: int | str) -> list[tuple[Any, ...]]:
        return self.connection.execute(f"{_SELECT} {where}", values).fetchall()

    def _entries(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[LedgerEntry]:
        measure = self.measure
        return (LedgerEntry.of_row(row, measure) for row in rows)


def _say_lost(seen: LedgerEntry) -> LedgerError:
    return LedgerError(
        f"the ledger was rolled back: entry {seen.number}, which this process saw, is no longer in "
        "the file. Nothing is released. Put the newer file back"
    )
