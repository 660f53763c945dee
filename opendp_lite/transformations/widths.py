"""Public vectors with one entry for each column."""

from __future__ import annotations

from opendp_lite.bodies.bounds import Values
from opendp_lite.domains import Rows
from opendp_lite.errors import SpaceError
from opendp_lite.spaces import Space


def fitting(given: Values, space: Space[Rows], step: str) -> Values:
    """The values, refused unless there is one of them or one for each column."""
    columns = space.domain.columns
    if len(given) not in (1, columns):
        raise SpaceError(
            f"{step} was given {len(given)} numbers for {columns} "
            f"column{'s' * (columns != 1)}; give one number for each column, or start with "
            f"dp.records(columns={len(given)})"
        )
    return given
