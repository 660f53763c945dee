"""Chebyshev polynomials."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bases.cosine import cosines
from opendp_lite.bases.interval import Interval
from opendp_lite.documents import spellable
from opendp_lite.engines.fold import Floats


@spellable
@attrs.frozen(repr=False)
class Chebyshev(Interval):
    """Chebyshev polynomials, for moments and for detail at the ends.

    The functions are 1 and sqrt(2) T_i, orthonormal under the arcsine distribution. A density is
    their sum times 1 / sqrt(u (1 - u)), so its values and errors are large close to the ends.

    Args:
        terms: How many functions, from 2 to 64.
        lower: The lower end of the interval.
        upper: The upper end.

    Proof:
        T_i(cos t) = cos(i t), and t is uniform under the arcsine distribution, so cells are of one
        width in t. All functions are largest at the ends. With k terms l2 is sqrt(2 k - 1) and l1
        is 1 + sqrt(2) (k - 1), less than Legendre's for the same polynomials.

    Example:
        >>> basis = Chebyshev(12, 0, 100)
        >>> round(basis.l1, 1), round(basis.l2, 1)
        (16.6, 4.8)
    """

    def functions(self) -> Floats:
        return cosines(self.cells, self.terms)[::-1]

    def edges(self) -> Floats:
        return self._at(np.sin(np.pi / 2 * np.linspace(0, 1, self.cells + 1)) ** 2)
