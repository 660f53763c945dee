"""Entries, each held to the one before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from opendp_lite.errors import LedgerError
from opendp_lite.measures.exact_loss import numbers_of
from opendp_lite.sessions.ledger_entry import EntryState, LedgerEntry
from opendp_lite.sessions.ledger_terms import LedgerTerms
from opendp_lite.sessions.loss_text import added

_MAY_PAY = (EntryState.RESERVED, EntryState.ADOPTED)
_MAY_RAISE = (EntryState.CREATED, EntryState.RAISED)
_MAY_MOVE = (EntryState.CREATED, EntryState.ADOPTED)


def linked(
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


def _follows(entry: LedgerEntry, earlier: LedgerEntry | None, measure: Any) -> bool:
    if earlier is None:
        return entry.state is EntryState.CREATED and numbers_of(entry.total) == numbers_of(
            measure.zero()
        )
    state = entry.state
    paid = entry.price if state in _MAY_PAY else measure.zero()
    return (
        state is not EntryState.CREATED
        and entry.price == paid
        and entry.total == added(measure, earlier.total, entry.price)
        and (state in _MAY_RAISE or entry.budget == earlier.budget)
        and measure.within(earlier.budget, entry.budget)
        and (state in _MAY_MOVE or _where(entry) == _where(earlier))
        and (state is EntryState.ADOPTED or within(measure, entry))
        and (entry.closes is not None) == (state is EntryState.RELEASED)
        and entry.unit == earlier.unit
    )


def within(measure: Any, entry: LedgerEntry) -> bool:
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
