"""Rows without missing values."""

from __future__ import annotations

from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.missing import LEAVE_OUT
from opendp_lite.errors import SpaceError
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, row_metric
from opendp_lite.transformations.row_map import lifted


@stage
def drop_nan(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Leaves out every row that holds a NaN.

    Takes: rows under ``SymmetricDistance``; under ``ChangeOneDistance`` the size would change
        with the data, and ``SpaceError`` points to ``impute``.
    Gives: rows without NaN, as many as there are; their number is private.
    Moves: d_in rows move at most d_in rows.
    Because: each row becomes itself or nothing, by itself.

    >>> import opendp_lite as dp
    >>> dp.drop_nan()([1.0, float("nan"), 3.0])
    array([1., 3.])
    """
    if row_metric(space).fixed_size:
        raise SpaceError(
            "drop_nan changes the number of rows, which ChangeOneDistance holds fixed; "
            "use impute(value) instead"
        )
    return lifted(space, LEAVE_OUT, space.domain.body, space.domain.names)
