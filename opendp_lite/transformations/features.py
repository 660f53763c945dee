"""Counts of numbers in public cells, and functions of the cell that a number lies in."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError
from opendp_lite.bases.basis import Basis, Haar, Legendre
from opendp_lite.bases.strategies import Cells, Strategy, square_root, tree
from opendp_lite.bodies.points import PointOf
from opendp_lite.engines.data.fold import Floats, Reduction
from opendp_lite.engines.missing import LEAVE_OUT, FillEntries
from opendp_lite.engines.plan import Fold
from opendp_lite.engines.rows import CellCounts
from opendp_lite.numbers.edges import RisingEdges
from opendp_lite.numbers.exact import Number, quote, whole
from opendp_lite.numbers.grid import Grid
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import stage
from opendp_lite.spaces.domains import Rows, Vectors
from opendp_lite.spaces.space import Space, example, records, row_metric, sized_rows
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations import row_maps


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
    row_maps.require_one_column(space, step)
    fixed = row_metric(space).fixed_size
    per_row = strategy.diameters() if fixed else strategy.radii()
    filling = space.domain.body.filling() or FillEntries(cells.centre)
    fold = Fold(
        CellCounts(cells.edges[:-1]),
        lambda counts: Grid(strategy.products(counts), strategy.exponent),
        filling if fixed else LEAVE_OUT,
    )
    return row_maps.fold_to_vector(space, Vectors(strategy.terms, strategy.exponent), per_row, fold)


@stage(
    does="Counts the numbers in cells and in blocks of cells: what dp.cdf adds Laplace noise to.",
    changes="Numbers beyond the bounds count in the outermost cells. A missing number is left out.",
    proof=Proof(
        "A row counts in one block of each of h sizes, and replacing it leaves the count of "
        "all rows.",
        adding="l1 = k h",
        replacing="l1 = 2 k (h - 1)",
        sources=["Hay, Rastogi, Miklau, Suciu 2010", "Qardaji, Yang, Li 2013, on the sizes"],
    ),
    examples=lambda: [
        example(records(), 0, 10, cells=12),
        example(sized_rows(), -1, 1 / 3, cells=35),
    ],
)
def block_counts(
    space: Space[Rows], lower: Number, upper: Number, *, cells: int = 1024
) -> Transformation[Space[Rows], Space[Vectors]]:
    """Counts the numbers in cells and in blocks of cells: what ``dp.cdf`` adds Laplace noise to.

    There are blocks of some sizes, each about six times the one before, or ten times where rows
    are replaced. The number of rows up to an edge is the sum of a few blocks, so it has little
    noise.

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

    Example:
        >>> import opendp_lite as dp
        >>> step = dp.transformations.block_counts(0, 4, cells=4)
        >>> step([0.5, 3.5, 3.5])
        NotPrivate([0., 1., 0., 0., 2., 3.])
        >>> step.map(1)
        dp.Norms(l1=2.0, l2=1.4142135623730951, linf=1.0)
    """
    public = Cells.between("block_counts", lower, upper, cells)
    blocks = tree(len(public.edges), row_metric(space).fixed_size)
    return strategy_products(space, public, blocks, "block_counts")


@stage(
    does="Counts the numbers in cells and takes half of a prefix sum: what dp.cdf adds noise to.",
    changes="Numbers beyond the bounds count in the outermost cells. A missing number is left out.",
    proof=Proof(
        "A row counts in one cell. Column 0 of the Toeplitz matrix is the longest, and the "
        "longest difference is that of column 0 and some other: all are computed in integers.",
        adding="l2^2 = k^2 sum of c_j^2",
        replacing="k times the largest distance of two columns",
        sources=["Henzinger, Upadhyay, Upadhyay 2023"],
    ),
    examples=lambda: [
        example(records(), 0, 10, cells=12),
        example(sized_rows(), -1, 1 / 3, cells=7),
    ],
)
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


@stage(
    does="Replaces every number by the values of orthonormal functions there.",
    changes=(
        "A number beyond the bounds of the basis counts as the bound. A missing number becomes a "
        "row of missing values; where the number of rows is public, it counts as the middle cell."
    ),
    proof=row_maps.row_by_row(
        "A row becomes one of the public points; r is the largest norm of a point "
        "and D the largest distance of two (erratum 1.1.1).",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, appendix D"],
    ),
    examples=lambda: [
        example(records(), Legendre(5, 0, 0.1)),
        example(sized_rows(), Haar(8, 0, 1 / 3)),
    ],
)
def basis_features(space: Space[Rows], basis: Basis) -> Transformation[Space[Rows], Space[Rows]]:
    """Replaces every number by the values of orthonormal functions there.

    There is one column for each function.

    You need no ``clamp`` before it. A number beyond the bounds of the basis counts as the bound. A
    number stands for the middle of its cell, one of ``basis.cells`` cells.

    Args:
        basis: The functions, for example ``Cosine(12, 0, 100)``.

    Returns:
        Rows that are one of finitely many public points, one for each cell. A missing number
        becomes a row of missing values. Where the number of rows is public, it counts as the middle
        cell.

    Raises:
        ParameterError: If ``basis`` is no basis.
        SpaceError: If the rows have more than one column.

    Example:
        >>> import opendp_lite as dp
        >>> features = dp.transformations.basis_features(dp.bases.Hadamard(4, 0, 100))
        >>> features([10.0, 60.0])
        NotPrivate([[ 1.,  1.,  1.,  1.],
                    [ 1.,  1., -1., -1.]])
        >>> (features >> dp.sum()).map(1)
        dp.Norms(l1=4.0, l2=2.0, linf=1.0)
    """
    if not isinstance(basis, Basis):
        raise ParameterError(
            f"basis_features needs a basis such as dp.bases.Cosine(12, 0, 100), got {quote(basis)}"
        )
    row_maps.require_one_column(space, "basis_features", " and take a basis for each column")
    body = basis.points()
    return row_maps.row_map_trusted(space, PointOf(body), body)


Counts = NDArray[np.int64]
_FARTHEST: Final = 1000
_COARSEST, _FINEST = -10, 20
# Doublings that a float surely has room for.
_LARGEST: Final = 1023
FAR_BLOCKS: Final = 9
"""Of 1, 2, 4, up to 256 doublings: the last reaches 511 doublings."""
_MOST_CELLS: Final = 2**20


@attrs.frozen(eq=False, repr=False)
class MagnitudeFold(Reduction[Counts]):
    """Counts values by sign and magnitude: see ``magnitude_counts``.

    Args:
        least: The cell in the middle ends at 2^least.
        most: The others end at 2^most, or beyond.
        bits: Of cells in a doubling.
        blocks: Of doublings beyond 2^most, for each sign.
    """

    least: int
    most: int
    bits: int
    blocks: int

    def empty(self) -> Counts:
        cells = _cells_of(self.least, self.most, self.bits) + self.blocks
        return np.zeros(2 * cells + 1, dtype=np.int64)

    def summarise(self, block: Floats) -> Counts:
        edges = _edges_of(self.least, self.most, self.bits, self.blocks)
        return edges.count_by_place(block.reshape(-1).clip(-(2.0**_LARGEST), 2.0**_LARGEST))


# A mean without bounds counts three times between the same edges. A million of them take 16 MB, so
# no pipeline holds them, and none takes them to the workers of a cluster.
@lru_cache(maxsize=4)
def _edges_of(least: int, most: int, bits: int, blocks: int) -> RisingEdges:
    """The least numbers of the cells, from the second most negative one on."""
    cells = np.arange(_cells_of(least, most, bits)) << max(-bits, 0)
    doublings, parts = np.divmod(cells, 1 << max(bits, 0))
    ends = np.ldexp(1 + parts / (1 << max(bits, 0)), least + doublings)
    beyond = [2.0 ** min(most + 2**block - 1, _LARGEST) for block in range(blocks)]
    ends = np.append(ends, beyond)
    # A value at an end is in the cell nearer to 0, so cells above 0 begin one float after it.
    return RisingEdges(np.concatenate([-ends[::-1], np.nextafter(ends, np.inf)]))


def _cells_of(least: int, most: int, bits: int) -> int:
    """The number of cells of one sign."""
    doublings = most - least
    return doublings << bits if bits >= 0 else -(-doublings >> -bits)


def _as_grid(counts: Counts) -> Grid:
    return Grid(counts, 0)


@stage(
    does="Counts the values of one column by sign and magnitude, doubling by doubling.",
    changes="A missing value is left out; where the number of rows is public, it counts as 0.",
    proof=Proof(
        "Each row is in one public cell. A row added changes one count by 1, a row replaced "
        "changes two.",
        adding="k",
        replacing="2 k in l1, sqrt(2) k in l2",
    ),
    examples=lambda: [
        example(records(), -2, 5),
        example(sized_rows(), -1, 1, bits=2),
        example(records(), -1, 0, far=True),
    ],
)
def magnitude_counts(
    space: Space[Rows], least: int, most: int, *, bits: int = 0, far: bool = False
) -> Transformation[Space[Rows], Space[Vectors]]:
    """Counts the values of one column by sign and magnitude, doubling by doubling.

    The cells above 0 end at 2^least, 2^(least + 1), up to 2^most. A value at an end belongs to the
    cell nearer to 0. The cells below 0 mirror them. The cell in the middle holds all values of a
    magnitude of at most 2^least.

    Args:
        least: A whole number from -1000 to 1000.
        most: A larger one. Values beyond 2^most count in the outermost cells.
        bits: Cuts each doubling into 2^bits cells of one width. Below 0, each cell has 2^-bits
            doublings, and the outermost ones may end beyond 2^most.
        far: Whether values beyond 2^most have cells of their own: nine more for each sign, of 1, 2,
            4, up to 256 doublings.

    Returns:
        A vector of counts, from the most negative cell to the most positive one. There are
        2 (most - least) 2^bits + 1 of them, rounded up for each sign, and those that are ``far``. A
        missing value is left out. Where the number of rows is public, it counts as 0.

    Raises:
        ParameterError: If the exponents are out of order or make too many cells.
        SpaceError: If the rows have more than one column.

    Example:
        >>> import opendp_lite as dp
        >>> dp.transformations.magnitude_counts(0, 2)([-3.0, 0.5, 1.0, 1.5, 2.0, 100.0])
        NotPrivate([1., 0., 2., 2., 1.])
    """
    lowest = whole(least, "magnitude_counts: least", least=-_FARTHEST)
    highest = whole(most, "magnitude_counts: most", least=-_FARTHEST)
    fine = whole(bits, "magnitude_counts: bits", least=_COARSEST)
    if not lowest < highest <= _FARTHEST:
        raise ParameterError(
            f"magnitude_counts: most must be above least and at most {_FARTHEST}, got least="
            f"{lowest} and most={highest}"
        )
    blocks = FAR_BLOCKS if far else 0
    cells = _cells_of(lowest, highest, min(fine, _FINEST + 1)) + blocks
    if fine > _FINEST or cells > _MOST_CELLS:
        raise ParameterError(
            f"magnitude_counts: these are more than {_MOST_CELLS} cells for each sign; use fewer "
            "bits, or exponents that are closer together"
        )
    row_maps.require_one_column(space, "magnitude_counts")
    fixed = row_metric(space).fixed_size
    per_row = Norms.squared(*map(Fraction, (2, 2, 1) if fixed else (1, 1, 1)))
    treatment = FillEntries(np.zeros(1)) if fixed else LEAVE_OUT
    fold = Fold(MagnitudeFold(lowest, highest, fine, blocks), _as_grid, treatment)
    return row_maps.fold_to_vector(space, Vectors(2 * cells + 1, 0), per_row, fold)
