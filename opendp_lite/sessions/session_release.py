"""A release that knows what it cost."""

from __future__ import annotations

from typing import Any, Generic, cast

import attrs

from opendp_lite.combinators.account import Order, Receipt
from opendp_lite.core import R
from opendp_lite.exact import Number, digits_down
from opendp_lite.measures.measure import Measure
from opendp_lite.shown_results import html_of_each, told
from opendp_lite.statements.position import Position
from opendp_lite.statements.statement import Statement


@attrs.frozen
class Payer:
    """The session or ledger that paid for a release.

    Args:
        title: What it is, in words.
        unit: What its owner declares a unit of privacy to be.
    """

    title: str
    unit: str


@attrs.frozen(repr=False)
class Release(Generic[R]):
    """What a session or a ledger released, and what it cost.

    Args:
        value: What the pipeline released.
        order: The pipeline, its price and what was written beside it.
        receipt: Its number among the entries, and what was spent when it was paid.
        payer: Which budget paid.

    Example:
        >>> import opendp_lite as dp
        >>> ask = dp.session([41, 38, 25] * 1000, budget=dp.rho(1))
        >>> release = ask(dp.mean(0, 100, rho=0.1), note="table 3")
        >>> round(release.value), release.number, release.price, release.note
        (35, 1, Fraction(1, 10), 'table 3')
    """

    value: R
    order: Order
    receipt: Receipt
    payer: Payer

    @property
    def number(self) -> int:
        """Which entry of the session or the ledger it is."""
        return self.receipt.number

    @property
    def price(self) -> Any:
        """What it cost, exactly, in the measure of the budget: under ``dp.mu`` the square of mu."""
        return self.order.price

    @property
    def note(self) -> str:
        """What was written beside it."""
        return self.order.note

    def statement(self, *, delta: Number | None = None) -> Statement:
        """What the release protects, how well, and what is left of the budget, in plain words.

        Nothing in it depends on data: the value is no part of it.

        Args:
            delta: As for ``pipeline.statement``.

        Returns:
            A ``Statement``, whose ``position`` says where the release stands among the others.
        """
        budget, spent = self.receipt.budget, self.receipt.spent
        measure = budget.measure
        position = Position(
            ledger=self.payer.title,
            number=self.number,
            spent=measure.words(spent),
            left=measure.words(_few_digits(measure, measure.left(budget.loss, spent))),
            budget=budget.words(),
            head=self.receipt.head,
            unit=self.payer.unit,
            note=self.note,
        )
        return attrs.evolve(self.order.query.statement(delta=delta), position=position)

    def __float__(self) -> float:
        return float(cast(Any, self.value))

    def __str__(self) -> str:
        return told(self.value)

    def _repr_html_(self) -> str:
        budget, spent = self.receipt.budget, self.receipt.spent
        rows = {
            "release": f"number {self.number} of {self.payer.title}",
            "value": self.value,
            "price": budget.measure.words(self.price),
            "spent so far": budget.measure.words(spent),
            "budget": budget.words(),
        }
        words = {"protects": self.payer.unit, "note": self.note}
        return html_of_each([*rows.items(), *(each for each in words.items() if each[1])])

    def __repr__(self) -> str:
        words = self.receipt.budget.measure.words(self.price)
        return f"<release {self.number}, {words}: {self.value!r}>"


def _few_digits(measure: Measure[Any], loss: Any) -> Any:
    """At most a loss, and one that is typed in few digits: words do not round it up."""
    typed = measure.typed(loss)
    few = tuple(map(digits_down, typed)) if isinstance(typed, tuple) else digits_down(typed)
    return measure.loss(few)
