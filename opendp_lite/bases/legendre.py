"""Legendre polynomials."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.polynomial.legendre import legvander

from opendp_lite.bases.basis import middle_shares
from opendp_lite.bases.interval import Interval
from opendp_lite.bodies.body import Floats
from opendp_lite.documents import spellable


@spellable
@attrs.frozen(repr=False)
class Legendre(Interval):
    """Polynomials of degrees 0 to terms - 1: moments without bias, smooth densities.

    Takes: ``terms`` k, from 2 to 64; ``lower``, ``upper``.
    Because: all are largest at the upper bound, sqrt(2 i + 1), so l2 is k and l1 the sum of these
        roots: much for a density far from the ends, where the values are of order 1.

    >>> basis = Legendre(12, 0, 100)
    >>> round(basis.l1, 1), round(basis.l2, 1)
    (39.2, 12.0)
    """

    def functions(self) -> Floats:
        sizes = np.sqrt(2 * np.arange(self.terms) + 1)
        return np.multiply(legvander(2 * middle_shares(self.cells) - 1, self.terms - 1), sizes)
