"""Non-negative rows of bounded total."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.body import SLACK, Body, fitting_width
from opendp_lite.bodies.bounds import Values, some_columns, to_floats
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.grid_rounding import GridRounding, grid_exponent
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.layout import DENSE, Layout
from opendp_lite.engines.missing import FillRows, holds_missing
from opendp_lite.exact import Number, format_number, nearest, positive
from opendp_lite.fields import initialise
from opendp_lite.norms import Norms
from opendp_lite.sketch import LINE, TRIANGLE, Sketch


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
        bound = positive(total, "the total of a simplex")
        initialise(self, total=bound, columns=some_columns(columns))

    def over(self, columns: int) -> Simplex:
        return Simplex(self.total, fitting_width(self, columns))

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
        total = nearest(self.total)
        inside: NDArray[np.bool_] = np.all(rows >= -SLACK * total, axis=1) & (
            rows.sum(axis=1) <= total * (1 + SLACK)
        )
        return inside

    def filling(self) -> FillRows:
        """The whole row: any entry alone might lead beyond the total."""
        return FillRows(to_floats(self.centre()))

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
        return shares[:, : self.columns] * nearest(self.total)

    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        if holds_missing(entries):
            missing = np.isnan(entries)
            return np.where(missing, np.nan, self.project(self.filling()(entries)))
        inside = self._box().project(entries)
        left = np.full(len(inside), nearest(self.total))
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
        return f"dp.bodies.Simplex({format_number(self.total)}{count})"


@attrs.frozen(eq=False, repr=False)
class _NoMoreThanLeft(GridRounding):
    """As another rounding, then each entry at most what the entries before it leave of ``most``."""

    boxed: GridRounding
    most: int
    origin = 0

    def into(self, block: Floats, out: Floats, spare: Floats) -> None:
        self.boxed.into(block, out, spare)
        bits = out.view(np.int64)
        left = np.full(len(bits), self.most, dtype=np.int64)
        for column in range(bits.shape[1]):
            entry = bits[:, column]
            entry -= self.boxed.origin
            np.minimum(entry, left, out=entry)
            left -= entry
