"""The mean from the two sums of a simplex release."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from opendp_lite.postprocessor import postprocessor


@postprocessor
def simplex_ratio(sums: Any, lower: float, upper: float) -> float:
    """The mean from noisy sums of (x - lower) and (upper - x).

    Takes: a release of ``clamp(lower, upper) >> simplex_augment() >> sum()`` with noise; the same
        bounds.
    Gives: lower + (upper - lower) m1 / (m1 + m2), inside the bounds, where (m1 + m2) /
        (upper - lower) estimates the number of rows and counts as at least 1.
    Costs: nothing; it is post-processing.
    Because: Free Lunch, section 4; the transformed-noise estimator of Kulesza, Suresh, Wang 2024.

    >>> import opendp_lite as dp
    >>> dp.simplex_ratio(0, 10)([30.0, 70.0])
    3.0
    """
    width = float(upper) - float(lower)
    first, second = (float(value) for value in np.asarray(sums, dtype=np.float64))
    rows = max((first + second) / width, 1.0)
    return min(max(float(lower) + first / rows, float(lower)), float(upper))


def simplex_standard_error(sums: Any, width: float, deviation: float) -> float:
    """The standard error of ``simplex_ratio`` through the noise, from the release alone.

    width * deviation * sqrt(m1^2 + m2^2) / (m1 + m2)^2, the first order of the ratio, with sums
    as a release of at least one row would have them; at most half the width, which is what
    knowing nothing amounts to, and just that where there seem to be no rows.
    """
    first, second = (float(value) for value in np.asarray(sums, dtype=np.float64))
    if first + second < width / 2:
        return width / 2
    total = max(first + second, width)
    spread = max(float(np.hypot(first, second)), total / sqrt(2))
    return min(width * deviation / total * (spread / total), width / 2)
