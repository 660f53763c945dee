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
from opendp_lite.spaces import Space

Floats = NDArray[np.float64]


def row_map(
    space: Space[Rows],
    function: Callable[[Floats], Floats],
    body: Body,
    names: tuple[str, ...] | None = None,
) -> Transformation[Space[Rows], Space[Rows]]:
    """A transformation that treats each row by itself.

    Takes: ``function``, from a block of shape (rows, columns) to one of shape
        (rows, body.columns); its row i may depend on row i alone, not on its position or its
        neighbours; ``body``, where the new rows lie. The block must not be written to.
    Gives: rows in ``body``, as many as there were, or fewer where ``function`` leaves some out.
    Moves: d_in rows move d_in rows, for every metric between datasets.
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
    domain = attrs.evolve(space.domain, columns=body.columns, body=body, names=names)
    return Transformation(
        space,
        Space(domain, space.metric, unit=space.unit),
        lambda rows: map_rows(rows, function),
        _identity,
    )


def _identity(distance: Any) -> Any:
    return distance
