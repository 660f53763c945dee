"""A file elsewhere that remembers how far a ledger had come."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import attrs

from opendp_lite.errors import LedgerError, system_reason
from opendp_lite.sessions.ledger_entry import EntryState, LedgerEntry
from opendp_lite.sessions.sightings import Sighting, Sightings
from opendp_lite.sessions.sqlite_files import require_own_name

_MODE: Final = 0o600
_TAIL: Final = 2**16
"""Bytes of the end that hold the last entry, unless other ledgers share the witness."""
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

    def append(self, entry: LedgerEntry) -> None:
        """Writes a line and waits until it is on the disk.

        It begins with a line break too: what a crash left of an earlier one spoils nothing.
        """
        data = f"\n{self.identity} {Sighting.of(entry).line()}\n".encode()
        making = os.O_CREAT if entry.state in _MAY_BEGIN else 0
        if making and self._is_other():
            raise self._unwritten("it holds something else than a witness")
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | making, _MODE)
            try:
                whole = os.write(handle, data) == len(data)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as problem:
            raise self._unwritten(system_reason(problem)) from None
        if not whole:
            raise self._unwritten("its disk is full")

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

    def _unwritten(self, why: str) -> LedgerError:
        return LedgerError(
            f"the witness {str(self.path)!r} cannot be written ({why}); the entry counts, and "
            "nothing is released"
        )
