"""How far a ledger has spent its budget, and how it was at one moment."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from itertools import pairwise
from pathlib import Path
from typing import Final

import attrs

from opendp_lite.measures.budgets import Loss, PrivacyBudget
from opendp_lite.measures.measure import AnyMeasure
from opendp_lite.sessions.ledger.entries import EntryState, LedgerEntry, LedgerTerms


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


@attrs.frozen
class LedgerView(LedgerStanding):
    """A ledger as it was at one moment: terms, and entries that were checked.

    Attributes:
        path: Of its file.
        terms: What it is for.
        entries: From the first to the last.
        trouble: Why nothing can be added to it as it stands; empty if something can.
    """

    path: Path
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
        admitted = (each for each in self.entries if each.state is EntryState.ADMITTED)
        first = next(admitted, None)
        try:
            return "" if first is None else str(json.loads(first.asked)[NEIGHBOURS])
        except (ValueError, LookupError, TypeError):
            return "a unit that the first entry of its data does not state"

    def find_unfinished(self) -> tuple[LedgerEntry, ...]:
        """The entries whose run did not come to its end, or goes on; they count."""
        closed = {entry.closes for entry in self.entries}
        reserved = (entry for entry in self.entries if entry.state is EntryState.RESERVED)
        return tuple(entry for entry in reserved if entry.number not in closed)

    def clock_set_back(self) -> tuple[LedgerEntry, ...]:
        """The entries whose time is before that of the entry before. It decides nothing."""
        return tuple(later for first, later in pairwise(self.entries) if later.time < first.time)

    def export(self) -> str:
        """The terms and all entries as JSON, without the key."""
        entries = [entry.as_dict() for entry in self.entries]
        return json.dumps({"ledger": attrs.asdict(self.terms), "entries": entries}, indent=1)
