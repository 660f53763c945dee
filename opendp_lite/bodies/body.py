"""What every body answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Block, Fold
from opendp_lite.engines.missing import FillRows
from opendp_lite.engines.sparse import SparseRows, Whole, densifies
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import Number, exact, floor_log2, nearest, plain, said, shown_up, whole
from opendp_lite.norms import Norms

Floats = NDArray[np.float64]
Values = tuple[Fraction, ...]
Summary = TypeVar("Summary")
Bounds = Number | Sequence[Number] | NDArray[Any]
"""A public number for all columns, or one for each."""

GRID_BITS: Final = 40
"""A body's grid is about 2^-40 of its radius: one row's rounding is invisible to 10^9 rows."""
_MOST_BITS: Final = 50
_NARROW_BITS: Final = 20
_EXTREME: Final = 900
_MOST_COLUMNS: Final = 2**31
SLACK: Final = 2.0**-40
"""How far outside its body a row may lie through float rounding, relative to the body's size.

Only sums rely on the body, and they enforce it in integers; see ``Snapper``.
"""


def values(given: object, name: str) -> Values:
    """A number, or one number a column, as rationals."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        return (exact(given, name),)
    found = tuple(exact(value, name) for value in given)
    if not found:
        raise ParameterError(f"{name} needs at least one number")
    return found


def compact(bound: Values) -> Values:
    """Equal bounds for all columns, kept once."""
    return bound[:1] if len(set(bound)) == 1 else bound


def fitting_width(body: Body, columns: int) -> int:
    """The number of columns, refused where the body was given bounds for another number."""
    if body.columns not in (1, columns):
        raise SpaceError(
            f"{body!r} is for {body.columns} columns, the rows have {columns}; "
            f"start with dp.records(columns={body.columns})"
        )
    return columns


def some_columns(columns: int) -> int:
    """A number of columns, refused where no array could have it."""
    found = whole(columns, "columns", least=1)
    if found > _MOST_COLUMNS:
        raise ParameterError(f"columns must be at most 2^31, got {said(found)}")
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


def shown(bound: Values) -> str:
    """Bounds as a person would type them."""
    texts = [plain(value) for value in bound]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def array(bound: Values) -> Floats:
    """Bounds as floats, one a column or one for all."""
    return np.array([nearest(value) for value in bound])


def spread(bound: Values, columns: int) -> Values:
    """Bounds with one entry a column."""
    return bound if len(bound) == columns else bound * columns


def picked(bound: Values, columns: tuple[int, ...]) -> Values:
    """The bounds of some of the columns."""
    return bound if len(bound) == 1 else tuple(bound[column] for column in columns)


def unsigned(bounds: tuple[Values, Values]) -> tuple[Values, Values]:
    """Bounds on the sizes of entries, from bounds on the entries."""
    kept = max(map(len, bounds))
    pairs = list(zip(*(spread(each, kept) for each in bounds), strict=True))
    least = tuple(max(low, -high, Fraction(0)) for low, high in pairs)
    return least, tuple(max(-low, high) for low, high in pairs)


def grid_exponent(
    name: str, largest: Fraction, narrowest: Fraction, narrow_bits: int = _NARROW_BITS
) -> int:
    """The exponent of the dyadic grid for a body, from its public geometry alone."""
    reach = floor_log2(largest)
    if abs(reach) > _EXTREME:
        raise ParameterError(
            f"{name}: bounds beyond 2^{_EXTREME} or below 2^-{_EXTREME} cannot be summed; "
            "scale() the rows before"
        )
    fine = min(reach - GRID_BITS, floor_log2(narrowest) - narrow_bits)
    return max(fine, reach - _MOST_BITS)


def _no_entries(rows: SparseRows) -> Whole:
    raise densifies("a sum over rows in this body")


@attrs.frozen
class Snapper:
    """Rounds blocks of rows to a body's grid, in integers, and never outside the body.

    ``into(block, out, spare)`` fills the float buffer ``out``, whose bits are then to be read as
    int64: each entry minus ``origin`` is the coordinate in grid units. ``spare`` is scratch of the
    same shape; where not ``spares``, it may be ``out``. Buffers are C-ordered; where ``by_column``
    any layout will do, and column after column is fastest. The image of a row depends on that row
    alone (elementwise operations in a fixed order), whatever the row holds.

    ``entries(rows)`` gives the coordinates of the stored entries of sparse rows, or raises
    ``DataError`` where zeros would not stay zero.
    """

    origin: int
    into: Callable[[Floats, Floats, Floats], None]
    spares: bool = False
    by_column: bool = False
    entries: Callable[[SparseRows], Whole] = _no_entries


class RowSum(Fold[Summary]):
    """A fold that adds up rows exactly."""

    @abstractmethod
    def finish(self, summary: Summary, /) -> NDArray[Any]:
        """The sums in steps of the body's grid."""


class Body(ABC):
    """A convex set that rows lie in. The sensitivity of a sum follows from its shape.

    ``radii()`` and ``diameters()`` bound the norms of a row and of a difference of two rows, as
    exact rationals. ``radius(p)`` and ``diameter(p)`` are the same as floats, rounded up.
    ``bounds()`` are the bounds of each column, and ``centre()`` is a row in the middle. All but
    ``contains`` and ``draw`` are None or infinite for a body without bounds.
    """

    columns: int

    @abstractmethod
    def over(self, columns: int) -> Body:
        """The same bounds for so many columns."""

    @abstractmethod
    def radii(self) -> Norms | None:
        """Bounds on the norms of one row."""

    @abstractmethod
    def diameters(self) -> Norms | None:
        """Bounds on the norms of the difference of two rows."""

    @abstractmethod
    def bounds(self) -> tuple[Values, Values] | None:
        """The least and the largest entry of each column; None where unbounded.

        Each of the two holds one number for all columns, or one for each. A lower bound is always
        below its upper one.
        """

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
        return None if middle is None else FillRows(array(middle))

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
    def project(self, block: Floats) -> Floats:
        """Each row brought into the body, up to float rounding.

        A missing entry stays missing, and no other becomes missing. The others of its row are
        brought to where they would be if ``filling`` had come first.
        """

    @abstractmethod
    def exponent(self) -> int:
        """The body's grid is the multiples of 2^exponent."""

    @abstractmethod
    def snapper(self) -> Snapper:
        """The rounding of rows to the grid inside the body."""

    def own_sum(self) -> RowSum[Any] | None:
        """A sum of rows that is faster than rounding each with ``snapper``; None for that."""
        return None

    def non_negative(self) -> bool:
        """Whether no row has a negative entry, as far as is known."""
        return False

    def project_sparse(self, rows: SparseRows) -> SparseRows:
        """As ``project``; raises ``DataError`` where zeros would not stay zero."""
        raise densifies(f"bringing rows into a {type(self).__name__}")

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
    return float("inf") if bound is None else shown_up(bound)


@attrs.frozen
class Projection:
    """A block function that brings rows into a body.

    A sum over the same body does this itself while rounding, so it is not done twice.
    """

    body: Body

    def __call__(self, block: Floats) -> Floats:
        return self.body.project(block)

    def on_sparse(self, rows: SparseRows) -> SparseRows:
        return self.body.project_sparse(rows)
