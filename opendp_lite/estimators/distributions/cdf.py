"""A whole distribution from one release of prefix sums."""

from __future__ import annotations

from math import sqrt
from typing import Any, Final, cast, overload

import attrs
import numpy as np

from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.estimators.distributions.cumulative_distribution import (
    CumulativeDistribution,
    UnitNoise,
)
from opendp_lite.estimators.inference.bounded_column import bounds_come_first
from opendp_lite.estimators.inference.budget import budget_of
from opendp_lite.estimators.inference.parameters import Floats
from opendp_lite.exact import Number, confidence_of
from opendp_lite.examples import example
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.strategies.cells import Cells
from opendp_lite.strategies.square_root import square_root
from opendp_lite.strategies.tree import tree
from opendp_lite.transformations.block_counts import block_counts
from opendp_lite.transformations.prefix_features import prefix_features


def _normal(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return generator.standard_normal(shape)


def _laplace(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return generator.laplace(0, 1 / sqrt(2), shape)


@attrs.frozen
class _Way:
    """What is released, how it is read, and what its noise is like."""

    step: Any
    strategy: Any
    unit_noise: UnitNoise
    words: str


_GAUSSIAN: Final = _Way(prefix_features, square_root, _normal, "the square root of prefix sums")
_LAPLACE: Final = _Way(block_counts, tree, _laplace, "counts of cells and blocks of cells")


@overload
def cdf(
    lower: Number,
    upper: Number,
    *,
    rho: Number,
    cells: int = 1024,
    confidence: Number | None = None,
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence, CumulativeDistribution]: ...
@overload
def cdf(
    lower: Number,
    upper: Number,
    *,
    epsilon: Number,
    cells: int = 1024,
    confidence: Number | None = None,
) -> Mechanism[Space[Rows], MaxDivergence, CumulativeDistribution]: ...
@overload
def cdf(
    lower: Number,
    upper: Number,
    *,
    epsilon: Number,
    delta: Number,
    cells: int = 1024,
    confidence: Number | None = None,
) -> Mechanism[Space[Rows], ApproximateDivergence, CumulativeDistribution]: ...
@bounds_come_first("epsilon=1")
@example(records(), 0, 10, rho=0.1)
@example(records(), 0, 10, epsilon=1, cells=20, confidence=0.9)
@example(
    records(size=20, metric=ChangeOneDistance()), -1, 1, epsilon=1, delta=1e-6, confidence=0.95
)
@mechanism
def cdf(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    cells: int = 1024,
    confidence: Number | None = None,
) -> Measurement[Space[Rows], Any, CumulativeDistribution]:
    """The whole distribution of one column: the share of rows up to any number, from one release.

    Shares, quantiles, densities and moments all come from it, as many as you like.

    Args:
        lower: The lower bound of the values, chosen without looking at the data. Values below it
            count as the bound.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``: the probability that its bound may fail, 1e-6 say.
        cells: How many cells of one width, up to 4096. Shares are right at their edges and
            interpolated between. More cells hardly add noise. For whole numbers take one for each,
            ``cdf(0, 120, cells=120, ...)`` say.
        confidence: 0.95, say, asks for intervals too.

    Returns:
        A ``CumulativeDistribution``: ``cdf(x)``, ``quantile(q)``, ``median()``, ``density(x)``,
        ``mean()`` and so on, each with a standard error; with a confidence also ``interval(x)``,
        ``band(x)`` and ``quantile_interval(q)``. Missing values are left out; where the number of
        rows is public they count as the middle of the bounds.

    Raises:
        ParameterError: If a bound or the budget is missing or impossible.
        SpaceError: If the rows have more than one column.

    Privacy:
        The budget that was given, in its measure, under either row metric.

    Proof:
        Gaussian noise on ``prefix_features``, or for a pure budget Laplace noise on
        ``block_counts``, where shares then have a sixth of the noise. Both have exact
        sensitivities. What follows is post-processing.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> ages = np.random.default_rng(0).normal(40, 12, 50_000)
        >>> release = dp.cdf(0, 100, epsilon=1, confidence=0.95)
        >>> found = release(ages)
        >>> round(found.median().value), round(found.cdf(65).value, 2), release.map(1)
        (40, 0.98, 1.0)
        >>> low, high = found.interval(65)
        >>> 0 < high - low < 0.01
        True
    """
    budget = budget_of("cdf", rho, epsilon, delta)
    share = None if confidence is None else float(confidence_of(confidence, "cdf: confidence"))
    public = Cells.between("cdf", lower, upper, cells)
    way = _LAPLACE if budget.measure == MaxDivergence() else _GAUSSIAN
    noisy = way.step(lower, upper, cells=cells) >> budget.noise()
    released = budget.with_claimed_loss(noisy.bind(space))
    (law,) = released.facts.laws
    strategy, size = way.strategy(len(public.edges)), space.domain.size

    def cumulative_distribution(sums: Floats) -> CumulativeDistribution:
        return CumulativeDistribution(
            public, strategy, sums, law.standard_deviation, size, way.unit_noise, share
        )

    return cast(Measurement[Space[Rows], Any], released >> cumulative_distribution)
