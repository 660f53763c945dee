"""The lift that owns the row-by-row proof."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.body import Body
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.rows import map_rows
from opendp_lite.errors import SpaceError
from opendp_lite.spaces import Space, row_metric

Floats = NDArray[np.float64]


def plain_nan(rows: Floats) -> Floats:
    """The rows, changed in place, with every NaN the usual one, with a clear sign bit.

    Because: which of two NaN an operation keeps may depend on where in a block they stand, and
    ``clamp`` sends NaN to one bound or the other by their sign.
    """
    rows[np.isnan(rows)] = np.nan
    return rows


@attrs.frozen
class RowByRow:
    """A person's block function, held to what ``row_map`` asks of it."""

    function: Callable[[Floats], Floats]
    columns: int
    drops: bool

    def __call__(self, block: Floats) -> Floats:
        rows = np.array(self.function(block.copy()), dtype=np.float64)
        fits = rows.ndim == 2 and rows.shape[1] == self.columns
        dropped = len(block) - len(rows)
        if not fits or dropped < 0 or (dropped and not self.drops):
            count = "at most as many rows" if self.drops else "as many rows"
            raise SpaceError(
                f"row_map: the function must give an array of {count} as it got and of "
                f"{self.columns} columns; say drops=True where it leaves rows out"
            )
        return plain_nan(rows)


def row_map(
    space: Space[Rows],
    function: Callable[[Floats], Floats],
    body: Body,
    names: tuple[str, ...] | None = None,
    *,
    drops: bool = False,
) -> Transformation[Space[Rows], Space[Rows]]:
    """A transformation that treats each row by itself.

    Takes: ``function``, from a block of shape (rows, columns) to one of shape
        (rows, body.columns); what it makes of a row may depend on that row alone, not on its
        position or its neighbours, to the last bit: elementwise operations do, a matrix product
        or a sum along rows may not. It must not raise. The block is a copy, its to change; for
        large arrays several threads call it at once. ``body``, where the new rows lie; ``drops``,
        whether the function leaves some rows out, which a metric of fixed size refuses with
        ``SpaceError``.
    Gives: rows in ``body``; every NaN is the usual one, with a clear sign bit.
    Moves: d_in rows move at most d_in rows, for every metric between datasets.
    Because: a row that is in both datasets has the same image in both, so the images differ in at
        most as many rows. A sum enforces the body in integers whatever the floats did.

    >>> import opendp_lite as dp, numpy as np
    >>> Tables = dp.Space[dp.Rows]
    >>> @dp.stage
    ... def root(space: Tables) -> dp.Transformation[Tables, Tables]:
    ...     return dp.row_map(space, np.sqrt, dp.Box(0, 10))
    >>> (dp.clamp(0, 100) >> root())([4.0, 9.0])
    array([2., 3.])
    """
    if drops and row_metric(space).fixed_size:
        raise SpaceError(
            f"row_map: leaving rows out changes their number, which {space.metric!r} holds fixed"
        )
    return lifted(space, RowByRow(function, body.columns, drops), body, names)


def lifted(
    space: Space[Rows],
    function: Callable[[Floats], Floats],
    body: Body,
    names: tuple[str, ...] | None = None,
) -> Transformation[Space[Rows], Space[Rows]]:
    """As ``row_map``, for the functions of this package, which are known to keep its rules."""
    domain = attrs.evolve(space.domain, columns=body.columns, body=body, names=names)
    return Transformation(
        space,
        Space(domain, space.metric, unit=space.unit),
        lambda rows: map_rows(rows, function),
        _identity,
    )


def _identity(distance: Any) -> Any:
    return distance
