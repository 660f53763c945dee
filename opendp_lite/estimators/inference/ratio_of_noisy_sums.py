"""A mean from a noisy total and a noisy number of rows, with an interval that holds."""

from __future__ import annotations

from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.estimators.inference.joint_noise import JointNoise, normal_below
from opendp_lite.estimators.inference.parameters import Floats

_GRID: Final = 101
_ROUNDS: Final = 7
_STEPS: Final = np.arange(17)[:, None] / 16
"""Sixteenths of a hundredth of the width, so many times over: less than 1e-10 of it, which is far
less than a release shows."""
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
        found: Floats = np.clip(self.about + total * (counted / shrunk), self.lower, self.upper)
        return found

    def standard_error(self, total: Floats, rows: Floats, spread: Any = 0.0) -> Floats:
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
        best = float(np.clip(self.about + total / max(rows, self.least), self.lower, self.upper))
        shown = float(self.mean(np.float64(total), np.float64(rows)))
        grid = np.linspace(self.lower, self.upper, _GRID)
        points = np.unique(np.concatenate([grid, [best, shown]]))
        fits = self.fits(points, total, rows, confidence, spread)
        fits |= (points == best) | (points == shown)
        inside = np.flatnonzero(fits)
        first, last = int(inside[0]), int(inside[-1])
        ends = points[[first, last]]
        beyond = points[[max(first - 1, 0), min(last + 1, len(points) - 1)]]
        for _ in range(_ROUNDS):
            between = ends + (beyond - ends) * _STEPS
            between[-1] = beyond
            good = self.fits(between, total, rows, confidence, spread)
            good[0], good[-1] = True, False
            last = np.argmin(good, axis=0)
            ends, beyond = between[last - 1, _SIDES], between[last, _SIDES]
        return float(ends[0]), float(ends[1])

    def fits(
        self, theta: Floats, total: Any, rows: Any, confidence: float, spread: Any = 0.0
    ) -> Any:
        """Whether each theta fits a release; or one theta each of many releases."""
        offset = theta - self.about
        deviation = np.maximum(self.errors.deviation(offset), _TINY)
        counted = np.maximum(self._rows_given(offset, total, rows), self.least)
        width = np.hypot(deviation, spread * np.sqrt(counted))
        scores = self.errors.scores(offset, (total - rows * offset) * (deviation / width))
        up, down = (self.upper - theta) * counted / width, (theta - self.lower) * counted / width
        return _held_before(scores, up, down) <= confidence

    def _rows_given(self, offset: Floats, total: Any, rows: Any) -> Any:
        """The best guess at the rows for a known mean: it says nothing about the gap."""
        both = np.maximum(self.errors.deviation(offset), _TINY)
        of_total, of_rows = self.errors.total_deviation / both, self.errors.rows_deviation / both
        return offset * of_rows * (total * of_rows) + rows * of_total**2


def _held_before(scores: Floats, up: Floats, down: Floats) -> Floats:
    """How likely a normal of mean 0 comes before each score, ordered by likelihood.

    The mean is known to lie within ``up`` above and ``down`` below 0, in deviations. A score z
    beyond ``up`` is compared with the mean at ``up``: its level is z^2 - (z - up)^2. Scores of a
    lower level come before it.
    """
    size, room = np.abs(scores), np.where(scores > 0, up, down)
    level = np.where(size <= room, size**2, room * (2 * size - room))
    found: Floats = normal_below(_side(up, level)) - normal_below(-_side(down, level))
    return found


def _side(room: Floats, level: Floats) -> Floats:
    """How far scores of a level lie from 0."""
    root = np.sqrt(level)
    beyond = (level + room**2) / (2 * np.maximum(room, _TINY))
    found: Floats = np.where(root <= room, root, beyond)
    return found
