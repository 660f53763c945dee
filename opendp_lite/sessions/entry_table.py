"""The entries in a ledger's file, within one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final

import attrs

from opendp_lite.errors import LedgerError
from opendp_lite.measures.measure import Measure
from opendp_lite.sessions.ledger_chain import linked
from opendp_lite.sessions.ledger_entry import COLUMNS, EntryState, LedgerEntry
from opendp_lite.sessions.ledger_schema import TERM_COLUMNS
from opendp_lite.sessions.ledger_terms import LedgerTerms

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
    def measure(self) -> Measure[Any]:
        """Of its losses."""
        return self.terms.losses

    def begin(self, key: str) -> None:
        """Writes the terms and the key of a new ledger."""
        self.connection.execute(_BEGIN, self.terms.row())
        self.connection.execute("INSERT INTO secret VALUES (?)", (key,))

    def add(self, entry: LedgerEntry) -> None:
        """Writes an entry."""
        self.connection.execute(_INSERT, entry.row())

    def all(self) -> list[LedgerEntry]:
        """All entries, each held to the one before."""
        return list(linked(self._read("ORDER BY number"), self.terms))

    def first(self) -> list[LedgerEntry]:
        """The first entry, if there is one."""
        return list(linked(self._read("ORDER BY number LIMIT 1"), self.terms))

    def since(self, seen: LedgerEntry) -> list[LedgerEntry]:
        """An entry as it is now, and those after it, each held to the one before."""
        found = self._read("WHERE number >= ? ORDER BY number", seen.number)
        return [seen, *linked(found, self.terms, seen)] if next(found, None) == seen else []

    def at(self, number: int) -> LedgerEntry | None:
        """The entry of a number, if there is one."""
        return next(self._read("WHERE number = ?", number), None)

    def is_closed(self, number: int) -> bool:
        """Whether an entry says that the run of this one ended."""
        query = "SELECT 1 FROM entries WHERE closes = ?"
        return self.connection.execute(query, (number,)).fetchone() is not None

    def scopes(self) -> dict[str, str]:
        """The keyed hash of each content by its name."""
        query = "SELECT scope, content FROM entries WHERE state = ? ORDER BY number"
        return dict(self.connection.execute(query, (EntryState.ADMITTED.value,)).fetchall())

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

    def _read(self, where: str, *values: int) -> Iterator[LedgerEntry]:
        rows = self.connection.execute(f"{_SELECT} {where}", values).fetchall()
        return (LedgerEntry.of_row(row, self.measure) for row in rows)
