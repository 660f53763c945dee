"""How the means of many columns are made of a noisy sum and a number of rows."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement, Mechanism, Stage
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.joint_noise import JointNoise
from opendp_lite.estimators.inference.noisy_totals import NoisyTotals
from opendp_lite.estimators.inference.parameters import Floats
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RatioOfNoisySums
from opendp_lite.estimators.inference.request import Request
from opendp_lite.estimators.many_columns._columns import each_column, ratio
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.spaces import Space
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.count import count
from opendp_lite.transformations.sum import sum


def gaussian_share(columns: int) -> float:
    """The share of rho for the sum, of the least regret over all means, with a private count."""
    root = sqrt(columns)
    return (2 * root + 1) / (2 * root + 2)


def noisy_mean(
    space: Space[Rows],
    rows: Stage[Space[Rows], Space[Rows]],
    rho: Fraction,
    back: Callable[[Floats], Floats],
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence]:
    """The mean of bounded rows from a Gaussian release of their sum, and their number if private.

    Args:
        space: The space.
        rows: What is summed.
        rho: The budget.
        back: From a mean of these rows to what is released.
    """
    total, size = rows >> sum(), space.domain.size
    if size is not None:

        def mean(release: Any) -> Floats:
            return back(each_column(release) / size)

        return total >> gaussian(rho=rho) >> mean
    share = gaussian_share(space.domain.columns)
    of_sum = rho * Fraction(share).limit_denominator(10**6)
    variance = (1 / sqrt(2 * float(rho - of_sum))) ** 2

    def mean_of_both(release: Any) -> Floats:
        found, counted = release
        return back(ratio(each_column(found), float(counted), variance))

    both = compose(total >> gaussian(rho=of_sum), count() >> gaussian(rho=rho - of_sum))
    return both >> mean_of_both


def of_ball(
    space: Space[Rows],
    request: Request,
    radius: Fraction,
    noisy: Mechanism[Space[Rows], Any],
    errors: JointNoise,
) -> Measurement[Space[Rows], Any]:
    """The mean of rows in an l2 ball from a noisy sum, and a noisy number where that is private.

    Args:
        space: The space.
        request: What was asked for.
        radius: Of the ball.
        noisy: What is released of all rows.
        errors: How each entry of it errs.
    """
    size, length, within = space.domain.size, float(radius), _within_ball(float(radius))
    shown = RatioOfNoisySums(-length, length, 0.0, errors, ridge=1.0)

    def read(release: Any) -> tuple[Floats, float]:
        if size is not None:
            return each_column(release), float(size)
        return each_column(release[0]), float(release[1])

    def vector(release: Any) -> Floats:
        total, rows = read(release)
        return within(ratio(total, rows, errors.rows_deviation**2))

    def totals(release: Any) -> list[NoisyTotals]:
        total, rows = read(release)
        return [NoisyTotals(shown, float(entry), rows) for entry in total]

    return request.of_columns(space, clip_to_norm(radius), noisy, vector, totals)


def _within_ball(radius: float) -> Callable[[Floats], Floats]:
    """Brings a vector into the ball in which the mean lies."""

    def shortened(mean: Floats) -> Floats:
        length = float(np.linalg.norm(mean))
        return mean if length <= radius else mean * (radius / length)

    return shortened
