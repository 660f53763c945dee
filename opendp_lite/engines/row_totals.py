"""Sums over each row that are the same for every order of addition, so for every container."""

from __future__ import annotations

from math import fsum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Floats
from opendp_lite.engines.layout import Layout

_LEAST_BITS: Final = 18
_MORE_BITS: Final = 10
"""At most about one row in 2^9 lies so near to the end of a cell that it is added up exactly."""
_FINITE: Final = 2.0**1001


def cell_bits(columns: int) -> int:
    """How many of the last bits of a total of so many terms are rounded away."""
    return max(_LEAST_BITS, columns.bit_length() + _MORE_BITS)


def floats_beyond(columns: int) -> int:
    """How many floats beyond what ``row_totals`` finds a total may be."""
    return 4 * (columns + 3)


def excess(columns: int) -> float:
    """A bound on how far a total is above what ``row_totals`` finds, as a part of it."""
    return floats_beyond(columns) * 2.0**-52


def row_totals(
    entries: Floats, layout: Layout, p: float, columns: int, spare: Floats | None = None
) -> Floats:
    """The sum of ``|x|^p`` of each row, with the last ``cell_bits`` of its float rounded up.

    Args:
        entries: The entries, which are not written to.
        layout: Where they lie.
        p: 1 or 2.
        columns: How many columns the rows have, with those that are not stored.
        spare: An array like ``entries`` that may be written to.

    Returns:
        For each row a float that depends on the values of its terms alone. It is NaN for a row with
        NaN, and the only term where there is one column. Totals of 2^1001 and more are off by the
        order of addition.

    Proof:
        Let T be the exact sum of the k float terms, rounded once (``math.fsum``). A sum of such
        terms in any order, with or without fused operations, is within (k + 2) 2^-53 T (1 + 2^-20)
        of T: Higham, Accuracy and Stability of Numerical Algorithms, section 4.2. These are fewer
        than ``margin`` floats. A cell is a run of 2^``cell_bits`` floats that ends
        ``floats_beyond`` after a float whose last bits are 0. This float is the result. A sum that
        is at least ``margin`` floats inside of its cell lies in the cell of T. For another one T is
        computed. Cells do not end at such a float, since sums of short numbers often lie there.
    """
    found = layout.sums_of_squares(entries) if p == 2 else layout.sums(np.abs(entries, out=spare))
    if np.isnan(found.max(initial=0.0)):
        found[np.isnan(found)] = np.nan
    if columns == 1:
        return found
    cell = 1 << cell_bits(columns)
    up, margin = cell - 1 - floats_beyond(columns), 2 * (layout.longest(entries) + 3)
    bits = found.view(np.int64)
    bits += up + margin
    inside = bits & (cell - 1)
    doubtful = inside < 2 * margin
    for row in np.flatnonzero(doubtful).tolist() if doubtful.any() else ():
        if found[row] < _FINITE:
            terms = _terms(layout.row(entries, row), p)
            bits[row] = np.float64(fsum(terms.tolist())).view(np.int64) + up
            inside[row] = bits[row] & (cell - 1)
    bits -= inside
    return found


def _terms(row: NDArray[Any], p: float) -> Floats:
    terms: Floats = row * row if p == 2 else np.abs(row)
    return terms
