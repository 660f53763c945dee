"""What was seen of a ledger's entries outside of its content: by a mark, or by a witness."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import Final

import attrs

from opendp_lite.base.errors import LedgerError, system_reason
from opendp_lite.measures.budgets import Loss
from opendp_lite.measures.divergences import AnyMeasure, Measure
from opendp_lite.sessions.ledger.entries import EntryState, LedgerEntry
from opendp_lite.sessions.ledger.place import require_own_name
from opendp_lite.sessions.text import read_short, write_loss

# At the end of a line that is whole.
_END: Final = "."
_HASH: Final = re.compile("[0-9a-f]{64}")
# SQLite has no row of a longer number.
_NUMBER: Final = re.compile("[0-9]{1,18}")
# Between the numbers of a loss.
_BETWEEN: Final = ","


@attrs.frozen
class Sighting:
    """An entry by its number, hash, state, price and total, as one line of text.

    An adoption also tells the hashes of what it counted; none of an earlier version of the package
    does.
    """

    number: int
    hash: str
    state: str
    price: str
    total: str
    counted: str = ""

    @classmethod
    def of(cls, entry: LedgerEntry, write: Callable[[Loss], str] = write_loss) -> Sighting:
        """An entry as it is remembered, with its losses as ``write`` writes them."""
        price, total = (write(each).replace(" ", _BETWEEN) for each in (entry.price, entry.total))
        counted = entry.asked if _is_adoption(entry) else ""
        return cls(entry.number, entry.hash, entry.state.value, price, total, counted)

    @classmethod
    def read(cls, line: str) -> Sighting | None:
        """The entry that a line tells of; None for a line that was cut short."""
        words, _, end = line.rpartition(" ")
        fields = words.split(" ")
        if end != _END or len(fields) not in (5, 6):
            return None
        number, hashed, state, price, total, *counted = fields
        if not (_NUMBER.fullmatch(number) and _HASH.fullmatch(hashed)):
            return None
        return cls(int(number), hashed, state, price, total, *counted)

    def line(self) -> str:
        """As ``read`` takes it."""
        told = (self.number, self.hash, self.state, self.price, self.total, self.counted, _END)
        return " ".join(str(each) for each in told if each != "")


@attrs.frozen
class Sightings:
    """Entries that were seen.

    What an adoption counted does not bind the ledger any more. The adoption names it, so lines may
    stand in any order, and several times: witnesses of several machines are put together as files.
    Adoptions by an earlier version name nothing. What they counted is counted once more.

    Attributes:
        where: Who saw them, in words.
        seen: The entries.
        place: Which file they are of, where they are of the history of one file alone.
    """

    where: str
    seen: Sequence[Sighting]
    place: str = ""

    def require_in(self, entries: Sequence[LedgerEntry], remedy: str) -> None:
        """Refuses entries that lack one that was seen, and says what to do.

        The last one is not enough: a handle that was open may have gone on from an older copy. An
        adoption that names nothing is taken to have counted what stood before its first line.
        """
        silent = {each.hash for each in entries if _is_adoption(each) and not each.asked}
        hashes = [each.hash for each in self.seen]
        end = max((hashes.index(each) for each in silent.intersection(hashes)), default=0)
        known = set(hashes[:end])
        lost = (each for each in self.find_lost(entries) if each.hash not in known)
        last = max(lost, key=lambda each: each.number, default=None)
        if last is not None:
            raise LedgerError(
                f"the ledger was rolled back or has another history: {self.where} saw entry "
                f"{last.number} with the hash {last.hash[:12]}, which is no longer there. "
                f"{remedy}, or adopt this one with a reason, which counts what was seen as spent"
            )

    def find_lost(self, entries: Sequence[LedgerEntry]) -> list[Sighting]:
        """What was seen, is not among these entries, and was counted by no adoption of them."""
        known = {each.hash for each in entries}
        for each in filter(_is_adoption, entries):
            known |= _read_counted(each.asked)
        return [each for each in dict.fromkeys(self.seen) if each.hash not in known]

    def sum_lost(self, entries: Sequence[LedgerEntry], measure: Measure[Loss]) -> Loss:
        """What was seen spent, on however many copies, and is no part of these entries.

        A witness saw all that was spent before an entry that it saw, but for an adoption by an
        earlier version, with which it may begin. So its total counts, and of others their prices:
        of an adoption what exceeds the payments that it counted and that are known here by
        themselves. Of one file alone only the last entry was seen, and its total counts.
        """
        paid = {
            **{each.hash: _loss(each.price, measure) for each in self.seen if not _adopts(each)},
            **{each.hash: each.price for each in entries if not _is_adoption(each)},
        }
        found = [measure.zero()]
        for each in self.find_lost(entries):
            price = _loss(each.price, measure)
            known: list[Loss] = []
            if self.place:
                price = _loss(each.total, measure)
                known = [
                    it.price for it in entries if it.place == self.place and it.number < each.number
                ]
            elif _adopts(each):
                price = price if each.counted else _loss(each.total, measure)
                known = [paid[it] for it in _read_counted(each.counted) if it in paid]
            found.append(measure.left(price, measure.compose([measure.zero(), *known])))
        return measure.compose(found)


def write_counted(hashes: Set[str]) -> str:
    """What an adoption counted, as JSON without spaces."""
    return json.dumps(sorted(hashes), separators=(",", ":"))


def _read_counted(text: str) -> set[str]:
    return set(_HASH.findall(text))


def _is_adoption(entry: LedgerEntry) -> bool:
    return entry.state is EntryState.ADOPTED


def _adopts(seen: Sighting) -> bool:
    return seen.state == EntryState.ADOPTED.value


def _loss(text: str, measure: AnyMeasure) -> Loss:
    return read_short(text.replace(_BETWEEN, " "), measure)


@attrs.frozen
class CheckMark:
    """Up to which entry a file was checked, and when it was last written then.

    Whatever writes to the file afterwards, with SQLite or without, changes that time: then all is
    checked anew. Where the file system keeps no marks, there is none.
    """

    number: int
    hash: str
    written: int


_MODE: Final = 0o600
# Bytes of the end that hold the last entry, unless other ledgers share the witness.
_TAIL: Final = 2**16


@attrs.frozen
class WitnessFile:
    """A line for each entry: the identity of the ledger, and the entry as a ``Sighting``.

    Several ledgers may share a witness. A line that was cut short is passed over. Only the first
    entry of a ledger and an adoption make the file, so that one that was deleted is missed.
    """

    path: Path
    identity: str

    @classmethod
    def beside(cls, ledger: Path, path: str | os.PathLike[str], identity: str) -> WitnessFile:
        """A witness of a ledger, in a folder that is there, on any file system.

        Raises:
            LedgerError: If it is the file of the ledger or no file, or has a name that SQLite gives
                to its own files. It must not hold something else.
        """
        nowhere = LedgerError(
            f"the witness is a file in a folder that is there; {str(path)!r} is not"
        )
        try:
            found = Path(path).resolve()
            stands = found.parent.is_dir() and (found.is_file() or not found.exists())
        except (OSError, ValueError):
            raise nowhere from None
        if not stands:
            raise nowhere
        require_own_name(found, "a witness")
        if str(found).casefold() == str(ledger).casefold():
            raise LedgerError(
                f"the witness is a file of its own, elsewhere; {str(found)!r} is the ledger "
                "itself. Name another"
            )
        witness = cls(found, identity)
        if witness._is_other():
            raise LedgerError(
                f"{str(found)!r} holds something else than a witness; name a new file, or the "
                "witness of another ledger"
            )
        return witness

    def sightings(self) -> Sightings:
        """The entries that it saw."""
        return Sightings("its witness", self._seen(self._read()))

    def last(self) -> Sightings:
        """The last entry that it saw; nothing where it is lost. It is near the end of the file."""
        seen = self._seen(self._read(_TAIL)) or self._seen(self._read())
        return Sightings("its witness", seen[-1:])

    def require_there(self, sightings: Sightings) -> None:
        """Refuses a witness that is lost."""
        if not sightings.seen:
            raise LedgerError(
                f"the ledger has a witness, {str(self.path)!r}, which is not there or says nothing "
                "of this ledger; put it back, or adopt the ledger with a reason, which starts a "
                "new one"
            )

    def append(self, entries: Sequence[LedgerEntry]) -> None:
        """Writes a line for each and waits until they are on the disk.

        Each begins with a line break too: what a crash left of an earlier one spoils nothing.
        """
        lines = (f"\n{self.identity} {Sighting.of(each).line()}\n" for each in entries)
        data = "".join(lines).encode()
        making = (
            os.O_CREAT
            if any(each.state in (EntryState.CREATED, EntryState.ADOPTED) for each in entries)
            else 0
        )
        if making and self._is_other():
            raise self._refuse_unwritten("it holds something else than a witness")
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | making, _MODE)
            try:
                whole = os.write(handle, data) == len(data)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as problem:
            raise self._refuse_unwritten(system_reason(problem)) from None
        if not whole:
            raise self._refuse_unwritten("its disk is full")

    def _read(self, most: int | None = None) -> bytes:
        """So many bytes of its end, or all; nothing where there is no file."""
        if self.path.exists() and not self.path.is_file():
            raise LedgerError(f"the witness {str(self.path)!r} is no file any more; put it back")
        try:
            with self.path.open("rb") as file:
                if most is not None:
                    file.seek(max(0, file.seek(0, os.SEEK_END) - most))
                return file.read()
        except FileNotFoundError:
            return b""
        except OSError as problem:
            raise LedgerError(
                f"the witness {str(self.path)!r} cannot be read: {system_reason(problem)}"
            ) from None

    def _seen(self, data: bytes) -> list[Sighting]:
        """The entries of this ledger in what was read."""
        own = (line.partition(" ") for line in data.decode("ascii", "replace").splitlines())
        found = (Sighting.read(rest) for identity, _, rest in own if identity == self.identity)
        return [each for each in found if each is not None]

    def _is_other(self) -> bool:
        """Whether the file begins with what no ledger wrote: each line begins with a break."""
        return self._read()[:1] not in (b"", b"\n")

    def _refuse_unwritten(self, why: str) -> LedgerError:
        return LedgerError(
            f"the witness {str(self.path)!r} cannot be written ({why}); the entry counts, and "
            "nothing is released"
        )
