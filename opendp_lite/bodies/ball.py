"""Rows within a distance of a centre."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import inf, trunc
from operator import add, mul, neg, sub

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.frozen import initialise
from opendp_lite.bodies import body
from opendp_lite.bodies.body import Body, Bounds, Values, each, format_bounds
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.grid_rounding import GRID_BITS, MAGIC, ORIGIN, GridRounding, grid_exponent
from opendp_lite.display import pictures
from opendp_lite.engines.data.arrays import DENSE, Layout, Whole
from opendp_lite.engines.data.fold import Floats, Numeric
from opendp_lite.engines.data.sparse import excess, row_totals
from opendp_lite.engines.missing import FillEntries, holds_missing
from opendp_lite.numbers.exact import quote, sqrt_up, sum_up
from opendp_lite.numbers.norms import Norms

_HUGE = 2.0**150
_ROUNDING = 2.0**-44
_FAR = 2**300
_NARROW = 4
# From so many columns on, one row after another is faster than one column after another.
_WIDE = 1000


@attrs.frozen(init=False, repr=False)
class Ball(Body):
    """Rows with ``|| (row - center) / radius ||_p <= 1``.

    Args:
        radius: A number, or one for each column: an ellipsoid along the axes where p is 2.
        p: Which norm: 1, 2 or infinity.
        center: The centre. A number for all columns, or one for each.
        columns: The number of columns, where the other arguments do not say it.

    Raises:
        ParameterError: If a radius is not above 0, or ``p`` is another number.

    Proof:
        By Hoelder's inequality, the l1 norm over ``|| x / r ||_2 <= 1`` is at most ``|| r ||_2``.
        The norms of the centre and of the ball add.

    Example:
        >>> Ball(10), Ball(1, p=1, columns=3).diameter(2)
        (dp.bodies.Ball(10), 2.0)
    """

    size: Values
    p: float
    middle: Values
    columns: int

    def __init__(self, radius: Bounds, p: float = 2, center: Bounds = 0, columns: int = 1) -> None:
        size, middle = body.parse_bounds(radius, "radius"), body.parse_bounds(center, "center")
        if p not in (1, 2, inf):
            raise ParameterError(f"Ball: p must be 1, 2 or infinity, got {quote(p)}")
        if body.smallest(size) <= 0:
            raise ParameterError(f"the radius of a ball must be above 0{body.say_got(size)}")
        columns = body.width_of("Ball", columns, size, middle)
        initialise(
            self, size=body.collapse(size), p=p, middle=body.collapse(middle), columns=columns
        )

    def over(self, columns: int) -> Ball:
        return Ball(self.size, self.p, self.middle, body.fitting_width(self, columns))

    def _reach(self) -> Norms:
        """The norms of a row seen from the centre."""
        if self.p == inf:
            return self._as_box(0).radii()
        longest = body.largest(self.size)
        if self.p == 1:
            return Norms.squared(longest, longest * longest, longest)
        return Norms.squared(sqrt_up(self.squares()), longest * longest, longest)

    def squares(self) -> Fraction:
        """The sum over the columns of the squared radii, or a bound just above it: ``sum_up``."""
        return body.squares_up(self.size) * (self.columns // len(self.size))

    def _as_box(self, middle: object) -> Box:
        return Box(each(neg, self.size), self.size, self.columns).shift(
            body.parse_bounds(middle, "center")
        )

    def sketch(self) -> pictures.Sketch:
        if self.columns == 1:
            return pictures.LINE
        if self.p == 1:
            return pictures.DIAMOND
        return pictures.DISC if self.p == 2 else pictures.SQUARE

    def radii(self) -> Norms:
        if self._around_zero:
            return self._reach()
        return self._reach() + body.norms_of(each(abs, self.middle), self.columns)

    def diameters(self) -> Norms:
        return self._reach() * 2

    def bounds(self) -> tuple[Values, Values]:
        return each(sub, self.middle, self.size), each(add, self.middle, self.size)

    def centre(self) -> Values:
        return self.middle

    def filling(self) -> FillEntries:
        """Entry by entry: an entry at the centre's place lengthens no row."""
        return FillEntries(self._floats[1])

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        size, middle = self._floats
        scaled = (rows - middle) / size
        slack = body.SLACK * (1 + float(np.max(np.abs(middle) / size))) + excess(self.columns)
        norms = np.linalg.norm(scaled, ord=self.p, axis=1)
        found: NDArray[np.bool_] = norms <= 1 + slack
        return found

    def shift(self, offset: Values) -> Ball:
        return Ball(self.size, self.p, each(add, self.middle, offset), self.columns)

    def scale(self, factor: Values) -> Ball:
        size = each(lambda r, by: r * abs(by), self.size, factor)
        return Ball(size, self.p, each(mul, self.middle, factor), self.columns)

    def select(self, columns: tuple[int, ...]) -> Body:
        if len(set(columns)) < len(columns):
            return self._as_box(self.middle).select(columns)
        size, middle = body.pick_bounds(self.size, columns), body.pick_bounds(self.middle, columns)
        return Ball(size, self.p, middle, len(columns))

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        direction = generator.standard_normal((count, self.columns))
        axes = np.zeros_like(direction)
        axes[np.arange(count), generator.integers(0, self.columns, count)] = generator.choice(
            [-1.0, 1.0], count
        )
        direction = np.where(generator.random((count, 1)) < 0.3, axes, direction)
        direction /= np.linalg.norm(direction, ord=self.p, axis=1)[:, None]
        length = np.where(generator.random(count) < 0.5, 1.0, generator.random(count))
        size, middle = self._floats
        return middle + direction * length[:, None] * size

    @cached_property
    def _around_zero(self) -> bool:
        return self.middle == body.ZERO

    @cached_property
    def _floats(self) -> tuple[Floats, Floats]:
        return body.to_floats(self.size), body.to_floats(self.middle)

    @cached_property
    def _weights(self) -> Floats | None:
        """Factors that make the ball a unit ball; None where the norm needs no factors."""
        if len(self.size) == 1 and Fraction(1, _FAR) < self.size[0] < _FAR:
            return None
        return 1 / self._floats[0]

    def shrink(
        self, entries: Floats, layout: Layout, out: Floats, target: float
    ) -> tuple[Floats, Floats]:
        """The centred and weighted rows, in ``out`` or as they were, and a factor for each row.

        The norm is one of ``row_totals``, so it is the same in every container. It is too short by
        at most ``excess`` and 2^-45. A row with NaN has a NaN factor. Entries beyond 2^150 radii
        count as 2^150 radii: a row without such an entry is the same with them and without.
        """
        source = entries
        if not self._around_zero:
            source = np.subtract(entries, layout.of_columns(self._floats[1]), out=out)
        weights = self._weights
        limit, cap = target, _HUGE
        if weights is None:
            limit, cap = target * float(self.size[0]), _HUGE * float(self.size[0])
        else:
            source = np.multiply(source, layout.of_columns(weights), out=out)
        if not _lie_alike(source, out):
            source = _copy(source, out)
        p = self.p if self.columns > 1 else 1
        total = row_totals(source, layout, p, self.columns)
        if np.fmax.reduce(total, initial=0.0) >= cap**p:
            source = np.clip(source, -cap, cap, out=out)
            total = row_totals(source, layout, p, self.columns)
        return source, np.minimum(1.0, limit / (np.sqrt(total) if p == 2 else total))

    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        if self.p == inf:
            return self._as_box(self.middle).project(entries, layout)
        return self._shrink(entries, layout)

    def shrinks(self) -> bool:
        return self._around_zero

    def keeps_zeros(self) -> bool:
        return self._around_zero

    def _shrink(self, entries: Floats, layout: Layout) -> Floats:
        if holds_missing(entries):
            missing = np.isnan(entries)
            known = np.where(missing, layout.of_columns(self._floats[1]), entries)
            return np.where(missing, np.nan, self._shrink(known, layout))
        out = np.empty(entries.shape[::-1]).T
        source, shortened = self.shrink(entries, layout, out, 1.0)
        factor = layout.of_rows(shortened)
        shrunk = source * factor
        size, middle = map(layout.of_columns, self._floats)
        if self._weights is not None:
            shrunk *= size
        if not self._around_zero:
            shrunk += middle
        return np.where(factor == 1.0, entries, shrunk)

    def exponent(self) -> int:
        reach = body.largest(self.size) + body.largest(each(abs, self.middle))
        return grid_exponent("clip_to_norm", reach, body.smallest(self.size), GRID_BITS)

    def snapper(self) -> GridRounding:
        """Shrinks each row by as much as rounding may lengthen it, then rounds.

        Let v be the rounded row and R the radii in grid units. ||v / R||_p is at most
        ||x / R||_p + ||1 / (2 R)||_p, so scaling to the target 1 - ||1 / (2 R)||_p, less ``excess``
        for the norm and 2^-44 for the other float operations, keeps v in the ball. The centre is
        rounded towards 0, which makes none of its norms larger. Of a sparse row around 0 only the
        stored entries are rounded: the others lie on the grid, so rounding adds no more to the
        norm than to a row that stores all of its entries.
        """
        if self.p == inf:
            return self._as_box(self.middle).snapper()
        return self.shrink_and_round()

    def shrink_and_round(self, *, non_negative: bool = False) -> GridRounding:
        """As ``snapper``, for p of 1 or 2; with entries below 0 made 0, where it is asked for."""
        unit = Fraction(2) ** self.exponent()
        repeats = self.columns // len(self.size)
        halves = [unit / (2 * r) for r in self.size]
        if self.p == 1:
            rounding = sum_up(halves) * repeats
        else:
            rounding = sqrt_up(sum_up([half * half for half in halves]) * repeats)
        if rounding > Fraction(1, 2**8):
            raise ParameterError(
                f"{body.brief_body(self)}: the radii differ by too much to be summed on one grid; "
                "scale() the rows"
            )
        target = float(1 - rounding) * (1 - excess(self.columns) - _ROUNDING)
        radii = body.to_floats(tuple(r / unit for r in self.size))
        weighted = self._weights is not None
        if not weighted:
            radii = np.array([float(1 / unit)])
        magic = MAGIC + body.to_floats(tuple(Fraction(trunc(c / unit)) for c in self.middle))
        return _Shrink(self, target, radii, magic, non_negative, self.columns < _WIDE)

    def __repr__(self) -> str:
        parts = [format_bounds(self.size)]
        order = "float('inf')" if self.p == inf else f"{self.p:g}"
        parts += [f"p={order}"] if self.p != 2 else []
        parts += [f"center={format_bounds(self.middle)}"] if not self._around_zero else []
        implied = max(len(self.size), len(self.middle))
        parts += [f"columns={self.columns}"] if self.columns != implied else []
        return f"dp.bodies.{type(self).__name__}({', '.join(parts)})"


def _lie_alike(one: Floats, other: Floats) -> bool:
    """Whether both are contiguous in the same order."""
    return (one.flags.c_contiguous and other.flags.c_contiguous) or (
        one.flags.f_contiguous and other.flags.f_contiguous
    )


def _copy(source: Floats, out: Floats) -> Floats:
    """Column by column where rows are so short that one row after another is slow."""
    if source.shape[-1] <= _NARROW:
        np.copyto(out.T, source.T)
    else:
        np.copyto(out, source)
    return out


@attrs.frozen(eq=False, repr=False)
class _Shrink(GridRounding):
    """Shrinks rows to a target norm and rounds them; ``radii`` and ``magic`` are in grid units."""

    ball: Ball
    target: float
    radii: Floats
    magic: Floats
    non_negative: bool
    by_column: bool
    origin = ORIGIN
    any_type = True

    def into(self, block: Floats, out: Floats) -> None:
        self._round_up_centres(block, DENSE, out)

    def unless_missing(self, block: Numeric, out: Floats) -> bool:
        if block.dtype != np.float64:
            np.copyto(out, block, casting="same_kind")
            block = out
        return self._round_up_centres(block, DENSE, out)

    def steps(self, entries: Floats, layout: Layout) -> Whole:
        out = np.empty_like(entries)
        self._round_up_centres(entries, layout, out)
        bits = out.view(np.int64)
        return np.subtract(bits, ORIGIN, out=bits)

    def _round_up_centres(self, entries: Floats, layout: Layout, out: Floats) -> bool:
        """Fills ``out``, with the rounded centre for a row with NaN; whether there is no such."""
        source, factor = self.ball.shrink(entries, layout, out, self.target)
        if len(self.radii) == 1:
            np.multiply(source, layout.of_rows(factor * self.radii[0]), out=out)
        else:
            np.multiply(source, layout.of_rows(factor), out=out)
            np.multiply(out, layout.of_columns(self.radii), out=out)
        np.add(out, layout.of_columns(self.magic), out=out)
        missing, bits = np.isnan(factor), out.view(np.int64)
        if self.non_negative:
            np.maximum(bits, ORIGIN, out=bits)
        if not missing.any():
            return True
        rest = layout.of_columns(self.magic.view(np.int64))
        np.copyto(bits, rest, where=layout.of_rows(missing))
        return False
