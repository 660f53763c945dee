"""An exact choice among scores: report noisy max with exponential noise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np

from opendp_lite.samplers._arrays import Floats
from opendp_lite.samplers.choice import below, goes_below
from opendp_lite.samplers.entropy import Entropy

_UNIT: Final = 2.0**-64
_MARGIN: Final = 2.0**-30
"""Beyond what exponents within 2^-32 of the true ones, unread bits and floats can be wrong by."""


def permute_and_flip(
    exponents: Floats, exactly: Callable[[int], Fraction], entropy: Entropy
) -> int:
    """The place of the largest -exactly(i) + E_i for independent exponential E_i, without error.

    Args:
        exponents: The exponents as floats: at least one is 0, and each is within 2^-32 of the
            exact one. One beyond ``FAR_EXPONENT`` is given as that.
        exactly: The exact exponent of the item at an index.
        entropy: Where the random words come from.

    Returns:
        An index of ``exponents``.

    Proof:
        Permute-and-flip takes the items in random order and releases the first whose coin of
        probability exp(-exponent) shows heads (McKenna and Sheldon 2020). It has the law of the
        noisy maximum (Ding, Kifer, Steinke, Wang, Xiao, Zhang 2021). Coins and order are
        independent, so the first heads in random order is a uniform choice among all heads. An
        item of exponent 0 always shows heads. Each coin compares a uniform number with its
        probability, as floats where they are further apart than the margin and exactly where not.
    """
    words = entropy.words(len(exponents))
    lead = np.exp(-exponents)
    lead -= words.astype(np.float64) * _UNIT
    heads = lead > 0
    for place in np.flatnonzero(np.abs(lead) < _MARGIN).tolist():
        heads[place] = goes_below(int(words[place]), Fraction(1), exactly(place), entropy)
    shown = np.flatnonzero(heads)
    return int(shown[below(len(shown), entropy)])
