"""One entry of a ledger, a fact that is never changed, and the chain of all entries."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum
from hashlib import sha256
from itertools import pairwise
from typing import Any, Final

import attrs

from opendp_lite.base.errors import LedgerError
from opendp_lite.base.version import find_version
from opendp_lite.combinators.accounts import AnySpace
from opendp_lite.measures.budgets import UNBOUNDED, Loss, PrivacyBudget, numbers_of
from opendp_lite.measures.divergences import AnyMeasure
from opendp_lite.metrics.distances import RowMetric, SymmetricIdDistance
from opendp_lite.numbers.exact import digits_up
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


def _in_few_digits(price: Loss) -> str:
    """Of several numbers the epsilon and delta; a Gaussian under these has no epsilon."""
    shown = [digits_up(each) if each < UNBOUNDED else "-" for each in numbers_of(price)[:2]]
    return f"({', '.join(shown)})" if shown[1:] else shown[0]


@attrs.frozen(kw_only=True)
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
    price: Loss = attrs.field(repr=_in_few_digits)
    total: Loss = attrs.field(repr=False)
    budget: Loss = attrs.field(repr=False)
    unit: str
    scope: str = ""
    asked: str = attrs.field(default="", repr=False)
    note: str = ""
    closes: int | None = None
    content: str = attrs.field(default="", repr=False)
    time: str
    version: str = attrs.field(repr=False)
    machine: str = attrs.field(repr=False)
    place: str = attrs.field(repr=False)
    previous: str = attrs.field(repr=False)
    hash: str = attrs.field(default="", repr=False)

    @classmethod
    def of_row(cls, row: Sequence[Any], measure: AnyMeasure) -> LedgerEntry:
        """The entry that a row of the file holds, and whose hash is that of its cells.

        Raises:
            LedgerError: If a cell was changed.
        """
        held = dict(zip(COLUMNS, row, strict=True))
        texts = (held[name] for name in COLUMNS if name not in ("number", "closes"))
        numbered = isinstance(held["closes"], int | None)
        if not (numbered and all(isinstance(each, str) for each in texts)) or (
            held["state"] not in _STATES
        ):
            raise LedgerError(f"the ledger is damaged: entry {held['number']} cannot be read")
        if digest_of(row[:-1]) != held["hash"]:
            raise LedgerError(
                f"the ledger is damaged or was changed by hand: entry {held['number']} has the "
                "hash of another. Restore a copy and adopt it with a reason"
            )
        losses = {name: read_loss(held[name], measure) for name in _LOSSES}
        return cls(**{**held, **losses, "state": EntryState(held["state"])})

    def show_note(self) -> str:
        """The note in one line. On a server somebody may have written one by hand: of a new line or
        a sign that moves the cursor it shows the code."""
        return "".join(
            each if each.isprintable() else each.encode("unicode_escape").decode()
            for each in self.note
        )

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
            version=find_version(),
            **fresh,
        )

    def as_dict(self) -> dict[str, object]:
        """As it stands in the file, by column: text, apart from the numbers of entries."""
        losses = {name: write_loss(getattr(self, name)) for name in _LOSSES}
        held = {**{name: getattr(self, name) for name in COLUMNS}, **losses}
        return {**held, "state": self.state.value}

    def reach(self, measure: AnyMeasure) -> Loss:
        """What was lost up to here, as people read it."""
        found: Loss = measure.reach(self.total, self.budget)
        return found

    def cost(self, measure: AnyMeasure) -> Loss:
        """What it adds to that."""
        before = measure.left(self.total, self.price)
        found: Loss = measure.cost(self.price, before, self.budget)
        return found

    def seal(self) -> LedgerEntry:
        """The same with its hash."""
        return attrs.evolve(self, hash=digest_of(self.row()[:-1]))

    def row(self) -> tuple[object, ...]:
        """Its cells in the order of the columns."""
        return tuple(self.as_dict().values())


def read_clock() -> str:
    """The time in UTC, as entries have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


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
    def title(self) -> str:
        """Which ledger it is, in words."""
        return f"the ledger {self.identity}" + (f" of {self.data}" if self.data else "")

    @property
    def protects(self) -> str:
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
    state, adopts = entry.state, entry.state is EntryState.ADOPTED
    return (
        state is not EntryState.CREATED
        and (adopts or state is EntryState.RESERVED or entry.price == measure.zero())
        and entry.total == add_price(measure, earlier.total, entry.price)
        and (state is EntryState.RAISED or entry.budget == earlier.budget)
        and measure.within(earlier.budget, entry.budget)
        and (adopts or (entry.machine, entry.place) == (earlier.machine, earlier.place))
        and (adopts or within(measure, entry))
        and (entry.closes is not None) == (state is EntryState.RELEASED)
        and entry.unit == earlier.unit
    )


def within(measure: AnyMeasure, entry: LedgerEntry) -> bool:
    """Whether an entry stays within its budget, or pays nothing."""
    pays = numbers_of(entry.price) != numbers_of(measure.zero())
    return not pays or bool(measure.within(entry.total, entry.budget))


def _broken(number: int, words: str) -> LedgerError:
    return LedgerError(
        f"the ledger is damaged or was changed by hand: entry {number} {words}. Nothing is "
        "released. Restore a copy and adopt it with a reason"
    )


class LedgerStanding(ABC):
    """What the terms and the last entry of a ledger say."""

    __slots__ = ()
    terms: LedgerTerms

    @property
    @abstractmethod
    def head(self) -> LedgerEntry:
        """The last entry."""

    @property
    def measure(self) -> AnyMeasure:
        """Of its losses."""
        return self.terms.losses

    @property
    def spent(self) -> Loss:
        """The loss of all entries, exactly."""
        return self.head.total

    @property
    def budget(self) -> PrivacyBudget[AnyMeasure]:
        """The most that all entries may cost together."""
        return PrivacyBudget(self.measure, self.head.budget)

    @property
    def left(self) -> Loss:
        """What may still be spent, exactly."""
        head = self.head
        found: Loss = self.measure.left(head.budget, head.total)
        return found


NEIGHBOURS: Final = "neighbours"
"""What the losses are for, beside the columns of a content."""

KEPT: Final = (EntryState.ADMITTED, EntryState.ADOPTED)
"""Entries that are few, and that later ones are held to."""


@attrs.frozen
class Checked:
    """An entry up to which all was checked, and what is asked of the entries up to it.

    Whoever goes on from here reads no earlier entry again, and so trusts nobody with them.

    Attributes:
        head: The entry.
        paid: How many entries pay for a release.
        kept: Those that admit data, and those that adopt the ledger.
    """

    head: LedgerEntry
    paid: int = 0
    kept: tuple[LedgerEntry, ...] = ()

    def go_on(self, fresh: Sequence[LedgerEntry]) -> Checked:
        """The same at the end of entries that follow and were checked."""
        return Checked(
            fresh[-1] if fresh else self.head,
            self.paid + sum(each.state is EntryState.RESERVED for each in fresh),
            (*self.kept, *(each for each in fresh if each.state in KEPT)),
        )

    @property
    def adoptions(self) -> list[LedgerEntry]:
        """The entries that took the storage as the ledger."""
        return [each for each in self.kept if each.state is EntryState.ADOPTED]

    @property
    def scopes(self) -> dict[str, str]:
        """The keyed hash of each content by its name."""
        return {each.scope: each.content for each in self._admissions}

    @property
    def neighbours(self) -> str:
        """What the first session counted losses for; empty before there was one."""
        try:
            return next((str(json.loads(each.asked)[NEIGHBOURS]) for each in self._admissions), "")
        except (ValueError, LookupError, TypeError, RecursionError):
            return "a unit that the first entry of its data does not state"

    @property
    def _admissions(self) -> list[LedgerEntry]:
        return [each for each in self.kept if each.state is EntryState.ADMITTED]


@attrs.frozen
class LedgerView(LedgerStanding):
    """A ledger as it was at one moment: terms, and entries that were checked.

    Attributes:
        terms: What it is for.
        entries: From the first to the last.
        trouble: Why nothing can be added to it as it stands; empty if something can.
    """

    terms: LedgerTerms
    entries: tuple[LedgerEntry, ...] = attrs.field(repr=False)
    trouble: str = ""

    @property
    def head(self) -> LedgerEntry:
        """The last entry."""
        return self.entries[-1]

    @property
    def neighbours(self) -> str:
        """What the first session counted losses for; empty before there was one."""
        return Checked(self.head).go_on(self.entries).neighbours

    def find_unfinished(self) -> tuple[LedgerEntry, ...]:
        """The entries whose run did not come to its end, or goes on; they count."""
        closed = {entry.closes for entry in self.entries}
        reserved = (entry for entry in self.entries if entry.state is EntryState.RESERVED)
        return tuple(entry for entry in reserved if entry.number not in closed)

    @property
    def several_data(self) -> bool:
        """Whether its releases are of more than one dataset, so that each says of which."""
        return len({each.scope for each in self.entries} - {""}) > 1

    def list_events(self) -> Iterator[str]:
        """Each release, and each change of the budget or of the place, in a sentence."""
        measure, waiting = self.measure, self.find_unfinished()
        number, several = 0, self.several_data  # Once: it looks at each entry.
        for entry in self.entries:
            note = f", {entry.show_note()!r}" if entry.note else ""
            where = f"(entry {entry.number}, {entry.time[:10]})"
            match entry.state:
                case EntryState.RESERVED:
                    number += 1
                    late = " It was not finished, and counts." if entry in waiting else ""
                    cost = measure.words(entry.cost(measure))
                    data = f", of {entry.scope}" if several else ""
                    yield f"Release {number} {where}: {cost}{data}{note}.{late}"
                case EntryState.RAISED:
                    budget = PrivacyBudget(measure, entry.budget).words()
                    yield f"Budget raised {where}: {budget}{note}."
                case EntryState.ADOPTED:
                    yield f"Ledger adopted {where}: {measure.words(entry.cost(measure))}{note}."

    def clock_set_back(self) -> tuple[LedgerEntry, ...]:
        """The entries whose time is before that of the entry before. It decides nothing."""
        return tuple(later for first, later in pairwise(self.entries) if later.time < first.time)

    def export(self) -> str:
        """The terms and all entries as JSON, without the key."""
        entries = [entry.as_dict() for entry in self.entries]
        return json.dumps({"ledger": attrs.asdict(self.terms), "entries": entries}, indent=1)
