"""Legendre polynomials."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.polynomial.legendre import legvander

from opendp_lite.bases.basis import middle_shares
from opendp_lite.bases.interval import Interval
from opendp_lite.documents import spellable
from opendp_lite.engines.fold import Floats


@spellable
@attrs.frozen(repr=False)
class Legendre(Interval):
    """Legendre polynomials, for moments without bias and smooth densities.

    The functions are the orthonormal polynomials of degrees 0 to terms - 1.

    Args:
        terms: How many functions, from 2 to 64.
        lower: The lower end of the interval.
        upper: The upper end.

    Proof:
        All functions are largest at the upper end, where they are sqrt(2 i + 1). With k terms l2 is
        k, and l1 is the sum of these roots. This is much where the density is far from the ends.

    Example:
        >>> basis = Legendre(12, 0, 100)
        >>> round(basis.l1, 1), round(basis.l2, 1)
        (39.2, 12.0)
    """

    def functions(self) -> Floats:
        sizes = np.sqrt(2 * np.arange(self.terms) + 1)
        return np.multiply(legvander(2 * middle_shares(self.cells) - 1, self.terms - 1), sizes)
