"""The mean of rows in a ball, with Laplace noise."""

from __future__ import annotations

from opendp_lite.core import Measurement, mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.budget import Pure
from opendp_lite.estimators.inference.parameters import moderate
from opendp_lite.estimators.many_columns._ball import ball_mean
from opendp_lite.exact import Number
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.spaces import Space


@mechanism
def laplace_mean(
    space: Space[Rows],
    radius: Number,
    *,
    epsilon: Number,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], MaxDivergence]:
    """The mean of rows of length at most a radius, with Laplace noise.

    Takes: ``radius`` r of the l2 ball, to which longer rows are shortened, rows with NaN to
        0; ``epsilon``; ``confidence`` and ``sampling`` as for ``mean``.
    Gives: d numbers, together of length at most r; with a confidence a tuple of d ``Estimate``,
        each interval by itself.
    Costs: epsilon; of it 1 / (1 + d^(2/3)) for the number of rows where that is private.
    Because: the l1 distance in the ball is at most sqrt(d) times the l2 distance, hence an error
        of 2 r d sqrt(2) / (n epsilon) where a row is replaced (*Pure versus approximate*, with
        the 1 / n that is missing there). ``l2_gamma_mean`` errs less, by a factor of up to sqrt(2).

    >>> import opendp_lite as dp, numpy as np
    >>> rows = np.full((1000, 2), [3.0, 4.0])
    >>> (dp.records(columns=2) >> dp.laplace_mean(5, epsilon=5))(rows).round(0)
    array([3., 4.])
    """
    weight = space.domain.columns ** (2 / 3)
    return ball_mean(
        space,
        "laplace_mean",
        radius,
        Pure(moderate(epsilon, "epsilon")),
        weight / (weight + 1),
        confidence,
        sampling,
    )
