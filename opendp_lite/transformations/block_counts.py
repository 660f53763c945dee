"""Counts of cells and of blocks of cells."""

from __future__ import annotations

from opendp_lite.core import Transformation
from opendp_lite.domains import Rows, Vectors
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.strategies.cells import Cells
from opendp_lite.strategies.tree import tree
from opendp_lite.transformations.strategy_products import strategy_products


@example(records(), 0, 10, cells=12)
@example(records(size=20, metric=ChangeOneDistance()), -1, 1 / 3, cells=35)
@stage
def block_counts(
    space: Space[Rows], lower: Number, upper: Number, *, cells: int = 1024
) -> Transformation[Space[Rows], Space[Vectors]]:
    """Counts the numbers in cells and in blocks of cells: what ``dp.cdf`` adds Laplace noise to.

    There are blocks of some sizes, each about ten times the one before. The number of rows up to an
    edge is the sum of a few blocks, so it has little noise.

    Args:
        lower: The lower bound of the numbers. Numbers up to it have a cell of their own.
        upper: The upper bound. Numbers above it count in the last cell.
        cells: How many cells of one width, up to 4096. A number at an edge counts below it.

    Returns:
        A vector of whole numbers: the counts of the cells, of the blocks from small to large, and
        of all rows. Some blocks may have empty cells beyond the last. A missing number is left out.
        Where the number of rows is public it counts halfway between the bounds.

    Raises:
        ParameterError: If ``lower`` is not below ``upper``, or ``cells`` is none.
        SpaceError: If the rows have more than one column.

    Stability:
        Under add/remove l1 is the number h of sizes, 4 for 1024 cells, and l2 is sqrt(h). Under
        replace-one l1 is 2 (h - 1), and l2 its root.

    Proof:
        A row counts in one block of each size. The count of all rows does not change where one is
        replaced. Hay, Rastogi, Miklau, Suciu 2010; about the sizes Qardaji, Yang, Li 2013.

    Example:
        >>> import opendp_lite as dp
        >>> step = dp.transformations.block_counts(0, 4, cells=4)
        >>> step([0.5, 3.5, 3.5])
        NotPrivate([0., 1., 0., 0., 2., 3.])
        >>> step.map(1)
        dp.Norms(l1=2.0, l2=1.4142135623730951, linf=1.0)
    """
    public = Cells.between("block_counts", lower, upper, cells)
    return strategy_products(space, public, tree(len(public.edges)), "block_counts")
