"""Rows multiplied by public factors."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bodies.bounds import Bounds, each, parse_bounds, smallest, to_floats
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.entries import EntryMap
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.layout import Layout
from opendp_lite.errors import ParameterError
from opendp_lite.examples import example
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import row_map_trusted
from opendp_lite.transformations.widths import fitting


@attrs.frozen(eq=False, repr=False)
class Multiplied(EntryMap):
    """A block function that multiplies each column by its factor."""

    by: Floats

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        scaled: Floats = np.multiply(entries, layout.of_columns(self.by))
        return scaled


@example(records(), 0.1)
@example(records(columns=2, size=20, metric=ChangeOneDistance()), [2, 1 / 3])
@stage
def scale(space: Space[Rows], factor: Bounds) -> Transformation[Space[Rows], Space[Rows]]:
    """Multiplies every row by public factors.

    Columns of different widths that are brought to one width share one noise fairly.

    Args:
        factor: A number for all columns, or one for each. None of them is 0.

    Returns:
        Rows in the scaled body. Missing values stay missing.

    Raises:
        ParameterError: If a factor is 0.
        SpaceError: If ``factor`` has another number of entries than the rows have columns.

    Stability:
        ``d_out = d_in`` under either row metric.

    Proof:
        Row by row (``row_map``).

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(0, 10) >> dp.scale(0.1) >> dp.sum()).map(1)
        dp.Norms(l1=1.0, l2=1.0, linf=1.0)
    """
    factors = fitting(parse_bounds(factor, "factor"), space, "scale")
    if smallest(each(abs, factors)) == 0:
        raise ParameterError("scale: a factor of 0 would remove the column; use select()")
    body = space.domain.body.scale(factors)
    return row_map_trusted(space, Multiplied(to_floats(factors)), body, space.domain.names)
