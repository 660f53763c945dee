"""Coins of a rational probability, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.least_rows import Keys

_WORD = 2**64


def coins(probability: Fraction, count: int, keys: Keys) -> NDArray[np.bool_]:
    """Independent coins, each heads with exactly this probability.

    A coin is heads if a uniform number U is below the probability. Their binary digits are
    compared, 64 at a time, and more are drawn while they are equal: once in 2^64 coins.

    Args:
        probability: From 0 to 1.
        count: How many coins.
        keys: Random words for some of the coins: the next digits of U of each.
    """
    if probability == 1:
        return np.ones(count, dtype=np.bool_)
    found = np.zeros(count, dtype=np.bool_)
    level, left = np.arange(count), probability
    while left and len(level):
        digits = int(left * _WORD)
        left = left * _WORD - digits
        words = keys(level)
        found[level] = words < np.uint64(digits)
        level = level[words == np.uint64(digits)]
    return found
