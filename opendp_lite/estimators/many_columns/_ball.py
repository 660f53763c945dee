"""What the means of rows in a ball share."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from typing import Any, cast

import numpy as np

from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement, Mechanism, Stage
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.budget import Loss
from opendp_lite.estimators.inference.joint_noise import Pair
from opendp_lite.estimators.inference.noisy_totals import Reading
from opendp_lite.estimators.inference.parameters import Floats, moderate
from opendp_lite.estimators.inference.ratio_of_noisy_sums import Quotient
from opendp_lite.estimators.inference.uncertainty_options import Report
from opendp_lite.estimators.many_columns._parameters import each_column, ratio
from opendp_lite.exact import Number
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

    Takes: ``rows`` from the space; ``back``, from a mean of these to what is released.
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

    return compose(total >> gaussian(rho=of_sum), count() >> gaussian(rho=rho - of_sum)) >> (
        mean_of_both
    )


def ball_mean(
    space: Space[Rows],
    name: str,
    radius: Number,
    whole: Loss,
    share: float,
    confidence: Number | None,
    sampling: bool,
) -> Measurement[Space[Rows], Any]:
    """The mean of rows in an l2 ball, from independent noises on their sum and their number.

    Takes: ``whole``, the loss; ``share`` of it for the sum where the number of rows is private.
    """
    length, report = moderate(radius, "radius"), Report.of(name, confidence, sampling)
    total, loss = clip_to_norm(length) >> sum(), report.for_mean(whole)
    size = space.domain.size
    part = Fraction(1) if size is not None else Fraction(share).limit_denominator(10**6)
    of_sum, of_rows = loss.part(part), loss.part(1 - part)
    reach = of_sum.scale(of_sum.reach(total.bind(space).output_space.unit))
    off = 0.0 if size is not None else of_rows.scale(float(cast(Fraction, space.unit)))
    errors = loss.errors(np.array([reach, 0.0]), np.array([0.0, off]))
    noisy = total >> of_sum.noise()
    if size is None:
        noisy = compose(noisy, count() >> of_rows.noise())
    return of_ball(space, report, length, noisy, errors, whole)


def of_ball(
    space: Space[Rows],
    report: Report,
    radius: Fraction,
    noisy: Mechanism[Space[Rows], Any],
    errors: Pair,
    whole: Loss,
) -> Measurement[Space[Rows], Any]:
    """The mean of rows in an l2 ball from a noisy sum, and a noisy number where that is private.

    Takes: ``noisy``, of all rows, and how each of its entries errs.
    """
    size, length, within = space.domain.size, float(radius), within_ball(float(radius))
    quotient = Quotient(-length, length, 0.0, errors, ridge=1.0)

    def read(release: Any) -> tuple[Floats, float]:
        if size is not None:
            return each_column(release), float(size)
        return each_column(release[0]), float(release[1])

    def vector(release: Any) -> Floats:
        total, rows = read(release)
        return within(ratio(total, rows, errors.rows_deviation**2))

    def readings(release: Any) -> list[Reading]:
        total, rows = read(release)
        return [Reading(quotient, float(entry), rows) for entry in total]

    return report.of_columns(space, clip_to_norm(radius), noisy, vector, readings, whole)


def within_ball(radius: float) -> Callable[[Floats], Floats]:
    """Brings a vector into the ball in which the mean lies."""

    def shortened(mean: Floats) -> Floats:
        length = float(np.linalg.norm(mean))
        return mean if length <= radius else mean * (radius / length)

    return shortened
