"""A ledger in a PostgreSQL database, which analysts on their own machines spend from."""

from __future__ import annotations

import atexit
import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import get_ident
from typing import Any, ClassVar, Final, TypeGuard
from urllib.parse import unquote

import attrs

from opendp_lite.base.errors import LedgerError, ParameterError, find_library, system_reason
from opendp_lite.base.postgresql import ESCAPES, URL, connect
from opendp_lite.base.version import find_version
from opendp_lite.sessions.ledger.entries import Checked, LedgerEntry, LedgerTerms, digest_of
from opendp_lite.sessions.ledger.tables import EntryTable, Result, Storage
from opendp_lite.sessions.ledger.witness import WitnessFile

# Also what is none but was meant for one: any may hold a password, and is not repeated. A letter
# before a colon alone is a drive.
_ANY_URL: Final = re.compile(r"\s*[a-zA-Z][\w+.-]+:(/|.*@)|\s*postgres(ql)?:|.*\bpassword\s*=")
# As the tables in it have it by default.
_LAYOUT: Final = 2
_SCHEMA: Final = Path(__file__).with_name("postgres.sql")
# Nothing that a role, a database or a URL sets decides how a payment is made. Names are looked up
# in the catalog first: no object of anybody's own takes the place of one that is meant.
_BEGIN: Final = """BEGIN ISOLATION LEVEL {level};
SET LOCAL search_path = pg_catalog, opendp_lite, pg_temp;
SET LOCAL synchronous_commit = on;
SET LOCAL client_min_messages = warning;
SET LOCAL standard_conforming_strings = on;
SET LOCAL lock_timeout = {wait};
SET LOCAL idle_in_transaction_session_timeout = {wait}"""
_READING: Final = "REPEATABLE READ READ ONLY"
# Each statement sees what was committed before it, and ``_HOLD`` comes first.
_WRITING: Final = "READ COMMITTED READ WRITE"
_HOLD: Final = "; SELECT opendp_lite.hold()"
# Why this server cannot keep a ledger; its time; which machine and which tables it has. A server
# that takes the place of another goes on in a timeline of its own, by which its files are named.
_STATE: Final = f"""SELECT CASE
  WHEN current_setting('server_version_num')::integer < 130000 THEN 'it is older than version 13'
  WHEN current_setting('server_encoding') <> 'UTF8' THEN 'its database is not encoded in UTF8'
  WHEN 'off' IN (current_setting('fsync'), current_setting('full_page_writes'))
    THEN 'fsync or full_page_writes is off, so it does not wait for its disk'
  WHEN (SELECT max(layout) FROM opendp_lite.ledger) <> {_LAYOUT}
    THEN 'its tables are of another version of opendp_lite'
  END, to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
  system_identifier::text,
  (SELECT oid::text FROM pg_database WHERE datname = current_database())
    || ' ' || left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM pg_control_system()"""
_BODIES: Final = "SELECT prosrc FROM pg_proc WHERE pronamespace = 'opendp_lite'::regnamespace"
_TRIGGERS: Final = """SELECT count(*) FROM pg_trigger WHERE tgenabled IN ('O', 'A')
AND tgrelid IN ('opendp_lite.entries'::regclass, 'opendp_lite.ledger'::regclass)"""
_IDENTITY: Final = re.compile("[0-9a-f]{32}")
_NONE: Final = "there is no ledger in this database; create one, or check the name of the database"
_REPLICA: Final = "it is a replica, which takes no payments; name the server that it follows"
# What to do, by the beginning of a SQLSTATE; the first that fits.
_WORDS: Final = {
    "55P03": "another session holds it for too long; try again, or ask its owner to end that one",
    "57014": "it took longer than the server allows, or somebody cancelled it; try again",
    "25P03": "this process stood still within a payment, and the server ended it; try again",
    "0A000": _REPLICA,
    "25006": _REPLICA,
    "55000": _REPLICA,
    "42501": "you have no right to; docs/team.md has the lines by which its owner gives it",
    "3F000": _NONE,
    "42P01": _NONE,
    "42P06": "there is a ledger in this database already; open it, or use another database",
    "23505": "another entry came first; try again",
    "53100": "the disk of the server is full; make room",
    "53": "the server has no room for one more connection; try again later",
    "57P": "the server stops or starts; try again",
    "58": "the disk of the server failed; ask who keeps it",
    "XX": "its data is damaged; ask who keeps the server",
}


def is_url(path: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether a path of a ledger is a URL, of whichever kind: any may hold a password."""
    return isinstance(path, str | os.PathLike) and _ANY_URL.match(str(path)) is not None


# Passwords by the URL that they were taken out of: they are in no handle, so that none shows or
# pickles one.
_PASSWORDS: Final[dict[str, str]] = {}
# Connections that nobody uses, by process and URL: a fork has none of its own yet, and closes none.
_RESTING: Final[dict[tuple[int, str], list[Any]]] = {}


@atexit.register
def close_resting() -> None:
    """Closes the connections of this process that nobody uses."""
    for (process, _), resting in _RESTING.items():
        while resting and process == os.getpid():
            resting.pop().close()


@attrs.define(eq=False)
class _ServerTable(EntryTable):
    """The tables of a database."""

    remedy: ClassVar[str] = "Have its owner bring back what the server had"

    time: str
    start: str
    process: int

    def run(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        cursor = self._execute(sql.replace("?", "%s"), values)
        return cursor.fetchall() if cursor.description else []

    def _execute(self, sql: str, values: Sequence[object] | None = None) -> Any:
        """Runs a statement, in its own process alone: a fork would speak on the same line."""
        if os.getpid() != self.process:
            raise LedgerError("the process was forked within an entry; the fork releases nothing")
        return self.connection.execute(sql, values)

    def begin(self) -> None:
        self._execute(self.start)

    def commit(self) -> None:
        """Makes a transaction last.

        Raises:
            LedgerError: If the server did not wait for its disk, or for a replica that it ought to
                wait for: it warns of that alone.
        """
        warnings: list[object] = []
        self.connection.add_notice_handler(warnings.append)
        ended = self._execute("COMMIT").statusmessage
        self.connection.remove_notice_handler(warnings.append)
        if ended != "COMMIT" or warnings:
            raise LedgerError(
                "the server did not say that the entry is on its disk and on those of its "
                "replicas; the entry may count, and nothing is released. Ask who keeps the server"
            )

    def clock(self) -> str:
        return self.time

    def version(self) -> object:
        return None

    def is_whole(self, *, quickly: bool = False) -> bool:
        text = _SCHEMA.read_text("utf-8")
        bodies = [body for (body,) in self.run(_BODIES)]
        return sorted(bodies) == sorted(text.split("$$")[1::2]) and self.run(_TRIGGERS) == [
            (text.count("CREATE TRIGGER"),)
        ]


@attrs.frozen
class PostgresDatabase(Storage):
    """A database on a server, whose tables analysts may read and add to.

    The server checks each entry, and a client checks what the server holds: see ``postgres.sql``.

    Attributes:
        path: Its URL without the password.
        wait: Seconds to wait for others that hold it, and for the server.
    """

    path: str
    wait: float

    @classmethod
    def of(cls, url: str | os.PathLike[str], wait: float) -> PostgresDatabase:
        """The database that a URL names.

        Raises:
            ParameterError: If it is none. The URL is not repeated: it may hold a password.
        """
        parts = URL.fullmatch(str(url))
        if parts is None or "password" in unquote(parts[4]).lower():
            raise ParameterError(
                "the URL of a ledger is postgresql://user@server/database. Leave the password out, "
                f"and keep it in ~/.pgpass; or write it behind the user, with {ESCAPES}"
            )
        scheme, user, password, rest = parts.groups()
        found = cls(f"{scheme}{'' if user is None else f'{user}@'}{rest}", wait)
        if password and _PASSWORDS.get(found.path) != unquote(password):
            _PASSWORDS[found.path] = unquote(password)
            # A connection that another password opened would hide that this one is wrong.
            for connection in _RESTING.pop((os.getpid(), found.path), []):
                connection.close()
        return found

    @property
    def name(self) -> str:
        return self.path

    def in_transaction(
        self,
        work: Callable[[EntryTable], Result],
        *,
        writing: bool,
        terms: LedgerTerms | None = None,
        key: str = "",
    ) -> Result:
        """As for every storage. What was refused or interrupted closes the connection."""
        needs = "a ledger on a server needs psycopg"
        library = find_library("psycopg", needs, "postgresql", LedgerError)
        connection, rests = None, False
        process = os.getpid()
        start = _BEGIN.format(
            level=_WRITING if writing else _READING, wait=max(1, int(self.wait * 1000))
        )
        start += _HOLD if writing and not key else ""
        try:
            connection = self._begin(library, start)
            if key:
                connection.execute(_SCHEMA.read_text("utf-8"))
            trouble, time, system, place = connection.execute(_STATE).fetchone()
            if trouble:
                raise LedgerError(f"the server of {self.path!r} cannot keep a ledger: {trouble}")
            machine = sha256(f"opendp_lite ledger {system}".encode()).hexdigest()[:16]
            table = _ServerTable(connection, machine, place, time, start, process)
            found = work(table.agree(self.path, terms, key))
            if connection.pgconn.transaction_status:
                table.run("ROLLBACK")
            _RESTING.setdefault((process, self.path), []).append(connection)
            rests = True
            return found
        except library.Error as problem:
            raise self._refuse(problem) from None
        finally:
            if connection is not None and not rests and os.getpid() == process:
                connection.close()

    def _begin(self, library: Any, start: str) -> Any:
        """A connection within a transaction: one that rests, unless the server ended it."""
        try:
            connection, rested = _RESTING.get((os.getpid(), self.path), []).pop(), True
        except IndexError:
            connection = connect(library, self.path, self.wait, _PASSWORDS.get(self.path))
            rested = False
        try:
            connection.execute(start)
        except BaseException as problem:
            ended = connection.closed or (getattr(problem, "sqlstate", None) or "")[:3] == "57P"
            connection.close()
            if rested and ended:
                return self._begin(library, start)
            raise
        return connection

    def _refuse(self, problem: Any) -> LedgerError:
        """What the server refused, in words, or why it does not answer."""
        state, text = problem.sqlstate or "", " ".join(str(problem).split())
        if state.startswith("ODP"):
            words = problem.diag.message_primary
        elif state:
            words = next((text for name, text in _WORDS.items() if state.startswith(name)), state)
        elif "authentication failed" in text or "no password supplied" in text:
            words = "the server refuses the password, or there is none: see docs/team.md"
        else:
            secret = _PASSWORDS.get(self.path)
            reason = "" if secret and secret in text else f" ({text})"
            words = (
                f"the server cannot be reached, or the connection was lost{reason}. An entry that "
                "it wrote by then counts"
            )
        return LedgerError(
            f"the ledger {self.path!r} cannot be used, and nothing is released: {words}"
        )

    def name_witness(self, given: str | os.PathLike[str] | None, identity: str) -> str:
        if given is not None:
            raise ParameterError(
                "leave out witness: each machine that uses a ledger on a server keeps one of its "
                "own, in ~/.local/state/opendp_lite"
            )
        return ""

    def find_witness(self, terms: LedgerTerms) -> WitnessFile:
        if not _IDENTITY.fullmatch(terms.identity):
            raise LedgerError("the ledger is damaged: its identity cannot be read")
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        folder = Path(state) / "opendp_lite"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise LedgerError(
                f"the witness cannot stand in {str(folder)!r} ({system_reason(problem)}); set "
                "XDG_STATE_HOME to a folder that you may write"
            ) from None
        return WitnessFile(folder / f"{terms.identity}.witness", terms.identity)

    def begin_witness(self, terms: LedgerTerms, first: LedgerEntry) -> None:
        witness = self.find_witness(terms)
        if not witness.last().seen:
            witness.append([first])

    def mark(self, entry: LedgerEntry) -> None:
        """The witness takes its place."""

    def find_checked(self, table: EntryTable) -> tuple[Checked, str] | None:
        """By a file beside the witness: the server might say anything of itself.

        The hash of an entry covers its own cells alone for who does not check those before it. So
        the file holds what is asked of these: the terms, the number of releases, and the hashes of
        all that is kept. A file of another version of the package counts for nothing.
        """
        try:
            *held, sealed = json.loads(self._find_mark(table.terms).read_text("ascii"))
            if sealed != digest_of(held) or held[:2] != [find_version(), table.terms.digest()]:
                return None
            seen, number, hashed, paid, kept = held[2:]
            wanted = {**dict(kept), number: hashed}
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        found = {each.number: each for each in table.some(sorted(wanted))}
        if {each.number: each.hash for each in found.values()} != wanted:
            return None
        return Checked(found[number], paid, tuple(found[each] for each, _ in kept)), seen

    def keep_checked(self, terms: LedgerTerms, found: Checked, seen: str) -> None:
        """A file that is lost or cut short costs a check of all entries."""
        kept = [[each.number, each.hash] for each in found.kept]
        head = found.head
        held = [find_version(), terms.digest(), seen, head.number, head.hash, found.paid, kept]
        path = self._find_mark(terms)
        fresh = path.with_suffix(f".{os.getpid()}-{get_ident()}")
        with suppress(OSError):
            fresh.write_text(json.dumps([*held, digest_of(held)]), "ascii")
            fresh.replace(path)
        with suppress(OSError):
            fresh.unlink(missing_ok=True)

    def _find_mark(self, terms: LedgerTerms) -> Path:
        return self.find_witness(terms).path.with_suffix(".checked")
