"""Walsh-Hadamard functions."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bases.stepped import Stepped
from opendp_lite.bodies.body import Floats
from opendp_lite.documents import spellable


def hadamard_matrix(size: int) -> Floats:
    """Sylvester's matrix of +-1, of a size that is a power of two."""
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


@spellable
@attrs.frozen(repr=False)
class Hadamard(Stepped):
    """+-1 on each of so many cells: a histogram in which every row moves every sum alike.

    Takes: ``cells`` k of one width, a power of two up to 512; ``lower``, ``upper``.
    Because: l2 is sqrt(k) and l1 is k. In the normalised basis, a row of length 1, that is 1 and
        sqrt(k): Free Lunch, appendix D, claims 1 for both, and Laplace noise for an l1 distance of
        1 would lose sqrt(k) times the epsilon that it claims.

    >>> basis = Hadamard(16, 0, 100)
    >>> basis.l1, basis.l2
    (16.0, 4.0)
    """

    def functions(self) -> Floats:
        return hadamard_matrix(self.cells)
