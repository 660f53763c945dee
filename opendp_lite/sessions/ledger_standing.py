"""How far a ledger has spent its budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from opendp_lite.measures.exact_loss import Loss
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.privacy_budget import PrivacyBudget
from opendp_lite.sessions.ledger_entry import LedgerEntry
from opendp_lite.sessions.ledger_terms import LedgerTerms


class LedgerStanding(ABC):
    """What the terms and the last entry of a ledger say."""

    __slots__ = ()
    terms: LedgerTerms

    @property
    @abstractmethod
    def head(self) -> LedgerEntry:
        """The last entry."""

    @property
    def measure(self) -> Measure[Any]:
        """Of its losses."""
        return self.terms.losses

    @property
    def spent(self) -> Loss:
        """The loss of all entries, exactly."""
        return self.head.total

    @property
    def budget(self) -> PrivacyBudget[Any]:
        """The most that all entries may cost together."""
        return PrivacyBudget(self.measure, self.head.budget)

    @property
    def left(self) -> Loss:
        """What may still be spent, exactly."""
        head = self.head
        return self.measure.left(head.budget, head.total)
