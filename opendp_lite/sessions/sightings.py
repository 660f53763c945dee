"""What was seen of a ledger's entries outside of its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any, Final

import attrs

from opendp_lite.errors import LedgerError
from opendp_lite.measures.exact_loss import Loss
from opendp_lite.measures.measure import Measure
from opendp_lite.sessions.ledger_entry import EntryState, LedgerEntry
from opendp_lite.sessions.loss_text import read_short, write_loss

_END: Final = "."
"""At the end of a line that is whole."""
_FIELDS: Final = 5
_BETWEEN: Final = ","
"""Between the numbers of a loss."""
_SHOWN: Final = 12


@attrs.frozen
class Sighting:
    """An entry by its number, hash, state, price and total, as one line of text."""

    number: int
    hash: str
    state: str
    price: str
    total: str

    @classmethod
    def of(cls, entry: LedgerEntry, write: Callable[[Loss], str] = write_loss) -> Sighting:
        """An entry as it is remembered, with its losses as ``write`` writes them."""
        losses = (write(each).replace(" ", _BETWEEN) for each in (entry.price, entry.total))
        return cls(entry.number, entry.hash, entry.state.value, *losses)

    @classmethod
    def read(cls, line: str) -> Sighting | None:
        """The entry that a line tells of; None for a line that was cut short."""
        words, _, end = line.rpartition(" ")
        fields = words.split(" ")
        if end != _END or len(fields) != _FIELDS or not fields[0].isdecimal():
            return None
        return cls(int(fields[0]), *fields[1:])

    def line(self) -> str:
        """As ``read`` takes it."""
        return f"{self.number} {self.hash} {self.state} {self.price} {self.total} {_END}"


@attrs.frozen
class Sightings:
    """Entries that were seen, in the order of seeing.

    What was seen before a ledger was adopted does not bind it any more, as the adoption counted it.

    Attributes:
        where: Who saw them, in words.
        seen: The entries.
        place: Which file they are of, where they are of the history of one file alone.
    """

    where: str
    seen: Sequence[Sighting]
    place: str = ""

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
        """What was seen spent, on however many copies, and is no part of these entries.

        The first sighting since the last adoption tells a total, which counts all that was seen
        before it. Of those after it, each tells its own price.
        """
        lost = self._lost(entries)
        prices = [_loss(each.price, measure) for each in lost]
        if lost and lost[0] == self._since()[0]:
            known = measure.compose([each.price for each in self._counted(entries, lost[0])])
            prices[0] = measure.left(_loss(lost[0].total, measure), known)
        return measure.compose(prices)

    def before(self, end: str, known: Set[str]) -> Sightings:
        """What was seen before the entry of a hash, but for what is known by its hash."""
        hashes = [each.hash for each in self.seen]
        seen = self.seen[: hashes.index(end)] if end in hashes else self.seen
        return Sightings(self.where, [each for each in seen if each.hash not in known])

    def prices(self, entries: Sequence[LedgerEntry], measure: Measure[Any]) -> Loss:
        """The prices of what was seen and is no part of these entries."""
        lost = _not_among(entries, self.seen)
        return measure.compose([measure.zero(), *(_loss(each.price, measure) for each in lost)])

    def _lost(self, entries: Sequence[LedgerEntry]) -> list[Sighting]:
        """What was seen since the last adoption, and is not among these entries."""
        return _not_among(entries, self._since())

    def _since(self) -> Sequence[Sighting]:
        """What was seen since the last adoption, which comes first."""
        adopted = [
            place for place, each in enumerate(self.seen) if each.state == EntryState.ADOPTED.value
        ]
        return self.seen[adopted[-1] :] if adopted else self.seen

    def _counted(self, entries: Sequence[LedgerEntry], first: Sighting) -> list[LedgerEntry]:
        """The entries that the total of a sighting counts: seen before, or before in one file."""
        before = {each.hash for each in self.seen[: self.seen.index(first)]}
        return [
            each
            for each in entries
            if each.hash in before or (each.place == self.place and each.number < first.number)
        ]


def _not_among(entries: Sequence[LedgerEntry], seen: Sequence[Sighting]) -> list[Sighting]:
    """Each sighting of an entry that is not among these, once."""
    known = {each.hash for each in entries}
    return [each for each in dict.fromkeys(seen) if each.hash not in known]


def _number(seen: Sighting) -> int:
    return seen.number


def _loss(text: str, measure: Measure[Any]) -> Loss:
    return read_short(text.replace(_BETWEEN, " "), measure)
