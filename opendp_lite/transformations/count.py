"""How many rows there are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.body import Projection
from opendp_lite.core import Transformation
from opendp_lite.domains import Scalars
from opendp_lite.engines.deferred import chained
from opendp_lite.engines.entries import EntryFold, Whole
from opendp_lite.engines.fold import AsTheyLie, Block, Floats, Scratch
from opendp_lite.engines.layout import Layout
from opendp_lite.engines.missing import LEAVE_OUT, fold_present, holds_missing, where_whole
from opendp_lite.errors import SpaceError
from opendp_lite.examples import example
from opendp_lite.grid import Grid
from opendp_lite.metrics import AbsoluteDistance
from opendp_lite.norms import Norms
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records, row_metric
from opendp_lite.tables import RowsOrTables, Tables, presence


class CountFold(EntryFold[int]):
    """Adds up the lengths of blocks."""

    def empty(self) -> int:
        return 0

    def summarise(self, block: Floats, scratch: Scratch) -> int:
        return len(block)

    def summarise_entries(self, entries: Floats, layout: Layout, rows: int) -> int:
        return rows

    def summarise_groups(
        self, block: Floats, codes: NDArray[np.intp], groups: int, scratch: Scratch
    ) -> Whole:
        return np.bincount(codes, minlength=groups).astype(np.int64, copy=False)

    def merge_groups(self, first: Whole, second: Whole) -> Whole:
        return first + second

    def one_group(self, summaries: Whole | None, group: int) -> int:
        return 0 if summaries is None else int(summaries[group])

    def merge(self, first: int, second: int) -> int:
        return first + second

    def fuses_with(self, function: Block) -> bool:
        return type(function) is Projection

    def as_they_lie(self, functions: Sequence[Block]) -> AsTheyLie[int, int] | None:
        """What clips entries or moves them by a float leaves out no row and makes none missing."""
        moves = [getattr(function, "subtracted", None) for function in where_whole(functions)]
        keep = all(move is not None and np.isfinite(move).all() for move in moves)
        return _CountAsTheyLie() if keep else None


class _CountAsTheyLie(AsTheyLie[int, int]):
    """The number of rows."""

    def part(self, piece: NDArray[Any], scratch: Scratch, *, seen: bool) -> int | None:
        return len(piece) if seen or not holds_missing(piece) else None

    def merge(self, first: int, second: int) -> int:
        return first + second

    def finish(self, part: int) -> int:
        return part


def _as_grid(count: int) -> Grid:
    return Grid(np.array([count], dtype=np.int64), 0)


def _moved(distance: Fraction) -> Norms:
    return Norms(l1=distance)


@example(records())
@example(records(columns=2))
@stage
def count(
    space: Space[RowsOrTables], *, missing: bool = False
) -> Transformation[Space[RowsOrTables], Space[Scalars]]:
    """Counts the rows.

    By default it counts the rows that lack no value, as a sum or a mean of the same columns does.
    Put ``select`` before it to say which columns have to be there. Where no columns were named, it
    counts all rows of a table.

    Args:
        missing: Whether rows with missing values count, too.

    Returns:
        One whole number.

    Raises:
        SpaceError: If the number of rows is public. Use the declared size then.

    Stability:
        ``d_out = d_in``: adding or removing d_in rows changes the count by at most d_in.

    Proof:
        Each row counts as one or as nothing, by itself.

    Example:
        >>> import opendp_lite as dp
        >>> ages = [5.0, float("nan"), 7.0]
        >>> dp.count()(ages), dp.count(missing=True)(ages)
        (NotPrivate(2), NotPrivate(3))
    """
    if row_metric(space).fixed_size:
        raise SpaceError(
            f"count: the number of rows is public, it was declared as size={space.domain.size}; "
            "use that number, or SymmetricDistance() where it is private"
        )
    counted = fold_present(CountFold(), None if missing else LEAVE_OUT, _as_grid)
    return Transformation(
        space,
        Space(Scalars(0, non_negative=True), AbsoluteDistance(), unit=_moved(space.unit)),
        chained(presence, counted) if isinstance(space.domain, Tables) else counted,
        _moved,
    )
