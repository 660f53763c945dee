"""Transformations that treat each row by itself, and their proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, TypeVar

import attrs
import numpy as np

from opendp_lite.base.errors import SpaceError
from opendp_lite.bodies.body import Body, Values
from opendp_lite.engines.data.fold import Block, Floats, identity
from opendp_lite.engines.data.source import QUIET
from opendp_lite.engines.missing import holds_missing, real_entries, whole_rows
from opendp_lite.engines.plan import Keep, Map, Node
from opendp_lite.metrics.distances import NormDistance
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import Stage, stage
from opendp_lite.spaces.domains import Domain, Rows, Vectors
from opendp_lite.spaces.space import Space, row_metric
from opendp_lite.spelling.description import Proof

S = TypeVar("S", bound=Domain)


def plain_nan(rows: Floats) -> Floats:
    """The rows, changed in place, with every NaN the usual one.

    Which of two NaN an operation keeps, and so its sign, may depend on where in a block they stand.
    """
    if holds_missing(rows):
        rows[np.isnan(rows)] = np.nan
    return rows


@attrs.frozen(eq=False, repr=False)
class RowByRow:
    """A user's block function. Its results are checked as ``row_map`` says.

    Nothing is known of the order in which it gives the rows back.
    """

    any_order: ClassVar[bool] = True

    function: Callable[[Floats], Floats]
    columns: int
    drops: bool
    missing: bool = False

    def __call__(self, block: Floats) -> Floats:
        if self.missing or not holds_missing(block):
            return self._make(block.copy())
        whole = whole_rows(block)
        made = self._make(block[whole]) if whole.any() else np.empty((0, self.columns))
        if self.drops:
            return made
        rows = np.full((len(block), self.columns), np.nan)
        rows[whole] = made
        return rows

    def _make(self, block: Floats) -> Floats:
        count = len(block)
        with QUIET, np.errstate(all="ignore"):
            rows = real_entries(self.function(block))
        fits = rows.ndim == 2 and rows.shape[1] == self.columns
        dropped = count - len(rows) if fits else 0
        if not fits or dropped < 0 or (dropped and not self.drops):
            raise self._refuse(block.shape[1])
        return plain_nan(rows)

    def _refuse(self, given: int) -> SpaceError:
        count = "at most as many rows" if self.drops else "as many rows"
        return SpaceError(
            f"row_map: the function must give an array of {count} as it got and of "
            f"{self.columns} columns, as its body has; it got {given}. For a result of each "
            "column, make the body with columns=space.domain.columns. Say drops=True where the "
            "function leaves rows out"
        )


def row_map(
    space: Space[Rows],
    function: Callable[[Floats], Floats],
    body: Body,
    names: tuple[str, ...] | None = None,
    *,
    drops: bool = False,
    missing: bool = False,
) -> Transformation[Space[Rows], Space[Rows]]:
    """Makes a transformation from a function that treats each row by itself.

    Use it to write a step of your own.

    Args:
        space: Where the rows come from.
        function: Takes a block, an array of shape (rows, columns), and gives one of shape (rows,
            body.columns). What it makes of a row may depend on nothing but that row, to the last
            bit. Elementwise operations are like that; a matrix product or a sum along rows may not
            be. It must not raise. The block is a copy that the function may change. For large
            arrays several threads call it at once.
        body: Where the new rows lie, for example ``Box(0, 10)``.
        names: The names of the new columns.
        drops: Whether the function leaves out some rows.
        missing: Whether the function is also given rows with missing values. By default it is not,
            and such a row becomes a row of missing values (with ``drops``, it is left out).

    Returns:
        A transformation to rows in ``body``. An entry that is no real number counts as missing,
        whatever the type of the array: a complex number, None or a text. It never warns or raises.

    Raises:
        SpaceError: If ``drops`` is set and the number of rows is public, or if the function gives
            an array of another shape.

    Stability:
        ``d_out = d_in`` for every metric between datasets, if the function keeps to the above.

    Proof:
        A row that is in both datasets has the same image in both. So the images differ in at most
        as many rows. A sum brings every row into ``body`` in integers, whatever the function
        returned.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> Tables = dp.Space[dp.Rows]
        >>> @dp.stage
        ... def root(space: Tables) -> dp.Transformation[Tables, Tables]:
        ...     return dp.row_map(space, np.sqrt, dp.bodies.Box(0, 10))
        >>> (dp.clamp(0, 100) >> root())([4.0, 9.0])
        NotPrivate([2., 3.])
    """
    if drops and row_metric(space).fixed_size:
        raise SpaceError(
            f"row_map: leaving rows out changes their number, which {space.metric!r} holds fixed"
        )
    return row_map_trusted(space, RowByRow(function, body.columns, drops, missing), body, names)


def row_map_trusted(
    space: Space[Rows],
    function: Callable[[Floats], Floats],
    body: Body,
    names: tuple[str, ...] | None = None,
) -> Transformation[Space[Rows], Space[Rows]]:
    """As ``row_map``, without checks, for this package's own functions."""
    domain = attrs.evolve(space.domain, columns=body.columns, body=body, names=names)
    return Transformation(
        space,
        attrs.evolve(space, domain=domain, metric=space.metric.of_new_values()),
        (Keep if hasattr(function, "keeps") else Map)(function),
        identity,
    )


@stage
def _map_rows(
    space: Space[Rows], function: Block, body: Body
) -> Transformation[Space[Rows], Space[Rows]]:
    return row_map_trusted(space, function, body)


def map_rows(function: Block, body: Body) -> Stage[Space[Rows], Space[Rows]]:
    """A step of a block function, for programs. No claim is taken from the function.

    The sum after it brings each row into the body.
    """
    return _map_rows(function, body)


def row_by_row(where: str = "", sources: Sequence[str] = ()) -> Proof:
    """The proof of a step that treats each row by itself; in words, where the new rows lie."""
    text = f"Row by row. {where}".rstrip()
    return Proof(text, adding="k", replacing="k", sources=sources)


def fold_to_vector(
    space: Space[S], vectors: Vectors, per_row: Norms, fold: Node
) -> Transformation[Space[S], Space[Vectors]]:
    """A vector that one unit of distance moves by at most some norms."""

    def move(distance: Fraction) -> Norms:
        return per_row * distance

    after = Space(vectors, NormDistance(), unit=move(space.unit), kept=space.kept)
    return Transformation(space, after, fold, move)


def require_one_column(space: Space[Rows], step: str, mend: str = "") -> None:
    """Refuses rows of several columns."""
    if space.domain.columns != 1:
        raise SpaceError(
            f"{step} needs one column; the rows have {space.domain.columns}. Put select() before "
            f"it{mend}"
        )


def fitting(given: Values, space: Space[Rows], step: str) -> Values:
    """The values, refused unless there is one of them or one for each column."""
    columns = space.domain.columns
    if len(given) not in (1, columns):
        raise SpaceError(
            f"{step} was given {len(given)} numbers for {columns} "
            f"column{'s' * (columns != 1)}; give one number for each column, or start with "
            f"dp.records(columns={len(given)})"
        )
    return given
