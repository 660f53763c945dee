"""What a ledger is for, fixed when it is created."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from opendp_lite.errors import LedgerError
from opendp_lite.measures.measure import Measure
from opendp_lite.sessions.ledger_entry import digest_of
from opendp_lite.sessions.loss_text import measure_named


@attrs.frozen
class LedgerTerms:
    """What a ledger is for.

    Attributes:
        identity: A random name, which tells ledgers apart.
        measure: The name of the measure of its losses.
        unit: Whom one unit of privacy protects, in words.
        data: What the budget is for, in words.
        witness: The file elsewhere that remembers the last entry; empty where there is none.
        created: When, in UTC.
    """

    identity: str
    measure: str
    unit: str
    data: str
    witness: str
    created: str

    @classmethod
    def of_row(cls, row: Sequence[Any] | None) -> LedgerTerms:
        """The terms that a row of the file holds."""
        if row is None or not all(isinstance(each, str) for each in row):
            raise LedgerError("the ledger is damaged: its terms cannot be read")
        return cls(*row)

    def row(self) -> tuple[str, ...]:
        """As they stand in the file."""
        return attrs.astuple(self)

    def digest(self) -> str:
        """Where the chain of the entries begins."""
        return digest_of(self.row())

    @property
    def losses(self) -> Measure[Any]:
        """The measure."""
        return measure_named(self.measure)
