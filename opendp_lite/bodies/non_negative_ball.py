"""Non-negative rows within a distance of the origin."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.body import SLACK, Body
from opendp_lite.bodies.bounds import Bounds, Values, largest, picked, smallest, to_floats
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.grid_rounding import GridRounding
from opendp_lite.engines.entries import Whole
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.layout import DENSE, Layout
from opendp_lite.engines.missing import FillEntries
from opendp_lite.errors import ParameterError
from opendp_lite.exact import described, sqrt_up
from opendp_lite.fields import initialise
from opendp_lite.norms import Norms
from opendp_lite.sketch import LINE, QUARTER, TRIANGLE, Sketch


@attrs.frozen(init=False, repr=False)
class NonNegativeBall(Body):
    """Rows without negative entries and with ``|| row / radius ||_p <= 1``.

    Args:
        radius: A number, or one for each column.
        p: Which norm, 1 or 2.
        columns: The number of columns, where the radius does not say it.

    Raises:
        ParameterError: If a radius is not above 0, or ``p`` is neither 1 nor 2.

    Proof:
        Two such rows have an inner product of at least 0. So the square of their l2 distance is at
        most the sum of their squared norms: sqrt(2) radii, not 2. By the inequality of Cauchy and
        Schwarz their l1 distance is at most sqrt(2) ``|| radius ||_2`` for p = 2. A column differs
        by at most the larger of two entries, one radius.

    Example:
        >>> NonNegativeBall(10).over(2).diameters()
        dp.Norms(l1=20.0, l2=14.142135623730951, linf=10.0)
    """

    ball: Ball
    columns: int

    def __init__(self, radius: Bounds, p: float = 2, columns: int = 1) -> None:
        if p not in (1, 2):
            raise ParameterError(f"NonNegativeBall: p must be 1 or 2, got {described(p)}")
        ball = Ball(radius, p, columns=columns)
        initialise(self, ball=ball, columns=ball.columns)

    @classmethod
    def _of(cls, ball: Ball) -> NonNegativeBall:
        return cls(ball.size, ball.p, ball.columns)

    def over(self, columns: int) -> NonNegativeBall:
        return self._of(self.ball.over(columns))

    def sketch(self) -> Sketch:
        return LINE if self.columns == 1 else QUARTER if self.ball.p == 2 else TRIANGLE

    def radii(self) -> Norms:
        return self.ball.radii()

    def diameters(self) -> Norms:
        if self.columns == 1:
            return self.radii()
        longest = largest(self.ball.size)
        across = 2 * longest if self.ball.p == 1 else sqrt_up(2 * self.ball.squares())
        return Norms.squared(across, 2 * longest * longest, longest)

    def bounds(self) -> tuple[Values, Values]:
        return (Fraction(0),), self.ball.size

    def centre(self) -> Values:
        """The origin. Lengths are measured from there."""
        return self.ball.centre()

    def filling(self) -> FillEntries:
        return self.ball.filling()

    def holds(self, rows: Floats) -> NDArray[np.bool_]:
        least = -SLACK * to_floats(self.ball.size)
        inside: NDArray[np.bool_] = np.all(rows >= least, axis=1) & self.ball.holds(rows)
        return inside

    def non_negative(self) -> bool:
        return True

    def shift(self, offset: Values) -> Ball:
        return self.ball.shift(offset)

    def scale(self, factor: Values) -> Body:
        scaled = self.ball.scale(factor)
        return self._of(scaled) if smallest(factor) > 0 else scaled

    def shrinks(self) -> bool:
        return True

    def total_range(self) -> tuple[Fraction, Fraction] | None:
        if self.columns == 1 or self.ball.p == 1:
            return Fraction(0), largest(self.ball.size)
        return None

    def select(self, columns: tuple[int, ...]) -> Body:
        kept = picked(self.ball.size, columns)
        if len(set(columns)) < len(columns):
            return Box(0, kept, len(columns))
        return NonNegativeBall(kept, self.ball.p, len(columns))

    def draw(self, generator: np.random.Generator, count: int) -> Floats:
        return np.abs(self.ball.draw(generator, count))

    def project(self, entries: Floats, layout: Layout = DENSE) -> Floats:
        return np.maximum(self.ball.project(entries, layout), 0.0)

    def keeps_zeros(self) -> bool:
        return True

    def exponent(self) -> int:
        return self.ball.exponent()

    def snapper(self) -> GridRounding:
        """As the ball's. Then entries below 0 become 0, in integers. This lengthens no row."""
        return _NotBelowZero(self.ball.snapper())

    def __repr__(self) -> str:
        return repr(self.ball).replace(".Ball", ".NonNegativeBall")


@attrs.frozen(eq=False, repr=False)
class _NotBelowZero(GridRounding):
    """As another rounding, with entries below 0 made 0."""

    ball: GridRounding

    @property
    def origin(self) -> int:  # type: ignore[override]
        return self.ball.origin

    @property
    def spares(self) -> bool:
        return self.ball.spares

    @property
    def by_column(self) -> bool:
        return self.ball.by_column

    @property
    def any_type(self) -> bool:
        return self.ball.any_type

    def into(self, block: Floats, out: Floats, spare: Floats) -> None:
        self.ball.into(block, out, spare)
        self._raise(out)

    def unless_missing(self, block: NDArray[Any], out: Floats, spare: Floats) -> bool:
        whole = self.ball.unless_missing(block, out, spare)
        self._raise(out)
        return whole

    def _raise(self, out: Floats) -> None:
        bits = out.view(np.int64)
        np.maximum(bits, self.origin, out=bits)

    def steps(self, entries: Floats, layout: Layout) -> Whole:
        return np.maximum(self.ball.steps(entries, layout), 0)
