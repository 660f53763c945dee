"""Cosines."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bases.basis import middle_shares
from opendp_lite.bases.interval import Interval
from opendp_lite.bodies.body import Floats
from opendp_lite.documents import spellable


def cosines(cells: int, terms: int) -> Floats:
    """1 and sqrt(2) cos(pi i u) in the middles of so many cells, shape (cells, terms)."""
    waves: Floats = np.sqrt(2) * np.cos(np.pi * middle_shares(cells)[:, None] * np.arange(terms))
    waves[:, 0] = 1
    return waves


@spellable
@attrs.frozen(repr=False)
class Cosine(Interval):
    """1 and sqrt(2) cos(pi i u), for i = 1, 2, ...: smooth densities; for who need not choose.

    Takes: ``terms`` k, from 2 to 64; ``lower``, ``upper``.
    Because: all are largest at the lower bound, so l2 is sqrt(2 k - 1) and l1 is
        1 + sqrt(2) (k - 1). As ``Fourier`` on an interval twice as long, of which the density
        fills one half and its mirror image the other: nothing jumps at the bounds.

    >>> basis = Cosine(12, 0, 100)
    >>> round(basis.l1, 1), round(basis.l2, 1)
    (16.6, 4.8)
    """

    def functions(self) -> Floats:
        return cosines(self.cells, self.terms)
