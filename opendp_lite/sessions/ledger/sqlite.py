"""A ledger in a file of SQLite, and transactions that wait for the disk."""

from __future__ import annotations

import atexit
import ctypes
import os
import sqlite3
from collections.abc import Callable, Iterable
from errno import ENODATA, ENOSYS, ENOTSUP, EPERM
from functools import partial
from pathlib import Path
from threading import get_ident
from time import monotonic, sleep
from typing import Any, ClassVar, Final, NoReturn
from weakref import WeakValueDictionary

import attrs

from opendp_lite.base.errors import LedgerError, system_reason
from opendp_lite.sessions.ledger import place, tables
from opendp_lite.sessions.ledger.entries import COLUMNS, Checked, LedgerEntry, LedgerTerms
from opendp_lite.sessions.ledger.witness import CheckMark, Sighting, Sightings, WitnessFile
from opendp_lite.sessions.text import write_short

APPLICATION: Final = 0x6F44504C
"""The mark of a ledger in the header of an SQLite file: "oDPL"."""

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
    _table("ledger", tables.TERM_COLUMNS),
    _table("entries", COLUMNS),
    _table("secret", ("key",)),
    "CREATE UNIQUE INDEX entries_closed ON entries (closes) WHERE closes IS NOT NULL",
    *(_keep(table, event) for table in ("ledger", "entries") for event in ("UPDATE", "DELETE")),
)
"""What makes the tables. The triggers stop an accident, not a person who means it."""


# SQLite's notes on its locks would go along with a fork: it could never write, and would keep all
# others out while it tries. No lock is held meanwhile. So what an interruption leaves behind stops
# no other thread for ever. The hooks that must not be interrupted are functions of C.


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
    end = monotonic() + tables.WAIT
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


# The marks on a file: its last entry, and up to which entry it was checked.
_LAST: Final = "user.opendp_lite.ledger"
_CHECKED: Final = "user.opendp_lite.checked"
# Sandboxes refuse the calls by EPERM.
_NO_MARKS: Final = (ENOTSUP, ENOSYS, EPERM)
_EXTRA: Final = 3
_MODE: Final = "delete"
_TABLES: Final = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
_INTERRUPTED: Final = (
    "a write was cut short and must be undone first, and you may not write here; open it once with "
    "the right to write, or copy it with its -journal file to where you may"
)
_DAMAGED: Final = "it is damaged; restore a copy and adopt it with a reason"
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
    "SQLITE_CORRUPT": _DAMAGED,
    "UnicodeDecodeError": _DAMAGED,
    # Of a text that is no UTF-8: all that SQLite itself says has a name.
    "OperationalError": _DAMAGED,
    "SQLITE_CONSTRAINT": "the entry does not fit the ones before; open the ledger again",
}


@attrs.define(eq=False)
class _FileTable(tables.EntryTable):
    """The tables of a file."""

    remedy: ClassVar[str] = "Put the newer file back"

    file: place.FilePlace

    def run(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self.connection.execute(sql, values).fetchall()
        return rows

    def begin(self) -> None:
        self.run("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self.file.require_unchanged()
        self.run("COMMIT")
        self.file.require_unchanged()

    def version(self) -> object:
        return self.run("PRAGMA data_version")

    def is_whole(self, *, quickly: bool = False) -> bool:
        # No trigger keeps anybody from adding terms or keys, of which the first are read.
        rows = "SELECT (SELECT count(*) FROM ledger), (SELECT count(*) FROM secret)"
        return quickly or (
            self.run("PRAGMA integrity_check(1)") == [("ok",)] and self.run(rows) == [(1, 1)]
        )


@attrs.frozen
class SqliteFile(tables.Storage):
    """A file on a disk of this machine.

    Attributes:
        path: Without symbolic links.
        wait: Seconds to wait for another process that holds it.
    """

    path: Path
    wait: float

    @property
    def name(self) -> str:
        return self.path.name

    def in_transaction(
        self,
        work: Callable[[tables.EntryTable], tables.Result],
        *,
        writing: bool,
        terms: LedgerTerms | None = None,
        key: str = "",
    ) -> tables.Result:
        """As for every storage.

        The file has a rollback journal and ``synchronous = EXTRA``: when a commit returns, the
        entry and the end of the journal are on the disk. A write-ahead log would need a second file
        of shared memory, and a copy of the ledger without its log would lack its last entries.

        Afterwards the connection rests, for the next transaction of this thread on the file that
        stands at the path then. Whatever was refused or interrupted closes it. No cursor may stand
        in a variable: an interrupted statement would keep the file locked.
        """
        path, connection, rests = self.path, _RESTING.get(get_ident()), False
        if key:
            place.make_empty(path)
        try:
            file = place.FilePlace.of(path)
            place.require_siblings(path, new=key != "")
            if connection is None or not connection.resume(path, self.wait):
                connection = OpenConnection(path, self.wait)
                _set_up(connection, path)
            begin = "BEGIN IMMEDIATE" if writing else "BEGIN"
            connection.execute(begin)
            if connection.execute("PRAGMA journal_mode").fetchone() != (_MODE,):
                # Another program changed it while the connection rested.
                connection.execute("ROLLBACK")
                _set_up(connection, path)
                connection.execute(begin)
            if key:
                _make_tables(connection)
            else:
                _require_tables(connection, path)
            table = _FileTable(connection, place.this_machine(), file.identity, file)
            found = work(table.agree(str(path), terms, key))
            connection.rest()
            rests = True
            return found
        # Python reads the words of SQLite itself as UTF-8, and they may quote what is damaged.
        except (sqlite3.Error, UnicodeDecodeError) as problem:
            raise _refuse(path, problem) from None
        finally:
            if connection is not None and not rests:
                try:
                    connection.close()
                finally:
                    connection.close()
            if key and not rests:
                place.remove_empty(path)

    def name_witness(self, given: str | os.PathLike[str] | None, identity: str) -> str:
        return "" if given is None else str(WitnessFile.beside(self.path, given, identity).path)

    def find_witness(self, terms: LedgerTerms) -> WitnessFile | None:
        return WitnessFile(Path(terms.witness), terms.identity) if terms.witness else None

    def begin_witness(self, terms: LedgerTerms, first: LedgerEntry) -> None:
        """All share one, which began with the ledger."""

    def read_mark(self) -> Sightings:
        """The last entry by the mark on a file; nothing where the file system keeps no marks.

        It finds a file that ``cp`` wrote an older copy over. A copy that brings its own marks
        (``cp --archive``) it does not find: that takes a witness elsewhere.
        """
        file = place.FilePlace.of(self.path).identity
        try:
            found = Sighting.read(_call("getxattr")(self.path, _LAST).decode("ascii", "replace"))
        except OSError as problem:
            if problem.errno not in (ENODATA, *_NO_MARKS):
                raise LedgerError(
                    f"the mark on the ledger {str(self.path)!r} cannot be read: "
                    f"{system_reason(problem)}"
                ) from None
            found = None
        return Sightings("a mark on the file", [] if found is None else [found], file)

    def mark(self, entry: LedgerEntry) -> None:
        """Marks a file with its last entry, where the file system keeps marks.

        A file system may keep less than 4 KB. So a loss of many digits is rounded up.

        Raises:
            LedgerError: If it keeps marks, and not this one: an older mark would stay.
        """
        seen = attrs.evolve(Sighting.of(entry, write_short), counted="")
        try:
            _call("setxattr")(self.path, _LAST, seen.line().encode())
        except OSError as problem:
            refused = problem.errno == EPERM and self.read_mark().seen
            if refused or problem.errno not in _NO_MARKS:
                raise LedgerError(
                    f"the mark on the ledger {str(self.path)!r} cannot be written "
                    f"({system_reason(problem)}); the entry counts, and nothing is released. Make "
                    "room on its disk, or raise your quota there"
                ) from None

    def find_checked(self, table: tables.EntryTable) -> tuple[Checked, str] | None:
        known = self.read_check()
        entry = None if known is None else table.at(known.number)
        if entry is None or known != self.check_now(entry):
            return None
        return table.trust(entry), ""

    def keep_checked(self, terms: LedgerTerms, found: Checked, seen: str) -> None:
        """All share a mark on the file, which a payment sets."""

    def read_check(self) -> CheckMark | None:
        try:
            number, hashed, written = (
                _call("getxattr")(self.path, _CHECKED).decode("ascii").split(" ")
            )
            return CheckMark(int(number), hashed, int(written))
        except (OSError, ValueError):
            return None

    def check_now(self, entry: LedgerEntry) -> CheckMark:
        return CheckMark(entry.number, entry.hash, self.path.stat().st_mtime_ns)

    def write_check(self, entry: LedgerEntry) -> CheckMark | None:
        """As for every storage.

        Clocks of file systems stand still for milliseconds. So the time is set back a little: that
        of a later write is another one, however soon it comes.
        """
        try:
            found = self.path.stat()
            os.utime(self.path, ns=(found.st_atime_ns, found.st_mtime_ns - 1))
            made = self.check_now(entry)
            text = f"{made.number} {made.hash} {made.written}"
            _call("setxattr")(self.path, _CHECKED, text.encode())
        except OSError:
            return None
        return made


def _call(name: str) -> Any:
    """A call that some systems do not have."""
    return getattr(os, name, _refuse_call)


def _refuse_call(*given: object) -> NoReturn:
    raise OSError(ENOTSUP, os.strerror(ENOTSUP))


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


def _make_tables(connection: sqlite3.Connection) -> None:
    """Makes the tables of a new ledger."""
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {tables.LAYOUT}")


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
    if layout != tables.LAYOUT:
        raise LedgerError(
            f"the ledger {name} has the layout {layout} of another version of opendp_lite, and "
            f"this version reads the layout {tables.LAYOUT}; use the version that wrote it"
        )
    if {sql for (sql,) in connection.execute(_TABLES).fetchall()} != set(STATEMENTS):
        raise LedgerError(
            f"the tables of the ledger {name} were changed by hand; restore a copy and adopt it "
            "with a reason"
        )


def _refuse(path: Path, problem: Exception) -> LedgerError:
    """What SQLite refused, in words."""
    code = str(getattr(problem, "sqlite_errorname", type(problem).__name__))
    words = next((text for name, text in _WORDS.items() if code.startswith(name)), code)
    name = repr(str(path))
    return LedgerError(f"the ledger {name} cannot be used, and nothing is released: {words}")
