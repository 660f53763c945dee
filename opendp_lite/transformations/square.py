"""Rows with every entry squared."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bodies.body import Floats
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.everything import Everything
from opendp_lite.core import Transformation, stage
from opendp_lite.domains import Rows
from opendp_lite.engines.sparse import SparseRows
from opendp_lite.spaces import Space
from opendp_lite.transformations.row_map import lifted, plain_nan


@attrs.frozen
class Squared:
    """A block function that squares every entry."""

    def __call__(self, block: Floats) -> Floats:
        return plain_nan(np.square(block))

    def on_sparse(self, rows: SparseRows) -> SparseRows:
        return rows.with_values(plain_nan(np.square(rows.values)))


@stage
def square(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Squares every entry, as a variance needs it.

    Takes: rows of any number of columns.
    Gives: rows in the box from 0 to the square of the largest size of an entry; rows that may
        hold anything still may.
    Moves: d_in rows move d_in rows, under either row metric.
    Because: row by row.

    >>> import opendp_lite as dp
    >>> (dp.clamp(-3, 2) >> dp.square())([-5.0, 1.0])
    array([9., 1.])
    """
    domain = space.domain
    radii = domain.body.radii()
    most = None if radii is None else radii.linf
    body = Everything(domain.columns) if not most else Box(0, most * most, domain.columns)
    return lifted(space, Squared(), body, domain.names)
