"""Entries without their sign."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from operator import mul
from typing import Final, cast

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.bodies.body import Body, Values, drop_signs, each, total
from opendp_lite.bodies.box import Box, Everything
from opendp_lite.bodies.simplex import NonNegativeBall
from opendp_lite.engines.data.arrays import EntryMap, Layout
from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.data.sparse import row_totals
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import nearest, quote, sqrt_up
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import stage
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.examples import example, rows_in
from opendp_lite.spaces.space import Space, records
from opendp_lite.transformations.row_maps import plain_nan, row_by_row, row_map_trusted


@attrs.frozen(repr=False)
class Unsigned(EntryMap):
    """A block function that takes the absolute value of every entry."""

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        return np.abs(entries)


@stage(
    does="Replaces every entry by its absolute value.",
    changes="Missing values stay missing.",
    proof=row_by_row(),
    examples=lambda: [
        example(records()),
        example(records(size=20, metric=ChangeOneDistance())),
        example(rows_in(Box([0, -5], [1, 1000]))),
    ],
)
def absolute(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Replaces every entry by its absolute value.

    Returns:
        Rows without negative entries. Each column's bounds follow from the bounds that it had
        before. After ``clip_to_norm`` the rows also keep their largest norm. Missing values stay
        missing.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.absolute() >> dp.clamp(0, 5) >> dp.sum())([-3.0, 1.0])
        NotPrivate([4.])
    """
    return row_map_trusted(space, Unsigned(), _drop_signs(space.domain.body), space.domain.names)


def _drop_signs(body: Body) -> Body:
    """The box of the entries' bounds, or a ball where that lets a sum move less."""
    ends, radii = body.bounds(), body.radii()
    if ends is None or radii is None or body.non_negative():
        return body
    box = Box(*drop_signs(ends), body.columns)
    total, length = radii.of(1), radii.of(2)
    if length is None or length * length >= cast(Fraction, box.radii().l2_squared):
        return box
    if total is not None and total <= length:
        return NonNegativeBall(total, p=1, columns=body.columns)
    return NonNegativeBall(length, columns=body.columns)


@attrs.frozen(repr=False)
class Squared(EntryMap):
    """A block function that squares every entry."""

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        return plain_nan(np.square(entries))


@stage(
    does="Squares every entry, for example for a variance.",
    changes="Missing values stay missing.",
    proof=row_by_row(),
    examples=lambda: [
        example(records()),
        example(rows_in(Box(-3, 2))),
        example(rows_in(Box(5, 10), size=20)),
    ],
)
def square(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Squares every entry, for example for a variance.

    Returns:
        Non-negative rows. They lie in the box of the squared bounds of each column, or in a ball of
        the squared largest l2 norm where a sum then moves less. Missing values stay missing.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(-3, 2) >> dp.square())([-5.0, 1.0])
        NotPrivate([9., 1.])
    """
    domain = space.domain
    return row_map_trusted(space, Squared(), _square(domain.body), domain.names)


def _square(body: Body) -> Body:
    ends, radii = body.bounds(), body.radii()
    if ends is None or radii is None:
        return Everything(body.columns)
    lower, upper = (each(mul, end, end) for end in drop_signs(ends))
    box, together = Box(lower, upper, body.columns), radii.l2_squared
    if together is not None and together * together < cast(Fraction, box.radii().l2_squared):
        return NonNegativeBall(together, p=1, columns=body.columns)
    return box


_BEYOND: Final = 2.0**1000


@attrs.frozen(repr=False)
class Lengths(EntryMap):
    """A block function that makes one column of the rows' norms."""

    p: float
    largest: float
    columns: int

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        totals = row_totals(entries, layout, self.p, self.columns)
        totals[totals >= _BEYOND] = inf
        lengths: Floats = np.minimum(np.sqrt(totals) if self.p == 2 else totals, self.largest)
        return lengths[:, None]


@stage(
    does="Replaces every row by its norm, in one column.",
    changes="A row with a missing entry has a missing norm.",
    proof=row_by_row(
        "The additions along a row have a fixed order, so a norm has the same "
        "bits wherever its row stands."
    ),
    examples=lambda: [
        example(records(columns=2)),
        example(records(columns=2, size=20, metric=ChangeOneDistance()), p=1),
    ],
)
def norm(space: Space[Rows], p: float = 2) -> Transformation[Space[Rows], Space[Rows]]:
    """Replaces every row by its norm, in one column.

    Args:
        p: Which norm, 1 or 2.

    Returns:
        Rows of one number, between the smallest and the largest norm that the rows' bounds allow. A
        norm of 2^500 or more (2^1000 where ``p`` is 1) counts as the largest. A row with a missing
        entry has a missing norm. The last bits of a norm are rounded up, by at most 2^-34 of it, or
        by 2^-41 times the number of columns where that is more. One column keeps all bits.

    Raises:
        ParameterError: If ``p`` is neither 1 nor 2.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> (dp.records(columns=2) >> dp.norm())(np.array([[3.0, 4.0], [0.0, 2.0]]))
        NotPrivate([5., 2.])
    """
    if p not in (1, 2):
        raise ParameterError(f"norm: p must be 1 or 2, got {quote(p)}")
    body = space.domain.body
    ends, radii = body.bounds(), body.radii()
    largest = None if radii is None else radii.of(p)
    if ends is None or not largest:
        return row_map_trusted(space, Lengths(p, inf, body.columns), Everything(1))
    least = _shortest(drop_signs(ends)[0], p, body.columns)
    return row_map_trusted(space, Lengths(p, nearest(largest), body.columns), Box(least, largest))


def _shortest(entries: Values, p: float, columns: int) -> Fraction:
    """A norm that no row of entries of at least these sizes is below."""
    repeats = columns // len(entries)
    if p == 1:
        return total(entries) * repeats
    square = total(each(mul, entries, entries)) * repeats
    return square / sqrt_up(square) if square else square
