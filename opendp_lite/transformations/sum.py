"""The exact sum of bounded rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.body import Body, Projection
from opendp_lite.core import Transformation, stage
from opendp_lite.domains import Rows, Vectors
from opendp_lite.engines.fold import Block, Floats, Fold, Scratch
from opendp_lite.engines.rows import fold
from opendp_lite.errors import SpaceError
from opendp_lite.metrics import NormDistance
from opendp_lite.norms import Norms
from opendp_lite.spaces import Space

_HALF_WORD = 32
_LOW = (1 << _HALF_WORD) - 1
_TURN = 1 << 64
_GROUP = 64


@attrs.frozen(eq=False)
class Totals:
    """Whole numbers of grid steps as high * 2^32 + low, both in int64, for 2^31 blocks."""

    high: NDArray[np.int64]
    low: NDArray[np.int64]

    def joined(self) -> NDArray[Any]:
        """The totals as int64 where they fit with room to spare, else as Python integers."""
        if np.all(np.abs(self.high) < 2**29):
            small: NDArray[np.int64] = (self.high << _HALF_WORD) + self.low
            return small
        large: NDArray[Any] = self.high.astype(object) * (1 << _HALF_WORD) + self.low.astype(object)
        return large


class SumFold(Fold[Totals]):
    """Rounds every row to the body's grid, inside the body, and adds integers."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._snapper = body.snapper()

    def empty(self) -> Totals:
        zero = np.zeros(self._body.columns, dtype=np.int64)
        return Totals(zero, zero)

    def summarise(self, block: Floats, scratch: Scratch) -> Totals:
        out = scratch.take("snapped", block.shape)
        self._snapper.into(block, out, scratch.take("spare", block.shape))
        bits = out.view(np.int64)
        extra = len(block) * self._snapper.origin % _TURN
        total = _column_sums(bits) - np.array([extra], dtype=np.uint64).view(np.int64)
        return Totals(total >> _HALF_WORD, total & _LOW)

    def merge(self, first: Totals, second: Totals) -> Totals:
        return Totals(first.high + second.high, first.low + second.low)

    def absorbs(self, function: Block) -> bool:
        return function == Projection(self._body)


def _column_sums(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums modulo 2^64, exact in any order; several rows side by side where rows are short."""
    rows, columns = bits.shape
    whole = 0 if columns == 1 or columns > _GROUP else rows - rows % _GROUP
    sums: NDArray[np.int64] = np.add.reduce(bits[whole:], axis=0)
    if whole:
        wide = np.add.reduce(bits[:whole].reshape(-1, columns * _GROUP), axis=0)
        sums += np.add.reduce(wide.reshape(_GROUP, columns), axis=0)
    return sums


@stage
def sum(space: Space[Rows]) -> Transformation[Space[Rows], Space[Vectors]]:
    """Adds up the rows, exactly.

    Takes: rows in a bounded body. Raises ``SpaceError`` for unbounded rows.
    Gives: a vector with the total of each column. Each row is first rounded to a public grid of
        about 2^-40 of the body's radius and enforced to lie in the body, in integers; the total
        is then the same for every order of the rows, every cutting into blocks, every machine,
        and any number of rows.
    Moves: under add/remove d_in times the body's radius, under replace-one d_in times its
        diameter, in l1, l2 and linf at once.
    Because: one row adds at most itself; replacing one adds a difference of two.

    >>> import opendp_lite as dp
    >>> (dp.clamp(-1, 3) >> dp.sum()).map(1).l1
    Fraction(3, 1)
    >>> (dp.clamp(-1, 3) >> dp.sum())([0.1] * 10)
    array([1.])
    """
    body = space.domain.body
    per_row = body.radii() if space.domain.size is None else body.diameters()
    if per_row is None:
        raise SpaceError(
            "sum needs rows in a bounded body; these rows may hold anything. "
            "Put clamp(lower, upper) or clip_to_norm(radius) before it."
        )
    how = SumFold(body)
    vectors = Vectors(body.columns, body.exponent())

    def moved(distance: Fraction) -> Norms:
        return per_row * distance

    return Transformation(
        space,
        Space(vectors, NormDistance(), unit=moved(space.unit)),
        lambda rows: fold(rows, how, Totals.joined),
        moved,
    )
