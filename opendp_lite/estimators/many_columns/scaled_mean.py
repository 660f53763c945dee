"""The mean of columns of known spread."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

import numpy as np

from opendp_lite.bodies.bounds import Bounds, broadcast, parse_bounds, to_floats
from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.parameters import Floats, moderate
from opendp_lite.estimators.many_columns._columns import dyadic
from opendp_lite.estimators.many_columns._noisy_mean import noisy_mean
from opendp_lite.exact import Number, open_probability
from opendp_lite.examples import example
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.norm import norm
from opendp_lite.transformations.scale import scale
from opendp_lite.transformations.widths import fitting

_SEARCH = 100
_NATS = 2
Zcdp = ZeroConcentratedDivergence


@example(
    records(columns=["age", "visits"]), [1, 0.1], rho=1, middle=[3, 4], beyond=0.1, searched=True
)
@mechanism
def scaled_mean(
    space: Space[Rows],
    sigma: Bounds,
    *,
    rho: Number,
    middle: Bounds = 0,
    beyond: Number = 0.03,
    searched: bool = False,
) -> Measurement[Space[Rows], ZeroConcentratedDivergence, Floats]:
    """The mean of columns whose spread is public, with noise that fits it.

    Args:
        sigma: The standard deviations, known or estimated in private: a number, or one for each
            column.
        rho: The budget. About 1 / (2 sqrt(d) + 2) of it is for the number of rows, where that is
            private and there are d columns.
        middle: About where the columns lie: a number, or one for each.
        beyond: The share of the rows that may be shortened.
        searched: Whether the length to which rows are shortened is sought in private, with a
            hundredth of rho. If not, it is a bound for normal rows.

    Returns:
        d numbers. Rows far from the middle, seen in sigmas, are shortened.

    Privacy:
        Rho under ``ZeroConcentratedDivergence``.

    Proof:
        Column j is multiplied by 1 / sqrt(sigma_j sum(sigma)), which gives the noise the least
        squared length: Poulsen, *DP vector aggregation for multivariate Gaussian data*, theorem 4.
        With the l1 norm a and the l2 norm b of sigma, and s = -ln(beyond), a normal row is then
        longer than C with probability at most ``beyond`` for
        C^2 = 1 + 2 sqrt(s) b / a + 2 s max(sigma) / a: Laurent and Massart 2000, lemma 1. The
        report's theorem 5 does not hold as stated.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal(0, [1, 100], (20_000, 2))
        >>> mean = dp.estimators.scaled_mean([1, 100], rho=0.03)
        >>> (dp.records(columns=2) >> mean)(rows).round(-1) + 0
        array([0., 0.])
    """
    columns = space.domain.columns
    given = fitting(parse_bounds(sigma, "sigma"), space, "scaled_mean")
    spreads = to_floats(broadcast(tuple(moderate(each, "sigma") for each in given), columns))
    total = float(spreads.sum())
    factors = dyadic(1 / np.sqrt(spreads * total))
    centers = broadcast(fitting(parse_bounds(middle, "middle"), space, "scaled_mean"), columns)
    share = open_probability(beyond, "beyond")
    tail = log(share.denominator) - log(share.numerator)
    square = 1 + 2 * sqrt(tail) * float(np.linalg.norm(spreads)) / total
    bound = sqrt(square + 2 * tail * float(spreads.max()) / total)
    whole = moderate(rho, "rho")
    rows = center(centers) >> scale(factors)

    def back(mean: Floats) -> Floats:
        return to_floats(centers) + mean / to_floats(factors)

    def mean_within(radius: float, loss: Fraction) -> Mechanism[Space[Rows], Zcdp]:
        return noisy_mean(space, rows >> clip_to_norm(radius), loss, back)

    def program(ask: Ask[Zcdp]) -> Any:
        ends = (bound / exp(_NATS), bound * exp(_NATS))
        length = private_quantile(1 - share, bounds=ends, scale="log", rho=whole / _SEARCH)
        return ask(mean_within(ask(rows >> norm() >> length), ask.left))

    if searched:
        spent = f"rho / {_SEARCH} is for the radius, the rest for the sum"
        return programmed(space, program, Zcdp(), whole, spent)
    return mean_within(bound, whole).bind(space)
