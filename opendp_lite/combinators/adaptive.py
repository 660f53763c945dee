"""Programs that choose each query by the answers to those before."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import ceil
from threading import RLock
from typing import Any, Generic

import attrs
import numpy as np

from opendp_lite.combinators._own_process import OwnProcess
from opendp_lite.combinators.witness import WITNESS
from opendp_lite.core import Facts, M, Measurement, Pipeline, R
from opendp_lite.domains import Rows
from opendp_lite.errors import BudgetExceeded, ParameterError, SpaceError
from opendp_lite.exact import described
from opendp_lite.measures.measure import Measure
from opendp_lite.recipes import Mechanism, Stage, mechanism
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces import Space
from opendp_lite.tables import AnyRows


class _Account(Generic[M]):
    """The one thing that changes while a program runs: prices paid, and whether it has ended."""

    def __init__(self, measure: M, budget: Any, rows: Any) -> None:
        self.measure, self.budget, self.rows = measure, budget, rows
        self.losses: list[Any] = []
        self.ended = False
        self.lock = RLock()
        self.process = OwnProcess("ask")

    def total(self) -> Any:
        """The loss of all queries so far."""
        return self.measure.compose(self.losses) if self.losses else self.measure.zero()

    def pay(self, query: Mechanism[Space[Rows], M], price: Any) -> None:
        """Books the price, or refuses the query."""
        if self.ended:
            raise SpaceError("the program has ended: ask answers only while it runs")
        measure = self.measure
        if not measure.within(measure.compose([*self.losses, price]), self.budget):
            raise BudgetExceeded(
                f"{_brief(query)} needs {measure.words(price)}; {measure.show(self.total())} of "
                f"{measure.show(self.budget)} has been spent. Ask for less, or give the program "
                "a larger budget"
            )
        self.losses.append(price)

    def end(self) -> None:
        """Lets go of the data."""
        with self.lock:
            self.ended = True
            self.rows = None


@attrs.frozen(eq=False, repr=False)
class Ask(Generic[M]):
    """Answers the queries of an adaptive program, which never holds the data: see ``adaptive``.

    Call it with a pipeline that ends in noise to get a release. A copy is the same ``ask``: it
    spends the same budget and ends with the program.

    Args:
        space: The space that pipelines are bound to. ``ask.space.domain.size`` is the number of
            rows where that is public.
    """

    space: Space[Rows]
    _account: _Account[M]
    _entropy: Entropy

    def __call__(self, query: Mechanism[Space[Rows], M, R]) -> R:
        """A release of the query, if what is left of the budget pays for it.

        Args:
            query: A pipeline that ends in noise, bound to no space.

        Returns:
            Its release on the program's rows.

        Raises:
            BudgetExceeded: If the budget does not pay for it. No data is read.
            SpaceError: If its loss is in another measure, the program has ended, or this is
                another process, such as a fork.
        """
        if not isinstance(query, Mechanism):
            raise SpaceError(_no_query(query))
        bound, account = query.bind(self.space), self._account
        if bound.output_measure != account.measure:
            raise SpaceError(
                f"the program's budget is under {account.measure!r}, and {_brief(query)} has its "
                f"loss under {bound.output_measure!r}; put >> dp.to_zcdp() or "
                ">> dp.to_approximate(delta) after it, or give the program another measure"
            )
        account.process.require()
        with account.lock:
            price = bound.privacy_map(self.space.unit)
            account.pay(query, price)
            answer = partial(bound.function, account.rows, self._entropy)
            with np.errstate(all="ignore"):
                release = WITNESS.get().answered(query, price, answer)
        account.process.require()
        return release

    @property
    def spent(self) -> Any:
        """The loss of the queries so far, as people read losses."""
        return self._account.measure.show(self._account.total())

    @property
    def left(self) -> Any:
        """The loss that may still be spent, exactly: ``gaussian(rho=ask.left)`` spends all."""
        return self._account.measure.left(self._account.budget, self._account.total())

    def __copy__(self) -> Ask[M]:
        return self

    def __deepcopy__(self, memo: Any) -> Ask[M]:
        return self

    def __reduce__(self) -> Any:
        raise ParameterError("ask cannot be pickled: it ends with its program")


def _brief(query: Mechanism[Any, Any]) -> str:
    return " >> ".join(call.brief() for call in query.calls)


def _no_query(given: object) -> str:
    if isinstance(given, Stage):
        return f"ask takes a pipeline that ends in noise; put noise after {given.calls[-1].brief()}"
    if isinstance(given, Measurement):
        return (
            "ask takes a pipeline bound to no space, and binds it to the program's rows; leave out "
            "the space in front"
        )
    return f"ask takes a pipeline that ends in noise, got {described(given)}"


@mechanism
def adaptive(
    space: Space[AnyRows], program: Callable[[Ask[M]], R], measure: M, budget: object
) -> Measurement[Space[AnyRows], M, R]:
    """Runs a program that chooses each query by the answers before.

    Args:
        program: A function of ``ask``. ``ask(pipeline)`` gives a release of the pipeline on the
            program's rows; ``ask.left`` says what may still be spent.
        measure: The measure of the loss, such as ``dp.ZeroConcentratedDivergence()``.
        budget: The most that all queries may cost together: a number, or (epsilon, delta). A
            query beyond it raises ``BudgetExceeded`` before any data is read.

    Returns:
        What the program returns. The program never holds the data, and ``ask`` ends with it.

    Raises:
        ParameterError: If ``program`` is no function or ``measure`` no measure.

    Privacy:
        The budget, for one unit of the rows before it, whatever the program does. For more units,
        the loss of a group in the measure.

    Proof:
        Prices are known before an answer is, and they add: a privacy filter (Rogers, Roth, Ullman,
        Vadhan 2016, for pure and approximate privacy; Feldman and Zrnic 2021, for zCDP). All else
        that a program does is post-processing.

    Example:
        >>> import opendp_lite as dp
        >>> def recentred(ask):
        ...     middle = ask(dp.private_quantile(0.5, bounds=(0, 100), rho=0.01))
        ...     total = ask(
        ...         dp.center(middle) >> dp.clamp(-9, 9) >> dp.sum() >> dp.gaussian(rho=ask.left)
        ...     )
        ...     return middle + total[0] / 1000
        >>> estimate = dp.adaptive(recentred, dp.ZeroConcentratedDivergence(), budget=0.03)
        >>> estimate.map(1)
        0.03
        >>> round(float(estimate([42.0] * 1000)))
        42
    """
    if not callable(program) or isinstance(program, Pipeline):
        raise ParameterError(f"adaptive takes a function of ask, got {described(program)}")
    if not isinstance(measure, Measure):
        raise ParameterError(
            "adaptive: measure is dp.MaxDivergence(), dp.ZeroConcentratedDivergence() or "
            f"dp.ApproximateDivergence(), with parentheses; got {described(measure)}"
        )
    explanation = "the budget of the program; queries beyond it are refused"
    return programmed(space, program, measure, measure.loss(budget), explanation)


def programmed(
    space: Space[Rows], program: Callable[[Ask[M]], R], measure: M, budget: Any, explanation: str
) -> Measurement[Space[Rows], M, R]:
    """As ``adaptive``, for a constructor of mechanisms. It explains where the loss goes."""

    def function(rows: Any, entropy: Entropy) -> R:
        account = _Account(measure, budget, rows)
        try:
            return WITNESS.get().ran(partial(program, Ask(space, account, entropy)))
        finally:
            account.end()

    def privacy_map(distance: Fraction) -> Any:
        return measure.group(budget, ceil(distance / space.unit))

    return Measurement(space, measure, function, privacy_map, Facts(explanation=explanation))
