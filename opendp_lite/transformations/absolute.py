"""Entries without their sign."""

from __future__ import annotations

import attrs
import numpy as np

from opendp_lite.bodies.body import Floats
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.everything import Everything
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.sparse import SparseRows
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space
from opendp_lite.transformations.row_map import lifted


@attrs.frozen
class Unsigned:
    """A block function that takes the absolute value of every entry."""

    def __call__(self, block: Floats) -> Floats:
        return np.abs(block)

    def on_sparse(self, rows: SparseRows) -> SparseRows:
        return rows.with_values(np.abs(rows.values))


@stage
def absolute(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Takes the absolute value of every entry.

    Takes: any rows.
    Gives: rows with no negative entry, in a box from 0 to the largest entry that the body allows.
    Moves: d_in rows move d_in rows, under either row metric.
    Because: row by row.

    >>> import opendp_lite as dp
    >>> (dp.absolute() >> dp.clamp(0, 5) >> dp.sum())([-3.0, 1.0])
    array([4.])
    """
    radii, columns = space.domain.body.radii(), space.domain.columns
    largest = None if radii is None else radii.linf
    body = Box(0, largest, columns) if largest else Everything(columns)
    return lifted(space, Unsigned(), body, space.domain.names)
