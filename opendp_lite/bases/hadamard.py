"""Walsh-Hadamard functions."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bases.stepped import Stepped
from opendp_lite.documents import spellable
from opendp_lite.engines.fold import Floats


def hadamard_matrix(size: int) -> Floats:
    """Sylvester's matrix of +-1, of a size that is a power of two."""
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


@spellable
@attrs.frozen(repr=False)
class Hadamard(Stepped):
    """Walsh-Hadamard functions: a histogram in which a row moves all sums by the same amount.

    The functions are +1 or -1 on each cell.

    Args:
        cells: How many cells of one width, a power of two up to 512.
        lower: The lower end of the interval.
        upper: The upper end.

    Proof:
        With k cells l2 is sqrt(k) and l1 is k. With rows of length 1 these are 1 and sqrt(k). Free
        Lunch, appendix D, claims 1 for both; Laplace noise for an l1 distance of 1 would lose
        sqrt(k) times the claimed epsilon.

    Example:
        >>> basis = Hadamard(16, 0, 100)
        >>> basis.l1, basis.l2
        (16.0, 4.0)
    """

    def functions(self) -> Floats:
        return hadamard_matrix(self.cells)
