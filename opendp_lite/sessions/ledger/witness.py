"""What was seen of a ledger's entries outside of its content: by a mark, or by a witness."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence, Set
from errno import ENODATA, ENOSYS, ENOTSUP, EPERM
from pathlib import Path
from typing import Any, Final, NoReturn

import attrs

from opendp_lite.base.errors import LedgerError, system_reason
from opendp_lite.measures.budgets import Loss
from opendp_lite.measures.measure import AnyMeasure
from opendp_lite.sessions.ledger.entries import EntryState, LedgerEntry
from opendp_lite.sessions.ledger.place import FilePlace, require_own_name
from opendp_lite.sessions.text import read_short, write_loss, write_short

# At the end of a line that is whole.
_END: Final = "."
_FIELDS: Final = 5
# Between the numbers of a loss.
_BETWEEN: Final = ","
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
        last = max(self._lost(entries), key=lambda each: each.number, default=None)
        if last is not None:
            raise LedgerError(
                f"the ledger was rolled back or has another history: {self.where} saw entry "
                f"{last.number} with the hash {last.hash[:_SHOWN]}, and the file does not hold it. "
                "Put the newer file back, or adopt this one with a reason, which counts what was "
                "seen as spent"
            )

    def sum_lost(self, entries: Sequence[LedgerEntry], measure: AnyMeasure) -> Loss:
        """What was seen spent, on however many copies, and is no part of these entries.

        The first sighting since the last adoption tells a total, which counts all that was seen
        before it. Of those after it, each tells its own price.
        """
        lost = self._lost(entries)
        prices = [_loss(each.price, measure) for each in lost]
        if lost and lost[0] == self._since()[0]:
            known = measure.compose([each.price for each in self._find_counted(entries, lost[0])])
            prices[0] = measure.left(_loss(lost[0].total, measure), known)
        found: Loss = measure.compose(prices)
        return found

    def before(self, end: str, known: Set[str]) -> Sightings:
        """What was seen before the entry of a hash, but for what is known by its hash."""
        hashes = [each.hash for each in self.seen]
        seen = self.seen[: hashes.index(end)] if end in hashes else self.seen
        return Sightings(self.where, [each for each in seen if each.hash not in known])

    def prices(self, entries: Sequence[LedgerEntry], measure: AnyMeasure) -> Loss:
        """The prices of what was seen and is no part of these entries."""
        lost = _not_among(entries, self.seen)
        found: Loss = measure.compose(
            [measure.zero(), *(_loss(each.price, measure) for each in lost)]
        )
        return found

    def _lost(self, entries: Sequence[LedgerEntry]) -> list[Sighting]:
        """What was seen since the last adoption, and is not among these entries."""
        return _not_among(entries, self._since())

    def _since(self) -> Sequence[Sighting]:
        """What was seen since the last adoption, which comes first."""
        adopted = [
            place for place, each in enumerate(self.seen) if each.state == EntryState.ADOPTED.value
        ]
        return self.seen[adopted[-1] :] if adopted else self.seen

    def _find_counted(self, entries: Sequence[LedgerEntry], first: Sighting) -> list[LedgerEntry]:
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


def _loss(text: str, measure: AnyMeasure) -> Loss:
    return read_short(text.replace(_BETWEEN, " "), measure)


_NAME: Final = "user.opendp_lite.ledger"
_TOLD: Final = "a mark on the file"
# Sandboxes refuse the calls by EPERM.
_NO_MARKS: Final = (ENOTSUP, ENOSYS, EPERM)


def read_mark(path: Path) -> Sightings:
    """The last entry by the mark on a file; nothing where the file system keeps no marks.

    It finds a file that ``cp`` wrote an older copy over. A copy that brings its own marks
    (``cp --archive``) it does not find: that takes a witness elsewhere.
    """
    place = FilePlace.of(path).identity
    try:
        found = Sighting.read(_call("getxattr")(path, _NAME).decode("ascii", "replace"))
    except OSError as problem:
        if problem.errno not in (ENODATA, *_NO_MARKS):
            raise LedgerError(
                f"the mark on the ledger {str(path)!r} cannot be read: {system_reason(problem)}"
            ) from None
        found = None
    return Sightings(_TOLD, [] if found is None else [found], place)


def mark(path: Path, entry: LedgerEntry) -> None:
    """Marks a file with its last entry, where the file system keeps marks.

    A file system may keep less than 4 KB. So a loss of many digits is rounded up.

    Raises:
        LedgerError: If it keeps marks, and not this one: an older mark would stay.
    """
    line = Sighting.of(entry, write_short).line().encode()
    try:
        _call("setxattr")(path, _NAME, line)
    except OSError as problem:
        refused = problem.errno == EPERM and read_mark(path).seen
        if refused or problem.errno not in _NO_MARKS:
            raise LedgerError(
                f"the mark on the ledger {str(path)!r} cannot be written "
                f"({system_reason(problem)}); the entry counts, and nothing is released. Make room "
                "on its disk, or raise your quota there"
            ) from None


_CHECKED: Final = "user.opendp_lite.checked"


@attrs.frozen
class CheckMark:
    """Up to which entry a file was checked, and when it was last written then.

    Whatever writes to the file afterwards, with SQLite or without, changes that time: then all is
    checked anew. Where the file system keeps no marks, there is none.
    """

    number: int
    hash: str
    written: int

    @classmethod
    def read(cls, path: Path) -> CheckMark | None:
        """What a file says."""
        try:
            number, hashed, written = _call("getxattr")(path, _CHECKED).decode("ascii").split(" ")
            return cls(int(number), hashed, int(written))
        except (OSError, ValueError):
            return None

    @classmethod
    def now(cls, path: Path, entry: LedgerEntry) -> CheckMark:
        """As a file is now, all of it checked up to an entry."""
        return cls(entry.number, entry.hash, path.stat().st_mtime_ns)

    @classmethod
    def write(cls, path: Path, entry: LedgerEntry) -> CheckMark | None:
        """Says on a file that all of it was checked up to an entry; None where it cannot be said.

        Clocks of file systems stand still for milliseconds. So the time is set back a little: that
        of a later write is another one, however soon it comes.
        """
        try:
            found = path.stat()
            os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns - 1))
            made = cls.now(path, entry)
            text = f"{made.number} {made.hash} {made.written}"
            _call("setxattr")(path, _CHECKED, text.encode())
        except OSError:
            return None
        return made


def _call(name: str) -> Any:
    """A call that some systems do not have."""
    return getattr(os, name, _refuse)


def _refuse(*given: object) -> NoReturn:
    raise OSError(ENOTSUP, os.strerror(ENOTSUP))


_MODE: Final = 0o600
# Bytes of the end that hold the last entry, unless other ledgers share the witness.
_TAIL: Final = 2**16
_MAY_BEGIN: Final = (EntryState.CREATED, EntryState.ADOPTED)


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
        making = os.O_CREAT if any(each.state in _MAY_BEGIN for each in entries) else 0
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
