"""A variance from noisy sums of the values and of their squares, with an interval that holds."""

from __future__ import annotations

from math import hypot, sqrt
from typing import Final

import attrs
import numpy as np

from opendp_lite.estimators.parts.budget import Budget
from opendp_lite.estimators.parts.noisy_totals import Floats
from opendp_lite.estimators.parts.value_search import Beyond, Unseen

_GRID: Final = 101
_MEANS: Final = 9
_HALVINGS: Final = 26
# How often noise alone shows so many rows, where a release says nothing of the mean.
_ROWS_DOUBTED: Final = 0.001
# The square of Student's 95 % point over the normal's is about 1 + 2.5 / n.
_FEW: Final = 2.5
# How often Gaussian noise is more than one deviation above its mean.
_ONE_DEVIATION: Final = 0.16
# The standard deviation of the square of a noise over its mean: sqrt(2) for Gaussian noise, and
# sqrt(5) for Laplace noise.
_SQUARED: Final = 2.0


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
        budget: Of the kind of noise of all three.
        scales: Its scales, in this order; 0 for a public number of rows.
        spread: The standard deviation of (t - mean)^2, where the rows are taken for a sample.
        unseen: What is known of values that may lie beyond the reach, where no spread was found.
        possible: The largest variance of all values, in the square of their unit.
        beyond: What is known of values beyond the limits to which they were clipped.
        middle: From where these limits are seen, less what was subtracted of the values.
    """

    total: float
    squares: float
    rows: float
    anchor: float
    reach: float
    widest: float
    budget: Budget
    scales: tuple[float, float, float]
    spread: float = 0.0
    unseen: Unseen | None = None
    possible: float = 0.0
    beyond: tuple[Beyond, ...] = ()
    middle: float = 0.0

    @property
    def variance(self) -> float:
        """The estimate; what the noise adds to the square of the mean is subtracted."""
        return self._show(self._variance)

    @property
    def standard_error(self) -> float:
        """To the first order; at most half of what a variance can be.

        Where no spread was found, it is what one deviation of noise allows for.
        """
        of_total, of_squares, of_rows = map(self.budget.deviation_at, self.scales)
        mean = self._mean
        off = self._variance - self.anchor - mean**2
        noise = hypot(of_squares, 2 * mean * of_total, off * of_rows) / self._people
        both = hypot(noise, self.spread / sqrt(self._people))
        shown = self._show(min(both, self._largest / 2))
        if self.unseen is None:
            return shown
        return max(shown, self._with(self.unseen, _ONE_DEVIATION))

    @property
    def centre(self) -> float:
        """The estimated mean, in the unit of the values, from what was subtracted of them."""
        return self._mean * self.reach

    def with_spread(self, squares: float) -> NoisyMoments:
        """For a sample, with the mean square of (value - mean)^2 - variance, noisily."""
        most = self._largest * self.reach**2
        few = 1 + _FEW / self._people
        spread = min(sqrt(max(squares, 0.0) * few), most) / self.reach**2
        return attrs.evolve(self, spread=spread)

    def interval(self, confidence: float) -> tuple[float, float]:
        """All variances that fit the release; the estimate is among them.

        Proof:
            With the true mean m of t and the true variance v, the release has the pivot
            squares - rows (v - anchor) - 2 m total + rows m^2. It is a known combination of the
            noises, whatever the number of rows (Fieller 1954). At the estimated mean it is less by
            rows times the square of the mean's error. The expectation of that is added, and its
            deviation is added to that of the noise. Where noise hides the rows, and so the mean,
            all variances are taken that fit with any mean. For a sample the deviation also has the
            sum of (t - m)^2 - v, which is as large for a variance v as the estimated spread.
            Where no spread was found, rows may lie unseen up to the bounds. The variance is at
            most the sum of all squared distances from the median over the number of rows. The
            interval then goes from 0 to what noisy numbers of rows in rings and of rows allow for
            that, each with half of the probability of an error.
        """
        shown = self._variance
        points = np.unique(np.append(np.linspace(0, self._largest, _GRID), shown))
        fits = self._fit(points, confidence) | (points == shown)
        inside = np.flatnonzero(fits)
        first, last = int(inside[0]), int(inside[-1])
        ends = [points[first], points[last]]
        beyond = [points[max(first - 1, 0)], points[min(last + 1, len(points) - 1)]]
        for _ in range(_HALVINGS):
            middle = (np.array(ends) + beyond) / 2
            for side, good in enumerate(self._fit(middle, confidence)):
                (ends if good else beyond)[side] = middle[side]
        low, high = self._show(ends[0]), self._show(ends[1])
        if self.unseen is None:
            return low, high
        return 0.0, max(high, self._with(self.unseen, (1 - confidence) / 2))

    def wide_interval(self, confidence: float) -> tuple[float, float]:
        """All variances of values that were not clipped, which fit the release and thin tails.

        Proof:
            Clipping brings any two values closer or leaves their distance, and a variance is half
            of the mean squared distance of two: so clipped values never have the larger one, and
            the lower end of an interval for theirs holds. The variance of all values is at most
            their mean squared distance from the mean of the clipped ones. That is the variance of
            the clipped ones and what clipping takes off (``Beyond.most``). Half of the probability
            of an error is that of the interval for the clipped values, the rest that of both sides.
        """
        low, high = self.interval((1 + confidence) / 2)
        if self.unseen is not None:
            return self.interval(confidence)
        mean, share = self.centre - self.middle, (1 - confidence) / 4
        moved = sum(each.most(mean, share) for each in self.beyond) / self._people
        return low, min(high + moved, self.possible)

    def _with(self, unseen: Unseen, share: float) -> float:
        """What the variance of all values exceeds with at most twice this probability."""
        fewest = self.rows - self.budget.exceeded(self.scales[2], share)
        return min(unseen.most(share) / max(fewest, 1.0), self.possible)

    @property
    def _people(self) -> float:
        return max(self.rows, 1.0)

    @property
    def _mean(self) -> float:
        return float(np.clip(self.total / self._people, -1, 1))

    @property
    def _variance(self) -> float:
        noise = self.budget.deviation_at(self.scales[0]) / self._people
        square = max(self._mean**2 - noise**2, 0.0)
        found = self.anchor + self.squares / self._people - square
        return float(np.clip(found, 0, self._largest))

    @property
    def _largest(self) -> float:
        """The variance of values at both ends of the width."""
        return (self.widest / 2) ** 2

    def _show(self, variance: float) -> float:
        """In squares of the unit of the values, and no larger than it can be."""
        return min(float(variance) * self.reach**2, (self.widest * self.reach / 2) ** 2)

    def _fit(self, variances: Floats, confidence: float) -> Floats:
        """Whether each variance fits the release."""
        hidden = self.rows <= self.budget.exceeded(self.scales[2], _ROWS_DOUBTED)
        means = np.linspace(-1.0, 1.0, _MEANS) if hidden else [self._mean]
        fits = np.zeros(len(variances), dtype=bool)
        for mean in means:
            fits |= self._fit_with(variances, float(mean), 0.0 if hidden else 1.0) <= confidence
        return fits

    def _fit_with(self, variances: Floats, mean: float, estimated: float) -> Floats:
        """The confidence at which each variance just fits with a mean."""
        of_total, of_squares, of_rows = self.scales
        off = variances - self.anchor - mean**2
        both = self.budget.deviation_at(hypot(of_total, mean * of_rows))
        doubt = estimated * both**2 / self._people
        gap = self.squares - self.rows * off - 2 * mean * self.total + doubt
        errors = self.budget.errors([of_squares, 2 * mean * of_total, 0.0], [0.0, 0.0, of_rows])
        noise = errors.deviation(off)
        width = np.hypot(np.hypot(noise, _SQUARED * doubt), self.spread * sqrt(self._people))
        return 2 * errors.below(off, np.abs(gap) * (noise / width)) - 1
