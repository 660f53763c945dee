"""How many rows there are."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite import engines
from opendp_lite.base.errors import SpaceError
from opendp_lite.bodies.body import Projection
from opendp_lite.engines.data.arrays import EntryFold, Layout, Whole
from opendp_lite.engines.data.fold import AsTheyLie, Block, Floats, Numeric, Scratch
from opendp_lite.engines.missing import LEAVE_OUT, holds_missing, where_whole
from opendp_lite.engines.plan import Fold, Map, Rows
from opendp_lite.metrics.distances import AbsoluteDistance
from opendp_lite.numbers.grid import Grid
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import stage
from opendp_lite.spaces.domains import Scalars
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import Space, records, row_metric
from opendp_lite.spaces.tables import RowsOrTables, Tables
from opendp_lite.spelling.description import Proof


@attrs.frozen
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

    def part(self, piece: Numeric, scratch: Scratch, *, seen: bool) -> int | None:
        return len(piece) if seen or not holds_missing(piece) else None

    def merge(self, first: int, second: int) -> int:
        return first + second

    def finish(self, part: int) -> int:
        return part


def _as_grid(count: int) -> Grid:
    return Grid(np.array([count], dtype=np.int64), 0)


@stage(
    does="Counts the rows.",
    changes="A row that lacks a value in the selected columns does not count, unless missing=True.",
    proof=Proof("Each row counts as one or as nothing, by itself.", adding="k", replacing="-"),
    examples=lambda: [example(records()), example(records(columns=2))],
)
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
    rows = Map(engines.Presence()) if isinstance(space.domain, Tables) else Rows()
    return Transformation(
        space,
        Space(Scalars(0, non_negative=True), AbsoluteDistance(), unit=Norms(l1=space.unit)),
        Fold(CountFold(), _as_grid, None if missing else LEAVE_OUT, before=rows),
        lambda distance: Norms(l1=distance),
    )
