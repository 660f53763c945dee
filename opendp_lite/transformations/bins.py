"""Numbers as rows with a one in the place of their interval."""

from __future__ import annotations

import attrs

from opendp_lite.bodies.bounds import Bounds
from opendp_lite.bodies.one_hots import OneHots, Placed
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.deferred import chained
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.rows import MapRows
from opendp_lite.errors import SpaceError
from opendp_lite.examples import example
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.axes import EdgeAxis
from opendp_lite.transformations.row_map import unchanged


@attrs.frozen(eq=False, repr=False)
class _Placed:
    """A block function from numbers to the place of the interval that holds them."""

    axis: EdgeAxis

    def __call__(self, block: Floats) -> Floats:
        return self.axis.of_numbers(block[:, 0])[:, None]


@example(records(), [0, 1, 2.5, 10])
@example(records(), range(0, 101, 10), other=True)
@stage
def bins(
    space: Space[Rows], edges: Bounds | range, *, other: bool = False
) -> Transformation[Space[Rows], Space[Rows]]:
    """Makes of each number a row with a one in the place of its interval, and zeros elsewhere.

    A ``sum()`` after it counts the rows of each interval, in one pass and without writing the rows
    out. ``dp.histogram`` does all this and adds noise.

    Args:
        edges: Rising numbers, chosen without looking at the data. An interval holds its lower edge.
            The last one holds its upper edge too, as in ``numpy.histogram``.
        other: Whether numbers beyond the edges are counted in a further place, the last one.

    Returns:
        Rows of zeros and at most one 1. A number beyond the edges is left out, as a missing value
        is. Where the number of rows is public, it becomes a row of zeros.

    Raises:
        ParameterError: If the edges do not rise, or there are fewer than two.
        SpaceError: If the rows have more than one column.

    Stability:
        ``d_out = d_in`` under either row metric. A sum afterwards moves by at most 1 in l1, l2 and
        linf if a row is added or removed; by 2 in l1 and sqrt(2) in l2 if one is replaced.

    Proof:
        Row by row (``row_map``). The rows are corners of a simplex.

    Example:
        >>> import opendp_lite as dp
        >>> counts = dp.bins([0, 18, 65, 120]) >> dp.sum()
        >>> counts([3.0, 18.0, 40.0, 120.0, 200.0])
        NotPrivate([1., 2., 1.])
        >>> counts.map(1)
        dp.Norms(l1=1.0, l2=1.0, linf=1.0)
    """
    axis = EdgeAxis.of(edges, "bins", other=other)
    if space.domain.columns != 1:
        raise SpaceError(f"bins is for one column, the rows have {space.domain.columns}")
    placed = chained(MapRows.by(_Placed(axis)), MapRows.by(Placed(axis.places)))
    after = Rows(axis.places, space.domain.size, OneHots(axis.places))
    return Transformation(
        space, Space(after, space.metric.of_new_values(), unit=space.unit), placed, unchanged
    )
