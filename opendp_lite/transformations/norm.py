"""The length of each row."""

from __future__ import annotations

from functools import partial

import numpy as np

from opendp_lite.bodies.body import Floats, row_totals
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.everything import Everything
from opendp_lite.core import Transformation, stage
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.spaces import Space
from opendp_lite.transformations.row_map import lifted, plain_nan


def _lengths(p: float, block: Floats) -> Floats:
    terms = np.multiply(block, block) if p == 2 else np.abs(block)
    totals = row_totals(terms)
    return plain_nan(np.sqrt(totals) if p == 2 else totals)[:, None]


@stage
def norm(space: Space[Rows], p: float = 2) -> Transformation[Space[Rows], Space[Rows]]:
    """Makes of every row its norm: one column.

    Takes: ``p``, 1 or 2. Raises ``ParameterError``.
    Gives: rows of one number, from 0 to the largest norm that the body allows; the usual NaN where
        an entry is NaN.
    Moves: d_in rows move d_in rows, under either row metric.
    Because: row by row; the additions along a row have a fixed order.

    >>> import opendp_lite as dp, numpy as np
    >>> (dp.records(columns=2) >> dp.norm())(np.array([[3.0, 4.0], [0.0, 2.0]]))
    array([5., 2.])
    """
    if p not in (1, 2):
        raise ParameterError(f"norm: p must be 1 or 2, got {p}")
    radii = space.domain.body.radii()
    largest = None if radii is None else radii.of(p)
    return lifted(space, partial(_lengths, p), Box(0, largest) if largest else Everything(1))
