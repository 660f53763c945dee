"""Instance-optimal mean estimation."""

from __future__ import annotations

from math import sqrt

from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.parameters import Floats, moderate, require_public_size
from opendp_lite.estimators.many_columns._columns import (
    coordinate_bound,
    dyadic,
    each_column,
    within,
)
from opendp_lite.estimators.many_columns.quantile_by_search import quantile_by_search
from opendp_lite.exact import Number, whole
from opendp_lite.examples import example
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.norm import norm
from opendp_lite.transformations.random_rotation import Rotation, random_rotation
from opendp_lite.transformations.sum import sum

_SHORTEST = 2.0**-60
"""Of the largest radius: no search ends at a radius of 0."""

_SURE = 3
"""Standard deviations of a rank in the search for the radius."""


@example(records(size=20, metric=ChangeOneDistance()), 0.1, rho=1, steps=4, seed=7)
@mechanism
def iome_mean(
    space: Space[Rows], bound: Number, *, rho: Number, steps: int = 20, seed: int = 0
) -> Measurement[Space[Rows], ZeroConcentratedDivergence, Floats]:
    """The mean of each column by instance-optimal mean estimation.

    Args:
        bound: M. The entries lie in [-M, M].
        rho: The budget. A quarter is for the medians of the rotated columns, a hundredth of the
            rest for the radius.
        steps: Of each binary search.
        seed: Of the public rotation.

    Returns:
        A number in [-M, M] for each column.

    Raises:
        SpaceError: If the number of rows is private.

    Privacy:
        Rho under ``ZeroConcentratedDivergence``.

    Proof:
        Huang, Liang, Yi 2021, section 4. The radius is at twice the published offset, as in
        Aumueller, Lebeda, Nelson, Pagh 2024, section 7.2, and at no fewer rows than a search with a
        hundredth of the budget can tell from none. It is a rival of ``plan_mean``.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal([1, 20], 2, (20_000, 2))
        >>> space = dp.records(columns=2, size=20_000, metric=dp.ChangeOneDistance())
        >>> (space >> dp.estimators.iome_mean(100, rho=0.03))(rows).round(0)
        array([ 1., 20.])
    """
    most, budget = coordinate_bound(bound), moderate(rho, "rho")
    rounds, start = whole(steps, "steps", least=1), whole(seed, "seed")
    size = require_public_size(space, "iome_mean")
    turn = Rotation(space.domain.columns, start)
    longest = most * sqrt(turn.width)
    rho_center = budget / 4
    rho_radius = (budget - rho_center) / 100
    rho_sum = budget - rho_center - rho_radius
    misses = _SURE * sqrt(rounds / (2 * float(rho_radius)))
    beyond = min(max(2 * sqrt(2 * turn.width / float(rho_sum)), misses) / size, 0.5)

    spent = "a quarter of rho is for the medians, a hundredth of the rest for the radius"

    def program(ask: Ask[ZeroConcentratedDivergence]) -> Floats:
        rotated = random_rotation(start)
        median = quantile_by_search(0.5, -longest, longest, rho=rho_center, steps=rounds)
        middle = each_column(ask(rotated >> median))
        shifted = rotated >> center(dyadic(middle))
        ends = (0, 2 * longest)
        length = quantile_by_search(1 - beyond, *ends, rho=rho_radius, steps=rounds)
        radius = max(ask(shifted >> norm() >> length), longest * _SHORTEST)
        total = ask(shifted >> clip_to_norm(radius) >> sum() >> gaussian(rho=rho_sum))
        return within(turn.back(middle + each_column(total) / size), most)

    return programmed(space, program, ZeroConcentratedDivergence(), budget, spent)
