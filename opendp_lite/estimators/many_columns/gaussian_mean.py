"""The mean of rows in a ball, with Gaussian noise."""

from __future__ import annotations

from opendp_lite.core import Measurement, mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.budget import Concentrated
from opendp_lite.estimators.inference.parameters import moderate
from opendp_lite.estimators.many_columns._ball import ball_mean, gaussian_share
from opendp_lite.exact import Number
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.spaces import Space


@mechanism
def gaussian_mean(
    space: Space[Rows],
    radius: Number,
    *,
    rho: Number,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], ZeroConcentratedDivergence]:
    """The mean of rows of length at most a radius, with Gaussian noise.

    Takes: ``radius`` r of the l2 ball, to which longer rows are shortened, rows with NaN to 0;
        ``rho``; ``confidence`` and ``sampling`` as for ``mean``.
    Gives: d numbers, together of length at most r; with a confidence a tuple of d ``Estimate``,
        each interval by itself.
    Costs: rho; of it 1 / (2 sqrt(d) + 2) for the number of rows where that is private.
    Because: the mean of n rows errs by 2 r sqrt(d / (2 rho)) / n where a row is replaced. With a
        private n this share has the least regret over all means: papers on the transformed noise
        of Kulesza, Suresh, Wang 2024 treat one column.

    >>> import opendp_lite as dp, numpy as np
    >>> rows = np.full((1000, 2), [3.0, 4.0])
    >>> (dp.records(columns=2) >> dp.gaussian_mean(5, rho=1))(rows).round(0)
    array([3., 4.])
    """
    return ball_mean(
        space,
        "gaussian_mean",
        radius,
        Concentrated(moderate(rho, "rho")),
        gaussian_share(space.domain.columns),
        confidence,
        sampling,
    )
