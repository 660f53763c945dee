"""The base class of all bodies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, Final, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.bounds import Values, to_floats
from opendp_lite.bodies.grid_rounding import GridRounding
from opendp_lite.engines.entries import EntryMap
from opendp_lite.engines.fold import Block, Floats, Fold
from opendp_lite.engines.layout import DENSE, Layout
from opendp_lite.engines.missing import FillRows
from opendp_lite.errors import SpaceError
from opendp_lite.exact import round_up
from opendp_lite.fraction_array import LONG
from opendp_lite.norms import Norms
from opendp_lite.sketch import BODY, Sketch

Summary = TypeVar("Summary")
SLACK: Final = 2.0**-40
"""How far outside its body a row may lie through float rounding, relative to the body's size.

Only sums rely on the body, and they enforce it in integers; see ``GridRounding``.
"""


def fitting_width(body: Body, columns: int) -> int:
    """The number of columns, refused where the body was given bounds for another number."""
    if body.columns not in (1, columns):
        raise SpaceError(
            f"{_brief(body)} is for {body.columns} columns, the rows have {columns}; "
            f"start with dp.records(columns={body.columns})"
        )
    return columns


def _brief(body: Body) -> str:
    """The repr, without the bounds of many columns."""
    return repr(body) if body.columns < LONG else f"dp.bodies.{type(body).__name__}(...)"


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

    Example:
        >>> import opendp_lite as dp
        >>> body = dp.bodies.Box(0, [1, 2])
        >>> isinstance(body, dp.bodies.Body), body.radius(1), body.diameter(2)
        (True, 3.0, 2.23606797749979)
    """

    columns: int

    @abstractmethod
    def over(self, columns: int) -> Body:
        """The same bounds for so many columns."""

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

    @abstractmethod
    def exponent(self) -> int:
        """The body's grid is the multiples of 2^exponent."""

    @abstractmethod
    def snapper(self) -> GridRounding:
        """The rounding of rows to the grid inside the body."""

    def sketch(self) -> Sketch:
        """Its shape, for pictures of pipelines."""
        return BODY

    def specialised_sum(self) -> RowSum[Any] | None:
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
    return float("inf") if bound is None else round_up(bound)


@attrs.frozen(repr=False)
class Projection(EntryMap):
    """A block function that brings rows into a body.

    A sum over the same body does this itself while rounding, so it is not done twice.
    """

    body: Body

    def __call__(self, block: Floats) -> Floats:
        return self.body.project(block)

    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        return self.body.project(entries, layout)

    @property
    def subtracted(self) -> Floats | None:
        """Nothing, where it clips each entry by itself; see ``SumFold.as_they_lie``."""
        return np.zeros(1) if self.body.by_entry() else None

    def keeps_zeros(self) -> bool:
        return self.body.keeps_zeros()
