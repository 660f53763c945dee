"""A variance from noisy sums of the values and of their squares, with an interval that holds."""

from __future__ import annotations

from math import hypot
from typing import Final

import attrs
import numpy as np

from opendp_lite.estimators.inference.noise_family import NoiseFamily
from opendp_lite.estimators.inference.parameters import Floats

_GRID: Final = 101
_MEANS: Final = 9
_HALVINGS: Final = 26
_FOR_MEAN: Final = 1 / 50
"""Of the intervals that may miss, those that may miss by the mean."""


@attrs.frozen(eq=False)
class NoisyMoments:
    """One release of sums of t and of t^2 - anchor over the rows, and of their number.

    Here t is (value - middle) / reach, between -1 and 1.

    Args:
        total: The noisy sum of t.
        squares: The noisy sum of t^2 - anchor.
        rows: The noisy or the public number.
        anchor: What was subtracted from every t^2.
        reach: A unit of t.
        widest: The width in which the values lie, in units of t.
        family: The noise of all three.
        scales: Its scales, in this order; 0 for a public number of rows.
    """

    total: float
    squares: float
    rows: float
    anchor: float
    reach: float
    widest: float
    family: NoiseFamily
    scales: tuple[float, float, float]

    @property
    def variance(self) -> float:
        """The estimate; what the noise adds to the square of the mean is subtracted."""
        return self._shown(self._variance)

    @property
    def standard_error(self) -> float:
        """Of the noise, to the first order; at most half of what a variance can be."""
        of_total, of_squares, of_rows = map(self.family.deviation, self.scales)
        mean = self._mean
        off = self._variance - self.anchor - mean**2
        noise = hypot(of_squares, 2 * mean * of_total, off * of_rows) / self._counted
        return self._shown(min(noise, self._largest / 2))

    def interval(self, confidence: float) -> tuple[float, float]:
        """All variances that fit the release; the estimate is among them.

        Proof:
            With the true mean m of t and the true variance v, the release has the pivot
            squares - rows (v - anchor) - 2 m total + rows m^2. It is a known combination of the
            noises, whatever the number of rows (Fieller 1954). The mean is taken from an
            interval that misses it a fiftieth as often. The pivot is least at the estimated mean,
            so this widens the interval by terms of the second order alone.
        """
        miss = (1 - confidence) * _FOR_MEAN
        means, level = self._means(miss), confidence + miss
        shown = self._variance
        points = np.unique(np.append(np.linspace(0, self._largest, _GRID), shown))
        fits = self._fit(points, means, level) | (points == shown)
        inside = np.flatnonzero(fits)
        first, last = int(inside[0]), int(inside[-1])
        ends = [points[first], points[last]]
        beyond = [points[max(first - 1, 0)], points[min(last + 1, len(points) - 1)]]
        for _ in range(_HALVINGS):
            middle = (np.array(ends) + beyond) / 2
            for side, good in enumerate(self._fit(middle, means, level)):
                (ends if good else beyond)[side] = middle[side]
        return self._shown(ends[0]), self._shown(ends[1])

    @property
    def _counted(self) -> float:
        return max(self.rows, 1.0)

    @property
    def _mean(self) -> float:
        return float(np.clip(self.total / self._counted, -1, 1))

    @property
    def _variance(self) -> float:
        noise = self.family.deviation(self.scales[0]) / self._counted
        square = max(self._mean**2 - noise**2, 0.0)
        found = self.anchor + self.squares / self._counted - square
        return float(np.clip(found, 0, self._largest))

    @property
    def _largest(self) -> float:
        """The variance of values at both ends of the width."""
        return (self.widest / 2) ** 2

    def _shown(self, variance: float) -> float:
        """In squares of the unit of the values, and no larger than it can be."""
        return min(float(variance) * self.reach**2, (self.widest * self.reach / 2) ** 2)

    def _means(self, miss: float) -> Floats:
        """Means of t among which the true one is, but for this share of releases."""
        far, off = (
            self.family.exceeded(scale, miss / 4) for scale in (self.scales[0], self.scales[2])
        )
        if self.rows <= off:
            return np.linspace(-1.0, 1.0, _MEANS)
        sums = np.array([self.total - far, self.total + far])
        counts = self.rows + off * np.sign(sums) * np.array([1, -1])
        low, high = np.clip(sums / counts, -1, 1).tolist()
        return np.append(np.linspace(low, high, _MEANS), self._mean)

    def _fit(self, variances: Floats, means: Floats, level: float) -> Floats:
        """Whether each variance fits the release with one of the means."""
        of_total, of_squares, of_rows = self.scales
        fits = np.zeros(len(variances), dtype=bool)
        for mean in means:
            off = variances - self.anchor - mean**2
            gap = self.squares - self.rows * off - 2 * mean * self.total
            errors = self.family.errors(
                np.array([of_squares, 2 * mean * of_total, 0.0]), np.array([0.0, 0.0, of_rows])
            )
            fits |= 2 * errors.below(off, np.abs(gap)) - 1 <= level
        return fits
