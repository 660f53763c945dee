"""One entry of a ledger: a fact that is never changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from hashlib import sha256
from typing import Any, Final

import attrs

from opendp_lite.errors import LedgerError
from opendp_lite.measures.exact_loss import Loss
from opendp_lite.measures.measure import Measure
from opendp_lite.sessions.loss_text import added, read_loss, write_loss


class EntryState(Enum):
    """What an entry says."""

    CREATED = "created"
    """The ledger begins, with its budget."""
    RESERVED = "reserved"
    """A price was paid, before the data was read. It counts for ever."""
    RELEASED = "released"
    """The run that an earlier entry paid for came to its end."""
    RAISED = "raised"
    """The budget was raised, for a reason."""
    ADOPTED = "adopted"
    """The file was copied, moved or rolled back, and is used on, for a reason."""
    ADMITTED = "admitted"
    """A content of the data got a name."""


@attrs.frozen
class LedgerEntry:
    """One entry of a ledger.

    Attributes:
        number: Its place, from 1.
        state: What it says.
        price: The loss that it adds.
        total: The loss of this and all earlier entries, exactly.
        budget: The budget from here on.
        unit: Whom one unit of privacy protects, in words.
        scope: The name of the content of the data; empty where none was given.
        asked: The pipeline that was paid for, as JSON.
        note: Words of the person who asked, or the reason for a change.
        closes: The number of the entry whose run ended.
        content: The keyed hash of a content that gets a name here.
        time: In UTC, for the audit only: nothing is decided by it.
        version: Of the package.
        machine: A hash that tells machines apart.
        place: Which file this was: its number in its file system, and its time of birth.
        previous: The hash of the entry before; of the ledger's terms for the first.
        hash: Of all the above.
    """

    number: int
    state: EntryState
    price: Loss
    total: Loss
    budget: Loss
    unit: str
    scope: str
    asked: str
    note: str
    closes: int | None
    content: str
    time: str
    version: str
    machine: str
    place: str
    previous: str
    hash: str = ""

    @classmethod
    def of_row(cls, row: Sequence[Any], measure: Measure[Any]) -> LedgerEntry:
        """The entry that a row of the file holds, and whose hash is that of its cells.

        Raises:
            LedgerError: If a cell was changed.
        """
        held = dict(zip(COLUMNS, row, strict=True))
        texts = (held[name] for name in COLUMNS if name not in ("number", "closes"))
        if not all(isinstance(each, str) for each in texts) or held["state"] not in _STATES:
            raise LedgerError(f"the ledger is damaged: entry {held['number']} cannot be read")
        if digest_of(row[:-1]) != held["hash"]:
            raise LedgerError(
                f"the ledger is damaged or was changed by hand: entry {held['number']} has the "
                "hash of another. Restore a copy and adopt it with a reason"
            )
        losses = {name: read_loss(held[name], measure) for name in _LOSSES}
        return cls(**{**held, **losses, "state": EntryState(held["state"])})

    def followed_by(self, state: EntryState, measure: Measure[Any], **cells: Any) -> LedgerEntry:
        """The entry after this one, not yet sealed.

        Args:
            state: What it says.
            measure: Adds its price to the total.
            cells: What it holds; all else is as here, or empty.
        """
        price = cells.pop("price", measure.zero())
        fresh = {"scope": "", "asked": "", "note": "", "closes": None, "content": "", **cells}
        return attrs.evolve(
            self,
            number=self.number + 1,
            state=state,
            price=price,
            total=added(measure, self.total, price),
            previous=self.hash,
            hash="",
            **fresh,
        )

    def row(self) -> tuple[Any, ...]:
        """As it stands in the file: text, apart from the numbers of entries."""
        losses = {name: write_loss(getattr(self, name)) for name in _LOSSES}
        held = {**{name: getattr(self, name) for name in COLUMNS}, **losses}
        return tuple({**held, "state": self.state.value}.values())

    def sealed(self) -> LedgerEntry:
        """The same with its hash."""
        return attrs.evolve(self, hash=digest_of(self.row()[:-1]))

    def as_dict(self) -> dict[str, Any]:
        """Its row by column."""
        return dict(zip(COLUMNS, self.row(), strict=True))


def digest_of(cells: Sequence[Any]) -> str:
    """SHA-256, in hexadecimal, of a JSON list without spaces."""
    text = json.dumps(list(cells), separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


COLUMNS: Final = tuple(attrs.fields_dict(LedgerEntry))
"""The columns of the file, in their order."""

_LOSSES: Final = ("price", "total", "budget")
_STATES: Final = frozenset(state.value for state in EntryState)
