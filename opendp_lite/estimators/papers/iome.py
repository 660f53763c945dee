"""A quantile by noisy binary search."""

from __future__ import annotations

from math import sqrt

import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.bodies.body import Bounds, to_floats
from opendp_lite.combinators.adaptive_programs import Ask, make_adaptive
from opendp_lite.estimators.columns.noisy_mean import (
    coordinate_bound,
    dyadic,
    each_column,
    for_columns,
    within,
)
from opendp_lite.estimators.parts.budget import RowSpace, costs_budget
from opendp_lite.estimators.parts.noisy_totals import Floats, moderate, require_public_size
from opendp_lite.measurements.noise import gaussian
from opendp_lite.measures.divergences import ZeroConcentratedDivergence
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import Number, exact, positive, whole
from opendp_lite.pipeline.core import Measurement
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.samplers.lattice import FARTHEST_BOUND
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import records
from opendp_lite.transformations.bounding import center, clip_to_norm
from opendp_lite.transformations.encoding import indicator_below
from opendp_lite.transformations.entries import Rotation, norm, random_rotation
from opendp_lite.transformations.sums import sum


@mechanism(
    does="A quantile of each column by noisy binary search, for any number of rows.",
    proof=costs_budget(
        "Each step is a noisy count of rows below a number, moved by max(q, 1 - q) or by 1; "
        "equal parts of rho compose.",
        sources=["Huang, Liang, Yi 2021, section 3"],
    ),
    examples=lambda: [example(records(), 0.25, 0, 10, rho=1, steps=5)],
)
def quantile_by_search(
    space: RowSpace,
    quantile: Number,
    lower: Bounds,
    upper: Bounds,
    *,
    rho: Number,
    steps: int = 20,
) -> Measurement[RowSpace, ZeroConcentratedDivergence]:
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
    least, most = (
        for_columns(each, "bounds", space, "quantile_by_search") for each in (lower, upper)
    )
    if not all(
        -FARTHEST_BOUND <= low < high <= FARTHEST_BOUND
        for low, high in zip(least, most, strict=True)
    ):
        raise ParameterError(
            "quantile_by_search: each lower bound must be below its upper bound, all within 2^900"
        )

    def search(ask: Ask[ZeroConcentratedDivergence]) -> float | Floats:
        low, high = to_floats(least), to_floats(most)
        for _ in range(rounds):
            middle: Floats = low / 2 + high / 2
            above = indicator_below(dyadic(middle)) >> center(share)
            excess = ask(above >> sum() >> gaussian(rho=cost / rounds))
            low, high = np.where(excess < 0, middle, low), np.where(excess < 0, high, middle)
        found = low / 2 + high / 2
        return float(found[0]) if space.domain.columns == 1 else found

    spent = f"rho is divided evenly among {rounds} steps"
    return make_adaptive(space, search, ZeroConcentratedDivergence(), cost, spent)


# Of the largest radius: no search ends at a radius of 0.
_SHORTEST = 2.0**-60

# Standard deviations of a rank in the search for the radius.
_SURE = 3


@mechanism(
    does="The mean of each column by instance-optimal mean estimation.",
    changes="Rows are shortened to a released radius around released medians.",
    proof=costs_budget(
        "An `adaptive` program: a public rotation, searches for medians and a radius, "
        "Gaussian noise.",
        adding="-",
        sources=[
            "Huang, Liang, Yi 2021, section 4",
            "Aumueller, Lebeda, Nelson, Pagh 2024, section 7.2",
        ],
    ),
    examples=lambda: [
        example(records(size=20, metric=ChangeOneDistance()), 0.1, rho=1, steps=4, seed=7)
    ],
)
def iome_mean(
    space: RowSpace, bound: Number, *, rho: Number, steps: int = 20, seed: int = 0
) -> Measurement[RowSpace, ZeroConcentratedDivergence, Floats]:
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

    return make_adaptive(space, program, ZeroConcentratedDivergence(), budget, spent)
