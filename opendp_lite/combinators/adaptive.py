"""Programs that choose each query by the answers to those before."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil
from threading import RLock
from typing import Any, Generic, TypeVar

import numpy as np

from opendp_lite.core import Facts, Measurement
from opendp_lite.domains import Rows
from opendp_lite.errors import BudgetExceeded, ParameterError, SpaceError
from opendp_lite.exact import said
from opendp_lite.measures.measure import Measure
from opendp_lite.recipes import Mechanism, Stage, mechanism
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces import Space

M = TypeVar("M", bound=Measure[Any])


class Ask(Generic[M]):
    """What an adaptive program is given in place of the data: see ``adaptive``.

    Gives: called with a pipeline that ends in noise, a release of it; ``space``, what the
        pipelines are bound to (``space.domain.size``, say, where that is public); ``spent``, of
        the budget, as people read losses; ``left``, exactly: ``gaussian(rho=ask.left)``.
    """

    def __init__(
        self, space: Space[Rows], measure: M, budget: Any, rows: Any, entropy: Entropy
    ) -> None:
        self.space = space
        self._measure = measure
        self._budget = budget
        self._losses: list[Any] = []
        self._rows = rows
        self._entropy = entropy
        self._ended = False
        self._lock = RLock()

    def __call__(self, query: Mechanism[Space[Rows], M]) -> Any:
        """A release of the query, if what is left of the budget pays for it.

        Raises ``BudgetExceeded`` where it does not, before any data is touched, and
        ``SpaceError`` for a loss in another measure and once the program has ended.
        """
        if not isinstance(query, Mechanism):
            raise SpaceError(_no_query(query))
        bound = query.bind(self.space)
        if bound.output_measure != self._measure:
            raise SpaceError(
                f"the program's budget is under {self._measure!r}, and under "
                f"{bound.output_measure!r} is the loss of {_brief(query)}; put >> dp.to_zcdp() or "
                ">> dp.to_approximate(delta) after it, or give the program another measure"
            )
        with self._lock:
            self._pay(query, bound.privacy_map(self.space.unit))
            with np.errstate(all="ignore"):
                return bound.function(self._rows, self._entropy)

    def _pay(self, query: Mechanism[Space[Rows], M], price: Any) -> None:
        if self._ended:
            raise SpaceError("the program has ended: ask answers only while it runs")
        measure = self._measure
        if not measure.within(measure.compose([*self._losses, price]), self._budget):
            raise BudgetExceeded(
                f"{_brief(query)} costs {measure.words(price)}; spent are "
                f"{measure.words(self._total())} of {measure.words(self._budget)}. Ask for less, "
                "or give the program a larger budget"
            )
        self._losses.append(price)

    def _total(self) -> Any:
        return self._measure.compose(self._losses) if self._losses else self._measure.zero()

    @property
    def spent(self) -> Any:
        """What the queries so far cost together, as people read losses."""
        return self._measure.show(self._total())

    @property
    def left(self) -> Any:
        """What may still be spent, exactly: ``gaussian(rho=ask.left)`` spends all of it."""
        return self._measure.left(self._budget, self._total())

    def end(self) -> None:
        """Lets go of the data."""
        with self._lock:
            self._ended = True
            self._rows = None


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
    return f"ask takes a pipeline that ends in noise, got {said(given)}"


@mechanism
def adaptive(
    space: Space[Rows], program: Callable[[Ask[M]], Any], measure: M, budget: object
) -> Measurement[Space[Rows], M]:
    """A program that asks one query after another, each chosen by the answers before.

    Takes: ``program``, a function of ``ask``: ``ask(pipeline)`` gives a release of the pipeline
        on the program's rows; ``measure`` of the loss; ``budget``, the most that all queries may
        cost together: a number, or (epsilon, delta). A query that would exceed it raises
        ``BudgetExceeded`` before data is touched.
    Gives: what the program returns. The program never holds the data, and ``ask`` ends with it.
    Costs: the budget, for one unit of the rows before it, whatever the program does; for more
        units what the measure says of groups.
    Because: prices are known before an answer is, and add: a privacy filter (Rogers, Roth,
        Ullman, Vadhan 2016, for pure and approximate privacy; Feldman and Zrnic 2021, for zCDP).
        All else that a program does is post-processing.

    >>> import opendp_lite as dp
    >>> def recentred(ask):
    ...     middle = ask(dp.private_quantile(0.5, bounds=(0, 100), rho=0.1))
    ...     total = ask(dp.center(middle) >> dp.clamp(-9, 9) >> dp.sum() >> dp.gaussian(rho=0.4))
    ...     return middle + total[0] / 1000
    >>> estimate = dp.adaptive(recentred, dp.ZeroConcentratedDivergence(), budget=0.5)
    >>> estimate.map(1)
    0.5
    >>> round(float(estimate([42.0] * 1000)))
    42
    """
    if not callable(program) or isinstance(program, Mechanism):
        raise ParameterError(f"adaptive takes a function of ask, got {said(program)}")
    if not isinstance(measure, Measure):
        raise ParameterError(
            "adaptive: measure is dp.MaxDivergence(), dp.ZeroConcentratedDivergence() or "
            f"dp.ApproximateDivergence(), with parentheses; got {said(measure)}"
        )
    formula = "the budget of the program; queries beyond it are refused"
    return programmed(space, program, measure, measure.loss(budget), formula)


def programmed(
    space: Space[Rows], program: Callable[[Ask[M]], Any], measure: M, budget: Any, formula: str
) -> Measurement[Space[Rows], M]:
    """As ``adaptive``, for a constructor of mechanisms, which says where the loss goes."""

    def function(rows: Any, entropy: Entropy) -> Any:
        ask = Ask(space, measure, budget, rows, entropy)
        try:
            return program(ask)
        finally:
            ask.end()

    def privacy_map(distance: Fraction) -> Any:
        return measure.group(budget, ceil(distance / space.unit))

    return Measurement(space, measure, function, privacy_map, Facts(explanation=formula))
