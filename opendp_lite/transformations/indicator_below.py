"""Indicators of values below a threshold."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bodies.bounds import Bounds, parse_bounds, to_floats
from opendp_lite.bodies.box import Box
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.missing import holds_missing
from opendp_lite.examples import example
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import row_map_trusted
from opendp_lite.transformations.widths import fitting


@attrs.frozen(eq=False, repr=False)
class Below:
    """A block function that makes 1 of what is below a limit, and 0 of the rest."""

    limits: Floats

    def __call__(self, block: Floats) -> Floats:
        found = np.less(block, self.limits).astype(np.float64)
        if holds_missing(block):
            found[np.isnan(block)] = np.nan
        return found


@example(records(), 0.5)
@example(records(columns=2, size=20, metric=ChangeOneDistance()), [0, -1])
@stage
def indicator_below(
    space: Space[Rows], threshold: Bounds
) -> Transformation[Space[Rows], Space[Rows]]:
    """Indicates which values are below a threshold: 1 where they are, 0 where they are not.

    The sum is the number of values below the threshold.

    Args:
        threshold: A number for all columns, or one for each.

    Returns:
        Rows in ``Box(0, 1)``. Missing values stay missing.

    Raises:
        SpaceError: If ``threshold`` has another number of entries than the rows have columns.

    Stability:
        ``d_out = d_in`` under either row metric.

    Proof:
        Row by row (``row_map``).

    Example:
        >>> import opendp_lite as dp
        >>> (dp.transformations.indicator_below(18) >> dp.sum())([12.0, 20.0, 17.5])
        NotPrivate([2.])
    """
    limits = to_floats(fitting(parse_bounds(threshold, "threshold"), space, "indicator_below"))
    return row_map_trusted(
        space, Below(limits), Box(0, 1, space.domain.columns), space.domain.names
    )
