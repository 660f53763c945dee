"""The mean of rows in a ball, with noise whose length is gamma distributed."""

from __future__ import annotations

from math import sqrt

from opendp_lite.core import Measurement, mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.ball_mean import noisy_mean, within_ball
from opendp_lite.estimators.settings import moderate
from opendp_lite.exact import Number
from opendp_lite.measurements.l2_gamma import l2_gamma
from opendp_lite.measurements.laplace import laplace
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.spaces import Space
from opendp_lite.transformations.clip_to_norm import clip_to_norm


@mechanism
def l2_gamma_mean(
    space: Space[Rows], radius: Number, *, epsilon: Number
) -> Measurement[Space[Rows], MaxDivergence]:
    """The mean of rows of length at most a radius, with the best noise for pure privacy there.

    Takes: ``radius`` r of the l2 ball, to which longer rows are shortened, rows with NaN to
        0; ``epsilon``.
    Gives: d numbers, together of length at most r.
    Costs: epsilon; of it about 1 / (1 + d^(2/3)) for the number of rows where that is private.
    Because: noise with a density in proportion to exp(-epsilon |z| / D) for rows that move the
        sum by D, that is an error of 2 r sqrt(d (d + 1)) / (n epsilon) where a row is replaced
        (Hardt and Talwar 2010): below 13 to 17 columns less than that of Gaussian noise at
        epsilon = 1 and a delta of 1e-5 to 1e-6, and never more than ``laplace_mean``.

    >>> import opendp_lite as dp, numpy as np
    >>> rows = np.full((1000, 2), [3.0, 4.0])
    >>> (dp.records(columns=2) >> dp.l2_gamma_mean(5, epsilon=5))(rows).round(0)
    array([3., 4.])
    """
    columns = space.domain.columns
    weight = (columns * (columns + 1) / 2) ** (1 / 3)
    length = moderate(radius, "radius")
    return noisy_mean(
        space.domain.size,
        clip_to_norm(length),
        lambda loss: l2_gamma(epsilon=loss),
        lambda loss: laplace(epsilon=loss),
        moderate(epsilon, "epsilon"),
        weight / (weight + 1),
        lambda loss: sqrt(2) / float(loss),
        within_ball(float(length)),
    ).bind(space)
