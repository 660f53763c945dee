"""Public numbers that estimators take, and what they need to know of the space."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import nearest, open_probability, positive, rational_of_float
from opendp_lite.spaces import Space

Floats = NDArray[np.float64]
_LARGEST_PARAMETER: Final = rational_of_float(1e100)
_LEAST_SHARE: Final = Fraction(1, 10**6)


def moderate(given: object, name: str) -> Fraction:
    """A public number above 0 whose square floats can hold."""
    found = positive(given, name)
    if not 1 / _LARGEST_PARAMETER <= found <= _LARGEST_PARAMETER:
        raise ParameterError(f"{name} must lie between 1e-100 and 1e100, got {nearest(found):g}")
    return found


def share_of(given: object, name: str) -> Fraction:
    """A share of the budget that leaves something for both parts."""
    found = open_probability(given, name)
    if not _LEAST_SHARE <= found <= 1 - _LEAST_SHARE:
        raise ParameterError(
            f"{name} must leave at least {float(_LEAST_SHARE):g} for either part, got {given}"
        )
    return found


def require_public_size(
    space: Space[Rows], name: str, instead: str = "use multivariate_mean()"
) -> int:
    """The declared number of rows; ``instead`` is what also works where it is private."""
    if space.domain.size is None:
        raise SpaceError(
            f"{name} needs a public number of rows. Start with dp.records(columns=..., size=..., "
            f"metric=dp.ChangeOneDistance()), or {instead}, which also works where rows are added "
            "or removed"
        )
    return space.domain.size


def require_private_size(space: Space[Rows], name: str) -> None:
    """Refuses a public number of rows, for estimators of a private one."""
    if space.domain.size is not None:
        raise SpaceError(
            f"{name} is for a private number of rows. The number here is public, "
            f"size={space.domain.size}: use known_size_mean(), which spends nothing on a count"
        )
