"""What was seen of a ledger's entries outside of its file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from opendp_lite.errors import LedgerError
from opendp_lite.measures.exact_loss import Loss
from opendp_lite.measures.measure import Measure
from opendp_lite.sessions.ledger_entry import EntryState, LedgerEntry
from opendp_lite.sessions.loss_text import read_loss, write_loss

_END: Final = "."
"""At the end of a line that is whole."""
_FIELDS: Final = 4
_SHOWN: Final = 12


@attrs.frozen
class Sighting:
    """An entry by its number, hash, state and total, as one line of text."""

    number: int
    hash: str
    state: str
    total: str

    @classmethod
    def of(cls, entry: LedgerEntry) -> Sighting:
        """An entry as it is remembered."""
        return cls(entry.number, entry.hash, entry.state.value, write_loss(entry.total))

    @classmethod
    def read(cls, line: str) -> Sighting | None:
        """The entry that a line tells of; None for a line that was cut short."""
        words, _, end = line.rpartition(" ")
        fields = words.split(" ", _FIELDS - 1)
        if end != _END or len(fields) < _FIELDS or not fields[0].isdecimal():
            return None
        return cls(int(fields[0]), *fields[1:])

    def line(self) -> str:
        """As ``read`` takes it."""
        return f"{self.number} {self.hash} {self.state} {self.total} {_END}"


@attrs.frozen
class Sightings:
    """Entries that were seen, in the order of seeing.

    What was seen before a ledger was adopted does not bind it any more, as the adoption counted it.

    Attributes:
        where: Who saw them, in words.
        seen: The entries.
    """

    where: str
    seen: Sequence[Sighting]

    def require_in(self, entries: Sequence[LedgerEntry]) -> None:
        """Refuses entries that lack one that was seen.

        The last one is not enough: a handle that was open may have gone on from an older copy.
        """
        last = max(self._lost(entries), key=_number, default=None)
        if last is not None:
            raise LedgerError(
                f"the ledger was rolled back or has another history: {self.where} saw entry "
                f"{last.number} with the hash {last.hash[:_SHOWN]}, and the file does not hold it. "
                "Put the newer file back, or adopt this one with a reason, which counts what was "
                "seen as spent"
            )

    def missed(self, entries: Sequence[LedgerEntry], measure: Measure[Any]) -> Loss:
        """What was seen spent since the last entry that these entries hold too."""
        lost = self._lost(entries)
        if not lost:
            return measure.zero()
        last, common = max(lost, key=_number), self._common(lost)
        if not common and last.number > len(entries):
            common = len(entries)
        known = entries[common - 1].total if common else measure.zero()
        return measure.left(read_loss(last.total, measure), known)

    def _lost(self, entries: Sequence[LedgerEntry]) -> list[Sighting]:
        """What was seen since the last adoption, and is not among these entries."""
        known = {each.hash for each in entries}
        adopted = [
            place for place, each in enumerate(self.seen) if each.state == EntryState.ADOPTED.value
        ]
        since = self.seen[adopted[-1] :] if adopted else self.seen
        return [each for each in since if each.hash not in known]

    def _common(self, lost: Sequence[Sighting]) -> int:
        """The number of the last entry before all that were lost: both histories hold it.

        What was seen later may be of the other history, although its number is smaller.
        """
        before = self.seen[: self.seen.index(lost[0])]
        first = min(map(_number, lost))
        return max((each.number for each in before if each.number < first), default=0)


def _number(seen: Sighting) -> int:
    return seen.number
