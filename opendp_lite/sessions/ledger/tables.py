"""The tables of a ledger, wherever they stand, and what is known of it outside of them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from typing import Any, ClassVar, Final, Self, TypeVar

import attrs

from opendp_lite.base.errors import LedgerError
from opendp_lite.sessions.ledger import entries
from opendp_lite.sessions.ledger.witness import CheckMark, Sightings, WitnessFile

Result = TypeVar("Result")

WAIT: Final = 30.0
"""Seconds to wait for another process that holds the ledger."""

ALL: Final = 2**40
"""More entries than any ledger has."""

LAYOUT: Final = 1
"""The version of the tables of a file."""

TERM_COLUMNS: Final = tuple(attrs.fields_dict(entries.LedgerTerms))
"""The columns of the one row of terms."""

_SELECT: Final = f"SELECT {', '.join(entries.COLUMNS)} FROM entries"
_INSERT: Final = f"INSERT INTO entries VALUES ({', '.join('?' * len(entries.COLUMNS))})"
_TERMS: Final = f"SELECT {', '.join(TERM_COLUMNS)} FROM ledger"
_HASHES: Final = "SELECT number, hash FROM entries ORDER BY number"
_BEGIN: Final = f"INSERT INTO ledger VALUES ({', '.join('?' * len(TERM_COLUMNS))})"


@attrs.define(eq=False)
class EntryTable(ABC):
    """What a transaction reads of a ledger, and adds to it. Each entry that it gives was checked.

    Attributes:
        connection: Within a transaction.
        machine: A hash that tells the machine from others.
        place: What tells these tables from a copy of them.
        terms: Of the ledger, once they were read.
    """

    remedy: ClassVar[str]
    """What to do where it lacks entries that were seen."""

    connection: Any
    machine: str
    place: str
    terms: entries.LedgerTerms = attrs.field(init=False)

    def agree(self, name: str, terms: entries.LedgerTerms | None, key: str) -> Self:
        """The same with its terms, which are written first where there is a key.

        Raises:
            LedgerError: If other terms stand there than those that are given.
        """
        if terms is not None and key:
            self.run(_BEGIN, *terms.row())
            self.run("INSERT INTO secret VALUES (?)", key)
        found = entries.LedgerTerms.of_row(next(iter(self.run(_TERMS)), None))
        if terms not in (None, found):
            raise LedgerError(
                f"another ledger stands at {name!r} now; nothing is released. Open it anew if "
                "that is meant"
            )
        self.terms = found
        return self

    @abstractmethod
    def run(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows that a statement gives."""

    @abstractmethod
    def begin(self) -> None:
        """Begins a transaction after a commit, in which nobody else can add an entry."""

    @abstractmethod
    def commit(self) -> None:
        """Makes a transaction last.

        Raises:
            LedgerError: If it may not last, or the tables were replaced while they were in use.
        """

    def clock(self) -> str:
        """The time by one clock for all who add entries."""
        return entries.read_clock()

    @abstractmethod
    def version(self) -> object:
        """Another one after each commit of any other connection, in this process or elsewhere."""

    @abstractmethod
    def is_whole(self, *, quickly: bool = False) -> bool:
        """Whether the storage finds its own structure in order; as far as it is quick to tell."""

    def require_here(self, name: str, head: entries.LedgerEntry) -> None:
        """Refuses tables that are not the ones that their last entry was written to."""
        if (head.machine, head.place) != (self.machine, self.place):
            raise LedgerError(
                f"the ledger {name!r} is a copy or came from another machine; the "
                "original may be in use, and both would spend the same budget. If it is not, adopt "
                "this one with a reason: dp.Ledger.adopt(path, reason), or opendp-lite ledger adopt"
            )

    def add(self, entry: entries.LedgerEntry) -> None:
        """Writes an entry."""
        self.run(_INSERT, *entry.row())

    def all(self, seen: entries.LedgerEntry) -> Callable[[], tuple[entries.LedgerEntry, ...]]:
        """Reads all entries. What it gives holds each to the one before, after the transaction.

        A server ends a transaction that stands still for as long as that may take.

        Raises:
            LedgerError: When they are checked, if one is not right or the one seen is lost.
        """
        rows = self._rows("ORDER BY number")

        def check() -> tuple[entries.LedgerEntry, ...]:
            found = tuple(entries.check_chain(self._entries(rows), self.terms))
            if seen not in found:
                raise self._say_lost(seen)
            return found

        return check

    def find_untold(self, told: Set[str], most: int = ALL) -> list[entries.LedgerEntry]:
        """The first entries, of which at most so many, whose hashes are not told."""
        numbers = [number for number, hashed in self.run(_HASHES) if hashed not in told][:most]
        ends = (numbers[0], numbers[-1]) if numbers else (0, 0)
        rows = self._rows("WHERE number BETWEEN ? AND ? ORDER BY number", *ends)
        return list(self._entries(row for row in rows if row[-1] not in told))

    def first(self) -> entries.LedgerEntry:
        """The first entry."""
        for entry in entries.check_chain(self._read("ORDER BY number LIMIT 1"), self.terms):
            return entry
        raise LedgerError("the ledger is damaged: it has no entries")

    def since(self, seen: entries.LedgerEntry, most: int = ALL) -> list[entries.LedgerEntry]:
        """An entry that was seen, and at most so many after it, each held to the one before.

        Raises:
            LedgerError: As for ``all``.
        """
        return self.follow(seen, most)()

    def follow(
        self, seen: entries.LedgerEntry, most: int = ALL
    ) -> Callable[[], list[entries.LedgerEntry]]:
        """As ``since``; what it gives checks them, after the transaction."""
        where = "WHERE number >= ? ORDER BY number LIMIT ?"
        rows = self._rows(where, seen.number, most + 1)
        # A row that is equal is not read and hashed once more.
        if rows[:1] != [seen.row()]:
            list(self._entries(rows[:1]))
            raise self._say_lost(seen)
        return lambda: [seen, *entries.check_chain(self._entries(rows[1:]), self.terms, seen)]

    def at(self, number: int) -> entries.LedgerEntry | None:
        """The entry of a number, if there is one. Where it stands in the chain is not checked."""
        return next(iter(self.some([number])), None)

    def some(self, numbers: Sequence[int]) -> list[entries.LedgerEntry]:
        """As ``at``, those of several numbers that are there."""
        places = ", ".join("?" * len(numbers))
        return list(self._read(f"WHERE number IN ({places}) ORDER BY number", *numbers))

    def is_closed(self, number: int) -> bool:
        """Whether an entry says that the run of this one ended."""
        return self.run("SELECT 1 FROM entries WHERE closes = ?", number) != []

    def trust(self, head: entries.LedgerEntry) -> entries.Checked:
        """What is asked of the entries up to one, where nobody changed them since a check."""
        paid = "SELECT COUNT(*) FROM entries WHERE number <= ? AND state = ?"
        kept = "WHERE number <= ? AND state IN (?, ?) ORDER BY number"
        return entries.Checked(
            head,
            int(self.run(paid, head.number, entries.EntryState.RESERVED.value)[0][0]),
            tuple(self._read(kept, head.number, *(each.value for each in entries.KEPT))),
        )

    def key(self) -> bytes:
        """The secret of the keyed hashes."""
        for (key,) in self.run("SELECT key FROM secret"):
            with suppress(TypeError, ValueError):
                return bytes.fromhex(key)
        raise LedgerError("the ledger is damaged: it has no key")

    def _read(self, where: str, *values: int | str) -> Iterator[entries.LedgerEntry]:
        return self._entries(self._rows(where, *values))

    def _rows(self, where: str, *values: int | str) -> list[tuple[Any, ...]]:
        return self.run(f"{_SELECT} {where}", *values)

    def _entries(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[entries.LedgerEntry]:
        measure = self.terms.losses
        return (entries.LedgerEntry.of_row(row, measure) for row in rows)

    def _say_lost(self, seen: entries.LedgerEntry) -> LedgerError:
        return LedgerError(
            f"the ledger was rolled back: entry {seen.number}, which this process saw, is no "
            f"longer there. Nothing is released. {self.remedy}"
        )


class Storage(ABC):
    """Where a ledger stands, and what is known of it there outside of its tables.

    Attributes:
        path: What opens it, without any password.
        wait: Seconds to wait for others that hold it.
    """

    __slots__ = ()
    path: Any
    wait: float

    @property
    @abstractmethod
    def name(self) -> str:
        """As people call it."""

    @abstractmethod
    def in_transaction(
        self,
        work: Callable[[EntryTable], Result],
        *,
        writing: bool,
        terms: entries.LedgerTerms | None = None,
        key: str = "",
    ) -> Result:
        """What work gives within a transaction that ends with ``commit``; all else undoes it.

        Args:
            work: Reads the tables, and may add to them.
            writing: Whether it adds. Then nobody else can, from the beginning on.
            terms: Of the ledger that must stand there; None for any.
            key: The secret of a new ledger, whose tables are made for these terms.

        Raises:
            LedgerError: In words, for all that the storage refuses.
        """

    @abstractmethod
    def name_witness(self, given: str | os.PathLike[str] | None, identity: str) -> str:
        """The witness that the terms of a new ledger name; empty for none."""

    @abstractmethod
    def find_witness(self, terms: entries.LedgerTerms) -> WitnessFile | None:
        """The file elsewhere that remembers the last entry."""

    @abstractmethod
    def begin_witness(self, terms: entries.LedgerTerms, first: entries.LedgerEntry) -> None:
        """Begins a witness that each machine has of its own, with the first entry."""

    @abstractmethod
    def mark(self, entry: entries.LedgerEntry) -> None:
        """Marks the storage with the last entry."""

    def read_mark(self) -> Sightings:
        """The last entry by a mark beside the tables; nothing where there is none."""
        return Sightings("", [])

    @abstractmethod
    def find_checked(self, table: EntryTable) -> tuple[entries.Checked, str] | None:
        """Up to which entry of the tables all was checked before, if something says so.

        Returns:
            What is known of these entries, and the hash of what the witness had seen last by then;
            empty where it has seen that entry.
        """

    @abstractmethod
    def keep_checked(self, terms: entries.LedgerTerms, found: entries.Checked, seen: str) -> None:
        """Lets ``find_checked`` find it, where this machine remembers such things by itself."""

    def read_check(self) -> CheckMark | None:
        """Up to which entry all was checked; None where nothing says so."""
        return None

    def check_now(self, entry: entries.LedgerEntry) -> CheckMark | None:
        """As the storage is now, all of it checked up to an entry."""
        return None

    def write_check(self, entry: entries.LedgerEntry) -> CheckMark | None:
        """Says for others that all was checked up to an entry; None where it cannot be said."""
        return None
