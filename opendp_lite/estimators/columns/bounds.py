"""Bounds that hold most values of each column, found in private."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter
from typing import Any, Final

import numpy as np

from opendp_lite.combinators.adaptive_programs import make_adaptive
from opendp_lite.estimators.parts.bounds_search import (
    FARTHEST,
    LEAST_POWER,
    BoundsSearch,
    SearchPlan,
    around,
    window,
)
from opendp_lite.estimators.parts.budget import AnyAsk, Measured, RowSpace, budget_of, costs_budget
from opendp_lite.measures.budgets import PrivacyBudget
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import Number, nearest, open_probability
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import records

_COARSE: Final = 0.2
_CUTS: Final = 3
LowerAndUpper = tuple[Any, Any]
"""Numbers, or arrays with one for each column."""


@mechanism(
    does="Finds bounds that hold about this share of the values of each column.",
    changes=(
        "Missing values are left out, or are 0 less the median where the number of rows is public."
    ),
    proof=costs_budget(
        "An `adaptive` program of `private_quantile` and noisy `magnitude_counts`; columns "
        "share the budget. Epsilon with delta is met by the zCDP curve.",
        sources=["Canonne, Kamath, Steinke 2020, proposition 12"],
    ),
    examples=lambda: [
        example(records(), 0.99, rho=0.1),
        example(records(columns=2), 0.9, epsilon=1, delta=1e-6),
        example(records(size=2000, metric=ChangeOneDistance()), 0.95, epsilon=3),
    ],
)
def private_bounds(
    space: RowSpace,
    share: Number,
    budget: PrivacyBudget[Any] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> Measured[LowerAndUpper]:
    """Finds bounds that hold about this share of the values of each column.

    You need to know nothing of the values. Use the bounds in other releases, as in
    ``dp.clamp(*bounds)``; those have a loss of their own.

    Args:
        share: The share of the values that the bounds are to hold, 0.99 say. As many values are to
            lie below the lower bound as above the upper one.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy, 0.03 say. All columns share it evenly.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.

    Returns:
        (lower, upper): two numbers for one column, two arrays with a number for each of several
        columns. Lower is below upper, whatever the data. The bounds reach up to an eighth farther
        from the median than asked. Where hundreds of values are equal, they are within. The number
        of rows may turn out to be too small: the bounds are then -2^300 and 2^300, beyond which no
        values are told apart. Missing values are left out, or are 0 less the median where the
        number of rows is public.

    Raises:
        ParameterError: If the budget is missing or impossible, if ``share`` does not lie between 0
            and 1, or if the number of rows is public and too small.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> ages = np.random.default_rng(0).normal(42, 10, 20_000)
        >>> lower, upper = dp.private_bounds(0.99, rho=0.03)(ages)
        >>> 5 < lower < 20 and 64 < upper < 80
        True
    """
    outside = (1 - open_probability(share, "private_bounds: share")) / 2
    typed = budget_of("private_bounds", rho, epsilon, delta)
    whole, columns = typed.with_choices(), space.domain.columns
    plan = SearchPlan.of(space, whole.part(Fraction(1, columns)))
    if space.domain.size is not None:
        plan.require(space.domain.size, "private_bounds", "Give")

    def program(ask: AnyAsk) -> LowerAndUpper:
        searches = (BoundsSearch(ask, plan, column) for column in range(columns))
        found = [_bounds(search, nearest(outside)) for search in searches]
        if columns == 1:
            return found[0]
        lower, upper = np.array(found).T
        return lower, upper

    spent = "a median of each column first, then noisy counts of magnitudes around it"
    made = make_adaptive(space, program, whole.measure, whole.amount, spent)
    return whole.with_claimed_loss(made)


def _bounds(search: BoundsSearch, outside: float) -> tuple[float, float]:
    """The bounds of one column: lower and upper."""
    plan, rows = search.plan, search.rows()
    if not plan.succeeds(rows):
        return -FARTHEST, FARTHEST
    middle = search.middle(rows)
    share = max(_COARSE, plan.for_plain(rows))
    counted = 0.0 if search.ask.space.domain.size is not None else plan.for_count
    left = plan.part(1 - share - counted - plan.for_median(rows))
    sides = search.sides(middle, plan.part(share))
    ends = window(sides, 1) or (LEAST_POWER, LEAST_POWER + 1)
    below, above = (
        side.quantile(2 * coarse.end(coarse.last()), outside * rows) if coarse.last() else 0.0
        for side, coarse in zip(search.sides(middle, left, ends, _CUTS), sides, strict=True)
    )
    lower, upper = map(nearest, around(middle, below, above))
    return lower, max(upper, nextafter(lower, inf))
