"""A ledger in its storage: entries that are only added to, each on the disk before data is read."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import attrs

from opendp_lite.base.errors import BudgetExceeded, LedgerError, ParameterError
from opendp_lite.base.version import find_version
from opendp_lite.combinators.accounts import say_part
from opendp_lite.measures import budgets
from opendp_lite.measures.budgets import filter_budget
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.divergences import AnyMeasure
from opendp_lite.numbers.exact import Number
from opendp_lite.samplers.entropy import SecureEntropy
from opendp_lite.sessions import text
from opendp_lite.sessions.ledger.entries import (
    Checked,
    EntryState,
    LedgerEntry,
    LedgerStanding,
    LedgerTerms,
    LedgerView,
    read_clock,
)
from opendp_lite.sessions.ledger.place import resolve
from opendp_lite.sessions.ledger.postgres import PostgresDatabase, is_url
from opendp_lite.sessions.ledger.sqlite import SqliteFile
from opendp_lite.sessions.ledger.tables import ALL, WAIT, EntryTable, Result, Storage
from opendp_lite.sessions.ledger.witness import CheckMark, Sightings, WitnessFile, write_counted

# Makes an entry from what was checked, while nobody else can add one.
Making = Callable[[EntryTable, Checked], LedgerEntry]
# Entries that are checked while a ledger is held, at most; more are checked before.
_PIECE: Final = 500
# Heads that a handle remembers: one at least for each thread that reserves at once.
_REMEMBERED: Final = 64


@attrs.frozen(eq=False)
class LedgerFile(LedgerStanding):
    """A budget in a file or on a server that several processes spend from, never under-counted.

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
      handles that saw an entry that it lacks. On Linux a mark on the file finds most such copies,
      and not those that bring an older mark along (``cp --archive``). The same holds for an old
      ``-journal`` file that is put back: SQLite then undoes what came after it.
    - Do not open the file in another way in a process that uses it. On POSIX systems closing any
      handle of a file drops the locks of the process on it.

    Attributes:
        storage: Where it stands.
        terms: What it is for.
    """

    storage: Storage
    terms: LedgerTerms
    # Each was held to the entry before, up to the first one or to a mark that a check left.
    _heads: deque[Checked] = attrs.field(
        factory=partial(deque, maxlen=_REMEMBERED), init=False, repr=False
    )
    _checked: deque[CheckMark | None] = attrs.field(
        factory=partial(deque, maxlen=1), init=False, repr=False
    )

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        budget: budgets.PrivacyBudget[AnyMeasure],
        *,
        unit: str,
        data: str = "",
        witness: str | os.PathLike[str] | None = None,
        query_delta: Number | None = None,
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
            query_delta: As for ``dp.session``.
            wait: Seconds to wait for another process that holds the ledger.

        Raises:
            LedgerError: If it cannot stand there.
            ParameterError: If the budget is none, or a text is no line of text.
        """
        budgets.require_budget(budget, "a ledger")
        text.check_budget(budget.loss, budget.measure)
        counted = filter_budget(budget, query_delta)
        identity = _random(2)
        storage = _find_storage(path, wait)
        terms = LedgerTerms(
            identity=identity,
            measure=text.name_of(counted.measure),
            unit=text.check_words(unit, "unit"),
            data=text.check_line(data, "data"),
            witness=storage.name_witness(witness, identity),
            created=read_clock(),
        )
        found = cls(storage, terms)
        found._begin(counted.loss)
        return found

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, wait: float = WAIT) -> LedgerFile:
        """Opens a ledger, once its entries, its place and the end of its witness were checked.

        Entries that were checked before are not, if nothing but the ledger wrote to the file since.

        Raises:
            LedgerError: If there is none, or it was changed, copied, moved or rolled back.
        """
        found = cls._found(path, wait)
        if not found._check_fresh():
            found.verify()
        return found

    @classmethod
    def look(cls, path: str | os.PathLike[str], *, wait: float = WAIT) -> LedgerView:
        """A ledger as it is now, wherever it stands: a copy can be read, and says that it is one.

        Raises:
            LedgerError: If there is none, or its entries were changed.
        """
        found = cls._found(path, wait)
        try:
            return found.verify()
        except LedgerError as problem:
            return attrs.evolve(found.view(), trouble=str(problem))

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
        words = text.check_words(reason, "reason")
        found = cls._found(path, wait)
        found._adopt(words)
        # The original may have paid meanwhile. It pays no more once it meets the adoption.
        while found._adopt("paid elsewhere while this ledger was adopted", late=True):
            pass
        return found

    def _adopt(self, words: str, *, late: bool = False) -> bool:
        """Counts what was paid elsewhere, and takes this file as the ledger from here on.

        The entry names what it counted, so that nothing else passes for counted.

        Returns:
            Whether there was something to do; a late one is for what was lost alone.
        """
        measure, seen = self.measure, self._sightings()
        entries = self.view().entries
        lost = {each.hash for sightings in seen for each in sightings.find_lost(entries)}
        if late and not lost:
            return False
        missed = [budgets.numbers_of(each.sum_lost(entries, measure)) for each in seen]
        price = budgets.like(measure, tuple(map(max, zip(*missed, strict=True))))

        def adopting(table: EntryTable, known: Checked) -> LedgerEntry:
            head = known.head
            paid = text.round_price(price, head.total, head.budget, measure)
            return head.next(
                EntryState.ADOPTED, measure, price=paid, note=words, asked=write_counted(lost)
            )

        self._write(adopting, adopted=entries)
        return True

    @classmethod
    def _found(cls, path: str | os.PathLike[str], wait: float) -> LedgerFile:
        """A ledger of which nothing but the first entry was read."""
        storage = _find_storage(path, wait)

        def first(table: EntryTable) -> LedgerFile:
            found, entry = cls(storage, table.terms), table.first()
            storage.begin_witness(table.terms, entry)
            found._heads.append(Checked(entry))
            return found

        return storage.in_transaction(first, writing=False)

    @property
    def path(self) -> Any:
        """What opens it."""
        return self.storage.path

    @property
    def witness(self) -> WitnessFile | None:
        """The file elsewhere that remembers the last entry."""
        return self.storage.find_witness(self.terms)

    @property
    def head(self) -> LedgerEntry:
        """The last entry as the file has it now."""
        return self._look().head

    def reserve(
        self, price: budgets.Loss, *, asked: str, note: str = "", scope: str = ""
    ) -> LedgerEntry:
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
        measure = self.measure
        loss = without_curve(budgets.exact_loss(price, measure, "the price of a release"))
        told, words = text.check_text(asked, "asked"), text.check_line(note, "note")

        def paying(table: EntryTable, known: Checked) -> LedgerEntry:
            if scope and scope not in known.scopes:
                raise LedgerError(
                    "no content of the data has this name in the ledger; admit it first"
                )
            head = known.head
            paid = text.round_price(loss, head.total, head.budget, measure)
            entry = head.next(
                EntryState.RESERVED, measure, price=paid, asked=told, note=words, scope=scope
            )
            if not measure.within(entry.total, entry.budget):
                cost = measure.cost(loss, head.total, head.budget)
                part = say_part(budgets.PrivacyBudget(measure, head.budget), head.total)
                first, last = measure.shortage(entry.total, head.total, head.budget)
                raise BudgetExceeded(
                    f"{first}This release needs {measure.words(cost)}; "
                    f"{part} in the ledger {self.storage.name!r} has been spent. Ask for less, or "
                    f"raise the budget with a reason.{last}".removesuffix(".")
                )
            return entry

        return self._write(paying)

    def finish(self, number: int) -> LedgerEntry:
        """Notes that the run of a reserved entry came to its end. It changes no total.

        Args:
            number: Of the entry.

        Raises:
            LedgerError: If it was noted before, or the file cannot be written.
        """

        def closing(table: EntryTable, known: Checked) -> LedgerEntry:
            paid, closed = table.at(number), table.is_closed(number)
            if paid is None or paid.state is not EntryState.RESERVED or closed:
                raise LedgerError(f"entry {number} of the ledger pays for no run that goes on")
            return known.head.next(
                EntryState.RELEASED, self.measure, closes=number, scope=paid.scope
            )

        return self._write(closing)

    def raise_budget(self, budget: budgets.PrivacyBudget[AnyMeasure], reason: str) -> LedgerEntry:
        """Raises the budget, with a reason that is shown for ever.

        Raises:
            ParameterError: If the budget is not above the one before, or there is no reason.
        """
        budgets.require_budget(budget, "raise_budget")
        if budget.measure != self.budget.stated.measure:
            raise ParameterError(
                f"the budget of this ledger is {self.budget.words()} and stays in this measure; "
                f"got {budget.words()}. Give a larger one of the same kind"
            )
        loss = text.check_budget(budget.loss, budget.measure)
        words = text.check_words(reason, "reason")

        def raising(table: EntryTable, known: Checked) -> LedgerEntry:
            head = known.head
            before = budgets.PrivacyBudget(self.measure, head.budget).stated
            if loss == before.loss or not budget.measure.within(before.loss, loss):
                raise ParameterError(
                    f"the budget is {before.words()}, and it can only be raised; got "
                    f"{budget.words()}"
                )
            larger = self.measure.enlarge(head.budget, loss)
            return head.next(EntryState.RAISED, self.measure, note=words, budget=larger)

        return self._write(raising)

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
        name, words = text.check_words(scope, "scope"), text.check_line(note, "note")

        def admitting(table: EntryTable, known: Checked) -> LedgerEntry:
            if name in known.scopes or content in known.scopes.values():
                raise LedgerError(
                    "the ledger knows this name or this content already; one name stands for one "
                    "content"
                )
            return known.head.next(
                EntryState.ADMITTED,
                self.measure,
                scope=name,
                content=text.check_text(content, "content"),
                asked=text.check_text(schema, "schema"),
                note=words,
            )

        return self._write(admitting)

    def count_paid(self, entry: LedgerEntry) -> int:
        """How many entries pay for a release, up to one that this handle added."""
        paid = (each.paid for each in tuple(self._heads) if each.head.hash == entry.hash)
        found = next(paid, None)
        if found is None:  # more threads paid since than this handle remembers
            entries = self.view().entries[: entry.number]
            found = sum(each.state is EntryState.RESERVED for each in entries)
        return found

    def scopes(self) -> dict[str, str]:
        """The keyed hash of each content by its name."""
        return self._look().scopes

    def key(self) -> bytes:
        """The secret of the keyed hashes. It is shown nowhere and not exported."""
        return self._read(EntryTable.key)

    def neighbours(self) -> str:
        """What the first session counted losses for; empty before there was one."""
        return self._look().neighbours

    def view(self) -> LedgerView:
        """The ledger as it is now, each entry checked."""
        seen = self._seen().head
        entries = self._read(lambda table: table.all(seen))()
        self._heads.append(Checked(entries[0]).go_on(entries))
        return LedgerView(self.terms, entries)

    def verify(self) -> LedgerView:
        """Checks the file, the chain, every total, the place and the witness.

        Returns:
            What was checked.

        Raises:
            LedgerError: At the first thing that is wrong.
        """
        sightings, seen = self._sightings(), self._seen().head

        def reading(table: EntryTable) -> Callable[[], LedgerView]:
            # A write meanwhile that is none of SQLite's must not count as checked.
            before = self.storage.check_now(seen)
            if not table.is_whole():
                raise LedgerError(
                    f"the ledger {str(self.path)!r} is damaged; restore a copy and adopt it with a "
                    "reason"
                )
            check = table.all(seen)

            def finish() -> LedgerView:
                entries = check()
                table.require_here(str(self.path), entries[-1])
                for each in sightings:
                    each.require_in(entries, table.remedy)
                if self.witness is not None:
                    self.witness.require_there(sightings[-1])
                self._note(Checked(entries[0]).go_on(entries), before, sightings)
                return LedgerView(self.terms, entries)

            return finish

        return self._read(reading)()

    def _check_fresh(self) -> bool:
        """Checks what was added since all was checked.

        Returns:
            Whether that is enough. It is not if anything else wrote to the file, or if what was
            seen last is not among these entries: an adoption may have counted it, or none.
        """
        sightings, seen = self._last_sightings(), self._seen().head

        def reading(table: EntryTable) -> Callable[[], bool]:
            before, known = self.storage.check_now(seen), self.storage.find_checked(table)
            if known is None or not table.is_whole(quickly=True):
                return bool
            (checked, last), check = known, table.follow(known[0].head)

            def finish() -> bool:
                fresh = check()
                there = {last, *(each.hash for each in fresh)}
                if not all(each.hash in there for it in sightings for each in it.seen):
                    return False
                table.require_here(str(self.path), fresh[-1])
                self._note(checked.go_on(fresh[1:]), before, sightings)
                return True

            return finish

        return self._read(reading)()

    def _note(self, found: Checked, mark: CheckMark | None, sightings: Sequence[Sightings]) -> None:
        """Remembers that all was checked up to an entry, as the storage was before."""
        head = found.head
        self._heads.append(found)
        self._checked.append(mark and attrs.evolve(mark, number=head.number, hash=head.hash))
        seen = "".join(each.hash for it in sightings[1:] for each in it.seen[-1:])
        self.storage.keep_checked(self.terms, found, seen)

    def _look(self) -> Checked:
        """What is known of the ledger up to its last entry, once those are checked that are new."""
        seen = self._seen()
        found = seen.go_on(self._read(lambda table: table.since(seen.head))[1:])
        self._heads.append(found)
        return found

    def _sightings(self) -> tuple[Sightings, ...]:
        """What was seen of the ledger outside of its content; the witness comes last.

        It is taken before the file is read: by then other processes may have added entries.
        """
        witness = self.witness
        return (self.storage.read_mark(), *([] if witness is None else [witness.sightings()]))

    def _last_sightings(self) -> tuple[Sightings, ...]:
        """As ``_sightings``, the last entry alone: to compare before each payment."""
        witness = self.witness
        if witness is None:
            return (self.storage.read_mark(),)
        last = witness.last()
        witness.require_there(last)
        return self.storage.read_mark(), last

    def _begin(self, budget: budgets.Loss) -> None:
        """Writes the terms, a new key and the first entry in one transaction."""
        zero, terms = self.measure.zero(), self.terms

        def making(table: EntryTable) -> None:
            first = LedgerEntry(
                number=1,
                state=EntryState.CREATED,
                price=zero,
                total=zero,
                budget=budget,
                unit=terms.unit,
                note=terms.data,
                time=terms.created,
                version=find_version(),
                machine=table.machine,
                place=table.place,
                previous=terms.digest(),
            ).seal()
            self.storage.mark(first)
            if self.witness is not None:
                self.witness.append([first])
            table.add(first)
            table.commit()
            self._checked.append(self.storage.check_now(first))
            self._heads.append(Checked(first))

        key = _random(4)
        self.storage.in_transaction(making, writing=True, terms=self.terms, key=key)

    def _read(self, work: Callable[[EntryTable], Result]) -> Result:
        """What work gives within a transaction that reads."""
        return self.storage.in_transaction(work, writing=False, terms=self.terms)

    def _write(self, work: Making, *, adopted: Sequence[LedgerEntry] = ()) -> LedgerEntry:
        """Adds the entry that work makes from what was checked, and waits for the disk.

        The place is compared before the commit and after, and a replaced file releases nothing.

        Args:
            work: Makes it, while nobody else can add one.
            adopted: The entries that an adoption takes over, once they were checked.
        """
        entry = self._try_to_write(work, adopted)
        while entry is None:
            self._catch_up()
            entry = self._try_to_write(work, adopted, told=True)
        return entry

    def _try_to_write(
        self, work: Making, adopted: Sequence[LedgerEntry], *, told: bool = False
    ) -> LedgerEntry | None:
        """As ``_write``; None, and nothing is added, where too much has to be checked before.

        A witness whose last line is of a lost history does not show how much that is. It is
        ``told`` all of it once: its last line stays where there was nothing to tell.
        """
        sightings = () if adopted else self._last_sightings()

        def writing(table: EntryTable) -> LedgerEntry | None:
            seen = self._seen()
            fresh = table.since(seen.head, ALL if adopted else _PIECE)
            head, known = fresh[-1], seen.go_on(fresh[1:])
            lost = _require_seen(table, sightings, known.adoptions)
            # The mark is no witness: nothing has to be told to it but the last entry.
            if (len(fresh) > _PIECE and not adopted) or any(
                not told if each in lost else head.number - each.seen[-1].number > _PIECE
                for each in sightings[1:]
            ):
                return None
            if not adopted:
                table.require_here(str(self.path), head)
            now = self.storage.check_now(head)
            checked = now in self._checked or now == self.storage.read_check()
            entry = work(table, known)
            if adopted:
                entry = attrs.evolve(entry, machine=table.machine, place=table.place)
            entry = attrs.evolve(entry, time=table.clock()).seal()
            table.add(entry)
            before = table.version()
            table.commit()
            self._heads.append(known.go_on([entry]))
            # Whoever writes between the two locks may change an old entry and add none.
            if self._tell(table, entry, adopted) is entry and checked and table.version() == before:
                self._checked.append(self.storage.write_check(entry))
            return entry

        return self.storage.in_transaction(writing, writing=True, terms=self.terms)

    def _catch_up(self) -> None:
        """Checks what others added, a piece at a time, while nobody waits for it.

        The witness is told each piece then. Others may tell it the same, so a line may stand twice.
        It is told nothing of a copy.
        """

        def reading(table: EntryTable) -> bool:
            seen = self._seen()
            fresh = table.since(seen.head, _PIECE)
            self._heads.append(seen.go_on(fresh[1:]))
            if len(fresh) <= _PIECE:
                table.require_here(str(self.path), fresh[-1])
            return len(fresh) > _PIECE

        while self._read(reading):
            pass
        if (witness := self.witness) is None:
            return

        def find_untold(table: EntryTable) -> list[LedgerEntry]:
            _require_seen(table, [witness.last()], self._seen().adoptions)
            return _find_untold(table, witness, _PIECE)

        while piece := self._read(find_untold):
            witness.append(piece)

    def _seen(self) -> Checked:
        """The last entry that this handle saw."""
        heads = tuple(self._heads)
        if not heads:
            raise LedgerError(
                "this handle of a ledger was put together by hand and has seen no entry; open the "
                "ledger by dp.Ledger.open(path)"
            )
        return max(heads, key=lambda each: each.head.number)

    def _tell(
        self, table: EntryTable, entry: LedgerEntry, adopted: Sequence[LedgerEntry]
    ) -> LedgerEntry:
        """Lets an entry be seen outside of the content of the file, and gives the last one by now.

        The commit let go of the file, and others may have added to it since. The witness and the
        mark are brought to what is the last entry by now, while nobody can add another. A lost
        witness begins anew by an adoption alone.
        """
        table.begin()
        fresh = [entry, *table.since(entry)[1:]]
        try:
            if (witness := self.witness) is not None:
                if adopted:
                    seen = {each.hash for each in witness.sightings().seen}
                    added = table.since(adopted[-1])[1:]
                    untold = [each for each in (*adopted, *added) if each.hash not in seen]
                else:
                    untold = _find_untold(table, witness, ALL) if witness.last().seen else fresh
                witness.append(untold)
        finally:
            self.storage.mark(fresh[-1])
        return fresh[-1]


def _find_untold(table: EntryTable, witness: WitnessFile, most: int) -> list[LedgerEntry]:
    """The first entries that the witness has not seen: it lacks none before one that it saw.

    After an adoption its last line may be of a history that was lost.
    """
    told = witness.last()
    witness.require_there(told)
    last = table.at(told.seen[-1].number)
    if last is None or last.hash != told.seen[-1].hash:
        return table.find_untold({each.hash for each in witness.sightings().seen}, most)
    return table.since(last, most)[1:]


def _require_seen(
    table: EntryTable, sightings: Iterable[Sightings], adoptions: Sequence[LedgerEntry]
) -> list[Sightings]:
    """Refuses tables that lack an entry that was seen, of the few that are given.

    Returns:
        Those of whose entries they lack one, which an adoption counted.
    """
    lost = []
    for each in sightings:
        entries = [found for it in each.seen if (found := table.at(it.number))]
        if each.find_lost(entries):
            entries += adoptions
            lost.append(each)
        each.require_in(entries, table.remedy)
    return lost


def _random(words: int) -> str:
    """So many words of 64 bits: 2 tell any two ledgers apart, and 4 make a key."""
    return SecureEntropy().words(words).tobytes().hex()


def _find_storage(path: str | os.PathLike[str], wait: float) -> Storage:
    """The database on a server that a URL names, or a file."""
    return PostgresDatabase.of(path, wait) if is_url(path) else SqliteFile(resolve(path), wait)
