"""A ledger as it was at one moment."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import attrs

from opendp_lite.sessions.ledger_entry import EntryState, LedgerEntry
from opendp_lite.sessions.ledger_standing import LedgerStanding
from opendp_lite.sessions.ledger_terms import LedgerTerms


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

    def unfinished(self) -> tuple[LedgerEntry, ...]:
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
