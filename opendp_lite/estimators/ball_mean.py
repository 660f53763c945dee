"""What the means of rows in a ball share."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from opendp_lite.combinators.compose import compose
from opendp_lite.core import Mechanism, Stage
from opendp_lite.domains import Rows, Scalars, Vectors
from opendp_lite.estimators.settings import Floats, each_column, ratio
from opendp_lite.measures.measure import Measure
from opendp_lite.spaces import Space
from opendp_lite.transformations.count import count
from opendp_lite.transformations.sum import sum

M = TypeVar("M", bound=Measure[Any])
Noise = Callable[[Fraction], Mechanism[Space[Scalars | Vectors], M]]


def noisy_mean(
    size: int | None,
    rows: Stage[Space[Rows], Space[Rows]],
    noise: Noise[M],
    noise_of_count: Noise[M],
    loss: Fraction,
    share: float,
    deviation: Callable[[Fraction], float],
    back: Callable[[Floats], Floats],
) -> Mechanism[Space[Rows], M]:
    """The mean of bounded rows from one release of their sum, and their number where private.

    Takes: ``size``, the number of rows or None where it is private; ``noise`` for the sum, that
        costs a given loss, and for the count; ``share`` of the loss for the sum where the number
        of rows is private; ``deviation`` of a noisy count that costs a given loss; ``back``, from
        a mean of the rows to what is released.
    """
    total = rows >> sum()
    if size is not None:

        def mean(release: Any) -> Floats:
            return back(each_column(release) / size)

        return total >> noise(loss) >> mean
    of_sum = loss * Fraction(share).limit_denominator(10**6)
    variance = deviation(loss - of_sum) ** 2

    def mean_of_both(release: Any) -> Floats:
        found, counted = release
        return back(ratio(each_column(found), float(counted), variance))

    return compose(total >> noise(of_sum), count() >> noise_of_count(loss - of_sum)) >> mean_of_both


def within_ball(radius: float) -> Callable[[Floats], Floats]:
    """Brings a vector into the ball in which the mean lies."""

    def shortened(mean: Floats) -> Floats:
        length = float(np.linalg.norm(mean))
        return mean if length <= radius else mean * (radius / length)

    return shortened
