"""The mean of rows in a ball, with independent noises on their sum and their number."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import numpy as np

from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.budget import concentrated, pure
from opendp_lite.estimators.inference.parameters import moderate
from opendp_lite.estimators.inference.request import Request
from opendp_lite.estimators.many_columns._noisy_mean import gaussian_share, of_ball
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.recipes import mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.count import count
from opendp_lite.transformations.sum import sum


@example(records(columns=["age", "visits"]), 5, rho=0.1)
@mechanism
def gaussian_mean(
    space: Space[Rows],
    radius: Number,
    *,
    rho: Number,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], ZeroConcentratedDivergence]:
    """The mean of each column for rows in an l2 ball, with Gaussian noise.

    Args:
        radius: The radius r of the ball. Longer rows are shortened to it.
        rho: The budget. A share 1 / (2 sqrt(d) + 2) of it is for the number of rows, where that is
            private and there are d columns.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        d numbers, together of length at most r. With a confidence a tuple of d ``Estimate``, each
        with an interval for its column alone. Where the number of rows is private, rows with a
        missing value are left out. Where it is public, a missing value counts as 0.

    Privacy:
        Rho under ``ZeroConcentratedDivergence``.

    Proof:
        A replaced row moves the sum by 2 r, so the mean of n rows errs by
        2 r sqrt(d / (2 rho)) / n. With a private n this share has the least regret over all means.
        The transformed noise of Kulesza, Suresh, Wang 2024 is for one column.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.full((4000, 2), [3.0, 4.0])
        >>> (dp.records(columns=2) >> dp.estimators.gaussian_mean(5, rho=0.03))(rows).round(0)
        array([3., 4.])
    """
    budget = concentrated(moderate(rho, "rho"))
    request = Request.within(budget, "gaussian_mean", confidence, sampling)
    return _ball_mean(space, radius, request, gaussian_share(space.domain.columns))


@example(records(columns=["age", "visits"]), 5, epsilon=0.1)
@mechanism
def laplace_mean(
    space: Space[Rows],
    radius: Number,
    *,
    epsilon: Number,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], MaxDivergence]:
    """The mean of each column for rows in an l2 ball, with Laplace noise.

    Args:
        radius: The radius r of the ball. Longer rows are shortened to it.
        epsilon: The budget. A share 1 / (1 + d^(2/3)) of it is for the number of rows, where that
            is private and there are d columns.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        d numbers, together of length at most r. With a confidence a tuple of d ``Estimate``, each
        with an interval for its column alone. Where the number of rows is private, rows with a
        missing value are left out. Where it is public, a missing value counts as 0.

    Privacy:
        Epsilon under ``MaxDivergence``.

    Proof:
        In the ball the l1 distance is at most sqrt(d) times the l2 distance, so the mean errs by
        2 r d sqrt(2) / (n epsilon) where a row is replaced (*Pure versus approximate*, with the
        1 / n that is missing there). ``l2_mechanism_mean`` errs less, by a factor of up to sqrt(2).

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.full((4000, 2), [3.0, 4.0])
        >>> (dp.records(columns=2) >> dp.estimators.laplace_mean(5, epsilon=1))(rows).round(0)
        array([3., 4.])
    """
    weight = space.domain.columns ** (2 / 3)
    budget = pure(moderate(epsilon, "epsilon"))
    request = Request.within(budget, "laplace_mean", confidence, sampling)
    return _ball_mean(space, radius, request, weight / (weight + 1))


def _ball_mean(
    space: Space[Rows], radius: Number, request: Request, share: float
) -> Measurement[Space[Rows], Any]:
    """The estimator, with a share of the budget for the sum where the number of rows is private."""
    length, budget, size = moderate(radius, "radius"), request.budget, space.domain.size
    total = clip_to_norm(length) >> sum()
    part = Fraction(1) if size is not None else Fraction(share).limit_denominator(10**6)
    of_sum, of_rows = budget.part(part), budget.part(1 - part)
    moved = budget.family.sensitivity(total.bind(space).output_space.unit)
    off = 0.0 if size is not None else of_rows.scale(float(cast(Fraction, space.unit)))
    scales = np.array([of_sum.scale(moved), 0.0]), np.array([0.0, off])
    noisy = total >> of_sum.noise()
    if size is None:
        noisy = compose(noisy, count() >> of_rows.noise())
    return of_ball(space, request, length, noisy, budget.family.errors(*scales))
