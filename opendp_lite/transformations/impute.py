"""A public value where one is missing."""

from __future__ import annotations

from opendp_lite.bodies.body import Bounds, array, values
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.missing import FillEntries
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space
from opendp_lite.transformations.row_map import lifted
from opendp_lite.transformations.widths import fitting


@stage
def impute(space: Space[Rows], value: Bounds) -> Transformation[Space[Rows], Space[Rows]]:
    """Puts a public value in the place of every NaN.

    Takes: ``value``, a number for all columns or one for each. It goes before ``clamp``, after
        which no NaN is left.
    Gives: rows without NaN, as many as there were.
    Moves: d_in rows move d_in rows, under either row metric.
    Because: row by row.

    >>> import opendp_lite as dp
    >>> dp.impute(2)([1.0, float("nan")])
    array([1., 2.])
    """
    domain = space.domain
    filling = array(fitting(values(value, "value"), space, "impute"))

    return lifted(space, FillEntries(filling), domain.body, domain.names)
