"""A mean from a noisy total and a noisy number of rows, with an interval that holds."""

from __future__ import annotations

from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.estimators.inference.joint_noise import JointNoise, normal_score, normal_within
from opendp_lite.estimators.inference.parameters import Floats

_GRID: Final = np.arange(100) / 100
_OCTAVES: Final = np.arange(-16, 15) / 8
_NEAR: Final = np.outer([-1, 1], 2.0 ** (_OCTAVES * np.abs(_OCTAVES))).reshape(-1)
"""In half widths of the usual interval: most ends lie near one, on either side."""
_STEPS: Final = np.arange(33)[:, None] / 32
_ROUNDS: Final = 6
_FINE: Final = 1e-3
"""The brackets of the ends, in widths of the interval. A straight line between them gives the end:
mostly to less than a millionth, which is far less than a release shows."""
_SIDES: Final = np.arange(2)
_NO_ROW: Final = 0.5
_TINY: Final = 1e-300
RIDGE: Final = 0.25
"""Brings a mean towards the middle where noise hides whether there are rows. More of it errs less
for means near the middle, and more for means near a bound. At 1/4 no mean loses 3 %."""


@attrs.frozen(eq=False)
class RatioOfNoisySums:
    """The mean of values in [lower, upper] from a total of (x - about) and the rows.

    Args:
        lower: The bounds of the mean.
        upper: As ``lower``.
        about: The number that was subtracted from each value.
        errors: The noise of the total and of the rows.
        least: Fewer rows count as that many.
        ridge: Brings the ratio towards ``about`` where the noise hides whether there are rows, by
            ridge * variance of the rows over their square.
    """

    lower: float
    upper: float
    about: float
    errors: JointNoise
    least: float = 1.0
    ridge: float = 0.0

    def mean(self, total: Any, rows: Any) -> Floats:
        """The estimate, one for each release."""
        counted = np.maximum(rows, self.least)
        shrunk = counted * counted + self.ridge * self.errors.rows_deviation**2
        return self._in_bounds(self.about + total * (counted / shrunk))

    def standard_error(self, total: Any, rows: Any, spread: Any = 0.0) -> Floats:
        """Of the noise, to the first order; at most half the width, as knowing nothing is.

        ``spread`` is the standard deviation of the values where the people are taken for a sample.
        """
        half = (self.upper - self.lower) / 2
        counted = np.maximum(rows, self.least)
        noise = self.errors.deviation(self.mean(total, rows) - self.about) / counted
        both = np.minimum(np.hypot(noise, spread / np.sqrt(counted)), half)
        found: Floats = np.where(rows < _NO_ROW * self.least, half, both)
        return found

    def interval(
        self, total: float, rows: float, confidence: float, spread: float = 0.0
    ) -> tuple[float, float]:
        """All means that fit the release.

        Args:
            total: Of one release.
            rows: Of the same release.
            confidence: Such as 0.95.
            spread: The standard deviation of the values, where the rows are taken for a sample.

        Returns:
            The ends. The interval is never empty.

        Proof:
            For a mean theta, total - rows (theta - about) has the law of the noise, whatever the
            number of rows (Fieller 1954). Gaps are ordered by likelihood (Feldman and Cousins
            1998): the mean lies in the bounds, so a gap beyond them says nothing against it.
        """
        best = self._in_bounds(self.about + total / max(rows, self.least))
        shown = self.mean(total, rows)
        usual: Any = normal_score((1 + confidence) / 2) * self.standard_error(total, rows, spread)
        near = self._in_bounds(shown + usual * _NEAR)
        grid = self.lower + (self.upper - self.lower) * _GRID
        points = np.sort(np.concatenate([grid, near, [self.upper, best, shown]]))
        held = self.held(points, total, rows, spread)
        held[(points == best) | (points == shown)] = 0
        inside = np.flatnonzero(held <= confidence)
        first, last = inside[0], inside[-1]
        places = np.array([[first, last], [max(first - 1, 0), min(last + 1, len(points) - 1)]])
        ends, levels = points[places], held[places]
        for _ in range(_ROUNDS):
            apart = ends[1] - ends[0]
            if max(-apart[0], apart[1]) <= _FINE * (ends[1, 1] - ends[1, 0]):
                break
            between = ends[0] + apart * _STEPS
            between[-1] = ends[1]
            held = self.held(between, total, rows, spread)
            held[[0, -1]] = levels
            last = np.argmin(held[1:] <= confidence, axis=0)
            places = np.array([last, last + 1])
            ends, levels = between[places, _SIDES], held[places, _SIDES]
        rise = np.maximum(levels[1] - levels[0], _TINY)
        share = np.minimum((confidence - levels[0]) / rise, 1)
        low, high = self._in_bounds(ends[0] + (ends[1] - ends[0]) * share).tolist()
        return low, high

    def fits(
        self, theta: Floats, total: Any, rows: Any, confidence: float, spread: Any = 0.0
    ) -> Any:
        """Whether each theta fits a release; or one theta each of many releases."""
        return self.held(theta, total, rows, spread) <= confidence

    def held(self, theta: Floats, total: Any, rows: Any, spread: Any = 0.0) -> Floats:
        """The least confidence at which each theta fits a release, or one theta each of many."""
        offset = theta - self.about
        deviation = np.maximum(self.errors.deviation(offset), _TINY)
        counted = np.maximum(self._rows_given(offset, deviation, total, rows), self.least)
        width = np.hypot(deviation, spread * np.sqrt(counted))
        scores = self.errors.scores(offset, (total - rows * offset) * (deviation / width))
        scale = counted / width
        return _held_before(scores, (self.upper - theta) * scale, (theta - self.lower) * scale)

    def _rows_given(self, offset: Floats, deviation: Floats, total: Any, rows: Any) -> Any:
        """The best guess at the rows for a known mean: it says nothing about the gap."""
        of_total = self.errors.total_deviation / deviation
        of_rows = self.errors.rows_deviation / deviation
        return offset * of_rows * (total * of_rows) + rows * (of_total * of_total)

    def _in_bounds(self, theta: Any) -> Floats:
        found: Floats = np.minimum(np.maximum(theta, self.lower), self.upper)
        return found


def _held_before(scores: Floats, up: Floats, down: Floats) -> Floats:
    """How likely a normal of mean 0 comes before each score, ordered by likelihood.

    The mean is known to lie within ``up`` above and ``down`` below 0, in deviations. A score z
    beyond ``up`` is compared with the mean at ``up``: its level is z^2 - (z - up)^2. Scores of a
    lower level come before it: on either side of 0 as far as ``room`` and the level say.
    """
    size = np.abs(scores)
    within = np.minimum(size, np.where(scores > 0, up, down))
    level = within * (2 * size - within)
    room = np.maximum(np.minimum(np.sqrt(level), [up, down]), _TINY)
    sides = normal_within((level / room + room) / 2)
    found: Floats = (sides[0] + sides[1]) / 2
    return found
