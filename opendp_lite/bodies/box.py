"""Rows whose every column lies between two bounds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import floor
from operator import add, gt, mul, neg, sub

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.base.frozen import initialise
from opendp_lite.bodies import body
from opendp_lite.bodies.body import Body, Bounds, Values, collapse, each, smallest, to_floats
from opendp_lite.bodies.grid_rounding import ClippedColumn, GridRounding, grid_exponent
from opendp_lite.display import pictures
from opendp_lite.engines.data.arrays import DENSE, Layout, Whole
from opendp_lite.engines.data.expressions import Engine, Expression
from opendp_lite.engines.data.fold import Floats, Numeric
from opendp_lite.engines.missing import FillEntries, holds_missing
from opendp_lite.numbers.exact import MOST_SHOWN, nearest
from opendp_lite.numbers.fraction_array import LONG, FractionArray
from opendp_lite.numbers.norms import Norms

_TILE = 64
_WILD = (0, -0.0, 1, -1, 5e-324, -1e-310, 1e308, -1e308, np.nan, -np.nan, np.inf, -np.inf, 0.1)


def _narrowest(lower: Values, upper: Values) -> Fraction:
    """The least difference of the numbers of a column."""
    if max(len(lower), len(upper)) >= LONG:
        return FractionArray.of(upper).narrowest(FractionArray.of(lower))
    return smallest(each(sub, upper, lower))


def _floors(values: Values, unit: Fraction) -> list[int]:
    """How many whole units each number has, rounded down."""
    if isinstance(values, FractionArray):
        return values.floors(unit)
    return [floor(value / unit) for value in values]


def _first_not_below(lower: Values, upper: Values) -> int | None:
    """The first column whose lower number is not below its upper one; None if there is none."""
    if max(len(lower), len(upper)) >= LONG:
        below = FractionArray.of(upper).above(FractionArray.of(lower))
        return None if below.all() else int(np.argmin(below))
    count = max(len(lower), len(upper))
    pairs = zip(body.broadcast(lower, count), body.broadcast(upper, count), strict=True)
    return next((column for column, (low, high) in enumerate(pairs) if low >= high), None)


@attrs.frozen(init=False, repr=False)
class Box(Body):
    """Rows with ``lower[j] <= row[j] <= upper[j]``.

    Args:
        lower: The lower bound. A number for all columns, or one for each.
        upper: The upper bound, in the same form. It is above the lower one in every column.
        columns: The number of columns, where the bounds do not say it.

    Raises:
        ParameterError: If a lower bound is not below its upper one.

    Proof:
        The p-norm of a row is largest in a corner. That of a difference is largest along the
        diagonal.

    Example:
        >>> Box(0, 100), Box(-1, [1, 3]).diameter(1)
        (dp.bodies.Box(0, 100), 6.0)
    """

    lower: Values
    upper: Values
    columns: int

    def __init__(self, lower: Bounds, upper: Bounds, columns: int = 1) -> None:
        low, high = body.parse_bounds(lower, "lower bound"), body.parse_bounds(upper, "upper bound")
        columns = body.width_of("Box", columns, low, high)
        column = _first_not_below(low, high)
        if column is not None:
            least, most = low[column % len(low)], high[column % len(high)]
            several = max(len(low), len(high))
            where = f" in column {column}" if several > 1 else ""
            advice = "they are equal" if least == most else "swap them"
            ends = "the lower must be below the upper"
            if several <= MOST_SHOWN:
                ends = f"the lower, {nearest(least):g}, must be below the upper, {nearest(most):g}"
            raise ParameterError(f"bounds{where}: {ends}; {advice}")
        initialise(self, lower=collapse(low), upper=collapse(high), columns=columns)

    def __hash__(self) -> int:
        """Of one column: plans are looked up by it, and thousands of fractions take long."""
        return hash((self.columns, self.lower[0], self.upper[0]))

    @cached_property
    def _largest(self) -> Values:
        """The size of the farther end: the upper is above the lower."""
        return each(lambda low, high: body.larger(-low, high), self.lower, self.upper)

    @cached_property
    def _widths(self) -> Values:
        return each(sub, self.upper, self.lower)

    @cached_property
    def _floats(self) -> tuple[Floats, Floats]:
        return to_floats(self.lower), to_floats(self.upper)

    @cached_property
    def _radii(self) -> Norms:
        return body.norms_of(self._largest, self.columns)

    @cached_property
    def _exponent(self) -> int:
        return grid_exponent(
            "clamp", body.largest(self._largest), _narrowest(self.lower, self.upper)
        )

    @cached_property
    def _holds_zero(self) -> bool:
        return body.largest(self.lower) <= 0 <= smallest(self.upper)

    @property
    def _numbers(self) -> int:
        return max(len(self.lower), len(self.upper))

    def over(self, columns: int) -> Box:
        width = body.fitting_width(self, columns)
        return self if width == self.columns else Box(self.lower, self.upper, width)

    def sketch(self) -> pictures.Sketch:
        return pictures.LINE if self.columns == 1 else pictures.SQUARE

    def radii(self) -> Norms:
        return self._radii

    def diameters(self) -> Norms:
        return body.norms_of(self._widths, self.columns)

    def bounds(self) -> tuple[Values, Values]:
        return self.lower, self.upper

    def centre(self) -> Values:
        half = (Fraction(1, 2),)
        return collapse(each(lambda low, high, by: (low + high) * by, self.lower, self.upper, half))

    def filling(self) -> FillEntries:
        """Entry by entry, since a box bounds each column by itself."""
        return FillEntries(to_floats(self.centre()))

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        low, high = self._floats
        slack = body.SLACK * np.maximum(np.abs(low), np.abs(high))
        found: NDArray[np.bool_] = np.all((rows >= low - slack) & (rows <= high + slack), axis=1)
        return found

    def shift(self, offset: Values) -> Box:
        lower, upper = (each(add, end, offset) for end in self.bounds())
        return Box(lower, upper, self.columns)

    def scale(self, factor: Values) -> Box:
        one, other = (each(mul, end, factor) for end in self.bounds())
        return Box(each(body.smaller, one, other), each(body.larger, one, other), self.columns)

    def non_negative(self) -> bool:
        return smallest(self.lower) >= 0

    def total_range(self) -> tuple[Fraction, Fraction] | None:
        if self.columns != 1:
            return None
        return self.lower[0], self.upper[0] - self.lower[0]

    def select(self, columns: tuple[int, ...]) -> Box:
        return Box(
            body.pick_bounds(self.lower, columns),
            body.pick_bounds(self.upper, columns),
            len(columns),
        )

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        low, high = self._floats
        weight = generator.random((count, self.columns))
        corner = generator.integers(0, 2, (count, self.columns))
        weight = np.where(generator.random((count, 1)) < 0.5, corner, weight)
        return np.clip(low * (1 - weight) + high * weight, low, high)

    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        return entries.clip(*map(layout.of_columns, self._floats))

    def express(self, values: Sequence[Expression], engine: Engine) -> Sequence[Expression]:
        low, high = (np.broadcast_to(each, len(values)).tolist() for each in self._floats)
        return list(map(engine.clip, values, low, high))

    def keeps_zeros(self) -> bool:
        return self._holds_zero

    def by_entry(self) -> bool:
        return True

    def exponent(self) -> int:
        return self._exponent

    def snapper(self) -> GridRounding:
        """Adds 1.5 * 2^52 grid units to round, then clips the bits as integers.

        Positive floats order as their bits do, and NaN as IEEE 754's totalOrder says, so the
        clip bounds every entry whatever it was; where ``|x|`` is below 2^51 units the low bits are
        x rounded to nearest.
        """
        unit = Fraction(2) ** self.exponent()
        # Up is down of the negative.
        low = [-steps for steps in _floors(each(neg, self.lower), unit)]
        high = _floors(self.upper, unit)
        kept = self._numbers
        if any(map(gt, low * (kept // len(low)), high * (kept // len(high)))):
            raise ParameterError(
                f"{body.brief_body(self)}: the bounds are too close together for their size; "
                "center() the rows first"
            )
        magic = float(unit * 3 * 2**51)
        origin = int(np.float64(magic).view(np.int64))
        least, most = _tile(low, origin, self.columns), _tile(high, origin, self.columns)
        return _Clip(self.columns, origin, np.array(magic), least, most, self.exponent())

    def __repr__(self) -> str:
        count = f", columns={self.columns}" if self.columns != self._numbers else ""
        lower, upper = map(body.format_bounds, (self.lower, self.upper))
        return f"dp.bodies.Box({lower}, {upper}{count})"


@attrs.frozen(eq=False, repr=False)
class _Clip(GridRounding):
    """Rounds to multiples of a unit and clips; ``magic`` is 1.5 * 2^52 units."""

    columns: int
    origin: int
    magic: Floats
    least: Whole
    most: Whole
    exponent: int
    any_type = True

    def each_column(self) -> Sequence[ClippedColumn]:
        ends = (np.broadcast_to(end, self.columns) - self.origin for end in self._once())
        return [ClippedColumn(self.exponent, *map(int, each)) for each in zip(*ends, strict=True)]

    def into(self, block: Floats, out: Floats) -> None:
        np.add(block, self.magic, out=out)
        self._clip(out)

    def unless_missing(self, block: Numeric, out: Floats) -> bool:
        if block.dtype == np.float64:
            np.add(block, self.magic, out=out)
        else:
            np.copyto(out, block, casting="same_kind")
            np.add(out, self.magic, out=out)
        if block.dtype.kind == "f" and holds_missing(out):
            return False
        self._clip(out)
        return True

    def _clip(self, out: Floats) -> None:
        bits = out.view(np.int64)
        tile = max(self.least.size, self.most.size)
        if tile == 1:
            bits.clip(self.least, self.most, out=bits)
            return
        whole = len(bits) - len(bits) % _TILE
        main = bits[:whole].reshape(-1, tile)
        main.clip(self.least, self.most, out=main)
        rest = bits[whole:]
        rest.clip(*self._once(), out=rest)

    def _once(self) -> tuple[Whole, Whole]:
        return self.least.reshape(-1)[-self.columns :], self.most.reshape(-1)[-self.columns :]

    def steps(self, entries: Floats, layout: Layout) -> Whole:
        shifted: Floats = entries + self.magic
        bits = shifted.view(np.int64)
        bits.clip(*map(layout.of_columns, self._once()), out=bits)
        bits -= self.origin
        return bits


def _tile(bounds: list[int], origin: int, columns: int) -> NDArray[np.int64]:
    bits = np.array([bound + origin for bound in bounds], dtype=np.int64)
    return bits.reshape(()) if len(bits) == 1 else np.tile(bits, _TILE)


@attrs.frozen(repr=False)
class Everything(Body):
    """Rows of any values, with missing values and infinities.

    Args:
        columns: The number of columns.

    Example:
        >>> Everything(2).radius(1)
        inf
    """

    columns: int = attrs.field(default=1, converter=body.some_columns)

    def over(self, columns: int) -> Everything:
        return Everything(columns)

    def sketch(self) -> pictures.Sketch:
        return pictures.PLANE

    def radii(self) -> Norms | None:
        return None

    def diameters(self) -> Norms | None:
        return None

    def bounds(self) -> None:
        return None

    def centre(self) -> None:
        return None

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        return np.ones(len(rows), dtype=np.bool_)

    def shift(self, offset: Values) -> Everything:
        return self

    def scale(self, factor: Values) -> Everything:
        return self

    def select(self, columns: tuple[int, ...]) -> Everything:
        return Everything(len(columns))

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        spread = generator.standard_normal((count, self.columns)) * 10.0 ** generator.integers(
            -5, 6, (count, self.columns)
        )
        odd = generator.choice(_WILD, (count, self.columns))
        return np.where(generator.random((count, self.columns)) < 0.4, odd, spread)

    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        return entries

    def exponent(self) -> int:
        raise SpaceError("rows of any values lie on no grid; clamp() them first")

    def snapper(self) -> GridRounding:
        raise SpaceError("rows of any values lie on no grid; clamp() them first")

    def __repr__(self) -> str:
        return f"dp.bodies.Everything({'' if self.columns == 1 else self.columns})"
