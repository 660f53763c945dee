"""How one entry of a total errs under noise on all of them together, with the number of rows."""

from __future__ import annotations

from functools import cached_property
from math import sqrt
from typing import Final

import attrs
import numpy as np

from opendp_lite.estimators.inference.joint_noise import Drawn, JointNoise
from opendp_lite.estimators.inference.parameters import Floats

_CORES: Final = 240
_CROSSINGS: Final = 32
_TABLE: Final = 4001
_AROUND: Final = 10.0
_BEYOND: Final = 45.0


@attrs.frozen(eq=False, slots=False)
class JointBall(JointNoise):
    """The noise (s, k) of an entry and of the rows: s = reach c B, k = (c + stretch) V per_row.

    B is an entry of a point in the unit ball of that many ``columns``, V lies in (-1, 1), both
    uniform; the density of c is in proportion to c^columns e^-c (c + stretch). ``reach`` is the
    radius over epsilon, ``per_row`` is 1 / epsilon. Where the rows are public, ``alone``: c is of
    Gamma(columns + 1), and k is 0.
    """

    reach: float
    columns: int
    per_row: float
    stretch: float

    @classmethod
    def alone(cls, reach: float, columns: int) -> JointBall:
        """Noise on the total without a count (``l2_mechanism``)."""
        return cls(reach, columns, 0.0, float("inf"))

    @cached_property
    def _cores(self) -> tuple[Floats, Floats]:
        """Places of c in even steps, and their weights."""
        d = self.columns
        low = max(0.0, d + 1 - _AROUND * sqrt(d + 1))
        step = (d + 2 + _AROUND * sqrt(d + 2) + _BEYOND - low) / _CORES
        places: Floats = low + step * np.arange(0.5, _CORES)
        longer = 1.0 if not self.per_row else places + self.stretch
        logs = d * np.log(places) - places
        weights: Floats = np.exp(logs - logs.max()) * longer
        return places, weights / weights.sum()

    @cached_property
    def _shadow(self) -> tuple[Floats, Floats]:
        """The law of an entry of a point in the ball: places, and the probability below them."""
        places = np.linspace(-1.0, 1.0, _TABLE)
        density = np.maximum(1 - places**2, 0.0) ** ((self.columns - 1) / 2)
        steps = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
        return places, steps / steps[-1]

    def _half_widths(self, cores: Floats) -> Floats:
        """How far the count is off at most, for each c."""
        return self.per_row * (cores + self.stretch) if self.per_row else np.zeros_like(cores)

    @property
    def total_deviation(self) -> float:
        cores, weights = self._cores
        return self.reach * sqrt(float(weights @ cores**2) / (self.columns + 2))

    @property
    def rows_deviation(self) -> float:
        cores, weights = self._cores
        return sqrt(float(weights @ self._half_widths(cores) ** 2) / 3)

    def below(self, theta: Floats, gap: Floats) -> Floats:
        """The integral over c and V of the law of B."""
        cores, weights = self._cores
        crossings, of_crossings = np.polynomial.legendre.leggauss(_CROSSINGS if self.per_row else 1)
        wide = np.asarray(theta)[..., None, None] * self._half_widths(cores)[:, None] * crossings
        inside = (np.asarray(gap)[..., None, None] + wide) / (self.reach * cores[:, None])
        below = np.interp(inside, *self._shadow)
        found: Floats = np.einsum("...ij,i,j->...", below, weights, of_crossings / 2)
        return found

    def draw(self, runs: int, generator: np.random.Generator) -> Drawn:
        cores, weights = self._cores
        core = generator.choice(cores, runs, p=weights)
        places, below = self._shadow
        entry = np.interp(generator.random(runs), below, places)
        return self.reach * core * entry, self._half_widths(core) * generator.uniform(-1, 1, runs)
