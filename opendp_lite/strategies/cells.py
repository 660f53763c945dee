"""Cells of one width between public bounds."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import attrs
import numpy as np

from opendp_lite.bases.basis import edges_between, lower_bound, upper_bound
from opendp_lite.engines.fold import Floats
from opendp_lite.errors import ParameterError
from opendp_lite.exact import Number, described, format_number, nearest, whole

_MOST: Final = 4096


def _nearest_edges(ends: tuple[Fraction, Fraction], count: int, close: Floats) -> Floats:
    """The floats nearest to the edges, so that a whole number at one is not a float beyond it.

    Where cells are about as narrow as floats and two edges fall together, floats close to them.
    """
    width = (ends[1] - ends[0]) / count
    edges = np.array([nearest(ends[0] + place * width) for place in range(count + 1)])
    return edges if (np.diff(edges) > 0).all() else close


@attrs.frozen(eq=False)
class Cells:
    """So many cells of one width between two bounds, and one for the lower bound alone.

    A number at an edge belongs to the cell below that edge, and one beyond the bounds counts at the
    bound. So the first cell holds the numbers up to the lower bound, and the cells up to an edge
    hold the numbers up to that edge, for each edge.

    Args:
        ends: The bounds.
        edges: The rising edges, as many as cells with the first.
    """

    ends: tuple[Fraction, Fraction]
    edges: Floats

    @classmethod
    def between(cls, step: str, lower: Number, upper: Number, cells: int) -> Cells:
        """Refuses bounds that make no such cells, in the name of a step."""
        count = whole(cells, f"{step}: cells", least=1)
        if count > _MOST:
            raise ParameterError(
                f"{step}: cells must be at most {_MOST}, got {described(count)}; shares between "
                "two edges are interpolated"
            )
        ends = lower_bound(lower), upper_bound(upper)
        close = edges_between(step, ends, np.linspace(0, 1, count + 1))
        return cls(ends, _nearest_edges(ends, count, close))

    @property
    def middles(self) -> Floats:
        """The number that each cell stands for."""
        edges = self.edges
        return np.concatenate([edges[:1], (edges[1:] + edges[:-1]) / 2])

    @property
    def centre(self) -> Floats:
        """Halfway between the bounds, as an array of one number."""
        return np.array([float((self.ends[0] + self.ends[1]) / 2)])

    def __str__(self) -> str:
        lower, upper = map(format_number, self.ends)
        return f"{len(self.edges) - 1} cells from {lower} to {upper}"
