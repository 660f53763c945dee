"""Public numbers that estimators take, and what they need to know of the space."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import nearest, positive, reading
from opendp_lite.spaces import Space

Floats = NDArray[np.float64]
_FARTHEST: Final = reading(1e100)


def moderate(given: object, name: str) -> Fraction:
    """A public number above 0, within what squares of floats can hold."""
    found = positive(given, name)
    if not 1 / _FARTHEST <= found <= _FARTHEST:
        raise ParameterError(f"{name} must lie between 1e-100 and 1e100, got {nearest(found):g}")
    return found


def public_size(space: Space[Rows], name: str, instead: str = "use multivariate_mean()") -> int:
    """The declared number of rows; ``instead`` is what also works where it is private."""
    if space.domain.size is None:
        raise SpaceError(
            f"{name} is private where rows are replaced and their number is public: start with "
            f"dp.records(columns=..., size=..., metric=dp.ChangeOneDistance()), or {instead}, "
            "which also works where rows are added or removed"
        )
    return space.domain.size


def private_size(space: Space[Rows], step: str) -> None:
    """Refuses a public number of rows, for estimators of a private one."""
    if space.domain.size is not None:
        raise SpaceError(
            f"{step} is for a private number of rows; with the public size={space.domain.size} use "
            "sized_mean(), which has no count to pay for"
        )
