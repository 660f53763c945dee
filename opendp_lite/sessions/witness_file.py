"""A file elsewhere that remembers how far a ledger had come."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from opendp_lite.errors import LedgerError
from opendp_lite.measures.measure import Measure
from opendp_lite.sessions.ledger_entry import EntryState, LedgerEntry
from opendp_lite.sessions.loss_text import Loss, read_loss, write_loss

_END: Final = " ."
"""At the end of a line that is whole."""
_MODE: Final = 0o600


@attrs.frozen
class _Seen:
    """An entry as the witness has it."""

    number: int
    hash: str
    state: str
    total: str


@attrs.frozen
class WitnessFile:
    """Lines of an identity, a number, a hash, a state and a total: one for each entry of a ledger.

    Several ledgers may share a witness. A line that was cut short is passed over. What was seen
    before a ledger was adopted does not bind it any more, as the adoption counted it.
    """

    path: Path
    identity: str

    def require_behind(self, entries: Sequence[LedgerEntry]) -> None:
        """Refuses entries that are not those that the witness saw, or that end before.

        Raises:
            LedgerError: Also where there is no witness.
        """
        seen = self._seen()
        if not seen:
            raise LedgerError(
                f"the ledger has a witness, {str(self.path)!r}, which is not there or says nothing "
                "of this ledger; put it back, or adopt the ledger with a reason, which starts a "
                "new one"
            )
        last = _latest(seen)
        if self._common(entries, seen) < last.number:
            raise LedgerError(
                f"the ledger was rolled back or has another history: its witness saw entry "
                f"{last.number} with the hash {last.hash[:12]}..., and the file does not hold it. "
                "Put the newer file back, or adopt this one with a reason, which counts what the "
                "witness saw as spent"
            )

    def missed(self, entries: Sequence[LedgerEntry], measure: Measure[Any]) -> Loss:
        """What the witness saw spent that these entries do not hold."""
        seen = self._seen()
        common = self._common(entries, seen)
        spent = read_loss(_latest(seen).total, measure) if seen else measure.zero()
        known = entries[common - 1].total if common else measure.zero()
        return measure.left(spent, known)

    def append(self, entry: LedgerEntry) -> None:
        """Writes a line and waits until it is on the disk.

        It begins with a line break too: what a crash left of an earlier one spoils nothing.
        """
        cells = (self.identity, entry.number, entry.hash, entry.state.value)
        line = " ".join(map(str, (*cells, write_loss(entry.total))))
        data = f"\n{line}{_END}\n".encode()
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _MODE)
            try:
                whole = os.write(handle, data) == len(data)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as problem:
            raise LedgerError(
                f"the witness {str(self.path)!r} cannot be written "
                f"({problem.strerror or type(problem).__name__}); the entry counts, and nothing "
                "is released"
            ) from None
        if not whole:
            raise LedgerError(
                f"the disk of the witness {str(self.path)!r} is full; the entry counts, and "
                "nothing is released"
            )

    def _seen(self) -> list[_Seen]:
        """The entries that it saw, in the order of its lines."""
        try:
            lines = self.path.read_text("ascii", "replace").splitlines()
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise LedgerError(
                f"the witness {str(self.path)!r} cannot be read: "
                f"{problem.strerror or type(problem).__name__}"
            ) from None
        found = []
        for line in lines:
            words = line.removesuffix(_END).split(" ", 4) if line.endswith(_END) else []
            if len(words) == 5 and words[0] == self.identity and words[1].isdecimal():
                found.append(_Seen(int(words[1]), *words[2:]))
        return found

    def _common(self, entries: Sequence[LedgerEntry], seen: Sequence[_Seen]) -> int:
        """The number of the last entry that both hold."""
        known = {each.hash for each in entries}
        return max((each.number for each in seen if each.hash in known), default=0)


def _latest(seen: Sequence[_Seen]) -> _Seen:
    """The last entry since the last adoption; lines of several processes may change places."""
    adopted = [place for place, each in enumerate(seen) if each.state == EntryState.ADOPTED.value]
    since = seen[adopted[-1] :] if adopted else seen
    return max(since, key=lambda each: each.number)
