"""Counts of cells multiplied with the square root of prefix sums."""

from __future__ import annotations

from opendp_lite.core import Transformation
from opendp_lite.domains import Rows, Vectors
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.strategies.cells import Cells
from opendp_lite.strategies.square_root import square_root
from opendp_lite.transformations.strategy_products import strategy_products


@example(records(), 0, 10, cells=12)
@example(records(size=20, metric=ChangeOneDistance()), -1, 1 / 3, cells=7)
@stage
def prefix_features(
    space: Space[Rows], lower: Number, upper: Number, *, cells: int = 1024
) -> Transformation[Space[Rows], Space[Vectors]]:
    """Counts the numbers in cells and takes half of a prefix sum: what ``dp.cdf`` adds noise to.

    With Gaussian noise on these products, the number of rows up to any edge is known with hardly
    more noise than one count. ``dp.cdf`` does both and reads the result.

    Args:
        lower: The lower bound of the numbers. Numbers up to it have a cell of their own.
        upper: The upper bound. Numbers above it count in the last cell.
        cells: How many cells of one width, up to 4096. A number at an edge counts below it.

    Returns:
        A vector with an entry for each cell: ``sum(c[j] * counts[i - j])`` over j from 0 to i, with
        c[j] = C(2j, j) / 4^j rounded to 2^-20. A missing number is left out. Where the number of
        rows is public it counts halfway between the bounds.

    Raises:
        ParameterError: If ``lower`` is not below ``upper``, or ``cells`` is none.
        SpaceError: If the rows have more than one column.

    Stability:
        Under add/remove the largest norm of a column: the square of l2 is the sum of the squares of
        c, about 1.07 + ln(cells) / pi. Under replace-one the largest norm of a difference of two
        columns. Both are exact, for the rounded coefficients, and hold in l1, l2 and linf at once.

    Proof:
        A row counts in one cell. The first column is the longest, and the difference of the first
        to some other is the longest difference: see ``strategies/square_root.py``. The matrix is
        that of Henzinger, Upadhyay, Upadhyay 2023.

    Example:
        >>> import opendp_lite as dp
        >>> step = dp.transformations.prefix_features(0, 4, cells=4)
        >>> step([0.5, 3.5, 3.5])
        NotPrivate([0.    , 1.    , 0.5   , 0.375 , 2.3125])
        >>> (step >> dp.gaussian(rho=0.03)).map(1)
        0.03
    """
    public = Cells.between("prefix_features", lower, upper, cells)
    return strategy_products(space, public, square_root(len(public.edges)), "prefix_features")
