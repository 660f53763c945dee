"""Rows with a one in at most one place."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.body import Body, RowSum
from opendp_lite.bodies.bounds import Values, some_columns
from opendp_lite.bodies.grid_rounding import GridRounding
from opendp_lite.bodies.simplex import Simplex
from opendp_lite.engines.entries import Whole
from opendp_lite.engines.fold import Block, Floats, Scratch
from opendp_lite.engines.layout import DENSE, Layout
from opendp_lite.engines.missing import holds_missing, whole_rows
from opendp_lite.exact import exact
from opendp_lite.fields import initialise
from opendp_lite.norms import Norms
from opendp_lite.sketch import CORNERS, Sketch

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
        initialise(self, total=exact(1, "total"), columns=some_columns(columns))

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

    def filling(self) -> _Nowhere:  # type: ignore[override]
        return _Nowhere(self.columns)

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
        return _ToPlace()

    def specialised_sum(self) -> RowSum[Any]:
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


@attrs.frozen(repr=False)
class _Nowhere:
    """A block function that puts a row without a one in the place of missing ones.

    Blocks are rows or, where a sum takes places for rows itself, the places: then it puts -1.
    """

    columns: int

    def __call__(self, block: Floats) -> Floats:
        if not holds_missing(block):
            return block
        if block.shape[1] == self.columns:
            return np.where(whole_rows(block)[:, None], block, 0.0)
        return np.where(np.isnan(block), -1.0, block)


@attrs.frozen(eq=False, repr=False)
class _ToPlace(GridRounding):
    """The rounding to rows of whole numbers."""

    origin = 0

    def into(self, block: Floats, out: Floats, spare: Floats) -> None:
        out.view(np.int64)[...] = Placed(block.shape[1])(np.nan_to_num(_places(block))[:, None])


@attrs.frozen
class PlaceCounts(RowSum[Whole]):
    """Counts the ones in each place.

    It absorbs ``Placed``: then the blocks are of one column, and no rows are ever written out.
    """

    columns: int

    def empty(self) -> Whole:
        return np.zeros(self.columns, dtype=np.int64)

    def summarise(self, block: Floats, scratch: Scratch) -> Whole:
        places = _places(block) if block.shape[1] == self.columns else block[:, 0]
        found = np.bincount(places.astype(np.intp) + 1, minlength=self.columns + 1)
        return found[1:].astype(np.int64, copy=False)

    def merge(self, first: Whole, second: Whole) -> Whole:
        return first + second

    def finish(self, summary: Whole) -> NDArray[Any]:
        return summary

    def fuses_with(self, function: Block) -> bool:
        return self.columns > 1 and function == Placed(self.columns)
