"""A file elsewhere that remembers how far a ledger had come."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import attrs

from opendp_lite.errors import LedgerError
from opendp_lite.sessions.ledger_entry import LedgerEntry
from opendp_lite.sessions.sightings import Sighting, Sightings

_MODE: Final = 0o600


@attrs.frozen
class WitnessFile:
    """A line for each entry: the identity of the ledger, and the entry as a ``Sighting``.

    Several ledgers may share a witness. A line that was cut short is passed over.
    """

    path: Path
    identity: str

    @classmethod
    def resolved(cls, path: str | os.PathLike[str], identity: str) -> WitnessFile:
        """A witness in a folder that is there, on any file system."""
        found = Path(path).resolve()
        if not found.parent.is_dir() or found.is_dir():
            raise LedgerError(
                f"the witness is a file in a folder that is there; {str(found)!r} is not"
            )
        return cls(found, identity)

    def sightings(self) -> Sightings:
        """The entries that it saw."""
        try:
            lines = self.path.read_text("ascii", "replace").splitlines()
        except FileNotFoundError:
            lines = []
        except OSError as problem:
            raise LedgerError(
                f"the witness {str(self.path)!r} cannot be read: {_why(problem)}"
            ) from None
        own = (line.partition(" ") for line in lines)
        found = (Sighting.read(rest) for identity, _, rest in own if identity == self.identity)
        return Sightings("its witness", [each for each in found if each is not None])

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
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _MODE)
            try:
                whole = os.write(handle, data) == len(data)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as problem:
            raise self._unwritten(_why(problem)) from None
        if not whole:
            raise self._unwritten("its disk is full")

    def _unwritten(self, why: str) -> LedgerError:
        return LedgerError(
            f"the witness {str(self.path)!r} cannot be written ({why}); the entry counts, and "
            "nothing is released"
        )


def _why(problem: OSError) -> str:
    return problem.strerror or type(problem).__name__
