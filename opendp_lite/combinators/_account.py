"""What was spent of a budget: a privacy filter, which refuses what would pass the budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from threading import RLock
from typing import Any, Generic

import attrs

from opendp_lite.core import M
from opendp_lite.errors import BudgetExceeded
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.privacy_budget import PrivacyBudget
from opendp_lite.recipes import Mechanism


@attrs.frozen
class Order:
    """What is asked for, and what it costs.

    Args:
        query: The pipeline.
        price: Its loss, exactly, in the measure of the budget that pays.
        note: What a person wrote beside it.
    """

    query: Mechanism[Any, Any]
    price: Any
    note: str = ""

    @property
    def name(self) -> str:
        """The steps of the query, in short."""
        return " >> ".join(call.brief() for call in self.query.calls)


class Account(ABC, Generic[M]):
    """A budget that pays for orders, one after another.

    Losses are composed as plain numbers of the measure. A composed curve holds for releases that
    were chosen beforehand, and not for a sum that decides when to stop.
    """

    def __init__(self, budget: PrivacyBudget[M]) -> None:
        self.budget = budget
        self.lock = RLock()

    @abstractmethod
    def spent(self) -> Any:
        """The loss of all orders so far."""

    @abstractmethod
    def pay(self, order: Order) -> int:
        """Books an order before any data is read, and says its number; or refuses it."""

    def left(self) -> Any:
        """The loss that may still be spent."""
        return self.budget.measure.left(self.budget.loss, self.spent())

    def require(self, order: Order) -> None:
        """Refuses an order that what is left does not pay for."""
        measure = self.budget.measure
        spent = self.spent()
        if not measure.within(measure.compose([spent, order.price]), self.budget.loss):
            raise BudgetExceeded(
                f"{order.name} needs {measure.words(order.price)}; {measure.show(spent)} of "
                f"{measure.show(self.budget.loss)} has been spent. Ask for less, or give "
                "a larger budget"
            )


class MemoryAccount(Account[M]):
    """An account that lasts as long as its process."""

    def __init__(self, budget: PrivacyBudget[M]) -> None:
        super().__init__(budget)
        self._total = budget.measure.zero()
        self._count = 0

    def spent(self) -> Any:
        return self._total

    def pay(self, order: Order) -> int:
        with self.lock:
            self.require(order)
            self._total = without_curve(self.budget.measure.compose([self._total, order.price]))
            self._count += 1
            return self._count


class PartOfAccount(MemoryAccount[M]):
    """A part of another account's budget: what it pays, the other pays too."""

    def __init__(self, whole: Account[M], budget: PrivacyBudget[M]) -> None:
        super().__init__(budget)
        self.whole = whole
        self.lock = whole.lock

    def pay(self, order: Order) -> int:
        with self.lock:
            self.require(order)
            number = self.whole.pay(order)
            super().pay(order)
            return number


def parts_of(account: Account[M], shares: tuple[Fraction, ...]) -> tuple[PartOfAccount[M], ...]:
    """Accounts that divide what is left, in these proportions."""
    measure = account.budget.measure
    with account.lock:
        losses = measure.split(account.left(), shares)
    return tuple(PartOfAccount(account, PrivacyBudget(measure, loss)) for loss in losses)
