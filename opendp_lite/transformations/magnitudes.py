"""How many values there are of each sign and magnitude."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError
from opendp_lite.engines.data.fold import Floats, Reduction, Scratch
from opendp_lite.engines.missing import LEAVE_OUT, FillEntries
from opendp_lite.engines.plan import Fold
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import whole
from opendp_lite.numbers.grid import Grid
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import stage
from opendp_lite.spaces.domains import Rows, Vectors
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import Space, records, row_metric
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations.row_maps import fold_to_vector, require_one_column

Counts = NDArray[np.int64]
_FARTHEST: Final = 1000
_COARSEST, _FINEST = -10, 20
_MOST_CELLS: Final = 2**20


class MagnitudeFold(Reduction[Counts]):
    """Counts values by the bits of their floats: see ``magnitude_counts``."""

    def __init__(self, least: int, most: int, bits: int) -> None:
        self._least, self._bits, self._joined = least, max(bits, 0), max(-bits, 0)
        self._ends = 2.0**least, 2.0**most
        self._cells = _cells_of(least, most, bits)

    def empty(self) -> Counts:
        return np.zeros(2 * self._cells + 1, dtype=np.int64)

    def summarise(self, block: Floats, scratch: Scratch) -> Counts:
        values = block.reshape(-1)
        halves, exponents = np.frexp(np.abs(values).clip(*self._ends))
        within = np.ceil(np.ldexp(2 * halves - 1, self._bits)).astype(np.int64)
        cells = ((exponents.astype(np.int64) - 1 - self._least) << self._bits) + within
        if self._joined:
            cells = -(-cells >> self._joined)
        places = self._cells + np.where(values < 0, -cells, cells)
        return np.bincount(places, minlength=2 * self._cells + 1).astype(np.int64)

    def merge(self, first: Counts, second: Counts) -> Counts:
        return first + second


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
        example(records(size=20, metric=ChangeOneDistance()), -1, 1, bits=2),
    ],
)
def magnitude_counts(
    space: Space[Rows], least: int, most: int, *, bits: int = 0
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

    Returns:
        A vector of counts, from the most negative cell to the most positive one. There are
        2 (most - least) 2^bits + 1 of them, rounded up for each sign. A missing value is left out.
        Where the number of rows is public, it counts as 0.

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
    cells = _cells_of(lowest, highest, min(fine, _FINEST + 1))
    if fine > _FINEST or cells > _MOST_CELLS:
        raise ParameterError(
            f"magnitude_counts: these are more than {_MOST_CELLS} cells for each sign; use fewer "
            "bits, or exponents that are closer together"
        )
    require_one_column(space, "magnitude_counts")
    fixed = row_metric(space).fixed_size
    per_row = Norms.squared(*map(Fraction, (2, 2, 1) if fixed else (1, 1, 1)))
    treatment = FillEntries(np.zeros(1)) if fixed else LEAVE_OUT
    fold = Fold(MagnitudeFold(lowest, highest, fine), _as_grid, treatment)
    return fold_to_vector(space, Vectors(2 * cells + 1, 0), per_row, fold)
