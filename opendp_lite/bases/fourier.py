"""Sines and cosines."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bases.basis import middle_shares
from opendp_lite.bases.interval import Interval
from opendp_lite.documents import spellable
from opendp_lite.engines.fold import Floats


@spellable
@attrs.frozen(repr=False)
class Fourier(Interval):
    """Sines and cosines, for numbers that come around, such as hours of a day or directions.

    The functions are 1, sqrt(2) cos and sqrt(2) sin of 2 pi j u, for j = 1, 2, and so on.

    Args:
        terms: How many functions, from 2 to 64. An odd number keeps pairs of cosine and sine.
        lower: The lower end of the interval, the same place as the upper end.
        upper: The upper end.

    Proof:
        cos^2 + sin^2 = 1, so l2 is sqrt(terms) at every number where terms is odd.

    Example:
        >>> basis = Fourier(9, 0, 24)
        >>> round(basis.l1, 2), round(basis.l2, 3)
        (8.6, 3.0)
    """

    def functions(self) -> Floats:
        orders = np.arange(self.terms)
        turns = middle_shares(self.cells)[:, None] * ((orders + 1) // 2) - (orders % 2 == 0) / 4
        waves: Floats = np.sqrt(2) * np.cos(2 * np.pi * turns)
        waves[:, 0] = 1
        return waves
