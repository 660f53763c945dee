"""Rows turned so that no column stands out."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.everything import Everything
from opendp_lite.core import Transformation
from opendp_lite.domains import Rows
from opendp_lite.engines.fold import Floats
from opendp_lite.exact import whole
from opendp_lite.examples import example
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.row_map import plain_nan, row_map_trusted

_ROUNDS = 3


class Rotation:
    """Three times: random signs, then the Walsh-Hadamard transform, over 2^k columns.

    The additions are elementwise and in a fixed order, so a row's image depends on the row alone.

    Example:
        >>> import numpy as np
        >>> import opendp_lite as dp
        >>> rotation = dp.transformations.Rotation(3, seed=1)
        >>> turned = rotation.forward(np.array([[1.0, 2.0, 3.0]]))
        >>> turned.shape, rotation.back(turned[0]).round(6)
        ((1, 4), array([1., 2., 3.]))
    """

    def __init__(self, columns: int, seed: int) -> None:
        self.columns = columns
        self.width = 1 << (columns - 1).bit_length()
        self._seed = seed

    @cached_property
    def _signs(self) -> Floats:
        generator = np.random.Generator(np.random.PCG64(self._seed))
        return generator.choice([-1.0, 1.0], (_ROUNDS, self.width, 1))

    def forward(self, block: Floats) -> Floats:
        """The rotated rows."""
        upright = np.zeros((self.width, len(block)))
        upright[: self.columns] = block.T
        for signs in self._signs:
            upright = self._transformed(upright * signs)
        return plain_nan(upright).T

    def back(self, row: Floats) -> Floats:
        """A row of the rotated space in the columns it came from."""
        upright = np.array(row, dtype=np.float64).reshape(self.width, 1)
        for signs in self._signs[::-1]:
            upright = self._transformed(upright) * signs
        return upright[: self.columns, 0]

    def _transformed(self, upright: Floats) -> Floats:
        half, rows = 1, upright.shape[1]
        while half < self.width:
            pairs = upright.reshape(self.width // (2 * half), 2, half, rows)
            both = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1)
            upright = both.reshape(self.width, rows)
            half *= 2
        found: Floats = upright / np.sqrt(self.width)
        return found


@example(records(columns=3), seed=5)
@stage
def random_rotation(space: Space[Rows], seed: int = 0) -> Transformation[Space[Rows], Space[Rows]]:
    """Rotates every row by a public random rotation, so that no column stands out.

    ``Rotation(columns, seed).back`` undoes the rotation in a release.

    Args:
        seed: The seed of the rotation, a whole number. It is public and need not be secret.

    Returns:
        Rows of 2^k columns, the least power of two that is enough, with the same l2 norm. All
        entries of a row with a missing entry are missing.

    Raises:
        ParameterError: If ``seed`` is no whole number of at least 0.

    Stability:
        ``d_out = d_in`` under either row metric.

    Proof:
        Row by row (``row_map``), by elementwise additions in a fixed order. The entries of a
        rotated row are of about one size (Ailon and Chazelle 2009).

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rotation = dp.records(columns=3) >> dp.transformations.random_rotation()
        >>> rotated = rotation(np.array([[3.0, 0.0, 4.0]]))
        >>> rotated.shape, round(float(np.linalg.norm(rotated)), 6)
        ((1, 4), 5.0)
    """
    turn = Rotation(space.domain.columns, whole(seed, "seed"))
    radii = space.domain.body.radii()
    longest = None if radii is None else radii.of(2)
    body = Ball(longest, columns=turn.width) if longest else Everything(turn.width)
    return row_map_trusted(space, turn.forward, body)
