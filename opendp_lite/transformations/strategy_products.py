"""The products of a strategy with the counts of cells."""

from __future__ import annotations

from fractions import Fraction

from opendp_lite.core import Transformation
from opendp_lite.domains import Rows, Vectors
from opendp_lite.engines.cell_counts import CellCounts
from opendp_lite.engines.missing import LEAVE_OUT, FillEntries, fold_present
from opendp_lite.errors import SpaceError
from opendp_lite.grid import Grid
from opendp_lite.metrics import NormDistance
from opendp_lite.norms import Norms
from opendp_lite.spaces import Space, row_metric
from opendp_lite.strategies.cells import Cells
from opendp_lite.strategies.strategy import Strategy


def strategy_products(
    space: Space[Rows], cells: Cells, strategy: Strategy, step: str
) -> Transformation[Space[Rows], Space[Vectors]]:
    """The exact products of a public matrix with the counts of public cells.

    Args:
        space: Rows of one column.
        cells: The cells.
        strategy: The matrix.
        step: The public step, for refusals.

    Returns:
        A vector on the matrix' grid. A missing number is left out; where the number of rows is
        public it counts as the centre of the rows' body or, without one, halfway between the
        bounds.

    Stability:
        The largest norm of a column of the matrix under add/remove, and of a difference of two
        columns under replace-one, times the number of rows.

    Proof:
        A row counts in one cell, which depends on that row alone. The counts and the products are
        computed in integers.
    """
    if space.domain.columns != 1:
        raise SpaceError(
            f"{step} needs one column; the rows have {space.domain.columns}. Put select() before it"
        )
    fixed = row_metric(space).fixed_size
    per_row = strategy.diameters() if fixed else strategy.radii()
    filling = space.domain.body.filling() or FillEntries(cells.centre)
    treatment = filling if fixed else LEAVE_OUT

    def moved(distance: Fraction) -> Norms:
        return per_row * distance

    return Transformation(
        space,
        Space(Vectors(strategy.terms, strategy.exponent), NormDistance(), unit=moved(space.unit)),
        fold_present(
            CellCounts(cells.edges[:-1]),
            treatment,
            lambda counts: Grid(strategy.products(counts), strategy.exponent),
        ),
        moved,
    )
