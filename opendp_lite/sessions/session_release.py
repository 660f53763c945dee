"""A release that knows what it cost."""

from __future__ import annotations

from typing import Any, Generic, cast

import attrs

from opendp_lite.combinators.account import Receipt
from opendp_lite.core import Measurement, R
from opendp_lite.measures.privacy_budget import PrivacyBudget


@attrs.frozen(repr=False)
class Release(Generic[R]):
    """What a session or a ledger released, and what it cost.

    Args:
        value: What the pipeline released.
        query: The pipeline, bound to its space.
        price: What it cost, exactly, in the measure of the budget.
        budget: The whole budget.
        receipt: Its number among the entries, and what was spent when it was paid.
        note: What was written beside it.

    Example:
        >>> import opendp_lite as dp
        >>> ask = dp.session([41, 38, 25] * 1000, budget=dp.rho(1))
        >>> release = ask(dp.mean(0, 100, rho=0.1))
        >>> round(release.value), release.number
        (35, 1)
    """

    value: R
    query: Measurement[Any, Any, R]
    price: Any
    budget: PrivacyBudget[Any]
    receipt: Receipt
    note: str = ""

    @property
    def number(self) -> int:
        """Which entry of the session or the ledger it is."""
        return self.receipt.number

    def __float__(self) -> float:
        return float(cast(Any, self.value))

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return f"<release {self.number}, {self.budget.measure.words(self.price)}: {self.value!r}>"
