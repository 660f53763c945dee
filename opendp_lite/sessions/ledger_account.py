"""An account that is kept in a ledger's file."""

from __future__ import annotations

import json
from typing import Any

from opendp_lite.combinators.account import Account, Order, Receipt
from opendp_lite.core import M
from opendp_lite.errors import ParameterError
from opendp_lite.measures.privacy_budget import PrivacyBudget
from opendp_lite.sessions.ledger_entry import LedgerEntry
from opendp_lite.sessions.ledger_file import LedgerFile


class LedgerAccount(Account[M]):
    """Pays by an entry on the disk, which several processes may add to.

    Args:
        file: The ledger.
        scope: The name of the content of the data there.
    """

    def __init__(self, file: LedgerFile, scope: str) -> None:
        super().__init__()
        self.file, self.scope = file, scope
        terms = file.terms
        self.title = f"the ledger {terms.identity}" + (f" of {terms.data}" if terms.data else "")
        self.unit = terms.unit

    @property
    def budget(self) -> PrivacyBudget[M]:
        return self.file.budget

    def spent(self) -> Any:
        return self.file.spent

    def pay(self, order: Order) -> Receipt:
        asked = asked_text(order)

        def paying() -> Receipt:
            entry = self.file.reserve(order.price, asked=asked, note=order.note, scope=self.scope)
            return self._receipt(entry.number, entry)

        return self._alone(paying)

    def finish(self, receipt: Receipt) -> Receipt:
        return self._alone(lambda: self._receipt(receipt.number, self.file.finish(receipt.number)))

    def _receipt(self, number: int, last: LedgerEntry) -> Receipt:
        """The numbers of a payment, as they are at the last entry: the head that it names."""
        budget = PrivacyBudget(self.file.measure, last.budget)
        return Receipt(number, last.total, budget, last.hash)


def asked_text(order: Order) -> str:
    """The pipeline as JSON; the names of its steps where one of them cannot be written."""
    try:
        return order.query.to_json()
    except ParameterError:
        return json.dumps({"steps": order.name})
