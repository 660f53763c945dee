"""What was spent of a budget: a privacy filter, which refuses what would pass the budget."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from threading import Lock, RLock
from typing import Any, Final, Generic, TypeAlias, TypeVar

import attrs
import numpy as np

from opendp_lite.base.errors import BudgetExceeded, ParameterError, SpaceError
from opendp_lite.base.frozen import OwnCopy
from opendp_lite.measures.budgets import AnyBudget, Loss, PrivacyBudget
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.divergences import AnyMeasure, ApproximateDivergence
from opendp_lite.numbers.exact import digits_down, digits_up, quote, short_above, whole
from opendp_lite.pipeline.core import AnyMeasurement, M, Measurement
from opendp_lite.pipeline.questions import brief
from opendp_lite.pipeline.step_call import calls_in
from opendp_lite.pipeline.steps import Mechanism, Stage
from opendp_lite.spaces.space import Space

_MOST_PARTS: Final = 10_000


AnyStage: TypeAlias = Stage[Any, Any]
"""A pipeline without noise, between whatever spaces."""
AnySpace: TypeAlias = Space[Any]
"""A space of whatever data."""


@attrs.frozen
class Order:
    """What is asked for, and what it costs.

    Args:
        query: The pipeline, bound to a space.
        price: Its loss for one unit, exactly, in the measure of the budget that pays.
        note: What a person wrote beside it.
    """

    query: AnyMeasurement
    price: Loss
    note: str = ""

    @property
    def name(self) -> str:
        """The steps of the query, in short."""
        return " >> ".join(call.brief() for call in calls_in(self.query.recipe))


@attrs.frozen
class Receipt:
    """What an account says of an order that was paid.

    Args:
        number: Which of the orders it is, from 1.
        spent: The loss of all orders, this one included.
        budget: The most that all orders may cost together.
        head: The last hash of the chain of entries, where there is one.
        entry: Its number in the chain, which has entries of other kinds too.
    """

    number: int
    spent: Loss
    budget: PrivacyBudget[AnyMeasure]
    head: str = ""
    entry: int = 0


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
    def measure(self) -> M:
        """Of its losses."""
        return self.budget.measure

    @property
    def root(self) -> Account[M]:
        """The account that this is a part of, or itself."""
        return self

    @abstractmethod
    def spent(self) -> Loss:
        """The loss of all orders so far."""

    @abstractmethod
    def pay(self, order: Order) -> Receipt:
        """Books an order before any data is read, or refuses it."""

    def finish(self, receipt: Receipt) -> Receipt:
        """Notes that a paid order was answered. It changes no number."""
        return receipt

    def standing(self) -> tuple[PrivacyBudget[M], Loss]:
        """The budget and what was spent of it, at one moment."""
        return self.budget, self.spent()

    def left(self) -> Loss:
        """The loss that may still be spent."""
        budget, spent = self.standing()
        left: Loss = budget.measure.left(budget.loss, spent)
        return left

    def require(self, order: Order) -> None:
        """Refuses an order that what is left does not pay for."""
        budget, spent = self.standing()
        measure = budget.measure
        total = measure.compose([spent, order.price])
        if not measure.within(total, budget.loss):
            first, last = measure.shortage(total, spent, budget.loss)
            raise BudgetExceeded(
                f"{first}{order.name} needs {measure.words(budget.cost(order.price, spent))}; "
                f"{say_part(budget, spent)} has been spent. Ask for less, or give a larger "
                f"budget.{last}".removesuffix(".")
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
        self._total: Loss = budget.measure.zero()
        self._count = 0

    @property
    def budget(self) -> PrivacyBudget[M]:
        return self._budget

    def spent(self) -> Loss:
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

    def left(self) -> Loss:
        """What both the part and the whole may still spend."""
        left, own = self.budget.measure.left, super().left()
        found: Loss = left(own, left(own, self.whole.left()))
        return found

    def pay(self, order: Order) -> Receipt:
        def work() -> Receipt:
            self.require(order)
            receipt = self.whole.pay(order)
            self._book(order)
            return receipt

        return self._alone(work)

    def finish(self, receipt: Receipt) -> Receipt:
        return self.whole.finish(receipt)


AnyAccount: TypeAlias = Account[Any]
"""An account that pays in whatever measure."""


def require_root(account: AnyAccount, root: AnyAccount) -> None:
    """Refuses to pay by an account that is no part of the one that the data was opened with."""
    if account.root is not root:
        raise SpaceError(
            "ask was given another account than the one that it was opened with; open a session "
            "with the budget that you mean"
        )


def parts_of(account: Account[M], parts: object) -> tuple[PartOfAccount[M], ...]:
    """Accounts that divide what is left evenly."""
    count = whole(parts, "split: parts", least=1)
    if count > _MOST_PARTS:
        raise ParameterError(f"split: parts must be at most {_MOST_PARTS}, got {quote(parts)}")
    measure, shares = account.budget.measure, (Fraction(1),) * count
    with account.lock:
        losses = measure.split(account.left(), shares)
    return tuple(PartOfAccount(account, PrivacyBudget(measure, loss)) for loss in losses)


def say_left(budget: AnyBudget, spent: Loss) -> str:
    """What is left of a budget, or a little less: in few digits, so that no words round it up."""
    measure: AnyMeasure = budget.measure
    typed = measure.typed(measure.left(budget.loss, spent))
    few = tuple(map(digits_down, typed)) if isinstance(typed, tuple) else digits_down(typed)
    return measure.words_left(measure.loss(few))


def say_part(budget: AnyBudget, spent: Loss) -> str:
    """How much of a budget is spent, in bare numbers of few digits: "0.75 of 1"."""
    measure = budget.measure
    parts = (measure.show(each) for each in (budget.reach(spent), budget.loss))
    shown = ([_few_digits_up(number) for number in np.ravel(each).tolist()] for each in parts)
    return " of ".join(f"({', '.join(each)})" if each[1:] else each[0] for each in shown)


def _few_digits_up(number: float) -> str:
    # Its decimal: that of the float 0.1 lies above 0.1, and would read 0.100001.
    return digits_up(Fraction(repr(number))) if isfinite(number) else str(number)


def say_spent(budget: AnyBudget, spent: Loss) -> str:
    """How far a budget has come, in few digits."""
    return f"{budget.measure.words(budget.reach(spent))} spent, {say_left(budget, spent)} left"


def require_mechanism(
    given: object,
    step: str,
    rows: str,
    hint: str = "",
    refusal: type[ParameterError | SpaceError] = ParameterError,
) -> None:
    """Refuses what cannot be bound to the rows of a step, which are named in words."""
    if isinstance(given, Mechanism):
        return
    wanted = f"{step} takes a pipeline that ends in noise"
    if isinstance(given, Stage):
        raise refusal(f"{wanted}; put noise after {given.calls[-1].brief()}")
    if isinstance(given, Measurement):
        raise refusal(
            f"{step} takes a pipeline bound to no space, and binds it to {rows}; leave out the "
            "space in front"
        )
    if given is None:  # A pipeline that was joined behind the call, say.
        raise refusal(f"{wanted} among its arguments: dp.{step}(..., pipeline)")
    # The value itself may be one of data.
    raise refusal(f"{wanted}, got a value of type {type(given).__name__}{hint}")


def require_query(given: object) -> None:
    """Refuses what is no pipeline that ends in noise and waits for a space."""
    hint = "; leave out the data, which the session has"
    require_mechanism(given, "ask", "its own rows", hint, SpaceError)


def find_price(bound: AnyMeasurement, measure: AnyMeasure) -> Loss:
    """The loss of a bound query for one unit, in the measure of a budget.

    A mechanism of another measure is converted, where its own curve says what it loses here. Where
    a unit is divided, each part of it loses at most its share of the price.
    """
    known, source, space = bound.privacy_map, bound.output_measure, bound.input_space
    if isinstance(space.unit, Fraction):
        known.require_zero("a program or a session")
    if source != measure:
        known = known.convert(measure, lambda loss: _admit(bound, measure, loss), bound)
    price: Loss = without_curve(known(space.unit))
    for part in parts_of_unit(space):
        share = (part / space.unit) ** measure.power
        covered = measure.cover(price, known(part), share)
        price = price if covered is None else covered
    return price


def parts_of_unit(space: AnySpace) -> tuple[Fraction, ...]:
    """The sizes for which a program promises less than for one unit, in a unit that is divided.

    Rows between two of them count as the larger size.
    """
    if not space.divided or space.unit.denominator != 1:
        return ()
    return tuple(map(Fraction, some_sizes(space.unit.numerator - 1)))


@lru_cache(maxsize=64)
def some_sizes(most: int, fine: int = 64) -> tuple[int, ...]:
    """Whole numbers from 1 to the most: all up to ``fine``, and then each that share above."""
    found = list(range(1, min(most, fine) + 1))
    while found and found[-1] < most:
        found.append(min(most, found[-1] + found[-1] // fine))
    return tuple(found)


def _admit(bound: AnyMeasurement, measure: AnyMeasure, loss: Loss) -> Loss:
    """A loss in the measure of a budget, of few digits."""
    profile = bound.output_measure.profile(loss)
    found = measure.admit(profile)
    if found is None:
        stated = " and ".join(measure.parameters) or repr(measure)
        pays = measure == ApproximateDivergence()
        if bound.output_measure == ApproximateDivergence():
            mend = (
                "Declare its categories or keys, or write dp.laplace where it has dp.gaussian: "
                "neither needs a delta"
            )
        elif pays:
            mend = "Write >> dp.to_approximate(1e-7) after it"
        else:
            mend = f"Write {stated.split()[0]}= in the query"
        raise SpaceError(
            f"the budget counts {stated}, and {brief(bound)} loses "
            f"{bound.output_measure.words(loss)}. {mend}, or take a budget that counts "
            "as the query does: dp.epsilon(1), dp.epsilon(1, delta=1e-6), dp.rho(1) or dp.mu(1)"
        )
    return _shorten(without_curve(found), profile.pure)


def _shorten(loss: Loss, typed: Fraction | None) -> Loss:
    """A loss of few digits, not below the loss: a sum of thousands then has few digits too.

    An epsilon stays as it was typed, so that what is left of a budget can be spent whole.
    """
    if isinstance(loss, tuple):
        return tuple(part if part == typed else short_above(part) for part in loss)
    return loss if loss == typed else short_above(loss)


class Spender(OwnCopy, ABC, Generic[M]):
    """Spends a budget, and says how far it has come. A copy of it is the same one."""

    __slots__ = ()
    _account: Account[M]

    @abstractmethod
    def _bound(self, query: Any) -> AnyMeasurement:
        """A query on the space that it is asked in; refused where it does not fit there."""

    def price(self, query: Any) -> Any:
        """What a query would cost in the measure of the budget. Nothing is spent or read."""
        budget, measure = self._account.budget, self._account.budget.measure
        price = find_price(self._bound(query), measure)
        return measure.show(budget.cost(price, self._account.spent()))

    @property
    def budget(self) -> PrivacyBudget[M]:
        """The most that all releases may cost together."""
        return self._account.budget.stated

    @property
    def spent(self) -> Any:
        """The loss of all releases so far, as people read losses."""
        budget = self._account.budget
        return budget.measure.show(budget.reach(self._account.spent()))

    @property
    def left(self) -> Any:
        """The loss that may still be spent, exactly: ``dp.mean(0, 9, rho=ask.left / 4)``."""
        return self._account.budget.measure.typed(self._account.left())


Answer = TypeVar("Answer")


class Witness:
    """Sees each question that a program asks, and each program that runs; lets them happen.

    Whatever answers a program's questions goes through it: ``adaptive``, ``above_threshold``,
    sessions.
    """

    def see_answer(self, query: object, price: Loss, answer: Callable[[], Answer]) -> Answer:
        """The answer to a question.

        Args:
            query: What was asked.
            price: What was paid for it, or what else belongs to the question.
            answer: Makes the answer.
        """
        return answer()

    def see_program(self, program: Callable[[], Answer]) -> Answer:
        """The result of a program."""
        return program()


_WITNESS: Final[ContextVar[Witness]] = ContextVar("witness", default=Witness())  # noqa: B039


def witness_answer(query: object, price: Loss, answer: Callable[[], Answer]) -> Answer:
    """The answer to a question, seen by the witness of what runs now.

    The answer is made once at most, however often the witness asks for it: it was paid for once.
    """
    return _WITNESS.get().see_answer(query, price, _once(answer))


def witness_program(program: Callable[[], Answer]) -> Answer:
    """The result of a program, seen by the witness of what runs now."""
    return _WITNESS.get().see_program(program)


def watch(witness: Witness, work: Callable[[], Answer]) -> Answer:
    """Does some work that a witness sees."""
    token = _WITNESS.set(witness)
    try:
        return work()
    finally:
        _WITNESS.reset(token)


def _once(answer: Callable[[], Answer]) -> Callable[[], Answer]:
    """The same, which a second call refuses."""
    left = [answer]

    def make() -> Answer:
        if not left:
            raise SpaceError("a witness asks for an answer a second time; ask again")
        return left.pop()()

    return make
