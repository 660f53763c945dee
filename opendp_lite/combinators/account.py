"""What was spent of a budget: a privacy filter, which refuses what would pass the budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from threading import Lock, RLock
from typing import Any, Final, Generic

import attrs

from opendp_lite.calls import calls_in
from opendp_lite.core import M, Measurement
from opendp_lite.errors import BudgetExceeded, ParameterError, SpaceError
from opendp_lite.exact import described, whole
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.privacy_budget import PrivacyBudget

_MOST_PARTS: Final = 10_000


@attrs.frozen
class Order:
    """What is asked for, and what it costs.

    Args:
        query: The pipeline, bound to a space.
        price: Its loss for one unit, exactly, in the measure of the budget that pays.
        note: What a person wrote beside it.
    """

    query: Measurement[Any, Any]
    price: Any
    note: str = ""

    @property
    def name(self) -> str:
        """The steps of the query, in short."""
        return " >> ".join(call.brief() for call in calls_in(self.query.recipe))


@attrs.frozen
class Receipt:
    """What an account says of an order that was paid.

    Args:
        number: Of the entry.
        spent: The loss of all orders, this one included.
        budget: The most that all orders may cost together.
        head: The last hash of the chain of entries, where there is one.
    """

    number: int
    spent: Any
    budget: PrivacyBudget[Any]
    head: str = ""


class Account(ABC, Generic[M]):
    """A budget that pays for orders, one after another.

    Losses are composed as plain numbers of the measure. A composed curve holds for releases that
    were chosen beforehand, and not for a sum that decides when to stop.
    """

    def __init__(self) -> None:
        self.lock = RLock()
        self._paying = Lock()

    title = "a session"
    """What it is, in words."""
    unit = ""
    """What its owner declares a unit of privacy to be."""

    @property
    @abstractmethod
    def budget(self) -> PrivacyBudget[M]:
        """The most that all orders may cost together."""

    @property
    def root(self) -> Account[M]:
        """The account that this is a part of, or itself."""
        return self

    @abstractmethod
    def spent(self) -> Any:
        """The loss of all orders so far."""

    @abstractmethod
    def pay(self, order: Order) -> Receipt:
        """Books an order before any data is read, or refuses it."""

    def finish(self, receipt: Receipt) -> Receipt:
        """Notes that a paid order was answered. It changes no number."""
        return receipt

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

    def _alone(self, work: Callable[[], Receipt]) -> Receipt:
        """What work gives, one order at a time.

        A signal handler or a finalizer runs in the thread that it interrupts, and no lock stops it:
        it would pay with what the interrupted order is about to spend.
        """
        with self.lock:
            if self._paying.locked():
                raise SpaceError(
                    "ask was called by what interrupted an order that was being paid, such as a "
                    "signal handler or a finalizer; ask again when that order is done"
                )
            with self._paying:
                return work()


class MemoryAccount(Account[M]):
    """An account that lasts as long as its process."""

    def __init__(self, budget: PrivacyBudget[M]) -> None:
        super().__init__()
        self._budget = budget
        self._total = budget.measure.zero()
        self._count = 0

    @property
    def budget(self) -> PrivacyBudget[M]:
        return self._budget

    def spent(self) -> Any:
        return self._total

    def pay(self, order: Order) -> Receipt:
        return self._alone(lambda: self._book(order))

    def _book(self, order: Order) -> Receipt:
        self.require(order)
        self._total = without_curve(self.budget.measure.compose([self._total, order.price]))
        self._count += 1
        return Receipt(self._count, self._total, self.budget)


class PartOfAccount(MemoryAccount[M]):
    """A part of another account's budget: what it pays, the other pays too."""

    def __init__(self, whole: Account[M], budget: PrivacyBudget[M]) -> None:
        super().__init__(budget)
        self.whole = whole
        self.lock = whole.lock
        self.title, self.unit = whole.title, whole.unit

    @property
    def root(self) -> Account[M]:
        return self.whole.root

    def left(self) -> Any:
        """What both the part and the whole may still spend."""
        left, own = self.budget.measure.left, super().left()
        return left(own, left(own, self.whole.left()))

    def pay(self, order: Order) -> Receipt:
        def paying() -> Receipt:
            self.require(order)
            receipt = self.whole.pay(order)
            self._book(order)
            return receipt

        return self._alone(paying)

    def finish(self, receipt: Receipt) -> Receipt:
        return self.whole.finish(receipt)


def require_root(account: Account[Any], root: Account[Any]) -> None:
    """Refuses to pay by an account that is no part of the one that the data was opened with."""
    if account.root is not root:
        raise SpaceError(
            "ask was given another account than the one that it was opened with; open a session "
            "with the budget that you mean"
        )


def _public_parts(parts: object) -> int:
    """A number of parts that a person can mean."""
    count = whole(parts, "split: parts", least=1)
    if count > _MOST_PARTS:
        raise ParameterError(f"split: parts must be at most {_MOST_PARTS}, got {described(parts)}")
    return count


def parts_of(account: Account[M], parts: object) -> tuple[PartOfAccount[M], ...]:
    """Accounts that divide what is left evenly."""
    if isinstance(parts, bool):
        raise ParameterError(f"split: parts is a whole number of at least 1, got {parts}")
    measure = account.budget.measure
    shares = (Fraction(1),) * _public_parts(parts)
    with account.lock:
        losses = measure.split(account.left(), shares)
    return tuple(PartOfAccount(account, PrivacyBudget(measure, loss)) for loss in losses)
