"""What a program's ask and a session share: a budget, and how far it was spent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic

from opendp_lite.combinators.account import Account
from opendp_lite.combinators.priced import priced
from opendp_lite.core import M, Measurement
from opendp_lite.measures.privacy_budget import PrivacyBudget

if TYPE_CHECKING:
    from typing import Self


class Spender(ABC, Generic[M]):
    """Spends a budget, and says how far it has come. A copy of it is the same one."""

    __slots__ = ()
    _account: Account[M]

    @abstractmethod
    def _bound(self, query: Any) -> Measurement[Any, Any, Any]:
        """A query on the space that it is asked in; refused where it does not fit there."""

    def price(self, query: Any) -> Any:
        """What a query would cost in the measure of the budget. Nothing is spent or read."""
        measure = self._account.budget.measure
        return measure.show(priced(self._bound(query), measure))

    @property
    def budget(self) -> PrivacyBudget[M]:
        """The most that all releases may cost together."""
        return self._account.budget

    @property
    def spent(self) -> Any:
        """The loss of all releases so far, as people read losses."""
        return self._account.budget.measure.show(self._account.spent())

    @property
    def left(self) -> Any:
        """The loss that may still be spent, exactly: ``dp.mean(0, 9, rho=ask.left / 4)``."""
        return self._account.budget.measure.typed(self._account.left())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self
