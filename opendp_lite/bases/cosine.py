"""Cosines."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bases.basis import middle_shares
from opendp_lite.bases.interval import Interval
from opendp_lite.documents import spellable
from opendp_lite.engines.fold import Floats


def cosines(cells: int, terms: int) -> Floats:
    """1 and sqrt(2) cos(pi i u) in the middles of so many cells, shape (cells, terms)."""
    waves: Floats = np.sqrt(2) * np.cos(np.pi * middle_shares(cells)[:, None] * np.arange(terms))
    waves[:, 0] = 1
    return waves


@spellable
@attrs.frozen(repr=False)
class Cosine(Interval):
    """Cosines, for smooth densities. Use this basis unless you know a better one.

    The functions are 1 and sqrt(2) cos(pi i u) for i = 1, 2, and so on. Nothing jumps at the
    bounds.

    Args:
        terms: How many functions, from 2 to 64.
        lower: The lower end of the interval.
        upper: The upper end.

    Proof:
        All functions are largest at the lower end. With k terms l2 is sqrt(2 k - 1) and l1 is 1 +
        sqrt(2) (k - 1).

    Example:
        >>> basis = Cosine(12, 0, 100)
        >>> round(basis.l1, 1), round(basis.l2, 1)
        (16.6, 4.8)
    """

    def functions(self) -> Floats:
        return cosines(self.cells, self.terms)
