"""What estimators of several columns share: parameters, and how a total becomes a mean."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from opendp_lite.bodies.bounds import Values
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.parameters import Floats, moderate
from opendp_lite.exact import Number, exact, nearest
from opendp_lite.fraction_array import LONG, FractionArray


def coordinate_bound(given: Number) -> float:
    """The bound on the size of every entry."""
    return float(moderate(given, "bound"))


def error_power(given: Number) -> float:
    """The p of an l_p error."""
    found = exact(given, "p")
    if found < 1:
        raise ParameterError(f"p must be at least 1, got {given}")
    return nearest(found)


def each_column(release: Any) -> Floats:
    """A release with an entry for each column, also where there is one column."""
    return np.atleast_1d(np.asarray(release, dtype=np.float64))


def ratio(total: Floats, rows: float, variance: float) -> Floats:
    """The total over a noisy number of rows of this variance.

    Proof:
        total rows / (rows^2 + variance) has the least error near few rows, where the plain ratio
        has no variance at all. It goes to 0 there.
    """
    counted = max(rows, 0.0)
    return total * (counted / (counted * counted + variance))


def within(estimate: Any, bound: float) -> Floats:
    """An estimate brought into the cube in which the mean lies; NaN becomes 0."""
    found: Floats = np.nan_to_num(np.asarray(estimate, dtype=np.float64)).clip(-bound, bound)
    return found


def dyadic(numbers: Floats) -> Values:
    """The floats as the fractions that they are, over powers of two, which add up fast."""
    if len(numbers) < LONG:
        return tuple(map(Fraction, numbers.tolist()))
    return FractionArray.of_floats(numbers)
