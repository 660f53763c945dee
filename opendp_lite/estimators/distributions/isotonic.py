"""The rising numbers that are nearest to given ones."""

from __future__ import annotations

import numpy as np

from opendp_lite.estimators.inference.parameters import Floats


def isotonic(numbers: Floats) -> Floats:
    """The rising numbers with the least sum of squared differences from these.

    Proof:
        Neighbours that fall are put together at their mean until none fall (Ayer, Brunk, Ewing,
        Reid, Silverman 1955).

    Example:
        >>> isotonic(np.array([0.0, 3.0, 1.0, 2.0, 5.0]))
        array([0., 2., 2., 2., 5.])
    """
    means: list[float] = []
    lengths: list[int] = []
    for number in numbers.tolist():
        mean, length = number, 1
        while means and means[-1] > mean:
            before, count = means.pop(), lengths.pop()
            mean = (before * count + mean * length) / (count + length)
            length += count
        means.append(mean)
        lengths.append(length)
    return np.repeat(means, lengths)
