"""Rows without negative entries, and products of rows: no inner product of two is negative."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, isqrt
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.frozen import initialise
from opendp_lite.bodies import body, grid_rounding
from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.body import Body, Bounds, FillPlaces, RowSum, Values, largest
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.grid_rounding import GridRounding, grid_exponent
from opendp_lite.display.pictures import CORNERS, LINE, QUARTER, TRIANGLE, Sketch
from opendp_lite.engines.data import expressions
from opendp_lite.engines.data.arrays import DENSE, Layout, Whole
from opendp_lite.engines.data.fold import Block, Floats, Indices, Numeric
from opendp_lite.engines.data.sparse import excess, row_totals
from opendp_lite.engines.missing import FillRows, holds_missing, whole_rows
from opendp_lite.numbers import exact
from opendp_lite.numbers.exact import Number
from opendp_lite.numbers.norms import Norms


@attrs.frozen(init=False, repr=False)
class Simplex(Body):
    """Rows without negative entries and with a sum of at most ``total``.

    Args:
        total: The largest sum of a row, above 0.
        columns: The number of columns.

    Raises:
        ParameterError: If ``total`` is not above 0.

    Proof:
        Every norm is largest at a vertex, where it is ``total``. Two rows are furthest apart at two
        vertices: ``2 total`` in l1 and ``sqrt(2) total`` in l2, or ``total`` with one column.

    Example:
        >>> Simplex(100, columns=2).radius(1), Simplex(100, columns=2).diameter(1)
        (100.0, 200.0)
    """

    total: Fraction
    columns: int

    def __init__(self, total: Number, columns: int = 1) -> None:
        bound = exact.positive(total, "the total of a simplex")
        initialise(self, total=bound, columns=body.some_columns(columns))

    def over(self, columns: int) -> Simplex:
        return Simplex(self.total, body.fitting_width(self, columns))

    def sketch(self) -> Sketch:
        return LINE if self.columns == 1 else TRIANGLE

    def radii(self) -> Norms:
        return Norms.squared(self.total, self.total**2, self.total)

    def diameters(self) -> Norms:
        if self.columns == 1:
            return self.radii()
        return Norms.squared(2 * self.total, 2 * self.total**2, self.total)

    def bounds(self) -> tuple[Values, Values]:
        return (Fraction(0),), (self.total,)

    def centre(self) -> Values:
        """The row of equal entries that sum to the total."""
        return (self.total / self.columns,)

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        total = exact.nearest(self.total)
        found: NDArray[np.bool_] = np.all(rows >= -body.SLACK * total, axis=1) & (
            rows.sum(axis=1) <= total * (1 + body.SLACK)
        )
        return found

    def filling(self) -> FillRows:
        """The whole row: any entry alone might lead beyond the total."""
        return FillRows(body.to_floats(self.centre()))

    def _box(self) -> Box:
        return Box(0, self.total, self.columns)

    def shift(self, offset: Values) -> Box:
        return self._box().shift(offset)

    def scale(self, factor: Values) -> Body:
        if len(factor) == 1 and factor[0] > 0:
            return Simplex(self.total * factor[0], self.columns)
        return self._box().scale(factor)

    def non_negative(self) -> bool:
        return True

    def shrinks(self) -> bool:
        return True

    def total_range(self) -> tuple[Fraction, Fraction] | None:
        return Fraction(0), self.total

    def select(self, columns: tuple[int, ...]) -> Body:
        if len(set(columns)) < len(columns):
            return self._box().select(columns)
        return Simplex(self.total, len(columns))

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        shares = generator.dirichlet(np.full(self.columns + 1, 0.3), count)
        return shares[:, : self.columns] * exact.nearest(self.total)

    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        if holds_missing(entries):
            missing = np.isnan(entries)
            return np.where(missing, np.nan, self.project(self.filling()(entries)))
        inside = self._box().project(entries)
        left = np.full(len(inside), exact.nearest(self.total))
        for column in range(self.columns):
            np.minimum(inside[:, column], left, out=inside[:, column])
            left -= inside[:, column]
        return inside

    def exponent(self) -> int:
        return grid_exponent("simplex_augment", self.total, self.total)

    def snapper(self) -> GridRounding:
        """Each entry into [0, total], then, in integers, no more than is left of the total."""
        most = floor(self.total / Fraction(2) ** self.exponent())
        return _NoMoreThanLeft(self._box().snapper(), most)

    def __repr__(self) -> str:
        count = "" if self.columns == 1 else f", columns={self.columns}"
        return f"dp.bodies.Simplex({exact.format_number(self.total)}{count})"


@attrs.frozen(eq=False, repr=False)
class _NoMoreThanLeft(GridRounding):
    """As another rounding, then each entry at most what the entries before it leave of ``most``."""

    boxed: GridRounding
    most: int
    origin = 0

    def into(self, block: Floats, out: Floats) -> None:
        self.boxed.into(block, out)
        bits = out.view(np.int64)
        left = np.full(len(bits), self.most, dtype=np.int64)
        for column in range(bits.shape[1]):
            entry = bits[:, column]
            entry -= self.boxed.origin
            np.minimum(entry, left, out=entry)
            left -= entry


@attrs.frozen(init=False, repr=False)
class NonNegativeBall(Ball):
    """Rows without negative entries and with ``|| row / radius ||_p <= 1``.

    Args:
        radius: A number, or one for each column.
        p: Which norm, 1 or 2.
        columns: The number of columns, where the radius does not say it.

    Raises:
        ParameterError: If a radius is not above 0, or ``p`` is neither 1 nor 2.

    Proof:
        Two such rows have an inner product of at least 0. So the square of their l2 distance is at
        most the sum of their squared norms: sqrt(2) radii, not 2. By the inequality of Cauchy and
        Schwarz their l1 distance is at most sqrt(2) ``|| radius ||_2`` for p = 2. A column differs
        by at most the larger of two entries, one radius.

    Example:
        >>> NonNegativeBall(10).over(2).diameters()
        dp.Norms(l1=20.0, l2=14.142135623730951, linf=10.0)
    """

    def __init__(self, radius: Bounds, p: float = 2, columns: int = 1) -> None:
        if p not in (1, 2):
            raise ParameterError(f"NonNegativeBall: p must be 1 or 2, got {exact.quote(p)}")
        super().__init__(radius, p, columns=columns)

    def over(self, columns: int) -> NonNegativeBall:
        return NonNegativeBall(self.size, self.p, body.fitting_width(self, columns))

    def sketch(self) -> Sketch:
        return LINE if self.columns == 1 else QUARTER if self.p == 2 else TRIANGLE

    def diameters(self) -> Norms:
        if self.columns == 1:
            return self.radii()
        longest = largest(self.size)
        across = 2 * longest if self.p == 1 else exact.sqrt_up(2 * self.squares())
        return Norms.squared(across, 2 * longest * longest, longest)

    def bounds(self) -> tuple[Values, Values]:
        return (Fraction(0),), self.size

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        least = -body.SLACK * body.to_floats(self.size)
        found: NDArray[np.bool_] = np.all(rows >= least, axis=1) & super().holds(rows)
        return found

    def non_negative(self) -> bool:
        return True

    def scale(self, factor: Values) -> Ball:
        scaled = super().scale(factor)
        if body.smallest(factor) <= 0:
            return scaled
        return NonNegativeBall(scaled.size, self.p, self.columns)

    def total_range(self) -> tuple[Fraction, Fraction] | None:
        if self.columns == 1 or self.p == 1:
            return Fraction(0), largest(self.size)
        return None

    def select(self, columns: tuple[int, ...]) -> Body:
        kept = body.pick_bounds(self.size, columns)
        if len(set(columns)) < len(columns):
            return Box(0, kept, len(columns))
        return NonNegativeBall(kept, self.p, len(columns))

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        return np.abs(super().draw(generator, count))

    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        return np.maximum(super().project(entries, layout), 0.0)

    def snapper(self) -> GridRounding:
        """As the ball's. Then entries below 0 become 0, in integers. This lengthens no row."""
        return self.shrink_and_round(non_negative=True)


_HALF = 0.5


@attrs.frozen(init=False, repr=False)
class OneHots(Simplex):
    """Rows of zeros with a one in at most one place, as ``one_hot`` and ``bins`` make them.

    Args:
        columns: The number of places.

    Proof:
        They are corners of the ``Simplex`` of total 1, whose norms are largest there.

    Example:
        >>> OneHots(16).radius(1), OneHots(16).radius(2), OneHots(16).diameter(1)
        (1.0, 1.0, 2.0)
    """

    def __init__(self, columns: int = 1) -> None:
        initialise(self, total=exact.exact(1, "total"), columns=body.some_columns(columns))

    def spread_radii(self, groups: int) -> Norms:
        """At most 1 / ``groups`` in each place, and at most 1 in all places together."""
        share = Fraction(1, groups)
        return Norms(l1=min(Fraction(1), self.columns * share), linf=share)

    def over(self, columns: int) -> OneHots:
        return OneHots(super().over(columns).columns)

    def sketch(self) -> Sketch:
        return CORNERS

    def centre(self) -> Values:
        """The row of zeros, which no place counts."""
        return (Fraction(0),)

    def filling(self) -> FillPlaces:  # type: ignore[override]
        return FillPlaces(self, -1.0)

    def select(self, columns: tuple[int, ...]) -> Body:
        found = super().select(columns)
        return OneHots(len(columns)) if isinstance(found, Simplex) else found

    def scale(self, factor: Values) -> Body:
        return self if factor == (Fraction(1),) else super().scale(factor)

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        return Placed(self.columns)(
            generator.integers(-1, self.columns, (count, 1)).astype(np.float64)
        )

    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        return Placed(self.columns)(_places(entries)[:, None])

    def shrinks(self) -> bool:
        """A row with a smaller entry is not one of these."""
        return False

    def exponent(self) -> int:
        return 0

    def snapper(self) -> GridRounding:
        return grid_rounding.StepsOf(
            lambda rows: Placed(self.columns)(np.nan_to_num(_places(rows))[:, None])
        )

    def specialised_sum(self) -> RowSum[Whole]:
        return PlaceCounts(self.columns)

    def __repr__(self) -> str:
        return f"dp.bodies.OneHots({self.columns})"


def _places(rows: Floats) -> Floats:
    """The first place of each row with more than a half in it; -1 for none, NaN for a missing."""
    above = rows > _HALF
    found = np.where(above.any(axis=1), above.argmax(axis=1), -1.0)
    if holds_missing(rows):
        found[~whole_rows(rows)] = np.nan
    return found


@attrs.frozen(repr=False)
class Placed:
    """A block function from one column of places to rows with a one there; none for -1."""

    columns: int

    def __call__(self, block: Floats) -> Floats:
        places = block[:, 0]
        rows = np.zeros((len(block), self.columns))
        inside = np.flatnonzero(places >= 0)
        rows[inside, places[inside].astype(np.intp)] = 1
        if holds_missing(block):
            rows[np.isnan(places)] = np.nan
        return rows


@attrs.frozen
class PlaceCounts(RowSum[Whole]):
    """Counts the ones in each place.

    It absorbs ``Placed``: then the blocks are of one column, and no rows are ever written out.
    """

    columns: int

    def empty(self) -> Whole:
        return np.zeros(self.columns, dtype=np.int64)

    def summarise(self, block: Floats) -> Whole:
        places = _places(block) if block.shape[1] == self.columns else block[:, 0]
        found = np.bincount(places.astype(np.intp) + 1, minlength=self.columns + 1)
        return found[1:].astype(np.int64, copy=False)

    def finish(self, summary: Whole) -> Numeric:
        return summary

    def express(
        self, values: Sequence[expressions.Expression], engine: expressions.Engine
    ) -> expressions.Expressed:
        (places,) = values
        if not isinstance(places, expressions.KeyedCells) or places.count != self.columns:
            raise expressions.NoExpressionError("all other values have a place of their own")
        return places, [engine.count(each) for each in places.cells or [places.keys[0][0]]]

    def of_numbers(
        self, codes: Indices, places: Indices, numbers: expressions.GroupNumbers, groups: int
    ) -> Any:
        cells = numbers.shape[1]
        found = np.zeros((groups, self.columns // cells, cells), dtype=np.int64)
        found[codes, places] = numbers
        return dict(enumerate(found.reshape(groups, self.columns)))

    def fuses_with(self, function: Block) -> bool:
        return self.columns > 1 and function == Placed(self.columns)


_ROOT: Final = exact.sqrt_up(Fraction(2))
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
        ParameterError: If the radius is not above 0, or beyond what can be summed.

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
        size = exact.positive(radius, "the radius of outer products")
        initialise(self, size=size, side=body.some_columns(side))
        # Rows are divided by the radius as a float, also where no sum follows: it may not be 0.
        self.exponent()

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
        return Norms.squared(exact.sqrt_up(self.columns * square), square, exact.sqrt_up(square))

    def bounds(self) -> tuple[Values, Values]:
        off = self.size * _ROOT / 2
        pairs = zip(*np.triu_indices(self.side), strict=True)
        ends = [(Fraction(0), self.size) if i == j else (-off, off) for i, j in pairs]
        return tuple(low for low, _ in ends), tuple(high for _, high in ends)

    def centre(self) -> Values:
        """The products of 0."""
        return (Fraction(0),)

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        off = np.linalg.norm((rows - self.project(rows)) / exact.nearest(self.size), axis=1)
        found: NDArray[np.bool_] = off <= body.SLACK
        return found

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
        return body.products(Ball(1, columns=self.side).draw(generator, count)) * exact.nearest(
            self.size
        )

    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        rows = self.bring(entries, exact.nearest(self.size))
        if holds_missing(entries):
            rows[np.isnan(entries)] = np.nan
        return rows

    def bring(self, entries: Floats, target: float) -> Floats:
        """Each row made an outer product of a norm of at most the target; 0 where entries lack.

        The vector is read off the row of the matrix with the largest entry on the diagonal, so a
        row that is an outer product stays what it is, up to float rounding.
        """
        size = exact.nearest(self.size)
        # What is beyond floats is cut too. To cut before would need floats beyond 2^1024.
        with np.errstate(all="ignore"):
            known = (entries / size).clip(-_HUGE, _HUGE)
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
        # Never short * size alone: both may be so small that their product is subnormal.
        return body.products(vectors) * short[:, None] * size

    def exponent(self) -> int:
        return grid_exponent("outer_products", self.size, self.size, grid_rounding.GRID_BITS)

    def snapper(self) -> GridRounding:
        """Makes each row an outer product, shorter by as much as rounding may move it; rounds.

        A rounded row lies within sqrt(columns) / 2 steps of such a product. So two of them are no
        farther apart than sqrt(2) targets and sqrt(columns) steps. With a target of the radius
        less sqrt(columns) steps, and less 2^-44 of it for the float operations, that is at most
        sqrt(2) radii.
        """
        unit = Fraction(2) ** self.exponent()
        rounding = unit * exact.sqrt_up(Fraction(self.columns)) / self.size
        if rounding > Fraction(1, 2**8):
            raise ParameterError(f"{self!r}: too many columns to be summed on one grid")
        short = float(1 - rounding) * (1 - excess(self.side) - _ROUNDING)
        target = exact.nearest(self.size) * short
        return _Rounded(self, target, float(1 / unit))

    def __repr__(self) -> str:
        return f"dp.bodies.OuterProducts({exact.format_number(self.size)}, side={self.side})"


@attrs.frozen(eq=False, repr=False)
class _Rounded(GridRounding):
    """The rounding of outer products to whole steps, ``per_unit`` of them."""

    body: OuterProducts
    target: float
    per_unit: float
    origin = grid_rounding.ORIGIN

    def into(self, block: Floats, out: Floats) -> None:
        rows = self.body.bring(block, self.target)
        np.add(rows * self.per_unit, grid_rounding.MAGIC, out=out)


def as_matrix(triangle: ArrayLike) -> Floats:
    """The symmetric matrix of a triangle of ``products``."""
    entries = np.asarray(triangle, dtype=np.float64)
    side = isqrt(2 * len(entries))
    above, below = np.triu_indices(side)
    found = np.zeros((side, side))
    found[above, below] = entries / np.where(above == below, 1.0, np.sqrt(2.0))
    found[below, above] = found[above, below]
    return found
