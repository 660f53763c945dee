"""A noisy total and a noisy number of rows, from which a mean is estimated."""

from __future__ import annotations

from typing import Any

import attrs

from opendp_lite.estimators.inference.parameters import Floats
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RatioOfNoisySums


@attrs.frozen(eq=False)
class NoisyTotals:
    """One release, or many simulated ones: ``total`` and ``rows`` are then arrays."""

    ratio: RatioOfNoisySums
    total: Any
    rows: Any

    @property
    def mean(self) -> Floats:
        """The estimates."""
        return self.ratio.mean(self.total, self.rows)


@attrs.frozen(eq=False)
class TotalsWithSpread(NoisyTotals):
    """As ``NoisyTotals``, with the standard deviation of the values."""

    spread: float

    @classmethod
    def of(
        cls, totals: NoisyTotals, variance: float, people: float, weight: float = 1
    ) -> TotalsWithSpread:
        """Adds a noisy variance of the values, brought to what values in the bounds can have.

        Args:
            totals: The release.
            variance: The noisy estimate, of the values or of the weighted values.
            people: How many values it is of.
            weight: The largest weight of a row; 1 where rows have none.
        """
        ratio = totals.ratio
        mean = float(totals.mean)
        most = weight * (ratio.upper - mean) * (mean - ratio.lower)
        found = min(max(variance, 0.0), max(most, 0.0))
        few = 1 + _FEW / max(people, 1.0)
        return cls(ratio, totals.total, totals.rows, (found * few) ** 0.5)


_FEW = 2.5
"""The square of Student's 95 % point over the normal's is about 1 + 2.5 / n."""
