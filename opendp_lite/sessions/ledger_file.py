"""The file of a ledger: entries that are only added to, each on the disk before data is read."""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import attrs

from opendp_lite.errors import BudgetExceeded, LedgerError, ParameterError
from opendp_lite.measures.exact_loss import Loss, checked_loss, like, numbers_of
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.privacy_budget import PrivacyBudget, require_budget
from opendp_lite.samplers.entropy import SecureEntropy
from opendp_lite.sessions.checked_text import checked_line, checked_text, checked_words
from opendp_lite.sessions.file_mark import mark, marked
from opendp_lite.sessions.file_place import FilePlace, resolved
from opendp_lite.sessions.installed import installed
from opendp_lite.sessions.ledger_chain import linked
from opendp_lite.sessions.ledger_connection import (
    WAIT,
    commit,
    make_tables,
    opened,
    transaction,
)
from opendp_lite.sessions.ledger_entry import COLUMNS, EntryState, LedgerEntry
from opendp_lite.sessions.ledger_schema import TERM_COLUMNS
from opendp_lite.sessions.ledger_terms import LedgerTerms
from opendp_lite.sessions.ledger_view import LedgerView
from opendp_lite.sessions.loss_text import booked, checked_budget, name_of
from opendp_lite.sessions.sightings import Sightings
from opendp_lite.sessions.this_machine import this_machine
from opendp_lite.sessions.witness_file import WitnessFile

_SELECT: Final = f"SELECT {', '.join(COLUMNS)} FROM entries"
_INSERT: Final = f"INSERT INTO entries VALUES ({', '.join('?' * len(COLUMNS))})"
_TERMS: Final = f"SELECT {', '.join(TERM_COLUMNS)} FROM ledger"
_REMEMBERED: Final = 64
"""Heads that a handle remembers: one at least for each thread that reserves at once."""
_KEY_WORDS: Final = 4
_NAME_WORDS: Final = 2
_MODE: Final = 0o600
_THERE: Final = "there already; open it, or give the new ledger another name"


@attrs.frozen(eq=False, repr=False)
class _Look:
    """A transaction that reads, and the last entry that the handle had seen before it."""

    connection: sqlite3.Connection
    seen: LedgerEntry


@attrs.frozen(eq=False, repr=False)
class _Write:
    """A transaction that adds to the ledger, and the entry that it adds to."""

    connection: sqlite3.Connection
    place: FilePlace
    process: int
    head: LedgerEntry


@attrs.frozen(eq=False)
class LedgerFile:
    """A budget on disk that several processes spend from, and that never under-counts.

    A price is on the disk before its data is read, and it stays there whatever happens after. So
    a process that is killed, a disk that is full or fails, or an answer that nobody saw can cost
    budget, and none of them gives any back.

    A file cannot do everything. This is not protected:

    - A person who may write the file can change it and compute every hash anew, or delete it and
      create another. The identity, the number and the hash of the last entry stand in statements
      and in the witness, where such a change shows.
    - A copy of the file is refused, here and on another machine, until ``adopt`` says why it is
      used. The original goes on, and neither knows what the other spends.
    - An older copy that is written over the file in its place is found by a witness, and by
      handles that were open. On Linux a mark on the file finds most such copies, and not those that
      bring an older mark along (``cp --archive``).
    - Do not open the file in another way in a process that uses it. On POSIX systems closing any
      handle of a file drops the locks of the process on it.

    Attributes:
        path: Without symbolic links.
        terms: What it is for.
        measure: Of its losses.
        wait: Seconds to wait for another process that holds it.
    """

    path: Path
    terms: LedgerTerms
    measure: Measure[Any] = attrs.field(repr=False)
    wait: float = attrs.field(default=WAIT, repr=False)
    _heads: deque[LedgerEntry] = attrs.field(
        factory=partial(deque, maxlen=_REMEMBERED), init=False, repr=False
    )

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        budget: PrivacyBudget[Any],
        *,
        unit: str,
        data: str = "",
        witness: str | os.PathLike[str] | None = None,
        wait: float = WAIT,
    ) -> LedgerFile:
        """Makes the file of a new ledger, which only its owner may read.

        Args:
            path: Where nothing stands yet, on a disk of this machine.
            budget: The most that all entries may cost together, such as ``dp.rho(1)``.
            unit: Whom one unit of privacy protects, such as "person".
            data: What the budget is for, in words.
            witness: A file elsewhere that remembers each entry, to tell when the ledger is rolled
                back. It belongs on another disk.
            wait: Seconds to wait for another process that holds the ledger.

        Raises:
            LedgerError: If it cannot stand there.
            ParameterError: If the budget is none, or a text is no line of text.
        """
        require_budget(budget, "a ledger")
        loss = checked_budget(budget.loss, budget.measure)
        identity = _random(_NAME_WORDS)
        watched = "" if witness is None else str(WitnessFile.resolved(witness, identity).path)
        terms = LedgerTerms(
            identity=identity,
            measure=name_of(budget.measure),
            unit=checked_words(unit, "unit"),
            data=checked_line(data, "data"),
            witness=watched,
            created=_now(),
        )
        target = resolved(path)
        if watched == str(target):
            raise LedgerError("the witness is a file of its own, elsewhere; name another")
        _make_empty(target)
        found = cls(target, terms, budget.measure, wait)
        try:
            found._begin(loss)
        except BaseException:
            _remove_empty(target)
            raise
        return found

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, wait: float = WAIT) -> LedgerFile:
        """Opens a ledger, once every entry, its place and its witness were checked.

        Raises:
            LedgerError: If there is none, or it was changed, copied, moved or rolled back.
        """
        found = cls._found(path, wait)
        found.verify()
        return found

    @classmethod
    def look(cls, path: str | os.PathLike[str], *, wait: float = WAIT) -> LedgerView:
        """A ledger as it is now, wherever it stands: a copy can be read, and says that it is one.

        Raises:
            LedgerError: If there is none, or its entries were changed.
        """
        found = cls._found(path, wait)
        view = found.view()
        try:
            found.verify()
        except LedgerError as problem:
            return attrs.evolve(view, trouble=str(problem))
        return view

    @classmethod
    def adopt(cls, path: str | os.PathLike[str], reason: str, *, wait: float = WAIT) -> LedgerFile:
        """Opens a ledger that was copied, moved or rolled back, with an entry that says why.

        What its witness saw spent, and the file does not hold, is counted as spent. Without a
        witness only you know whether the original is used on; then the budget is spent twice.

        Args:
            path: The file.
            reason: Shown for ever.
            wait: As for ``open``.

        Raises:
            LedgerError: If it is no ledger, or its entries were changed.
        """
        words = checked_words(reason, "reason")
        found = cls._found(path, wait)
        measure, seen = found.measure, found._sightings()
        entries = found.view().entries
        missed = [numbers_of(each.missed(entries, measure)) for each in seen]
        price = like(measure, tuple(map(max, zip(*missed, strict=True))))
        with found._writing(adopting=True) as write:
            entry = found._following(write.head, EntryState.ADOPTED, price=price, note=words)
            here = write.place.identity
            found._add(write, attrs.evolve(entry, machine=this_machine(), place=here))
        return found

    @classmethod
    def _found(cls, path: str | os.PathLike[str], wait: float) -> LedgerFile:
        """A ledger of which nothing but the first entry was read."""
        target = resolved(path)
        FilePlace.of(target)
        with transaction(target, writing=False, wait=wait) as connection:
            terms = LedgerTerms.of_row(connection.execute(_TERMS).fetchone())
            found = cls(target, terms, terms.losses, wait)
            first = connection.execute(f"{_SELECT} ORDER BY number LIMIT 1").fetchall()
            found._heads.extend(found._linked(first))
        if not found._heads:
            raise LedgerError("the ledger is damaged: it has no entries")
        return found

    @property
    def witness(self) -> WitnessFile | None:
        """The file elsewhere that remembers the last entry."""
        if not self.terms.witness:
            return None
        return WitnessFile(Path(self.terms.witness), self.terms.identity)

    @property
    def head(self) -> LedgerEntry:
        """The last entry as the file has it now."""
        with self._reading() as look:
            head = self._caught_up(look)
        self._heads.append(head)
        return head

    @property
    def spent(self) -> Loss:
        """The loss of all entries, exactly."""
        return self.head.total

    @property
    def budget(self) -> PrivacyBudget[Any]:
        """The most that all entries may cost together."""
        return PrivacyBudget(self.measure, self.head.budget)

    @property
    def left(self) -> Loss:
        """What may still be spent, exactly."""
        head = self.head
        return self.measure.left(head.budget, head.total)

    def reserve(self, price: Loss, *, asked: str, note: str = "", scope: str = "") -> LedgerEntry:
        """Pays for a release. When this returns, the entry is on the disk: only then read data.

        Args:
            price: An exact loss of the ledger's measure.
            asked: The pipeline as JSON.
            note: What the release is for.
            scope: The name that ``admit`` gave to the content of the data.

        Returns:
            The entry. ``finish`` takes its number.

        Raises:
            BudgetExceeded: If the rest of the budget does not pay for it. This costs nothing.
            LedgerError: If the file cannot be written, was replaced or was changed. If the entry
                was written by then, it counts.
        """
        loss = checked_loss(price, self.measure, "the price of a release")
        text, words = checked_text(asked, "asked"), checked_line(note, "note")
        with self._writing() as write:
            head = write.head
            if scope and scope not in self._scopes(write.connection):
                raise LedgerError(
                    "no content of the data has this name in the ledger; admit it first"
                )
            paid = booked(loss, head.total, head.budget, self.measure)
            entry = self._following(
                head, EntryState.RESERVED, price=paid, asked=text, note=words, scope=scope
            )
            if not self.measure.within(entry.total, entry.budget):
                raise BudgetExceeded(self._too_dear(loss, head))
            return self._add(write, entry)

    def finish(self, number: int) -> LedgerEntry:
        """Notes that the run of a reserved entry came to its end. It changes no total.

        Args:
            number: Of the entry.

        Raises:
            LedgerError: If it was noted before, or the file cannot be written.
        """
        with self._writing() as write:
            row = write.connection.execute(f"{_SELECT} WHERE number = ?", (number,)).fetchone()
            paid = None if row is None else LedgerEntry.of_row(row, self.measure)
            closed = write.connection.execute("SELECT 1 FROM entries WHERE closes = ?", (number,))
            if paid is None or paid.state is not EntryState.RESERVED or closed.fetchone():
                raise LedgerError(f"entry {number} of the ledger pays for no run that goes on")
            closing = self._following(
                write.head, EntryState.RELEASED, closes=number, scope=paid.scope
            )
            return self._add(write, closing)

    def raise_budget(self, budget: PrivacyBudget[Any], reason: str) -> LedgerEntry:
        """Raises the budget, with a reason that is shown for ever.

        Raises:
            ParameterError: If the budget is not above the one before, or there is no reason.
        """
        require_budget(budget, "raise_budget")
        if budget.measure != self.measure:
            raise ParameterError(
                f"the budget of this ledger is {self.budget.words()} and stays in this measure; "
                f"got {budget.words()}. Give a larger one of the same kind"
            )
        loss, words = checked_budget(budget.loss, self.measure), checked_words(reason, "reason")
        with self._writing() as write:
            before = write.head.budget
            if loss == before or not self.measure.within(before, loss):
                raise ParameterError(
                    f"the budget is {self.measure.words(before)}, and it can only be raised; got "
                    f"{budget.words()}"
                )
            entry = self._following(write.head, EntryState.RAISED, note=words, budget=loss)
            return self._add(write, entry)

    def admit(self, scope: str, content: str, note: str = "", *, schema: str = "") -> LedgerEntry:
        """Gives a name to a content of the data. All contents spend the one budget.

        Other content of the same people must not have a budget of its own: their losses add up
        over all that is released about them.

        Args:
            scope: The name, which stands for one content for ever.
            content: Its keyed hash: see ``DataIdentity``.
            note: Why.
            schema: The names of its columns, as JSON.

        Raises:
            LedgerError: If the name or the content is known already.
        """
        name, words = checked_words(scope, "scope"), checked_line(note, "note")
        with self._writing() as write:
            known = self._scopes(write.connection)
            if name in known or content in known.values():
                raise LedgerError(
                    "the ledger knows this name or this content already; one name stands for one "
                    "content"
                )
            entry = self._following(
                write.head,
                EntryState.ADMITTED,
                scope=name,
                content=checked_text(content, "content"),
                asked=checked_text(schema, "schema"),
                note=words,
            )
            return self._add(write, entry)

    def scopes(self) -> dict[str, str]:
        """The keyed hash of each content by its name."""
        with self._reading() as look:
            return self._scopes(look.connection)

    def key(self) -> bytes:
        """The secret of the keyed hashes. It is shown nowhere and not exported."""
        with self._reading() as look:
            row = look.connection.execute("SELECT key FROM secret").fetchone()
        if row is None:
            raise LedgerError("the ledger is damaged: it has no key")
        return bytes.fromhex(row[0])

    def view(self) -> LedgerView:
        """The ledger as it is now, each entry checked."""
        with self._reading() as look:
            return LedgerView(self.path, self.terms, tuple(self._all(look)))

    def verify(self) -> LedgerView:
        """Checks the file, the chain, every total, the place and the witness.

        Returns:
            What was checked.

        Raises:
            LedgerError: At the first thing that is wrong.
        """
        place, sightings = FilePlace.of(self.path), self._sightings()
        with self._reading() as look:
            (state,) = look.connection.execute("PRAGMA integrity_check(1)").fetchone()
            if state != "ok":
                raise LedgerError(
                    f"the ledger {str(self.path)!r} is damaged; restore a copy and adopt it with a "
                    "reason"
                )
            view = LedgerView(self.path, self.terms, tuple(self._all(look)))
        self._require_here(place, view.head)
        for each in sightings:
            each.require_in(view.entries)
        if self.witness is not None:
            self.witness.require_there(sightings[-1])
        self._heads.append(view.head)
        return view

    def _sightings(self) -> tuple[Sightings, ...]:
        """What was seen of the ledger outside of its content; the witness comes last.

        It is taken before the file is read: by then other processes may have added entries.
        """
        witness = self.witness
        return (marked(self.path), *([] if witness is None else [witness.sightings()]))

    def _begin(self, budget: Loss) -> None:
        """Writes the terms, a new key and the first entry in one transaction."""
        place, zero = FilePlace.of(self.path), self.measure.zero()
        process = os.getpid()
        first = LedgerEntry(
            number=1,
            state=EntryState.CREATED,
            price=zero,
            total=zero,
            budget=budget,
            unit=self.terms.unit,
            scope="",
            asked="",
            note=self.terms.data,
            closes=None,
            content="",
            time=self.terms.created,
            version=installed(),
            machine=this_machine(),
            place=place.identity,
            previous=self.terms.digest(),
        ).sealed()
        self._tell(first)
        marks = ", ".join("?" * len(TERM_COLUMNS))
        with opened(self.path, self.wait) as connection:
            connection.execute("BEGIN IMMEDIATE")
            make_tables(connection)
            connection.execute(f"INSERT INTO ledger VALUES ({marks})", self.terms.row())
            connection.execute("INSERT INTO secret VALUES (?)", (_random(_KEY_WORDS),))
            connection.execute(_INSERT, first.row())
            commit(connection, process)
        place.require_unchanged()
        self._heads.append(first)

    @contextmanager
    def _reading(self) -> Iterator[_Look]:
        seen = self._seen()
        with transaction(self.path, writing=False, wait=self.wait) as connection:
            self._require_terms(connection)
            yield _Look(connection, seen)

    @contextmanager
    def _writing(self, *, adopting: bool = False) -> Iterator[_Write]:
        process, place, seen = os.getpid(), FilePlace.of(self.path), marked(self.path)
        with transaction(self.path, writing=True, wait=self.wait) as connection:
            self._require_terms(connection)
            head = self._caught_up(_Look(connection, self._seen()))
            if not adopting:
                self._require_here(place, head)
                self._require_marked(connection, seen, head)
            yield _Write(connection, place, process, head)

    def _add(self, write: _Write, entry: LedgerEntry) -> LedgerEntry:
        """Writes an entry and waits for the disk.

        The place is compared before the commit and after, and a replaced file releases nothing.
        """
        sealed = entry.sealed()
        write.connection.execute(_INSERT, sealed.row())
        write.place.require_unchanged()
        commit(write.connection, write.process)
        write.place.require_unchanged()
        self._heads.append(sealed)
        self._tell(sealed)
        return sealed

    def _following(self, head: LedgerEntry, state: EntryState, **cells: Any) -> LedgerEntry:
        """The entry after the last one, without its hash."""
        return head.followed_by(state, self.measure, time=_now(), version=installed(), **cells)

    def _all(self, look: _Look) -> list[LedgerEntry]:
        """All entries, each of them checked; refused where one is lost that was seen."""
        found = list(self._linked(look.connection.execute(f"{_SELECT} ORDER BY number")))
        self._require_seen(look.seen, found)
        return found

    def _caught_up(self, look: _Look) -> LedgerEntry:
        """The last entry; those that are new to this handle are checked."""
        after = f"{_SELECT} WHERE number >= ? ORDER BY number"
        rows = look.connection.execute(after, (look.seen.number,)).fetchall()
        self._require_seen(look.seen, [LedgerEntry.of_row(row, self.measure) for row in rows[:1]])
        return [look.seen, *self._linked(rows[1:], look.seen)][-1]

    def _linked(
        self, rows: Iterable[Sequence[Any]], before: LedgerEntry | None = None
    ) -> Iterator[LedgerEntry]:
        parsed = (LedgerEntry.of_row(row, self.measure) for row in rows)
        return linked(parsed, self.terms, before)

    def _seen(self) -> LedgerEntry:
        """The last entry that this handle saw."""
        return max(tuple(self._heads), key=lambda each: each.number)

    def _require_seen(self, seen: LedgerEntry, entries: Sequence[LedgerEntry]) -> None:
        if seen not in entries:
            raise LedgerError(
                f"the ledger was rolled back: entry {seen.number}, which this process saw, is no "
                "longer in the file. Nothing is released. Put the newer file back"
            )

    def _require_terms(self, connection: sqlite3.Connection) -> None:
        if LedgerTerms.of_row(connection.execute(_TERMS).fetchone()) != self.terms:
            raise LedgerError(
                f"another ledger stands at {str(self.path)!r} now; nothing is released. Open it "
                "anew if that is meant"
            )

    def _require_here(self, place: FilePlace, head: LedgerEntry) -> None:
        """Refuses a file that is not the one that wrote its last entry."""
        if (head.machine, head.place) != (this_machine(), place.identity):
            raise LedgerError(
                f"the ledger {str(self.path)!r} is a copy or came from another machine; the "
                "original may be in use, and both would spend the same budget. If it is not, adopt "
                "this one with a reason: dp.Ledger.adopt(path, reason), or opendp-lite ledger adopt"
            )

    def _require_marked(
        self, connection: sqlite3.Connection, marked: Sightings, head: LedgerEntry
    ) -> None:
        """Refuses a file that lost the entry of its mark, which this handle may not have seen."""
        numbers = [each.number for each in marked.seen if each.number <= head.number]
        rows = [connection.execute(f"{_SELECT} WHERE number = ?", (each,)) for each in numbers]
        marked.require_in([LedgerEntry.of_row(row, self.measure) for each in rows for row in each])

    def _scopes(self, connection: sqlite3.Connection) -> dict[str, str]:
        rows = connection.execute(
            "SELECT scope, content FROM entries WHERE state = ? ORDER BY number",
            (EntryState.ADMITTED.value,),
        )
        return dict(rows.fetchall())

    def _tell(self, entry: LedgerEntry) -> None:
        """Lets an entry be seen outside of the content of the file."""
        mark(self.path, entry)
        if self.witness is not None:
            self.witness.append(entry)

    def _too_dear(self, price: Loss, head: LedgerEntry) -> str:
        measure = self.measure
        return (
            f"this release needs {measure.words(price)}; {measure.show(head.total)} of "
            f"{measure.show(head.budget)} in the ledger {self.path.name!r} has been spent. Ask for "
            "less, or raise the budget with a reason"
        )


def _make_empty(path: Path) -> None:
    """Makes a file that only its owner may read, where none was."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE))
    except FileExistsError:
        here = "a folder; name a file in it" if path.is_dir() else _THERE
        raise LedgerError(f"{str(path)!r} is {here}") from None
    except OSError as problem:
        raise LedgerError(
            f"the ledger {str(path)!r} cannot be made: {problem.strerror or type(problem).__name__}"
        ) from None


def _remove_empty(path: Path) -> None:
    """Removes what is left of a ledger that was not made; never one that others may use by now."""
    with suppress(OSError):
        if path.stat().st_size == 0:
            path.unlink()


def _random(words: int) -> str:
    return SecureEntropy().words(words).tobytes().hex()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
