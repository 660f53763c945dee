"""A mean with how far off it may be."""

from __future__ import annotations

import attrs

from opendp_lite.estimators.inference.significant_digits import justified


@attrs.frozen
class Estimate:
    """A released mean with its standard error and an interval, all of it private.

    ``mean``; ``standard_error``, to the first order; ``interval``, which in ``confidence`` of all
    releases holds the mean of the values once they are brought into the bounds; ``rows``, about
    how many there are. Both errors are those of the noise alone, or, where ``sampling``, also of
    taking the rows for a random sample.

    >>> print(Estimate(41.2587, 0.0821, (41.097, 41.421), 0.95, 600.2))
    41.259 (95 % interval 41.097 to 41.421, from the noise alone)
    """

    mean: float
    standard_error: float
    interval: tuple[float, float]
    confidence: float
    rows: float
    sampling: bool = False

    def __float__(self) -> float:
        return self.mean

    def __str__(self) -> str:
        low, high = self.interval
        mean, low_text, high_text = self.justified(self.mean, low, high)
        source = "from noise and sampling" if self.sampling else "from the noise alone"
        share = f"{100 * self.confidence:.12g} %"
        return f"{mean} ({share} interval {low_text} to {high_text}, {source})"

    def justified(self, *numbers: float) -> tuple[str, ...]:
        """Numbers with as many digits as the second of the standard error."""
        return justified(self.standard_error, *numbers)
