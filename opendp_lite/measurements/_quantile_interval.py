"""An interval around a released quantile, as wide as the rows around it ask for."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log, sqrt
from statistics import NormalDist
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.measurements._quantile_lines import Counts, SortedLine
from opendp_lite.samplers.choice import FAR_EXPONENT, choose
from opendp_lite.samplers.entropy import Entropy

_WIDTH_BITS: Final = 40
"""The narrowest interval is 2^-40 of all cells, or a cell."""
_STEPS: Final = 2
"""Widths to a doubling."""
_FINE: Final = 16
"""The weight of the narrowest interval, so that weights are nearly as they are wanted."""
_ROUNDING: Final = 2
"""Ranks by which definitions of a sample quantile differ at most."""
_FOR_NOISE: Final = 0.2
"""The part of the failures that the noise may cause, where rows are sampled too."""
_LIPSCHITZ: Final = Fraction(1, 20)
"""How far a row may move the margin for sampling, in ranks."""


@attrs.frozen(eq=False)
class Widths:
    """The half-widths to choose among, in cells: a cell alone first, then all cells at last.

    Args:
        cells: The half-widths, rising.
        weights: How many items stand for each, in proportion to the root of its width. All
            narrower ones together then outweigh none by much. Nor do a few of the widest outweigh
            all others, which they would in proportion to the width.
    """

    cells: Counts
    weights: Counts

    @classmethod
    def of(cls, cells: int) -> Widths:
        """For a line of so many cells."""
        least = max(1, cells >> _WIDTH_BITS)
        steps = ceil(_STEPS * log(cells / least, 2)) + 1
        each = {0, cells, *(round(least * 2 ** (i / _STEPS)) for i in range(steps))}
        widths = np.array(sorted(width for width in each if width <= cells), dtype=np.int64)
        roots = np.sqrt(np.maximum(widths / least, 1))
        return cls(widths, np.rint(_FINE * roots).astype(np.int64))

    @property
    def narrower(self) -> float:
        """The weight of all that are narrower than one, over its own: the largest of these."""
        before = np.cumsum(self.weights) - self.weights
        return float((before / self.weights).max())


@attrs.frozen
class Sampling:
    """By how many ranks a quantile of a random sample may miss that of its population.

    Args:
        deviations: Of the binomial law, that the margin covers.
        least: Rows that are added, so that a row moves the margin by little.
    """

    deviations: float
    least: int

    def margin(self, quantile: Fraction, size: int) -> Fraction:
        """In ranks."""
        variance = float(quantile * (1 - quantile)) * (size + self.least)
        return Fraction(self.deviations * sqrt(variance)) + 1


@attrs.frozen
class IntervalLaw:
    """How the interval around one quantile is chosen.

    Args:
        quantile: Which one, between 0 and 1.
        slope: Of the exponential mechanism, for a rank.
        confidence: The share of all releases whose interval holds the quantile.
        sampling: The margin for a population; None for the quantile of the rows.
    """

    quantile: Fraction
    slope: Fraction
    confidence: float
    sampling: Sampling | None

    def interval(
        self, line: SortedLine, data: Any, middle: int, entropy: Entropy
    ) -> tuple[float, float]:
        """An interval of cells around ``middle``, as two numbers."""
        widths = Widths.of(line.cells)
        exact = self.exponents(line, data, middle, widths)
        floats = np.array([min(float(each), FAR_EXPONENT) for each in exact])
        chosen = choose(widths.weights, floats, exact.__getitem__, entropy)
        width = int(widths.cells[chosen])
        return line.ends(middle - width, middle + width)

    def exponents(self, line: SortedLine, data: Any, middle: int, widths: Widths) -> list[Fraction]:
        """The exponent of each width: 0 where the margin first reaches what is wanted."""
        found = line.outside(data, middle, widths.cells)
        below, above = self.quantile * found.size, (1 - self.quantile) * found.size
        wanted = self.wanted(widths, found.size)
        margins = []
        sides = zip(widths.cells.tolist(), found.under.tolist(), found.over.tolist(), strict=True)
        for width, under, over in sides:
            low, high = below - under, above - over
            if width >= middle:
                low = max(low, wanted)
            if middle + width >= line.cells - 1:
                high = max(high, wanted)
            margins.append(min(low, high))
        before = [wanted, *margins[:-1]]
        return [
            self.slope * max(Fraction(0), inner - wanted, wanted - outer)
            for inner, outer in zip(before, margins, strict=True)
        ]

    def wanted(self, widths: Widths, size: int) -> Fraction:
        """The margin, in ranks, that the chosen interval is to have on both sides."""
        sampled = self.sampling
        failures = (1 - self.confidence) * (1 if sampled is None else _FOR_NOISE)
        odds = max(widths.narrower * (1 - failures) / failures, 1.0)
        noise = Fraction(ceil(Fraction(log(odds)) / self.slope) + _ROUNDING)
        return noise if sampled is None else noise + sampled.margin(self.quantile, size)


def sampling_of(confidence: float, *, size_is_public: bool) -> tuple[Sampling, Fraction]:
    """The margin for sampling, and how far a row moves it."""
    failures = (1 - confidence) * (1 - _FOR_NOISE)
    deviations = NormalDist().inv_cdf(1 - failures / 2)
    if size_is_public:
        return Sampling(deviations, 0), Fraction(0)
    return Sampling(deviations, ceil((deviations / float(_LIPSCHITZ) / 4) ** 2) + 1), _LIPSCHITZ
