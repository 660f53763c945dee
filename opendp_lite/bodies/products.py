"""Rows that are outer products of vectors of bounded length."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.frozen import initialise
from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.body import SLACK, Body, Values, some_columns
from opendp_lite.bodies.grid_rounding import GRID_BITS, MAGIC, ORIGIN, GridRounding, grid_exponent
from opendp_lite.display.pictures import QUARTER, Sketch
from opendp_lite.engines.data.arrays import DENSE, Layout
from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.data.sparse import excess, row_totals
from opendp_lite.engines.missing import holds_missing, whole_rows
from opendp_lite.numbers.exact import Number, format_number, nearest, positive, sqrt_up
from opendp_lite.numbers.norms import Norms

_ROOT: Final = sqrt_up(Fraction(2))
_ROUNDING: Final = 2.0**-44
_HUGE: Final = 2.0**200
_TINY: Final = 2.0**-200


@attrs.frozen(init=False, repr=False)
class OuterProducts(Body):
    """The products ``x[i] x[j]`` of the entries of a vector x of bounded length.

    A row has the upper triangle of ``x x^T``, row after row, with the entries off the diagonal
    times sqrt(2). So its l2 norm is the Frobenius norm of the matrix.

    Args:
        radius: The largest square of the length of x, which is the l2 norm of a row.
        side: The number of entries of x.

    Raises:
        ParameterError: If the radius is not above 0.

    Proof:
        Two rows have the inner product ``(x . y)^2``, which is at least 0. So the square of their
        distance is at most the sum of their squared norms: sqrt(2) radii and not 2. The l1 norm
        is ``|x|_2^2 (1 - 1 / sqrt(2)) + |x|_1^2 / sqrt(2)``, and ``|x|_1^2`` is at most side times
        ``|x|_2^2``.

    Example:
        >>> OuterProducts(4, side=3).columns
        6
        >>> OuterProducts(4, side=3).radius(2)
        4.0
    """

    size: Fraction
    side: int

    def __init__(self, radius: Number, side: int) -> None:
        size = positive(radius, "the radius of outer products")
        initialise(self, size=size, side=some_columns(side))

    @property
    def columns(self) -> int:  # type: ignore[override]
        return self.side * (self.side + 1) // 2

    def sketch(self) -> Sketch:
        return QUARTER

    def radii(self) -> Norms:
        total = self.size * (1 + Fraction(self.side - 1) * _ROOT / 2)
        return Norms.squared(total, self.size**2, self.size)

    def diameters(self) -> Norms:
        if self.side == 1:
            return self.radii()
        square = 2 * self.size**2
        return Norms.squared(sqrt_up(self.columns * square), square, sqrt_up(square))

    def bounds(self) -> tuple[Values, Values]:
        off = self.size * _ROOT / 2
        pairs = zip(*np.triu_indices(self.side), strict=True)
        ends = [(Fraction(0), self.size) if i == j else (-off, off) for i, j in pairs]
        return tuple(low for low, _ in ends), tuple(high for _, high in ends)

    def centre(self) -> Values:
        """The products of 0."""
        return (Fraction(0),)

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        off = np.linalg.norm((rows - self.project(rows)) / nearest(self.size), axis=1)
        inside: NDArray[np.bool_] = off <= SLACK
        return inside

    def shift(self, offset: Values) -> Ball:
        return self._ball().shift(offset)

    def scale(self, factor: Values) -> Body:
        if len(set(factor)) == 1 and factor[0] > 0:
            return OuterProducts(self.size * factor[0], self.side)
        return self._ball().scale(factor)

    def select(self, columns: tuple[int, ...]) -> Body:
        return self._ball().select(columns)

    def _ball(self) -> Ball:
        return Ball(self.size, columns=self.columns)

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        return products(Ball(1, columns=self.side).draw(generator, count)) * nearest(self.size)

    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        rows = self.bring(entries, nearest(self.size))
        if holds_missing(entries):
            rows[np.isnan(entries)] = np.nan
        return rows

    def bring(self, entries: Floats, target: float) -> Floats:
        """Each row made an outer product of a norm of at most the target; 0 where entries lack.

        The vector is read off the row of the matrix with the largest entry on the diagonal, so a
        row that is an outer product stays what it is, up to float rounding.
        """
        size = nearest(self.size)
        known = entries.clip(-_HUGE * size, _HUGE * size) / size
        if holds_missing(entries):
            known[~whole_rows(entries)] = 0.0
        above, below = np.triu_indices(self.side)
        place = np.zeros((self.side, self.side), dtype=np.intp)
        place[above, below] = place[below, above] = np.arange(self.columns)
        on = np.diagonal(place)
        pivot = np.argmax(known[:, on], axis=1)
        each = np.arange(len(known))
        largest = known[each, on[pivot]]
        root = np.sqrt(np.maximum(largest, _TINY))
        vectors = known[each[:, None], place[pivot]] / (np.sqrt(2.0) * root)[:, None]
        vectors[each, pivot] = root
        vectors[~(largest > _TINY)] = 0.0
        vectors = vectors.clip(-_HUGE, _HUGE)
        squares = row_totals(vectors, DENSE, 2, self.side)
        short = np.minimum(1.0, target / size / np.maximum(squares, _TINY))
        found: Floats = products(vectors) * (short * size)[:, None]
        return found

    def exponent(self) -> int:
        return grid_exponent("outer_products", self.size, self.size, GRID_BITS)

    def snapper(self) -> GridRounding:
        """Makes each row an outer product, shorter by as much as rounding may move it; rounds.

        A rounded row lies within sqrt(columns) / 2 steps of such a product. So two of them are no
        farther apart than sqrt(2) targets and sqrt(columns) steps. With a target of the radius
        less sqrt(columns) steps, and less 2^-44 of it for the float operations, that is at most
        sqrt(2) radii.
        """
        unit = Fraction(2) ** self.exponent()
        rounding = unit * sqrt_up(Fraction(self.columns)) / self.size
        if rounding > Fraction(1, 2**8):
            raise ParameterError(f"{self!r}: too many columns to be summed on one grid")
        short = float(1 - rounding) * (1 - excess(self.side) - _ROUNDING)
        target = nearest(self.size) * short
        return _Rounded(self, target, float(1 / unit))

    def __repr__(self) -> str:
        return f"dp.bodies.OuterProducts({format_number(self.size)}, side={self.side})"


@attrs.frozen(eq=False, repr=False)
class _Rounded(GridRounding):
    """The rounding of outer products to whole steps, ``per_unit`` of them."""

    body: OuterProducts
    target: float
    per_unit: float
    origin = ORIGIN

    def into(self, block: Floats, out: Floats, spare: Floats) -> None:
        rows = self.body.bring(block, self.target)
        np.add(rows * self.per_unit, MAGIC, out=out)


def products(block: Floats) -> Floats:
    """The upper triangles of outer products, off the diagonal times sqrt(2)."""
    above, below = np.triu_indices(block.shape[1])
    found: Floats = block[:, above] * block[:, below]
    found[:, above != below] *= np.sqrt(2.0)
    return found
