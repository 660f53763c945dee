"""The body that bounds nothing."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.body import Body
from opendp_lite.bodies.bounds import Values, some_columns
from opendp_lite.bodies.grid_rounding import GridRounding
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.layout import DENSE, Layout
from opendp_lite.errors import SpaceError
from opendp_lite.norms import Norms
from opendp_lite.sketch import PLANE, Sketch


@attrs.frozen(repr=False)
class Everything(Body):
    """Rows of any values, with missing values and infinities.

    Args:
        columns: The number of columns.

    Example:
        >>> Everything(2).radius(1)
        inf
    """

    columns: int = attrs.field(default=1, converter=some_columns)

    def over(self, columns: int) -> Everything:
        return Everything(columns)

    def sketch(self) -> Sketch:
        return PLANE

    def radii(self) -> Norms | None:
        return None

    def diameters(self) -> Norms | None:
        return None

    def bounds(self) -> None:
        return None

    def centre(self) -> None:
        return None

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        return np.ones(len(rows), dtype=np.bool_)

    def shift(self, offset: Values) -> Everything:
        return self

    def scale(self, factor: Values) -> Everything:
        return self

    def select(self, columns: tuple[int, ...]) -> Everything:
        return Everything(len(columns))

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        wild = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            5e-324,
            -1e-310,
            1e308,
            -1e308,
            np.nan,
            -np.nan,
            np.inf,
            -np.inf,
            0.1,
        ]
        spread = generator.standard_normal((count, self.columns)) * 10.0 ** generator.integers(
            -5, 6, (count, self.columns)
        )
        odd = generator.choice(wild, (count, self.columns))
        return np.where(generator.random((count, self.columns)) < 0.4, odd, spread)

    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        return entries

    def exponent(self) -> int:
        raise SpaceError("rows of any values lie on no grid; clamp() them first")

    def snapper(self) -> GridRounding:
        raise SpaceError("rows of any values lie on no grid; clamp() them first")

    def __repr__(self) -> str:
        return (
            "dp.bodies.Everything()"
            if self.columns == 1
            else f"dp.bodies.Everything({self.columns})"
        )
