"""Public numbers for columns: one for all, or one for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.base.spelling import Storable
from opendp_lite.bodies.grid_rounding import GridRounding
from opendp_lite.display import pictures
from opendp_lite.engines.data.arrays import DENSE, EntryMap, Layout, Whole
from opendp_lite.engines.data.expressions import Engine, Expression, NoExpressionError
from opendp_lite.engines.data.fold import Block, Floats, Numeric, Reduction
from opendp_lite.engines.missing import FillRows, holds_missing, whole_rows
from opendp_lite.numbers import exact
from opendp_lite.numbers.fraction_array import LONG, FractionArray, many, read_many
from opendp_lite.numbers.norms import Norms

Values = Sequence[Fraction]
"""One number for all columns, or one for each, exactly: an array of many, a tuple of few."""
Bounds = exact.Number | Sequence[exact.Number] | Numeric
"""As ``Values``, as a person types them."""

Exact = TypeVar("Exact", Fraction, FractionArray)
ZERO: Final[Values] = (Fraction(0),)
_MOST_COLUMNS: Final = 2**31
# Long lists that are remembered as they were read: a step is built more than once.
_LISTS: Final = 16


def parse_bounds(given: object, name: str) -> Values:
    """A number, or one number a column, as rationals."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        return (exact.exact(given, name),)
    if isinstance(given, FractionArray):
        return given
    if isinstance(given, tuple) and len(given) >= LONG:
        return _remember(_Same(given), name)
    return _read(given, name)


@attrs.frozen(eq=False)
class _Same:
    """A tuple that is equal to itself alone: (1,) and (True,) are equal, and are read apart."""

    given: tuple[object, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.given is other.given

    def __hash__(self) -> int:
        return id(self.given)


@lru_cache(maxsize=_LISTS)
def _remember(same: _Same, name: str) -> Values:
    return _read(same.given, name)


def _read(given: Sequence[object] | Numeric, name: str) -> Values:
    """Every number of a list."""
    if len(given) >= LONG and not isinstance(given, np.ndarray):
        together = read_many(given)
        if together is not None:
            return together
    found = tuple(exact.exact(value, name) for value in given)
    if not found:
        raise ParameterError(f"{name} needs at least one number")
    return many(found)


def each(move: Callable[..., Any], *vectors: Values) -> Values:
    """What becomes of the numbers of each column.

    Args:
        move: A function of fractions, and alike of arrays of them.
        vectors: One number for all columns, or one for each.
    """
    count = max(map(len, vectors))
    if count >= LONG:
        found: Values = move(*map(FractionArray.of, vectors))
        return found
    columns = [broadcast(vector, count) for vector in vectors]
    return tuple([move(*row) for row in zip(*columns, strict=True)])


def larger(first: Exact, second: Exact) -> Exact:
    """The larger of two fractions, or of two arrays of them place by place."""
    return first.larger(second) if isinstance(first, FractionArray) else max(first, second)


def smaller(first: Exact, second: Exact) -> Exact:
    """As ``larger``, the smaller."""
    return first.smaller(second) if isinstance(first, FractionArray) else min(first, second)


def largest(values: Values) -> Fraction:
    """The largest number of all columns."""
    return values.largest() if isinstance(values, FractionArray) else max(values)


def smallest(values: Values) -> Fraction:
    """The smallest number of all columns."""
    return values.smallest() if isinstance(values, FractionArray) else min(values)


def products(block: Floats) -> Floats:
    """The upper triangles of outer products, off the diagonal times sqrt(2)."""
    above, below = np.triu_indices(block.shape[1])
    found: Floats = block[:, above] * block[:, below]
    found[:, above != below] *= np.sqrt(2.0)
    return found


def total(values: Values) -> Fraction:
    """The sum of the numbers of all columns."""
    return values.total() if isinstance(values, FractionArray) else sum(values, Fraction(0))


def total_up(values: Values) -> Fraction:
    """As ``sum_up``."""
    return values.sum_up() if isinstance(values, FractionArray) else exact.sum_up(values)


def squares_up(values: Values) -> Fraction:
    """As ``sum_up`` of the squares."""
    if isinstance(values, FractionArray):
        return values.squares_up()
    return exact.sum_up([value * value for value in values])


def norms_of(sizes: Values, columns: int) -> Norms:
    """Bounds on the norms of a row whose entries have at most these sizes."""
    repeats = columns // len(sizes)
    return Norms.squared(total_up(sizes) * repeats, squares_up(sizes) * repeats, largest(sizes))


def collapse(bound: Values) -> Values:
    """Equal bounds for all columns, kept once."""
    if isinstance(bound, FractionArray):
        return bound[:1] if bound.alike() else bound
    return bound[:1] if len(set(bound)) == 1 else bound


def some_columns(columns: int) -> int:
    """A number of columns, refused where no array could have it."""
    found = exact.whole(columns, "columns", least=1)
    if found > _MOST_COLUMNS:
        raise ParameterError(f"columns must be at most 2^31, got {exact.quote(found)}")
    return found


def width_of(name: str, columns: int, *each: Values) -> int:
    """The number of columns, from the declared one and the lengths of the bounds."""
    columns = some_columns(columns)
    lengths = {len(bound) for bound in each} - {1}
    if len(lengths) > 1 or (lengths and columns not in (1, *lengths)):
        raise ParameterError(
            f"{name}: bounds for {sorted(lengths)} columns do not fit {columns} columns"
        )
    return max(columns, *lengths) if lengths else columns


def format_bounds(bound: Values) -> str:
    """Bounds as a person would type them."""
    texts = [exact.format_number(value) for value in bound]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def say_got(bound: Values) -> str:
    """The bounds in a refusal; many of them may be data."""
    return "" if len(bound) > exact.MOST_SHOWN else f", got {format_bounds(bound)}"


def to_floats(bound: Values) -> Floats:
    """Bounds as floats, one a column or one for all."""
    if isinstance(bound, FractionArray):
        return bound.floats
    return np.array([exact.nearest(value) for value in bound])


def broadcast(bound: Values, columns: int) -> Values:
    """Bounds with one entry a column."""
    return bound if len(bound) == columns else tuple(bound) * columns


def pick_bounds(bound: Values, columns: tuple[int, ...]) -> Values:
    """The bounds of some of the columns."""
    return bound if len(bound) == 1 else many([bound[column] for column in columns])


def drop_signs(bounds: tuple[Values, Values]) -> tuple[Values, Values]:
    """Bounds on the sizes of entries, from bounds on the entries."""
    least = each(lambda low, high, zero: larger(larger(low, -high), zero), *bounds, ZERO)
    return least, each(lambda low, high: larger(-low, high), *bounds)


Summary = TypeVar("Summary")
SLACK: Final = 2.0**-40
"""How far outside its body a row may lie through float rounding, relative to the body's size.

Only sums rely on the body, and they enforce it in integers; see ``GridRounding``.
"""


def fitting_width(body: Body, columns: int) -> int:
    """The number of columns, refused where the body was given bounds for another number."""
    if body.columns not in (1, columns):
        raise SpaceError(
            f"{brief_body(body)} is for {body.columns} columns, the rows have {columns}; "
            f"start with dp.records(columns={body.columns})"
        )
    return columns


def brief_body(body: Body) -> str:
    """The repr, without the bounds of many columns: they may be data."""
    few = body.columns < LONG and repr(body).count(",") < exact.MOST_SHOWN
    return repr(body) if few else f"dp.bodies.{type(body).__name__}(...)"


@attrs.frozen(repr=False)
class FillPlaces:
    """A block function that puts the centre of a body in the place of rows with a missing entry.

    A sum of rows of finitely many kinds may take places for rows itself. Then the blocks have one
    column, and ``place`` is put there.
    """

    body: Body
    place: float

    def __call__(self, block: Floats) -> Floats:
        if not holds_missing(block):
            return block
        if block.shape[1] == self.body.columns:
            middle = self.body.centre() or ZERO
            return np.where(whole_rows(block)[:, None], block, to_floats(middle))
        return np.where(np.isnan(block), self.place, block)


class RowSum(Reduction[Summary]):
    """A fold that adds up rows exactly."""

    @abstractmethod
    def finish(self, summary: Summary, /) -> Numeric:
        """The sums in steps of the body's grid."""


class Body(Storable, ABC):
    """A convex set that rows lie in. The sensitivity of a sum follows from its shape.

    ``radii()`` and ``diameters()`` bound the norms of a row and of a difference of two rows, as
    exact rationals. ``radius(p)`` and ``diameter(p)`` are the same as floats, rounded up.
    ``bounds()`` are the bounds of each column, and ``centre()`` is a row in the middle. All but
    ``contains`` and ``draw`` are None or infinite for a body without bounds.

    Example:
        >>> import opendp_lite as dp
        >>> body = dp.bodies.Box(0, [1, 2])
        >>> isinstance(body, dp.bodies.Body), body.radius(1), body.diameter(2)
        (True, 3.0, 2.23606797749979)
    """

    columns: int

    def over(self, columns: int) -> Body:
        """The same bounds for so many columns; refused where they are for a number of their own."""
        if columns != self.columns:
            raise ParameterError(f"{brief_body(self)} has {self.columns} columns, not {columns}")
        return self

    @abstractmethod
    def radii(self) -> Norms | None:
        """Bounds on the norms of one row."""

    def spread_radii(self, groups: int) -> Norms | None:
        """Bounds on the norms of a mean of rows, of which a share of 1 / ``groups`` are alike.

        Rows are alike if they have a one in the same place. Bodies with other rows know no more
        than that no row is longer than ``radii``.
        """
        return self.radii()

    @abstractmethod
    def diameters(self) -> Norms | None:
        """Bounds on the norms of the difference of two rows."""

    @abstractmethod
    def bounds(self) -> tuple[Values, Values] | None:
        """The least and the largest entry of each column; None where unbounded.

        Each of the two holds one number for all columns, or one for each. A lower bound is always
        below its upper one.
        """

    def require_bounds(self, step: str) -> tuple[Values, Values]:
        """As ``bounds``; where there are none, a refusal that names the step."""
        found = self.bounds()
        if found is None:
            raise SpaceError(f"{step} needs rows with bounds; put dp.clamp(lower, upper) before it")
        return found

    @abstractmethod
    def centre(self) -> Values | None:
        """A row in the middle, as one number for all columns or one for each; None if unbounded.

        It lies in the body. Where the number of rows is public, it stands for what is missing.
        """

    @abstractmethod
    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        """Which rows without missing entries lie in the body, up to float rounding."""

    def contains(self, rows: Floats) -> NDArray[np.bool_]:
        """Which rows lie in the body, up to float rounding; missing entries as filled."""
        filling = self.filling()
        return self.holds(rows if filling is None else filling(rows))

    def filling(self) -> Block | None:
        """A block function that puts public numbers in the place of missing entries.

        A row of the body stays in the body. By default every row with a missing entry becomes the
        centre, which is right for any body.
        """
        middle = self.centre()
        return None if middle is None else FillRows(to_floats(middle))

    @abstractmethod
    def shift(self, offset: Values) -> Body:
        """The body moved by a vector."""

    @abstractmethod
    def scale(self, factor: Values) -> Body:
        """The body with each coordinate multiplied."""

    @abstractmethod
    def select(self, columns: tuple[int, ...]) -> Body:
        """The body's shadow on some columns."""

    @abstractmethod
    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        """Rows of the body, extreme ones among them, for tests."""

    @abstractmethod
    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        """Each row brought into the body, up to float rounding.

        A missing entry stays missing, and no other becomes missing. The others of its row are
        brought to where they would be if ``filling`` had come first.
        """

    def express(self, values: Sequence[Expression], engine: Engine) -> Sequence[Expression]:
        """As ``project``, of an engine's columns."""
        raise NoExpressionError("it clips whole rows, and not each column to its bounds")

    @abstractmethod
    def exponent(self) -> int:
        """The body's grid is the multiples of 2^exponent."""

    @abstractmethod
    def snapper(self) -> GridRounding:
        """The rounding of rows to the grid inside the body."""

    def sketch(self) -> pictures.Sketch:
        """Its shape, for pictures of pipelines."""
        return pictures.BODY

    def specialised_sum(self) -> RowSum[Whole] | None:
        """A sum of rows that is faster than rounding each with ``snapper``; None for that."""
        return None

    def non_negative(self) -> bool:
        """Whether no row has a negative entry, as far as is known."""
        return False

    def shrinks(self) -> bool:
        """Whether a row stays in the body when entries move towards 0, as far as is known."""
        return False

    def keeps_zeros(self) -> bool:
        """Whether ``project`` and the ``snapper`` leave 0 as it is and treat it as adding nothing.

        Then both can be given the entries that are not 0 alone, with their layout.
        """
        return False

    def by_entry(self) -> bool:
        """Whether ``project`` clips each entry by itself."""
        return False

    def total_range(self) -> tuple[Fraction, Fraction] | None:
        """(L, R) where rows minus L are non-negative and of a total of at most R; else None."""
        return None

    def radius(self, p: float) -> float:
        """The largest p-norm of a row, rounded up; infinite where unbounded."""
        return _size(self.radii(), p)

    def diameter(self, p: float) -> float:
        """The largest p-norm of a difference of two rows, rounded up."""
        return _size(self.diameters(), p)


def _size(norms: Norms | None, p: float) -> float:
    bound = None if norms is None else norms.of(p)
    return float("inf") if bound is None else exact.round_up(bound)


@attrs.frozen(repr=False, cache_hash=True)
class Projection(EntryMap):
    """A block function that brings rows into a body.

    A sum over the same body does this itself while rounding, so it is not done twice.
    """

    body: Body

    def __call__(self, block: Floats) -> Floats:
        return self.body.project(block)

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        return self.body.project(entries, layout)

    def express(self, values: Sequence[Expression], engine: Engine) -> Sequence[Expression]:
        """The same of an engine's columns."""
        return self.body.express(values, engine)

    @property
    def subtracted(self) -> Floats | None:
        """Nothing, where it clips each entry by itself; see ``SumFold.as_they_lie``."""
        return np.zeros(1) if self.body.by_entry() else None

    def keeps_zeros(self) -> bool:
        return self.body.keeps_zeros()
