"""Signed variates, times a factor, plus offsets, rounded to nearest."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np

from opendp_lite.samplers._arrays import Floats, Numbers
from opendp_lite.samplers.entropy import Entropy, Words
from opendp_lite.samplers.exponential import Lazy, exact_floor
from opendp_lite.samplers.lanes import fill, with_signs
from opendp_lite.samplers.quantile_table import MASK, QuantileTable

_HALF: Final = Fraction(1, 2)


def fill_signed(
    table: QuantileTable,
    factor: float,
    edge: float,
    offsets: Floats | None,
    exactly: Callable[[int, int], int],
    entropy: Entropy,
    out: Numbers,
) -> None:
    """Fills ``out`` with +-factor Q + offset, to nearest; the rest is as for ``fill``."""

    def shape(words: Words, y: Floats, work: Floats, start: int) -> None:
        np.multiply(y, factor, out=y)
        with_signs(words, y, work)
        if offsets is not None:
            np.add(y, offsets[start : start + len(y)], out=y)

    fill(table, shape, edge, exactly, entropy, out)


def signed_floor(size: Lazy, scale: Fraction, word: int, offset: Fraction, entropy: Entropy) -> int:
    """floor(+-scale V + offset + 1/2) for a size V, with the sign of a word."""
    return exact_floor(size, -scale if word > MASK else scale, offset + _HALF, entropy)
