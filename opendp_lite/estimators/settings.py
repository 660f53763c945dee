"""What estimators of several columns share: parameters, and how a total becomes a mean."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import Number, exact, nearest, positive, reading
from opendp_lite.spaces import Space

Floats = NDArray[np.float64]
_FARTHEST: Final = reading(1e100)


def moderate(given: object, name: str) -> Fraction:
    """A public number above 0, within what squares of floats can hold."""
    found = positive(given, name)
    if not 1 / _FARTHEST <= found <= _FARTHEST:
        raise ParameterError(f"{name} must lie between 1e-100 and 1e100, got {nearest(found):g}")
    return found


def coordinate_bound(given: Number) -> float:
    """The bound on the size of every entry."""
    return float(moderate(given, "bound"))


def error_power(given: Number) -> float:
    """The p of an l_p error."""
    found = exact(given, "p")
    if found < 1:
        raise ParameterError(f"p must be at least 1, got {given}")
    return nearest(found)


def public_size(space: Space[Rows], name: str, instead: str = "use multivariate_mean()") -> int:
    """The declared number of rows; ``instead`` is what also works where it is private."""
    if space.domain.size is None:
        raise SpaceError(
            f"{name} is private where rows are replaced and their number is public: start with "
            f"dp.records(columns=..., size=..., metric=dp.ChangeOneDistance()), or {instead}, "
            "which also works where rows are added or removed"
        )
    return space.domain.size


def each_column(release: Any) -> Floats:
    """A release with an entry for each column, also where there is one column."""
    return np.atleast_1d(np.asarray(release, dtype=np.float64))


def ratio(total: Floats, rows: float, variance: float) -> Floats:
    """The total over a noisy number of rows of this variance.

    Because: total rows / (rows^2 + variance) has the least error near few rows, where the plain
        ratio has no variance at all; it goes to 0 there.
    """
    counted = max(rows, 0.0)
    return total * (counted / (counted * counted + variance))


def within(estimate: Any, bound: float) -> Floats:
    """An estimate brought into the cube in which the mean lies; NaN becomes 0."""
    found: Floats = np.nan_to_num(np.asarray(estimate, dtype=np.float64)).clip(-bound, bound)
    return found


def dyadic(numbers: Floats) -> tuple[Fraction, ...]:
    """The floats as the fractions that they are: with powers of two below, which add up fast."""
    return tuple(map(Fraction, numbers.tolist()))
