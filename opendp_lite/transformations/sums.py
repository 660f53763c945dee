"""The exact sum of bounded rows, and how many rows there are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite import bodies
from opendp_lite.base.errors import SpaceError
from opendp_lite.bodies import Ball, Body, Box
from opendp_lite.bodies.body import Projection, RowSum
from opendp_lite.bodies.grid_rounding import ClippedColumn
from opendp_lite.engines.data import expressions
from opendp_lite.engines.data.arrays import EntryFold, Layout, Whole
from opendp_lite.engines.data.expressions import Engine, Expressed, Expression, GroupNumbers
from opendp_lite.engines.data.fold import AsTheyLie, Block, Floats, Indices, Numeric
from opendp_lite.engines.grouped import Presence
from opendp_lite.engines.missing import LEAVE_OUT, holds_missing, where_whole
from opendp_lite.engines.plan import Fold, Map
from opendp_lite.metrics.distances import AbsoluteDistance
from opendp_lite.numbers.grid import Grid
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import stage
from opendp_lite.spaces.domains import Rows, Scalars, Vectors
from opendp_lite.spaces.space import Space, example, records, row_metric, rows_in
from opendp_lite.spaces.tables import RowsOrTables, Tables
from opendp_lite.spelling.description import Proof, opendp_twin
from opendp_lite.transformations.row_maps import fold_to_vector

# The bits of sums wrap here: a sum below 2^62 in size is known from its value modulo this.
_TURN = 1 << 64
# Columns that an engine sums at once: its code for many more is no longer compiled.
_MOST_EXPRESSED = 64
_ROOM = 1 << 62
# Up to it, floats add whole numbers exactly.
_EXACT = 1 << 53
# Entries that short rows make together, side by side: numpy's inner loop is then long.
_WIDE = 1024
# A step, at most 2^51, has 27 bits above these: floats add 2^26 of either part exactly.
_LOW_BITS = 24
_LOW = (1 << _LOW_BITS) - 1


@attrs.frozen(eq=False, repr=False)
class Totals:
    """The column sums of rows as whole numbers of grid steps.

    ``wrapped`` holds the bits of ``rows`` snapped rows added modulo 2^64, few enough rows that
    the true sum fits; ``settled`` what earlier rows came to, in Python integers.
    """

    wrapped: NDArray[np.int64]
    rows: int
    settled: Numeric | None = None


AnyRowSum: TypeAlias = RowSum[Any]


class SumFold(RowSum[Totals], EntryFold[Totals]):
    """Rounds every row to the body's grid, inside the body, and adds integers.

    An entry is at most the body's radius in grid steps. So the sum of ``_most_rows`` of them stays
    within 2^62 and is known from its value modulo 2^64.
    """

    def __init__(self, body: Body) -> None:
        self._body = body
        self._known: tuple[tuple[Block, ...], AsTheyLie[Totals] | None] | None = None
        self._snapper = body.snapper()
        radii = body.radii()
        if radii is None or radii.linf is None:
            raise SpaceError(_UNBOUNDED)
        # One step more than the radius has: what rounding to the grid can add.
        steps = ceil(radii.linf / Fraction(2) ** body.exponent()) + 1
        self._most_rows = max(1, _ROOM // steps)
        self._most_exact = _EXACT // steps

    def __reduce__(self) -> tuple[type[SumFold], tuple[Body]]:
        return SumFold, (self._body,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SumFold) and self._body == other._body

    def __hash__(self) -> int:
        return hash(self._body)

    def __repr__(self) -> str:
        return f"SumFold({self._body!r})"

    def empty(self) -> Totals:
        return Totals(np.zeros(self._body.columns, dtype=np.int64), 0)

    def summarise(self, block: Floats) -> Totals:
        return self.add_up(self._snap(block))

    def unless_missing(self, piece: Numeric) -> Totals | None:
        """As ``summarise``, of an array of any type and any strides; None where an entry is NaN."""
        out = self._make_buffer(piece)
        whole = self._snapper.unless_missing(piece, out)
        return self.add_up(out.view(np.int64)) if whole else None

    def add_up(self, bits: NDArray[np.int64]) -> Totals:
        """The totals of rows by the bits of their images."""
        if len(bits) <= self._most_rows:
            return Totals(_column_sums(bits), len(bits))
        pieces = range(0, len(bits), self._most_rows)
        slices = (bits[start : start + self._most_rows] for start in pieces)
        return reduce(self.merge, (Totals(_column_sums(part), len(part)) for part in slices))

    def summarise_groups(self, block: Floats, codes: NDArray[np.intp], groups: int) -> Whole:
        """The totals of each group in grid steps, in two parts: low bits and what is above.

        They are added as floats, which is exact below 2^53: whole steps of few rows at a time where
        groups are few, and else the two parts one by one.
        """
        images = self._snap(block)
        found = np.empty((2, self._body.columns, groups), dtype=np.int64)
        for column in range(self._body.columns):
            steps = images[:, column] - self._snapper.origin
            # A run of rows costs a pass over all groups: whole steps pay where runs are longer. Of
            # more rows int64 might not hold the sum, which would wrap.
            if groups < self._most_exact and len(block) <= self._most_rows:
                total = self._sum_up(steps.astype(np.float64), codes, groups)
                found[:, column] = total & _LOW, total >> _LOW_BITS
            else:
                parts = steps & _LOW, steps >> _LOW_BITS
                found[:, column] = [
                    np.bincount(codes, part.astype(np.float64), groups) for part in parts
                ]
        return found

    def _sum_up(self, steps: Floats, codes: NDArray[np.intp], groups: int) -> Whole:
        """The steps of each group, so many rows at a time that floats are exact."""
        total = np.zeros(groups, dtype=np.int64)
        for start in range(0, len(steps), self._most_exact):
            rows = slice(start, start + self._most_exact)
            total += np.bincount(codes[rows], steps[rows], groups).astype(np.int64)
        return total

    def merge_groups(self, first: Whole, second: Whole) -> Whole:
        return first + second

    def each_group(self, summaries: Whole | None, groups: int) -> Sequence[Totals]:
        if summaries is None:
            return [self.empty()] * groups
        # As Python's integers: both parts together may be beyond int64.
        low, high = summaries.transpose(0, 2, 1).astype(object)
        nothing = np.zeros(self._body.columns, dtype=np.int64)
        return [Totals(nothing, 0, settled) for settled in low + high * (_LOW + 1)]

    def steps_of_groups(self, summaries: Whole | None, groups: int) -> Numeric:
        if summaries is None:
            return np.zeros((groups, self._body.columns), dtype=np.int64)
        low, high = summaries.transpose(0, 2, 1)
        # Both halves of the sum are then below 2^61 in size, and int64 holds it.
        fits = low.max() < _ROOM >> 1 and np.abs(high).max() < _ROOM >> _LOW_BITS + 1
        low, high = (low, high) if fits else (low.astype(object), high.astype(object))
        return np.ascontiguousarray(low + high * (_LOW + 1))

    def summarise_entries(self, entries: Floats, layout: Layout, rows: int) -> Totals:
        steps = layout.column_sums(self._snapper.steps(entries, layout))
        return Totals(steps + _wrap(rows * self._snapper.origin), rows)

    def keeps_zeros(self) -> bool:
        return self._body.keeps_zeros()

    @property
    def most_rows(self) -> int:
        return self._most_rows

    def _snap(self, block: Floats) -> NDArray[np.int64]:
        """The bits of the rows' images."""
        out = self._make_buffer(block)
        self._snapper.into(block, out)
        return out.view(np.int64)

    def _make_buffer(self, block: Floats) -> Floats:
        """Where the images go."""
        return np.empty(block.shape[::-1]).T if self._snapper.by_column else np.empty(block.shape)

    def merge(self, first: Totals, second: Totals) -> Totals:
        if first.rows + second.rows <= self._most_rows:
            settled = _add(first.settled, second.settled)
            return Totals(first.wrapped + second.wrapped, first.rows + second.rows, settled)
        # The true sum of the first is known by now, and leaves the modulus before it could wrap.
        earlier = _add(self._steps(first).astype(object), first.settled)
        return Totals(second.wrapped, second.rows, _add(earlier, second.settled))

    def _steps(self, totals: Totals) -> Whole:
        return totals.wrapped - _wrap(totals.rows * self._snapper.origin)

    def finish(self, totals: Totals) -> Numeric:
        """The sums in grid steps: int64 where that is certainly enough, else Python integers."""
        if not totals.rows and totals.settled is not None:
            return totals.settled
        steps = self._steps(totals)
        if totals.settled is None:
            return steps
        return steps.astype(object) + totals.settled

    def express(self, values: Sequence[Expression], engine: Engine) -> Expressed:
        if not 0 < len(values) <= _MOST_EXPRESSED:
            raise expressions.NoExpressionError(f"it adds up more than {_MOST_EXPRESSED} columns")
        if not (grids := self._snapper.each_column()):
            raise expressions.NoExpressionError(
                "it rounds whole rows, and not each column by itself"
            )
        return _express_sums(values, grids, engine)

    def of_numbers(
        self, codes: Indices, places: Indices, numbers: GroupNumbers, groups: int
    ) -> Whole:
        found = np.zeros((2, self._body.columns, groups), dtype=np.int64)
        found[:, :, codes] = numbers.T & _LOW, numbers.T >> _LOW_BITS
        return found

    def fuses_with(self, function: Block) -> bool:
        return isinstance(function, Projection) and function.body == self._body

    def as_they_lie(self, functions: Sequence[Block]) -> AsTheyLie[Totals] | None:
        left, known = where_whole(functions), self._known
        if known is None or known[0] != left:
            # What was read is returned: a release in another thread may write another one here.
            known = self._known = left, self._lying(left)
        return known[1]

    def _lying(self, functions: tuple[Block, ...]) -> AsTheyLie[Totals] | None:
        if self._body.columns == 1 and (columns := self._snapper.each_column()):
            return self._column_sum(columns[0], functions)
        return _RowsAsTheyLie(self) if self._snapper.any_type and not functions else None

    def _column_sum(
        self, column: ClippedColumn, functions: tuple[Block, ...]
    ) -> _ColumnAsItLies | None:
        """The sum of one column after functions that clip it, and at most one that moves it.

        Where no clip changes an entry, its image is that of the entry moved. Where one does, the
        image is that of an infinity, and the entry moved has none beyond it: all rise.
        """
        moves = [getattr(function, "subtracted", None) for function in functions]
        known = [float(move[0]) for move in moves if move is not None and len(move) == 1]
        moving = [move for move in known if move != 0]
        # Two subtractions round twice, which one of their sum would not. Less an infinity, an
        # infinite entry is missing, which no clip shows.
        if len(known) < len(moves) or len(moving) > 1 or not np.isfinite(moving).all():
            return None
        ends = np.array([[-np.inf], [np.inf]])
        for function in functions:
            ends = function(ends)
        # Each function rises, as rounding does: infinities have the least and the largest image.
        least, most = (int(self._steps(self.summarise(end))[0]) for end in np.split(ends, 2))
        clipped = ClippedColumn(column.exponent, least, most, *moving)
        return _ColumnAsItLies(clipped, self._most_rows)


@attrs.frozen
class AsGrid:
    """The sums as numbers on the grid of their body, or a count."""

    how: AnyRowSum | CountFold
    exponent: int

    def __call__(self, totals: Any) -> Grid:
        return Grid(self.how.finish(totals), self.exponent)


@attrs.frozen(eq=False, repr=False)
class _RowsAsTheyLie(AsTheyLie[Totals]):
    """The sum of rows that no function comes before."""

    how: SumFold

    def part(self, piece: Numeric, *, seen: bool) -> Totals | None:
        return self.how.unless_missing(piece)


@attrs.frozen(eq=False, repr=False)
class _ColumnAsItLies(AsTheyLie[Totals]):
    """The sum of a clipped column."""

    column: ClippedColumn
    most_rows: int

    def part(self, piece: Numeric, *, seen: bool) -> Totals | None:
        # Of more rows, the value modulo 2^64 does not tell the sum.
        if len(piece) > self.most_rows:
            return None
        total = self.column.total(piece[:, 0], seen=seen)
        return None if total is None else Totals(_wrap(total), len(piece))

    def express(self, values: Sequence[Expression], engine: Engine) -> Expressed:
        """Clipped once, where one function after another clips before and after a move."""
        move = self.column.subtracted
        moved = [value - move for value in values] if move else values
        return _express_sums(moved, [self.column], engine)


def _express_sums(
    values: Sequence[Expression], columns: Sequence[ClippedColumn], engine: Engine
) -> Expressed:
    pairs = zip(values, columns, strict=True)
    totals = [
        expressions.total_of(engine, each, at.exponent, at.least, at.most) for each, at in pairs
    ]
    return expressions.KeyedCells(()), totals


def _wrap(total: int) -> NDArray[np.int64]:
    """A whole number modulo 2^64."""
    return np.array([total % _TURN], dtype=np.uint64).view(np.int64)


def _add(first: Numeric | None, second: Numeric | None) -> Numeric | None:
    if first is None or second is None:
        return second if first is None else first
    return first + second


def _column_sums(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums modulo 2^64, exact in any order; several rows side by side where rows are short."""
    rows, columns = bits.shape
    if columns == 1:
        return np.add.reduce(bits.reshape(-1), keepdims=True)
    # Columns that lie one after another are long as they are.
    group = 1 if bits.flags.f_contiguous else max(1, _WIDE // columns)
    whole = 0 if group == 1 else rows - rows % group
    sums: NDArray[np.int64] = np.add.reduce(bits[whole:], axis=0)
    if whole:
        wide = np.add.reduce(bits[:whole].reshape(-1, columns * group), axis=0)
        sums += np.add.reduce(wide.reshape(group, columns), axis=0)
    return sums


_UNBOUNDED = (
    "sum needs bounded values, and these may be anything: put dp.clamp(0, 100) before it, or "
    "dp.clip_to_norm(radius)"
)


@stage(
    does="Adds up the rows, exactly.",
    changes=(
        "Where the number of rows is private, a row with a missing value (NaN) is left out. Where "
        "it is public, the centre of the body of the rows stands for what is missing."
    ),
    proof=Proof(
        "One row adds a point of the body, and a replaced row a difference of two points. "
        "Rounding to the grid comes first and keeps the row in the body.",
        adding="k r",
        replacing="k D",
    ),
    examples=lambda: [
        example(rows_in(Box(-1, 3))),
        example(rows_in(Ball(1.5, columns=3), size=20)),
        example(rows_in(bodies.Simplex(0.3, columns=3))),
    ],
)
@opendp_twin(lambda here: here.made >> here.library.t.then_sum())
def sum(space: Space[Rows]) -> Transformation[Space[Rows], Space[Vectors]]:
    """Adds up the rows, exactly.

    Each row is first rounded to a public grid of about 2^-40 of the body's radius and kept inside
    the body, in integers. The total is the same for every order of the rows, every cutting into
    blocks, every machine, and any number of rows.

    Returns:
        A vector with the total of each column. Where the number of rows is private, a row with a
        missing value (NaN) is left out. Where it is public, the centre of the rows' body stands for
        what is missing: entry by entry in a box or a ball, and for the whole row in other bodies.

    Raises:
        SpaceError: If the rows have no bounds. Put ``clamp`` or ``clip_to_norm`` before it.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.clamp(-1, 3) >> dp.sum()).map(1).l1
        Fraction(3, 1)
        >>> (dp.clamp(-1, 3) >> dp.sum())([0.1] * 10)
        NotPrivate([1.])
    """
    body = space.domain.body
    metric = row_metric(space)
    per_row = metric.per_row(body)
    if per_row is None:
        raise SpaceError(_UNBOUNDED)
    how: AnyRowSum = body.specialised_sum() or SumFold(body)
    treatment = body.filling() if metric.fixed_size else LEAVE_OUT
    exponent = body.exponent()
    vectors = Vectors(
        body.columns, exponent, non_negative=body.non_negative(), names=space.domain.names
    )
    return fold_to_vector(space, vectors, per_row, Fold(how, AsGrid(how, exponent), treatment))


@attrs.frozen
class CountFold(EntryFold[int]):
    """Adds up the lengths of blocks."""

    def empty(self) -> int:
        return 0

    def summarise(self, block: Floats) -> int:
        return len(block)

    def summarise_entries(self, entries: Floats, layout: Layout, rows: int) -> int:
        return rows

    def summarise_groups(self, block: Floats, codes: NDArray[np.intp], groups: int) -> Whole:
        return np.bincount(codes, minlength=groups).astype(np.int64, copy=False)

    def merge_groups(self, first: Whole, second: Whole) -> Whole:
        return first + second

    def each_group(self, summaries: Whole | None, groups: int) -> Sequence[int]:
        return [0] * groups if summaries is None else summaries.tolist()

    def finish(self, count: int) -> Whole:
        """As a sum is finished."""
        return np.array([count], dtype=np.int64)

    def steps_of_groups(self, summaries: Whole | None, groups: int) -> Whole:
        found = np.zeros(groups, dtype=np.int64) if summaries is None else summaries
        return found[:, None]

    def express(self, values: Sequence[Expression], engine: Engine) -> Expressed:
        return expressions.KeyedCells(()), [engine.count(values[0])]

    def of_numbers(
        self, codes: Indices, places: Indices, numbers: GroupNumbers, groups: int
    ) -> Whole:
        found = np.zeros(groups, dtype=np.int64)
        found[codes] = numbers[:, 0]
        return found

    def fuses_with(self, function: Block) -> bool:
        return type(function) is Projection

    def as_they_lie(self, functions: Sequence[Block]) -> AsTheyLie[int] | None:
        """What clips entries or moves them by a float leaves out no row and makes none missing."""
        moves = [getattr(function, "subtracted", None) for function in where_whole(functions)]
        keep = all(move is not None and np.isfinite(move).all() for move in moves)
        return _CountAsTheyLie() if keep else None


class _CountAsTheyLie(AsTheyLie[int]):
    """The number of rows."""

    def part(self, piece: Numeric, *, seen: bool) -> int | None:
        return len(piece) if seen or not holds_missing(piece) else None


@stage(
    does="Counts the rows.",
    changes="A row that lacks a value in the selected columns does not count, unless missing=True.",
    proof=Proof("Each row counts as one or as nothing, by itself.", adding="k", replacing="-"),
    examples=lambda: [example(records()), example(records(columns=2))],
)
@opendp_twin(
    lambda here, missing=False: (
        (here.untouched() if missing else here.complete()) >> here.library.t.then_count()
    )
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
    how = CountFold()
    fold = Fold(how, AsGrid(how, 0), None if missing else LEAVE_OUT)
    of_table = isinstance(space.domain, Tables)
    return Transformation(
        space,
        space_of_count(space),
        fold.on(Map(Presence())) if of_table else fold,
        lambda distance: Norms(l1=distance),
    )


def space_of_count(space: Space[Any]) -> Space[Scalars]:
    """Of one whole number that a row more or less moves by one."""
    unit = Norms(l1=space.unit)
    return Space(Scalars(0, non_negative=True), AbsoluteDistance(), unit=unit, kept=space.kept)
