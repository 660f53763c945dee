"""Programs that choose each query by the answers to those before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from math import ceil
from threading import RLock
from typing import Any, NoReturn, TypeVar

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.base.frozen import OwnProcess
from opendp_lite.combinators.accounts import (
    Account,
    AnyAccount,
    MemoryAccount,
    Order,
    Spender,
    find_price,
    parts_of,
    parts_of_unit,
    require_query,
    require_root,
    witness_answer,
    witness_program,
)
from opendp_lite.engines.columns import Dataset
from opendp_lite.engines.data.table import NamedColumns
from opendp_lite.engines.grouped import LazyTable
from opendp_lite.engines.plan import Map, Plan, evaluate
from opendp_lite.engines.rows import OfWhole
from opendp_lite.measures.budgets import Loss, PrivacyBudget, require_budget
from opendp_lite.measures.measure import AnyMeasure
from opendp_lite.numbers.exact import quote
from opendp_lite.pipeline.core import Facts, M, Measurement, R
from opendp_lite.pipeline.questions import Pipeline
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space
from opendp_lite.spaces.tables import AnyRows
from opendp_lite.spelling.description import Proof

A = TypeVar("A")


class RunningProgram:
    """A program's rows and their space, until it ends.

    Args:
        rows: The rows.
        space: Their space.
        asks: What the program calls its questions by, for a refusal.
    """

    def __init__(self, rows: object, space: Space[Rows], asks: str) -> None:
        self.rows, self.space = rows, space
        self.ended = False
        self.lock = RLock()
        self.process = OwnProcess(asks)
        self._asks = asks

    def require_open(self) -> None:
        """Refuses a question before any data is read."""
        if self.ended:
            raise SpaceError(f"the program has ended: {self._asks} answers only while it runs")

    def end(self) -> None:
        """Lets go of the data. In a fork a thread that is not there may hold the lock."""
        with self.lock if self.process.is_here else nullcontext():
            self.ended = True
            self.rows = None


class _Running(RunningProgram):
    """A program that asks, with the account that pays."""

    def __init__(self, rows: object, space: Space[Rows], root: AnyAccount) -> None:
        super().__init__(rows, space, "ask")
        self.root = root

    def answer(
        self,
        account: AnyAccount,
        order: Order,
        bound: Measurement[Space[Rows], AnyMeasure, R],
        entropy: Entropy,
    ) -> R:
        """Pays for an order, and then makes the release."""
        self.process.require()
        require_root(account, self.root)
        with self.lock:
            self.require_open()
            account.pay(order)
            answer = partial(bound.function, self.rows, entropy)
            with np.errstate(all="ignore"):
                release: R = witness_answer(bound, order.price, answer)
        self.process.require()
        return release


@attrs.frozen(eq=False, repr=False)
class Ask(Spender[M]):
    """Answers the queries of an adaptive program, which never holds the data: see ``adaptive``.

    Call it with a pipeline that ends in noise to get a release. A copy is the same ``ask``: it
    spends the same budget and ends with the program.

    Example:
        >>> import opendp_lite as dp
        >>> def program(ask: dp.combinators.Ask) -> float:
        ...     return ask(dp.count() >> dp.laplace(epsilon=ask.left))
        >>> dp.adaptive(program, dp.epsilon(1)).map(1)
        1.0
    """

    _running: _Running
    _account: Account[M]
    _entropy: Entropy

    def __call__(self, query: Mechanism[Space[Rows], Any, R]) -> R:
        """A release of the query, if what is left of the budget pays for it.

        Args:
            query: A pipeline that ends in noise, bound to no space.

        Returns:
            Its release on the program's rows.

        Raises:
            BudgetExceeded: If the budget does not pay for it. No data is read.
            SpaceError: If its loss is in a measure that the budget's does not convert, the program
                has ended, or this is another process, such as a fork.
        """
        bound = self._bound(query)
        order = Order(bound, find_price(bound, self._account.budget.measure))
        return self._running.answer(self._account, order, bound, self._entropy)

    @property
    def space(self) -> Space[Rows]:
        """The space that pipelines are bound to.

        ``ask.space.domain.size`` is the number of rows where that is public.
        """
        return self._running.space

    def split(self, parts: int) -> tuple[Ask[M], ...]:
        """Divides what is left evenly. What a part spends is spent here too.

        Args:
            parts: How many.

        Returns:
            As many ``ask``, each with a budget of its own.
        """
        self._running.process.require()
        accounts = parts_of(self._account, parts)
        return tuple(Ask(self._running, each, self._entropy) for each in accounts)

    def _bound(
        self, query: Mechanism[Space[Rows], Any, R]
    ) -> Measurement[Space[Rows], AnyMeasure, R]:
        require_query(query)
        return query.bind(self.space)

    def __reduce__(self) -> NoReturn:
        raise ParameterError("ask cannot be pickled: it ends with its program")


@mechanism(
    does="Runs a program that chooses each query by the answers before.",
    proof=Proof(
        "A query is priced before its answer exists, and prices add up to at most the budget: "
        "a privacy filter. The rest of the program is post-processing. Inside of `by` each part of "
        "a unit loses at most its share of each price, and so of the budget.",
        adding="the budget",
        replacing="the budget",
        sources=[
            "Rogers, Roth, Ullman, Vadhan 2016",
            "Feldman and Zrnic 2021, for zCDP",
            "Smith and Thakurta 2022, for Gaussian privacy",
        ],
    ),
)
def adaptive(
    space: Space[AnyRows], program: Callable[[Ask[M]], R], budget: PrivacyBudget[M]
) -> Measurement[Space[AnyRows], M, R]:
    """Runs a program that chooses each query by the answers before.

    Args:
        program: A function of ``ask``. ``ask(pipeline)`` gives a release of the pipeline on the
            program's rows; ``ask.left`` says what may still be spent.
        budget: The most that all queries may cost together: ``dp.epsilon(1)``, ``dp.rho(1)``,
            ``dp.mu(1)`` or ``dp.epsilon(1, delta=1e-6)``. A query beyond it raises
            ``BudgetExceeded`` before any data is read. A query whose loss is in another measure
            costs what ``ask.price(query)`` says.

    Returns:
        What the program returns. The program never holds the data, and ``ask`` ends with it.

    Raises:
        ParameterError: If ``program`` is no function or ``budget`` no budget.

    Example:
        >>> import opendp_lite as dp
        >>> def recentred(ask):
        ...     middle = ask(dp.private_quantile(0.5, bounds=(0, 100), rho=0.01, confidence=None))
        ...     total = ask(
        ...         dp.center(middle) >> dp.clamp(-9, 9) >> dp.sum() >> dp.gaussian(rho=ask.left)
        ...     )
        ...     return middle + total[0] / 1000
        >>> estimate = dp.adaptive(recentred, dp.rho(0.03))
        >>> estimate.map(1)
        0.03
        >>> round(float(estimate([42.0] * 1000)))
        42
    """
    if not callable(program) or isinstance(program, Pipeline):
        raise ParameterError(f"adaptive takes a function of ask, got {quote(program)}")
    require_budget(budget, "adaptive")
    explanation = "the budget of the program; queries beyond it are refused"
    # As it was typed: the limits of a session's filter are no price.
    stated = budget.stated
    return make_adaptive(space, program, stated.measure, stated.loss, explanation)


def make_adaptive(
    space: Space[Rows], program: Callable[[Ask[M]], R], measure: M, budget: Loss, explanation: str
) -> Measurement[Space[Rows], M, R]:
    """As ``adaptive``, for a constructor of mechanisms. It explains where the loss goes."""

    def start(rows: object, entropy: Entropy) -> tuple[_Running, Ask[M]]:
        account = MemoryAccount(PrivacyBudget(measure, budget))
        running = _Running(rows, space, account)
        return running, Ask(running, account, entropy)

    def lose(share: Fraction) -> Loss:
        """What a part of a unit loses of the budget: see ``find_price``."""
        paid = share**measure.power
        if paid == 1 or measure.cover(budget, budget, paid) is None:
            return budget
        found: Loss = measure.split(budget, (paid, 1 - paid))[0]
        return found

    return measure_program(space, measure, lose, program, start, explanation)


@attrs.frozen
class TriedOnNames(OfWhole):
    """The table, once a plan was tried on its columns without rows.

    So nothing is paid for a misspelt one, or for text that a program would read as numbers.
    """

    columns: tuple[str, ...]
    plan: Plan
    step: str

    def before(self, made: Measurement[Space[Rows], M, R]) -> Measurement[Space[Rows], M, R]:
        """A measurement of tables that tries first."""
        return attrs.evolve(made, function=attrs.evolve(made.function, of=Map(self, self.step)))

    def __call__(self, table: LazyTable, /) -> LazyTable:
        table.dataset.require(self.columns, self.step)
        whole = table.dataset.whole
        if isinstance(whole, NamedColumns):
            dataset = Dataset(whole.without_rows(), table.dataset.declared, None)
            evaluate(self.plan, attrs.evolve(table, dataset=dataset))
        return table


def measure_program(
    space: Space[Rows],
    measure: M,
    lose: Callable[[Fraction], Loss],
    program: Callable[[A], R],
    start: Callable[[object, Entropy], tuple[RunningProgram, A]],
    explanation: str,
) -> Measurement[Space[Rows], M, R]:
    """A measurement that runs a program.

    Args:
        space: The space of its rows.
        measure: The measure of its loss.
        lose: The loss for a share of one unit: that of 1 is for all of it.
        program: What is run.
        start: Gives, from the rows, what ends with the program and what the program asks by.
        explanation: Where the loss goes.
    """

    def function(rows: object, entropy: Entropy) -> R:
        running, asks = start(rows, entropy)
        try:
            return witness_program(partial(program, asks))
        finally:
            running.end()

    sizes = (*parts_of_unit(space), space.unit)

    def privacy_map(distance: Fraction) -> object:
        if 0 < distance <= space.unit:
            return lose(next(size for size in sizes if distance <= size) / space.unit)
        # Both hold: so many groups of the least size, and so many units.
        by_unit, by_least = (
            measure.group(lose(size / space.unit), ceil(distance / size))
            for size in (space.unit, sizes[0])
        )
        return by_least if measure.within(by_least, by_unit) else by_unit

    return Measurement(space, measure, function, privacy_map, Facts(explanation=explanation))
