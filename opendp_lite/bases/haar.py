"""Haar wavelets."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bases.stepped import Stepped
from opendp_lite.documents import spellable
from opendp_lite.engines.fold import Floats


@spellable
@attrs.frozen(repr=False)
class Haar(Stepped):
    """Haar wavelets: a histogram, from coarse to fine.

    The functions are 1 and the steps up and down by halves, quarters and so on of the interval.

    Args:
        cells: How many cells of one width, a power of two up to 512.
        lower: The lower end of the interval.
        upper: The upper end.

    Proof:
        At each number one wavelet of each size is not 0, but +-2^(j/2). With k cells l2 is sqrt(k)
        and l1 is 1 + (sqrt(k) - 1) / (sqrt(2) - 1), a little over 2.4 sqrt(k). This is the least l1
        of all bases on these cells here.

    Example:
        >>> basis = Haar(16, 0, 100)
        >>> round(basis.l1, 2), round(basis.l2, 2)
        (8.24, 4.0)
    """

    def functions(self) -> Floats:
        rows = [np.ones(self.cells)]
        pieces = 1
        while pieces < self.cells:
            half = self.cells // pieces // 2
            step = np.sqrt(pieces) * np.repeat([1.0, -1.0], half)
            rows.extend(np.kron(np.eye(pieces), step))
            pieces *= 2
        return np.array(rows).T
