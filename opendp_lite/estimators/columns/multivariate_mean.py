"""The mean of each of several columns, by the best estimator for the setting."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import ceil, inf
from typing import Any, cast

import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.estimators.columns import noisy_mean, plan_plus
from opendp_lite.estimators.columns.noisy_mean import ColumnBounds, ColumnsBound
from opendp_lite.estimators.columns.pure_columns import pure_mean
from opendp_lite.estimators.columns.radius import unseen_rows
from opendp_lite.estimators.parts import Measured, RowSpace
from opendp_lite.estimators.parts.budget import Budget, costs_budget
from opendp_lite.estimators.parts.noisy_totals import moderate
from opendp_lite.estimators.parts.request import Request
from opendp_lite.measurements.noise import exactly_one
from opendp_lite.measures.budgets import AnyBudget
from opendp_lite.numbers.exact import Number
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.releases import ByName, Estimate
from opendp_lite.spaces.space import example, records, sized_rows


@mechanism(
    does="The mean of each column, by the best estimator for the setting.",
    changes=(
        "Rows that reach far are shortened. A row with a missing value is left out; where the "
        "number of rows is public, a missing value counts as the middle of its bounds, or with rho "
        "perhaps as the released middle of its column."
    ),
    proof=costs_budget(
        "That of `plan_plus_mean` or of a Gaussian sum of clamped rows for rho. For epsilon an "
        "`adaptive` program of `private_quantile`, counts, a Laplace sum of rows in an "
        "l1 ball, and `l2_mechanism`, `linf_mechanism` or `sum_and_count`, on rows that were "
        "clamped first."
    ),
    examples=lambda: [
        example(records(columns=["age", "visits"]), 100, rho=0.1, p=1, confidence=None),
        example(records(columns=8), (0, 9), rho=100, confidence=None),
        example(records(columns=["age", "visits"]), 100, epsilon=1),
        example(records(columns=["age", "visits"]), 100, rho=0.1, confidence=0.9),
        *(
            example(sized_rows(2), [(0, 9), (1, 2)], **budget)
            for budget in ({"rho": 0.1, "confidence": None}, {"epsilon": 100, "confidence": 0.9})
        ),
    ],
)
def multivariate_mean(
    space: RowSpace,
    bound: ColumnsBound,
    budget: AnyBudget | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    p: Number = 2,
    confidence: Number | None = 0.95,
    sampling: bool = True,
) -> Measured[Any]:
    """The mean of each column, by the best estimator for the setting.

    ``explain()`` names the estimator. For zeros and ones, and for sparse matrices, use
    ``binary_mean``.

    Args:
        bound: M: the entries lie in [-M, M]. Or their bounds: a pair ``(0, 100)`` for all columns,
            a pair for each in a list, or ``{"age": (0, 120), ...}``. Values beyond count as the
            bound. A loose M costs little with ``rho``. Give bounds where they are close to the
            data: they are used where they promise a smaller error. Bounds of different widths say
            that columns have different units: each column then errs by about as large a part of
            the width of its bounds. Else all columns have one unit. With ``epsilon``, bounds of
            different widths are used alone, unless looks at the columns cost at most a fifth of it.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: In place of ``rho``, the budget of pure privacy, 1 say.
        p: With ``rho``: the norm, at least 1, in which the error is made small, in these units.
        confidence: Of the interval of each column; with None an array alone.
        sampling: With a confidence: whether intervals are for the population, of which the rows are
            a random sample: this takes at most a tenth of a rho, and 15 % of an epsilon. With False
            they are for these rows. Both cover what shortening moves. That takes at most a
            twentieth of a rho, and a quarter of an epsilon. With many rows both take less.

    Returns:
        An ``Estimate`` for each column: by its name, as a table or frame too, and in a tuple where
        columns have no names. With ``confidence=None`` an array with a number in its bounds for
        each. With few rows for so many columns, or a tiny budget, the error may reach the bounds.
        Rows that reach far are shortened. Where the number of rows is private, rows with a missing
        value are left out. Where it is public, a missing value counts as the middle of its bounds
        (0 with M), or with rho perhaps as the released middle of its column.

    Raises:
        ParameterError: If the budget is missing, or both are given, or bounds are no pairs, or
            another p than 2 is given with epsilon.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal([1, 20], [0.1, 5], (20_000, 2))
        >>> mean = dp.records(columns=2) >> dp.multivariate_mean(bound=100, rho=0.03)
        >>> [round(float(each)) for each in mean(rows)]
        [1, 20]
        >>> "the estimator is plan_plus_mean" in mean.explain()
        True
    """
    if rho is epsilon is None:
        raise ParameterError(
            "multivariate_mean needs a privacy budget: add rho=0.03, or epsilon=1, which protects "
            "about as well"
        )
    given = ColumnBounds.of(bound, space, "multivariate_mean")
    bounds = given
    if rho is None or not given.even:
        bounds = given.counted(given.halves)
    elif given.nearest.any():
        bounds = given.counted(np.ones(len(given.lower)))
    made: Measured[Any]
    if exactly_one("multivariate_mean", rho=rho, epsilon=epsilon) == "rho":
        chosen = plan_plus.fit_noise(space, bounds, cast(Number, rho), p, confidence, sampling)
        why = _why(space, bounds, moderate(rho, "rho"), p, alone=confidence is None)
        made = chosen.with_explanation(why, trace=())
    elif p != 2:
        raise ParameterError("multivariate_mean: p goes with rho, not with epsilon; leave it out")
    else:
        whole = Budget(moderate(epsilon, "epsilon"))
        request = Request.within(whole, "multivariate_mean", confidence, sampling)
        made = pure_mean(
            space,
            bounds.rows,
            bounds.exact_middle,
            bounds.restore,
            request,
            bounded=not given.even,
        )
    names = space.domain.names
    return made if names is None or confidence is None else made >> partial(name_columns, names)


def name_columns(names: tuple[str, ...], found: tuple[Estimate, ...]) -> ByName:
    return ByName(dict(zip(names, found, strict=True)))


def _why(space: RowSpace, bounds: ColumnBounds, whole: Fraction, p: Number, *, alone: bool) -> str:
    """Which estimator, why, and what it is expected to err by; ``alone`` without intervals."""
    size = space.domain.size
    enough = ceil(plan_plus.rows_enough(space, whole))
    few = f"with fewer than {enough} rows the scales of so many columns are often lost"
    looks = (size or inf) > plan_plus.rows_for_looks(space, whole)
    left = whole if looks or not alone else whole * (1 - plan_plus.LOOK_NEAR)
    whole_error = plan_plus.bounds_error(
        space, bounds, left, noisy_mean.error_power(p), bounds.halves
    )
    share = whole_error / float(np.linalg.norm(bounds.halves))
    by_size = f"by about {share:.2g} half widths of its bounds over the number of rows"
    if size is not None:
        by_size = f"by about {share / size:.2g} of half the width of its bounds"
    around = "the rows are summed in their bounds"
    if alone:
        around = "a look tells whether the rows that reach farthest from the middles are shortened"
    if alone and looks:
        around = "a first sum finds where the columns lie, and counts how far rows reach from there"
    if bounds.own and size is not None and size < enough:
        way = "the estimator is the noisy sum of the rows in their bounds"
        if alone:
            way, by_size = f"{way}\n  {around}", f"{by_size}, or less where rows lie near to it"
        return f"{way}\n  {few}\n  each column errs {by_size}"
    lines = [
        "the estimator is plan_plus_mean: the budget is rho",
        "about 15 % of it finds where the columns lie and how far rows reach",
        "the noise fits that, so the error follows the data and not the bound",
    ]
    if bounds.given is not None and not bounds.given.even:
        lines.append("half the width of its bounds is the unit of each column")
    if bounds.own:
        lines.append(
            "or else the sum of the rows in their bounds, where that promises a smaller error\n"
            f"  with that, each column errs {by_size}"
        )
    lines.append(
        f"a group of fewer than about {unseen_rows(space, whole)} rows far from all others may not "
        "be seen"
    )
    if not alone:
        lines.append("at most 15 % of it is for intervals, and less where rows are many")
    if size is None or size < enough:
        lines.append(few + (f"; then\n  {around}" if bounds.own else "; give each column bounds"))
    return "\n  ".join(lines)
