"""How many rows there are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from opendp_lite.bodies.body import Projection
from opendp_lite.core import Transformation, stage
from opendp_lite.domains import Rows, Scalars
from opendp_lite.engines.fold import Block, Floats, Fold, Scratch
from opendp_lite.engines.rows import fold
from opendp_lite.engines.sparse import SparseRows
from opendp_lite.errors import SpaceError
from opendp_lite.metrics import AbsoluteDistance
from opendp_lite.norms import Norms
from opendp_lite.spaces import Space, row_metric


class CountFold(Fold[int]):
    """Adds up the lengths of blocks."""

    def empty(self) -> int:
        return 0

    def summarise(self, block: Floats, scratch: Scratch) -> int:
        return len(block)

    def on_sparse(self, rows: SparseRows) -> int:
        return len(rows)

    def merge(self, first: int, second: int) -> int:
        return first + second

    def fuses_with(self, function: Block) -> bool:
        return type(function) is Projection


def _as_steps(count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array([count], dtype=np.int64)


def _moved(distance: Fraction) -> Norms:
    return Norms(l1=distance)


@stage
def count(space: Space[Rows]) -> Transformation[Space[Rows], Space[Scalars]]:
    """Counts the rows.

    Takes: rows under ``SymmetricDistance``; under ``ChangeOneDistance`` the number is public
        already and ``SpaceError`` says so.
    Gives: one whole number.
    Moves: d_in rows added or removed change it by d_in.
    Because: every row counts as one, whatever it holds.

    >>> import opendp_lite as dp
    >>> dp.count()([5.0, float("nan"), 7.0])
    3
    """
    if row_metric(space).fixed_size:
        raise SpaceError(
            f"count: the number of rows is public, it was declared as size={space.domain.size}; "
            "use that number, or SymmetricDistance() where it is private"
        )
    return Transformation(
        space,
        Space(Scalars(0), AbsoluteDistance(), unit=_moved(space.unit)),
        lambda rows: fold(rows, CountFold(), _as_steps),
        _moved,
    )
