"""The mean of columns of different widths."""

from __future__ import annotations

import numpy as np

from opendp_lite.bodies.bounds import Bounds, broadcast, parse_bounds, to_floats
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.parameters import Floats, moderate
from opendp_lite.estimators.many_columns._columns import dyadic
from opendp_lite.estimators.many_columns._noisy_mean import noisy_mean
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.recipes import mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.scale import scale
from opendp_lite.transformations.widths import fitting


@example(records(columns=["age", "visits"]), 0, [1, 2.5], rho=1)
@mechanism
def elliptical_mean(
    space: Space[Rows], lower: Bounds, upper: Bounds, *, rho: Number
) -> Measurement[Space[Rows], ZeroConcentratedDivergence, Floats]:
    """The mean of columns with bounds of their own, with noise that fits the widths.

    Args:
        lower: The lower bound: a number, or one for each column.
        upper: The upper bound, likewise.
        rho: The budget. A share 1 / (2 sqrt(d) + 2) of it is for the number of rows, where that is
            private and there are d columns.

    Returns:
        A mean between the bounds for each column. Where the number of rows is private, rows with
        a missing value are left out. Where it is public, a missing value counts as the middle of
        its column's bounds.

    Raises:
        ParameterError: If a lower bound is not below its upper.

    Privacy:
        Rho under ``ZeroConcentratedDivergence``.

    Proof:
        With half widths w, the noise of column j has a variance in proportion to w_j sum(w). Of all
        Gaussian noises for this box it has the least expected squared length,
        (2 sum(w))^2 / (2 rho n^2) where a row is replaced: Poulsen, *DP vector aggregation for
        multivariate Gaussian data*, the elliptical mechanism, with the 2 that is missing there.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.full((4000, 2), [3.0, 400.0])
        >>> mean = dp.estimators.elliptical_mean(0, [10, 1000], rho=0.03)
        >>> (dp.records(columns=2) >> mean)(rows).round(-1)
        array([  0., 400.])
    """
    columns = space.domain.columns
    name = "elliptical_mean"
    ends = (fitting(parse_bounds(each, "bounds"), space, name) for each in (lower, upper))
    low, high = (broadcast(each, columns) for each in ends)
    if any(least >= most for least, most in zip(low, high, strict=True)):
        raise ParameterError("elliptical_mean: each lower bound must be below its upper bound")
    middle = tuple((least + most) / 2 for least, most in zip(low, high, strict=True))
    widths = [moderate(most - least, "a width") for least, most in zip(low, high, strict=True)]
    factors = dyadic(1 / np.sqrt(to_floats(tuple(widths)) / 2))

    def back(mean: Floats) -> Floats:
        found: Floats = (to_floats(middle) + mean / to_floats(factors)).clip(
            to_floats(low), to_floats(high)
        )
        return found

    rows = clamp(lower, upper) >> center(middle) >> scale(factors)
    return noisy_mean(space, rows, moderate(rho, "rho"), back).bind(space)
