"""The mean of many columns."""

from __future__ import annotations

from math import sqrt
from typing import Any, cast, overload

from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.many_columns._columns import coordinate_bound
from opendp_lite.estimators.many_columns.l2_mechanism_mean import l2_mechanism_mean
from opendp_lite.estimators.many_columns.plan_plus_mean import plan_plus_mean
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.measurements.noise import exactly_one
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records


@overload
def multivariate_mean(
    bound: Number, *, rho: Number, p: Number = 2
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence]: ...
@overload
def multivariate_mean(
    bound: Number, *, epsilon: Number
) -> Mechanism[Space[Rows], MaxDivergence]: ...
@example(records(columns=["age", "visits"]), 100, rho=0.1, p=1)
@example(records(columns=["age", "visits"]), 100, epsilon=1)
@mechanism
def multivariate_mean(
    space: Space[Rows],
    bound: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    p: Number = 2,
) -> Measurement[Space[Rows], Any]:
    """The mean of each column, by the best estimator for the setting.

    ``explain()`` names the estimator. For zeros and ones, and for sparse matrices, use
    ``binary_mean``.

    Args:
        bound: M, one number for all columns: the entries lie in [-M, M]. Larger entries cost
            accuracy and no privacy.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: In place of ``rho``, the budget of pure privacy, 1 say.
        p: With ``rho``: the norm, at least 1, in which the error is made small.

    Returns:
        A number for each column: with rho in [-M, M], with epsilon all together of length at most
        M sqrt(d). With few rows for so many columns, or a tiny budget, the error may reach the
        bound. Rows that reach far are shortened. Where the number of rows is private, rows with a
        missing value are left out. Where it is public, a missing value counts as 0, or with rho as
        the released median of its column.

    Raises:
        ParameterError: If the budget is missing, or both are given.

    Privacy:
        Rho under ``ZeroConcentratedDivergence``, or epsilon under ``MaxDivergence``; under either
        row metric.

    Proof:
        That of ``plan_plus_mean`` (rho), or of ``l2_mechanism_mean`` with the radius M sqrt(d)
        (epsilon). ``docs/means.md`` compares them.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal([1, 20], [0.1, 5], (20_000, 2))
        >>> mean = dp.records(columns=2) >> dp.multivariate_mean(bound=100, rho=0.03)
        >>> mean(rows).round(0)
        array([ 1., 20.])
        >>> "the estimator is plan_plus_mean" in mean.explain()
        True
    """
    most = coordinate_bound(bound)
    if rho is epsilon is None:
        raise ParameterError(
            "multivariate_mean needs a privacy budget: add rho=0.03, or epsilon=1, which protects "
            "about as well"
        )
    if exactly_one("multivariate_mean", rho=rho, epsilon=epsilon) == "rho":
        chosen = plan_plus_mean(bound, rho=cast(Number, rho), p=p).bind(space)
        why = (
            "the estimator is plan_plus_mean: the budget is rho\n"
            "  about a tenth of it finds where the columns lie and how wide they are\n"
            "  the noise fits that, so the error follows the data and not the bound"
        )
        return chosen.explained(why, trace=())
    radius = most * sqrt(space.domain.columns)
    pure = l2_mechanism_mean(radius, epsilon=cast(Number, epsilon)).bind(space)
    why = (
        "the estimator is l2_mechanism_mean: the budget is a pure epsilon\n"
        "  it has the least error of the means here for that\n"
        "  the error follows the bound; with rho= a bound far above the data costs much less"
    )
    return pure.explained(why)
