"""One entry of a ledger: a fact that is never changed."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from hashlib import sha256
from typing import Any, Final

import attrs

from opendp_lite.base.errors import LedgerError
from opendp_lite.combinators.accounts import AnySpace
from opendp_lite.measures.budgets import Loss, numbers_of
from opendp_lite.measures.measure import AnyMeasure
from opendp_lite.metrics.distances import RowMetric, SymmetricIdDistance
from opendp_lite.sessions.text import add_price, find_measure, read_loss, write_loss


class EntryState(Enum):
    """What an entry says."""

    CREATED = "created"
    """The ledger begins, with its budget."""
    RESERVED = "reserved"
    """A price was paid, before the data was read. It counts for ever."""
    RELEASED = "released"
    """The run that an earlier entry paid for came to its end."""
    RAISED = "raised"
    """The budget was raised, for a reason."""
    ADOPTED = "adopted"
    """The file was copied, moved or rolled back, and is used on, for a reason."""
    ADMITTED = "admitted"
    """A content of the data got a name."""


@attrs.frozen
class LedgerEntry:
    """One entry of a ledger.

    Attributes:
        number: Its place, from 1.
        state: What it says.
        price: The loss that it adds.
        total: The loss of this and all earlier entries, exactly.
        budget: The budget from here on.
        unit: Whom one unit of privacy protects, in words.
        scope: The name of the content of the data; empty where none was given.
        asked: The pipeline that was paid for, as JSON.
        note: Words of the person who asked, or the reason for a change.
        closes: The number of the entry whose run ended.
        content: The keyed hash of a content that gets a name here.
        time: In UTC, for the audit only: nothing is decided by it.
        version: Of the package.
        machine: A hash that tells machines apart.
        place: Which file this was: its number in its file system, and its time of birth.
        previous: The hash of the entry before; of the ledger's terms for the first.
        hash: Of all the above.
    """

    number: int
    state: EntryState
    price: Loss
    total: Loss
    budget: Loss
    unit: str
    scope: str
    asked: str
    note: str
    closes: int | None
    content: str
    time: str
    version: str
    machine: str
    place: str
    previous: str
    hash: str = ""

    @classmethod
    def of_row(cls, row: Sequence[Any], measure: AnyMeasure) -> LedgerEntry:
        """The entry that a row of the file holds, and whose hash is that of its cells.

        Raises:
            LedgerError: If a cell was changed.
        """
        held = dict(zip(COLUMNS, row, strict=True))
        texts = (held[name] for name in COLUMNS if name not in ("number", "closes"))
        if not all(isinstance(each, str) for each in texts) or held["state"] not in _STATES:
            raise LedgerError(f"the ledger is damaged: entry {held['number']} cannot be read")
        if digest_of(row[:-1]) != held["hash"]:
            raise LedgerError(
                f"the ledger is damaged or was changed by hand: entry {held['number']} has the "
                "hash of another. Restore a copy and adopt it with a reason"
            )
        losses = {name: read_loss(held[name], measure) for name in _LOSSES}
        return cls(**{**held, **losses, "state": EntryState(held["state"])})

    def next(self, state: EntryState, measure: AnyMeasure, **cells: Any) -> LedgerEntry:
        """The entry after this one, not yet sealed.

        Args:
            state: What it says.
            measure: Adds its price to the total.
            cells: What it holds; all else is as here, or empty.
        """
        price = cells.pop("price", measure.zero())
        fresh = {"scope": "", "asked": "", "note": "", "closes": None, "content": "", **cells}
        return attrs.evolve(
            self,
            number=self.number + 1,
            state=state,
            price=price,
            total=add_price(measure, self.total, price),
            previous=self.hash,
            hash="",
            **fresh,
        )

    def row(self) -> tuple[object, ...]:
        """As it stands in the file: text, apart from the numbers of entries."""
        losses = {name: write_loss(getattr(self, name)) for name in _LOSSES}
        held = {**{name: getattr(self, name) for name in COLUMNS}, **losses}
        return tuple({**held, "state": self.state.value}.values())

    def seal(self) -> LedgerEntry:
        """The same with its hash."""
        return attrs.evolve(self, hash=digest_of(self.row()[:-1]))

    def as_dict(self) -> dict[str, object]:
        """Its row by column."""
        return dict(zip(COLUMNS, self.row(), strict=True))


def digest_of(cells: Sequence[object]) -> str:
    """SHA-256, in hexadecimal, of a JSON list without spaces."""
    text = json.dumps(list(cells), separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


COLUMNS: Final = tuple(attrs.fields_dict(LedgerEntry))
"""The columns of the file, in their order."""

_LOSSES: Final = ("price", "total", "budget")
_STATES: Final = frozenset(state.value for state in EntryState)


@attrs.frozen
class LedgerTerms:
    """What a ledger is for.

    Attributes:
        identity: A random name, which tells ledgers apart.
        measure: The name of the measure of its losses.
        unit: Whom one unit of privacy protects, in words. It is a row if they begin with "row",
            and else somebody who may have several rows.
        data: What the budget is for, in words.
        witness: The file elsewhere that remembers the last entry; empty where there is none.
        created: When, in UTC.
    """

    identity: str
    measure: str
    unit: str
    data: str
    witness: str
    created: str

    @classmethod
    def of_row(cls, row: Sequence[Any] | None) -> LedgerTerms:
        """The terms that a row of the file holds."""
        if row is None or not all(isinstance(each, str) for each in row):
            raise LedgerError("the ledger is damaged: its terms cannot be read")
        return cls(*row)

    def row(self) -> tuple[str, ...]:
        """As they stand in the file."""
        return attrs.astuple(self)

    def digest(self) -> str:
        """Where the chain of the entries begins."""
        return digest_of(self.row())

    @property
    def protected(self) -> str:
        """Whom the budget protects."""
        return f"any one {self.unit}" + ("" if self.is_row else ", with all rows")

    @property
    def is_row(self) -> bool:
        """Whether the unit is a row."""
        return re.match(r"rows?\b", self.unit, re.IGNORECASE) is not None

    def hold_for(self, space: AnySpace | None) -> bool:
        """Whether a loss for one unit of a space is one for the unit of the ledger.

        Args:
            space: Of a session; None where each query has its own, of rows.
        """
        if space is None:
            return self.is_row
        metric = space.metric
        if not isinstance(metric, RowMetric | SymmetricIdDistance):
            return True
        # The loss for a person is none for a row: one row more may push another one out of the
        # rows that are kept, and of two rows it may be twice the loss of one.
        if isinstance(metric, RowMetric) is not self.is_row:
            return False
        return metric.within(metric.distance(1), space.unit)

    @property
    def losses(self) -> AnyMeasure:
        """The measure."""
        return find_measure(self.measure)


_MAY_PAY = (EntryState.RESERVED, EntryState.ADOPTED)
_MAY_RAISE = (EntryState.CREATED, EntryState.RAISED)
_MAY_MOVE = (EntryState.CREATED, EntryState.ADOPTED)


def check_chain(
    entries: Iterable[LedgerEntry], terms: LedgerTerms, before: LedgerEntry | None = None
) -> Iterator[LedgerEntry]:
    """The entries after ``before``, each of them checked.

    An entry follows the number and the hash of the one before. Its total is that of the one before
    with its price, which is added up anew.

    Raises:
        LedgerError: At the first entry that does not follow.
    """
    measure, earlier = terms.losses, before
    for entry in entries:
        number = earlier.number + 1 if earlier else 1
        if entry.number != number:
            raise _broken(number, "is missing")
        if entry.previous != (earlier.hash if earlier else terms.digest()):
            raise _broken(number, "does not follow the one before: the chain of hashes is broken")
        if not _follows(entry, earlier, measure):
            raise _broken(number, "does not add up with the one before")
        yield entry
        earlier = entry


def _follows(entry: LedgerEntry, earlier: LedgerEntry | None, measure: AnyMeasure) -> bool:
    if earlier is None:
        return entry.state is EntryState.CREATED and numbers_of(entry.total) == numbers_of(
            measure.zero()
        )
    state = entry.state
    paid = entry.price if state in _MAY_PAY else measure.zero()
    return (
        state is not EntryState.CREATED
        and entry.price == paid
        and entry.total == add_price(measure, earlier.total, entry.price)
        and (state in _MAY_RAISE or entry.budget == earlier.budget)
        and measure.within(earlier.budget, entry.budget)
        and (state in _MAY_MOVE or _where(entry) == _where(earlier))
        and (state is EntryState.ADOPTED or within(measure, entry))
        and (entry.closes is not None) == (state is EntryState.RELEASED)
        and entry.unit == earlier.unit
    )


def within(measure: AnyMeasure, entry: LedgerEntry) -> bool:
    """Whether an entry stays within its budget, or pays nothing."""
    pays = numbers_of(entry.price) != numbers_of(measure.zero())
    return not pays or bool(measure.within(entry.total, entry.budget))


def _where(entry: LedgerEntry) -> tuple[str, str]:
    return entry.machine, entry.place


def _broken(number: int, words: str) -> LedgerError:
    return LedgerError(
        f"the ledger is damaged or was changed by hand: entry {number} {words}. Nothing is "
        "released. Restore a copy and adopt it with a reason"
    )


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

    def begin(self, key: str) -> None:
        """Writes the terms and the key of a new ledger."""
        self.connection.execute(_BEGIN, self.terms.row())
        self.connection.execute("INSERT INTO secret VALUES (?)", (key,))

    def add(self, entry: LedgerEntry) -> None:
        """Writes an entry."""
        self.connection.execute(_INSERT, entry.row())

    def all(self) -> list[LedgerEntry]:
        """All entries, each held to the one before."""
        return list(check_chain(self._read("ORDER BY number"), self.terms))

    def first(self) -> list[LedgerEntry]:
        """The first entry, if there is one."""
        return list(check_chain(self._read("ORDER BY number LIMIT 1"), self.terms))

    def since(self, seen: LedgerEntry) -> list[LedgerEntry]:
        """An entry as it is now, and those after it, each held to the one before."""
        found = self._read("WHERE number >= ? ORDER BY number", seen.number)
        return [seen, *check_chain(found, self.terms, seen)] if next(found, None) == seen else []

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
