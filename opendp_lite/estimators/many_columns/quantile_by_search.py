"""A quantile by noisy binary search."""

from __future__ import annotations

from typing import Any

import numpy as np

from opendp_lite.bodies.bounds import Bounds, broadcast, parse_bounds, to_floats
from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.parameters import Floats
from opendp_lite.estimators.many_columns._columns import dyadic
from opendp_lite.exact import Number, exact, positive, whole
from opendp_lite.examples import example
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.recipes import mechanism
from opendp_lite.samplers.lattice import FARTHEST_BOUND
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.center import center
from opendp_lite.transformations.indicator_below import indicator_below
from opendp_lite.transformations.sum import sum
from opendp_lite.transformations.widths import fitting


@example(records(), 0.25, 0, 10, rho=1, steps=5)
@mechanism
def quantile_by_search(
    space: Space[Rows],
    quantile: Number,
    lower: Bounds,
    upper: Bounds,
    *,
    rho: Number,
    steps: int = 20,
) -> Measurement[Space[Rows], ZeroConcentratedDivergence]:
    """A quantile of each column by noisy binary search, for any number of rows.

    Args:
        quantile: From 0 to 1; 0.5 is the median.
        lower: The lower bound of the search: a number, or one for each column.
        upper: The upper bound, likewise.
        rho: The budget, in equal parts for all steps.
        steps: In each of them the range is halved.

    Returns:
        A number for one column, else one for each. Each step is a pass over the data, which is
        never held in memory.

    Raises:
        ParameterError: If the quantile, the bounds or the steps are impossible.

    Privacy:
        Rho under ``ZeroConcentratedDivergence``.

    Proof:
        rank - quantile n is a sum of 1 - quantile for each row below and of -quantile for any
        other. Its sign, with Gaussian noise, says which half to keep: Huang, Liang, Yi 2021,
        section 3. ``private_quantile`` errs less.

    Example:
        >>> import opendp_lite as dp
        >>> rows = list(range(1000)) * 100
        >>> round(dp.estimators.quantile_by_search(0.5, 0, 1000, rho=0.03)(rows), -2)
        500.0
    """
    share, cost = exact(quantile, "quantile"), positive(rho, "rho")
    rounds = whole(steps, "steps", least=1)
    if not 0 <= share <= 1:
        raise ParameterError(f"quantile_by_search: a quantile is between 0 and 1, got {quantile}")
    columns = space.domain.columns
    ends = (
        fitting(parse_bounds(each, "bounds"), space, "quantile_by_search")
        for each in (lower, upper)
    )
    least, most = (broadcast(each, columns) for each in ends)
    if not all(
        -FARTHEST_BOUND <= low < high <= FARTHEST_BOUND
        for low, high in zip(least, most, strict=True)
    ):
        raise ParameterError(
            "quantile_by_search: each lower bound must be below its upper bound, all within 2^900"
        )

    def search(ask: Ask[ZeroConcentratedDivergence]) -> Any:
        low, high = to_floats(least), to_floats(most)
        for _ in range(rounds):
            middle: Floats = low / 2 + high / 2
            above = indicator_below(dyadic(middle)) >> center(share)
            excess = ask(above >> sum() >> gaussian(rho=cost / rounds))
            low, high = np.where(excess < 0, middle, low), np.where(excess < 0, high, middle)
        found = low / 2 + high / 2
        return float(found[0]) if columns == 1 else found

    spent = f"rho is divided evenly among {rounds} steps"
    return programmed(space, search, ZeroConcentratedDivergence(), cost, spent)
