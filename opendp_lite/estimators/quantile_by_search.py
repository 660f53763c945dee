"""A quantile by noisy binary search."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from opendp_lite.bodies.bounds import Bounds, array, spread, values
from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.core import Measurement, mechanism
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.settings import Floats, dyadic
from opendp_lite.exact import Number, exact, positive, whole
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.spaces import Space
from opendp_lite.transformations.center import center
from opendp_lite.transformations.is_below import is_below
from opendp_lite.transformations.sum import sum
from opendp_lite.transformations.widths import fitting

_FARTHEST: Final = Fraction(2) ** 900


@mechanism
def quantile_by_search(
    space: Space[Rows],
    quantile: Number,
    *,
    bounds: tuple[Bounds, Bounds],
    rho: Number,
    steps: int = 20,
) -> Measurement[Space[Rows], ZeroConcentratedDivergence]:
    """A quantile of each column by noisy binary search: counts alone, so for any number of rows.

    Takes: ``quantile``, from 0 to 1; ``bounds``, two numbers or two for each column; ``rho``;
        ``steps``, in each of which the range is halved. Raises ``ParameterError``.
    Gives: a number for one column, else one for each. Data in blocks is gone through once a
        step and never held.
    Costs: rho, an equal part of it in every step.
    Because: rank - quantile n is a sum of 1 - quantile for a row below, and of -quantile for any
        other; its sign, with Gaussian noise, says which half to keep (Huang, Liang, Yi 2021,
        section 3). ``private_quantile`` errs less.

    >>> import opendp_lite as dp
    >>> round(dp.quantile_by_search(0.5, bounds=(0, 1000), rho=1)(list(range(1000)) * 10), -1)
    500.0
    """
    share, cost = exact(quantile, "quantile"), positive(rho, "rho")
    rounds = whole(steps, "steps", least=1)
    if not 0 <= share <= 1:
        raise ParameterError(f"a quantile is between 0 and 1, got {quantile}")
    columns = space.domain.columns
    if not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2:
        raise ParameterError("quantile_by_search takes bounds=(lower, upper)")
    ends = (fitting(values(each, "bounds"), space, "quantile_by_search") for each in bounds)
    lower, upper = (spread(each, columns) for each in ends)
    if not all(
        -_FARTHEST <= low < high <= _FARTHEST for low, high in zip(lower, upper, strict=True)
    ):
        raise ParameterError(
            "quantile_by_search: lower bounds must be below the upper ones, all within 2^900"
        )

    def search(ask: Ask[ZeroConcentratedDivergence]) -> Any:
        low, high = array(lower), array(upper)
        for _ in range(rounds):
            middle: Floats = low / 2 + high / 2
            above = is_below(dyadic(middle)) >> center(share)
            excess = ask(above >> sum() >> gaussian(rho=cost / rounds))
            low, high = np.where(excess < 0, middle, low), np.where(excess < 0, high, middle)
        found = low / 2 + high / 2
        return float(found[0]) if columns == 1 else found

    formula = f"rho in {rounds} equal parts, one a step"
    return programmed(space, search, ZeroConcentratedDivergence(), cost, formula)
