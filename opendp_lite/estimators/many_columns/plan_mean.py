"""PLAN: the mean of many columns, with noise that fits their spread."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt

from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.parameters import Floats, moderate, require_public_size
from opendp_lite.estimators.many_columns._columns import (
    coordinate_bound,
    dyadic,
    each_column,
    error_power,
    within,
)
from opendp_lite.estimators.many_columns.normal_variance import Deviations, check_way, deviations
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.norm import norm
from opendp_lite.transformations.scale import scale
from opendp_lite.transformations.sum import sum

_QUARTER = Fraction(1, 4)
_MISS = 0.1


@example(
    records(columns=2, size=20, metric=ChangeOneDistance()), 100, rho=0.1, p=1.5, variances="direct"
)
@mechanism
def plan_mean(
    space: Space[Rows],
    bound: Number,
    *,
    rho: Number,
    p: Number = 2,
    variances: Deviations = "pairs",
    group: int = 1,
) -> Measurement[Space[Rows], ZeroConcentratedDivergence, Floats]:
    """The mean of each column by PLAN, as published, at its true loss.

    Args:
        bound: M. The entries lie in [-M, M]. Larger entries only cost accuracy.
        rho: The budget: a sixteenth for the centre, three for the variances, three for the radius,
            nine for the sum.
        p: At least 1. The l_p error is to be small.
        variances: "pairs", by random pairs; "direct", from the 0.841 quantile; "binary", for
            entries 0 and 1; "none", for PLAN without scaling (section 6).
        group: With "pairs": how many of them are averaged.

    Returns:
        A number in [-M, M] for each column. A missing value counts as the released centre.

    Raises:
        SpaceError: If the number of rows is private.

    Privacy:
        Rho under ``ZeroConcentratedDivergence``.

    Proof:
        Aumueller, Lebeda, Nelson, Pagh 2024, algorithm 1, section 7.1 and appendix D, with one copy
        of the data, ranks that move by 1, and rows in random pairs. ``plan_plus_mean`` errs less.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal([1, 20], [0.1, 5], (20_000, 2))
        >>> space = dp.records(columns=2, size=20_000, metric=dp.ChangeOneDistance())
        >>> (space >> dp.estimators.plan_mean(100, rho=0.03))(rows).round(0)
        array([ 1., 20.])
    """
    most, power, whole = coordinate_bound(bound), error_power(p), moderate(rho, "rho")
    n = require_public_size(space, "plan_mean")
    check_way(variances, group)
    early = _QUARTER * whole
    rho_center, rho_spread = _QUARTER * early, (1 - _QUARTER) * early
    rho_radius, rho_sum = _QUARTER * (whole - early), (1 - _QUARTER) * (whole - early)
    k, root = sqrt(n) + 10 / sqrt(rho_radius), sqrt(space.domain.columns)

    def plan(ask: Ask[ZeroConcentratedDivergence]) -> Floats:
        middle = each_column(ask(private_quantile(0.5, bounds=(-most, most), rho=rho_center)))
        sigma = deviations(ask, variances, middle, most, rho_spread, group)
        sigma = sigma + sigma.mean()
        shape = sigma ** (2 / (power + 2))
        # Line 5 of algorithm 1; lines 3 and 4 come before it.
        y = center(dyadic(middle)) >> scale(dyadic(1 / shape))
        longest = _longest(sigma / shape, n) if variances != "none" else 2 * most * root
        quantile = max(1 - k / n, 0.5)
        # Line 6.
        radius = ask(y >> norm() >> private_quantile(quantile, bounds=(0, longest), rho=rho_radius))
        # Lines 7 and 8; the noise has the variance 2 radius^2 / rho_sum.
        total = ask(y >> clip_to_norm(radius) >> sum() >> gaussian(rho=rho_sum))
        return within(middle + shape * total / n, most)

    spent = (
        "of rho 1/16 is for the centre, 3/16 for the spread of the columns, 3/16 for the radius, "
        "9/16 for the sum"
    )
    return programmed(space, plan, ZeroConcentratedDivergence(), whole, spent)


def _longest(spreads: Floats, n: int) -> float:
    """A length that rows exceed with probability 0.1 (section 7.1)."""
    return sqrt(log(n + 1) * log(1 / _MISS) * float(spreads @ spreads))
