"""How one of several noisy totals errs, whose sum tells the number of rows."""

from __future__ import annotations

from math import sqrt
from typing import Final

import attrs
import numpy as np

from opendp_lite.estimators.inference.joint_noise import Drawn, JointNoise, normal_below
from opendp_lite.estimators.inference.parameters import Floats

_ONE_NODES: Final = 100
_OTHER_NODES: Final = 40
_LARGEST_ROOT: Final = 6.5
_AROUND: Final = 4.5


@attrs.frozen(eq=False)
class SharedLaplace(JointNoise):
    """The noise of a total less its share of the rows, and of the rows.

    Of m totals with independent Laplace noises z of one ``scale``, which come to ``width`` times
    the rows: (z_1 - (z_1 + ... + z_m) / m, (z_1 + ... + z_m) / width), which are uncorrelated.
    """

    scale: float
    count: int
    width: float

    @property
    def total_deviation(self) -> float:
        return self.scale * sqrt(2 * (self.count - 1) / self.count)

    @property
    def rows_deviation(self) -> float:
        return self.scale * sqrt(2 * self.count) / self.width

    def below(self, theta: Floats, gap: Floats) -> Floats:
        """Of (1 - a) z_1 - a (z_2 + ... + z_m), where a is the theta from 0 over the width.

        Proof:
            Laplace noise is a normal whose variance is twice an exponential. So the whole is one
            whose variance is twice (1 - a)^2 E + a^2 G, with E of Gamma(1) and G of Gamma(m - 1).
            Their roots have smooth densities, so sums over even steps will do.
        """
        share = np.asarray(theta)[..., None, None] / self.width + 1 / self.count
        one, of_one = _roots(1, 0.0, _LARGEST_ROOT, _ONE_NODES)
        middle = sqrt(self.count - 1)
        ends = max(middle - _AROUND, 0.0), middle + _AROUND
        others, of_others = _roots(self.count - 1, *ends, _OTHER_NODES)
        variance = ((1 - share) * one[:, None]) ** 2 + (share * others) ** 2
        scores = np.asarray(gap)[..., None, None] / (self.scale * np.sqrt(2 * variance))
        found: Floats = np.einsum("...ij,i,j->...", normal_below(scores), of_one, of_others)
        return found

    def draw(self, runs: int, generator: np.random.Generator) -> Drawn:
        noises = generator.laplace(scale=self.scale, size=(runs, self.count))
        whole = noises.sum(axis=1)
        return noises[:, 0] - whole / self.count, whole / self.width


def _roots(shape: int, low: float, high: float, count: int) -> tuple[Floats, Floats]:
    """Places in even steps, and how likely the root of a gamma variate is to be there."""
    step = (high - low) / count
    places: Floats = low + step * np.arange(0.5, count)
    logs = (2 * shape - 1) * np.log(places) - places**2
    weights: Floats = np.exp(logs - logs.max())
    return places, weights / weights.sum()
