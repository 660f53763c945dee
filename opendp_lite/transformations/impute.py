"""A public value where one is missing."""

from __future__ import annotations

from opendp_lite.bodies.bounds import Bounds, parse_bounds, to_floats
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.missing import FillEntries
from opendp_lite.examples import example
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import row_map_trusted
from opendp_lite.transformations.widths import fitting


@example(records(), -0.5)
@example(records(columns=2, size=20, metric=ChangeOneDistance()), [0, 1])
@stage
def impute(space: Space[Rows], value: Bounds) -> Transformation[Space[Rows], Space[Rows]]:
    """Puts a public value in the place of every missing one (NaN).

    Without this step, sums, counts and quantiles leave out rows with missing values. Where the
    number of rows is public, the centre of the rows' body stands for what is missing.

    Args:
        value: What to put there. A number for all columns, or one for each.

    Returns:
        As many rows as before, without missing values.

    Raises:
        SpaceError: If ``value`` has another number of entries than the rows have columns.

    Stability:
        ``d_out = d_in`` under either row metric.

    Proof:
        Row by row (``row_map``).

    Example:
        >>> import opendp_lite as dp
        >>> dp.impute(2)([1.0, float("nan")])
        NotPrivate([1., 2.])
    """
    domain = space.domain
    filling = to_floats(fitting(parse_bounds(value, "value"), space, "impute"))

    return row_map_trusted(space, FillEntries(filling), domain.body, domain.names)
