"""Chebyshev polynomials."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bases.cosine import cosines
from opendp_lite.bases.interval import Interval
from opendp_lite.bodies.body import Floats
from opendp_lite.documents import spellable


@spellable
@attrs.frozen(repr=False)
class Chebyshev(Interval):
    """1 and sqrt(2) T_i, orthonormal under the arcsine law: moments, and detail at the ends.

    Takes: ``terms`` k, from 2 to 64; ``lower``, ``upper``.
    Because: T_i(cos t) = cos(i t), and t is uniform under the arcsine law; cells are of one width
        in t. All are largest at the ends, so l2 is sqrt(2 k - 1) and l1 is 1 + sqrt(2) (k - 1):
        less than Legendre's for the same polynomials. A density is 1 / sqrt(u (1 - u)) times
        their sum, of large values and large errors close to the ends.

    >>> basis = Chebyshev(12, 0, 100)
    >>> round(basis.l1, 1), round(basis.l2, 1)
    (16.6, 4.8)
    """

    def functions(self) -> Floats:
        return cosines(self.cells, self.terms)[::-1]

    def edges(self) -> Floats:
        return self._at(np.sin(np.pi / 2 * np.linspace(0, 1, self.cells + 1)) ** 2)
