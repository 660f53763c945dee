"""Rows without missing values."""

from __future__ import annotations

from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.missing import LEAVE_OUT
from opendp_lite.errors import SpaceError
from opendp_lite.examples import example
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records, row_metric
from opendp_lite.transformations.row_map import row_map_trusted


@example(records())
@example(records(columns=2))
@stage
def drop_nan(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Leaves out every row that has a missing value (NaN).

    Sums, counts and quantiles do this by themselves, for the columns that reach them. Use this step
    where a value that is missing in any column should remove the row from all of them.

    Returns:
        Rows without missing values. Their number is private.

    Raises:
        SpaceError: If the number of rows is public. Use ``impute(value)`` then.

    Stability:
        ``d_out = d_in`` when rows are added or removed.

    Proof:
        Each row becomes itself or nothing, by itself.

    Example:
        >>> import opendp_lite as dp
        >>> dp.drop_nan()([1.0, float("nan"), 3.0])
        NotPrivate([1., 3.])
    """
    if row_metric(space).fixed_size:
        raise SpaceError(
            "drop_nan changes the number of rows, which ChangeOneDistance holds fixed; "
            "use impute(value) instead"
        )
    return row_map_trusted(space, LEAVE_OUT, space.domain.body, space.domain.names)
