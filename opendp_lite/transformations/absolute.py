"""Entries without their sign."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import attrs
import numpy as np

from opendp_lite.bodies.body import Body
from opendp_lite.bodies.bounds import unsigned
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.non_negative_ball import NonNegativeBall
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.entries import EntryMap
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.layout import Layout
from opendp_lite.examples import example, rows_in
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import row_map_trusted


@attrs.frozen(repr=False)
class Unsigned(EntryMap):
    """A block function that takes the absolute value of every entry."""

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        return np.abs(entries)


@example(records())
@example(records(size=20, metric=ChangeOneDistance()))
@example(rows_in(Box([0, -5], [1, 1000])))
@stage
def absolute(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Replaces every entry by its absolute value.

    Returns:
        Rows without negative entries. Each column's bounds follow from the bounds that it had
        before. After ``clip_to_norm`` the rows also keep their largest norm. Missing values stay
        missing.

    Stability:
        ``d_out = d_in`` under either row metric.

    Proof:
        Row by row (``row_map``). An absolute value changes no norm of a row.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.absolute() >> dp.clamp(0, 5) >> dp.sum())([-3.0, 1.0])
        NotPrivate([4.])
    """
    return row_map_trusted(space, Unsigned(), _unsigned(space.domain.body), space.domain.names)


def _unsigned(body: Body) -> Body:
    """The box of the entries' bounds, or a ball where that lets a sum move less."""
    ends, radii = body.bounds(), body.radii()
    if ends is None or radii is None or body.non_negative():
        return body
    box = Box(*unsigned(ends), body.columns)
    total, length = radii.of(1), radii.of(2)
    if length is None or length * length >= cast(Fraction, box.radii().l2_squared):
        return box
    if total is not None and total <= length:
        return NonNegativeBall(total, p=1, columns=body.columns)
    return NonNegativeBall(length, columns=body.columns)
