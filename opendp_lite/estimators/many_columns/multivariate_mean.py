"""The mean of many columns, for who need not know the literature."""

from __future__ import annotations

from math import sqrt
from typing import Any, Protocol, cast, overload

import attrs

from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.many_columns._parameters import coordinate_bound
from opendp_lite.estimators.many_columns.l2_mechanism_mean import l2_gamma_mean
from opendp_lite.estimators.many_columns.plan_plus_mean import plan_plus_mean
from opendp_lite.exact import Number
from opendp_lite.measurements.noise import one_of
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.spaces import Space

_BY_PLAN_PLUS = (
    "plan_plus_mean was chosen: it learns from about a tenth of rho where the columns lie and how "
    "wide they are, and fits the noise to that, so the error follows the data and not the bound"
)
_BY_L2_GAMMA = (
    "l2_gamma_mean was chosen: of the mechanisms here it has the least error for a pure loss; "
    "that error follows the bound, so with rho= a bound far above the data costs much less"
)


@mechanism
def _multivariate_mean(
    space: Space[Rows],
    bound: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    p: Number = 2,
) -> Measurement[Space[Rows], Any]:
    """The mean of each column by the best estimator here for the setting; ``explain()`` says which.

    Takes: rows of any number d of columns, under either row metric; ``bound`` M, the entries lie
        in [-M, M]; one of ``rho`` and ``epsilon``; ``p``, at least 1, of the l_p error to be small
        (with ``rho``). For zeros and ones, and for sparse matrices, use ``binary_mean``.
    Gives: d numbers in [-M, M]. Larger entries only cost accuracy. With few rows for so many
        columns, or a tiny loss, the error may reach the bound.
    Costs: rho under ``ZeroConcentratedDivergence``: ``plan_plus_mean``. Epsilon under
        ``MaxDivergence``: ``l2_gamma_mean`` with the radius M sqrt(d).
    Because: measured side by side in ``docs/means.md``.

    >>> import opendp_lite as dp, numpy as np
    >>> rows = np.random.default_rng(0).normal([1, 20], [0.1, 5], (4000, 2))
    >>> mean = dp.records(columns=2) >> dp.multivariate_mean(bound=100, rho=1)
    >>> mean(rows).round(1)
    array([ 1., 20.])
    >>> print(mean.explain().splitlines()[-1][:42])
    because plan_plus_mean was chosen: it lear
    """
    most = coordinate_bound(bound)
    if one_of("multivariate_mean", rho=rho, epsilon=epsilon) == "rho":
        chosen = plan_plus_mean(bound, rho=cast(Number, rho), p=p).bind(space)
        return attrs.evolve(chosen, formula=_BY_PLAN_PLUS, arrows=(), recipe=())
    radius = most * sqrt(space.domain.columns)
    pure = l2_gamma_mean(radius, epsilon=cast(Number, epsilon)).bind(space)
    return attrs.evolve(pure, formula=_BY_L2_GAMMA)


class _MultivariateMean(Protocol):
    @overload
    def __call__(
        self, bound: Number, *, rho: Number, p: Number = 2
    ) -> Mechanism[Space[Rows], ZeroConcentratedDivergence]: ...
    @overload
    def __call__(
        self, bound: Number, *, epsilon: Number
    ) -> Mechanism[Space[Rows], MaxDivergence]: ...


multivariate_mean: _MultivariateMean = cast(_MultivariateMean, _multivariate_mean)
