"""Intervals around released quantiles, as wide as the rows around them ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, log, sqrt
from statistics import NormalDist
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.engines.data.fold import Floats
from opendp_lite.measurements.quantile.columns import Counts, Data, SortedLine
from opendp_lite.measurements.quantile.places import Places
from opendp_lite.measurements.quantile.tree import Branch, Prices, cells_by_parts
from opendp_lite.measures.profile import (
    BoundedRangeProfile,
    ConcentratedProfile,
    Profile,
    PureConcentratedProfile,
)
from opendp_lite.numbers.exact import format_number
from opendp_lite.releases.estimates import Estimates
from opendp_lite.samplers.choice import FAR_EXPONENT, choose
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.rank_choice import RankLaw

# The narrowest interval is 2^-40 of all cells, or a cell.
_WIDTH_BITS: Final = 40
# Widths to a doubling.
_STEPS: Final = 2
# The power of w / q with which an end at last goes to the first cell.
_FASTER: Final = 4
# How many times thinner values are taken to lie beyond the outermost released cells.
_THINNER: Final = 2.0
# The weight of the narrowest interval, so that weights are nearly as they are wanted.
_FINE: Final = 16
# Ranks by which definitions of a sample quantile differ at most.
_ROUNDING: Final = 2
# The part of the failures that the noise may cause, where rows are sampled too.
_FOR_NOISE: Final = 0.2
# How far a row may move the margin for sampling, in ranks.
_LIPSCHITZ: Final = Fraction(1, 20)


@attrs.frozen(eq=False)
class Stretches:
    """Stretches of cells to choose among, rising: each holds the one before, the last is all cells.

    Where several quantiles were released, one choice is made for all of them.

    Args:
        first: The first cell of each stretch: a row for each quantile.
        last: The last cell, likewise.
        cells: How many cells there are.
        weights: How many items stand for each stretch, in proportion to the root of its width. All
            narrower ones together then outweigh none by much. Nor do a few of the widest outweigh
            all others, which they would in proportion to the width.
    """

    first: Counts
    last: Counts
    cells: int
    weights: Counts

    @classmethod
    def around(cls, cells: int, middle: int) -> Stretches:
        """Of one quantile: as wide on either side of its cell, which is the first of them."""
        least = max(1, cells >> _WIDTH_BITS)
        steps = ceil(_STEPS * log(cells / least, 2)) + 1
        each = {0, cells, *(round(least * 2 ** (i / _STEPS)) for i in range(steps))}
        widths = np.array(sorted(width for width in each if width <= cells), dtype=np.int64)
        first, last = (middle - widths)[None], (middle + widths)[None]
        return cls(first, last, cells, _weights(widths / least))

    @classmethod
    def among(cls, cells: int, middles: Sequence[int], quantiles: Sequence[Fraction]) -> Stretches:
        """Of several: from where the quantile q - w lies about to where q + w does, for rising w.

        Between two released cells that is interpolated. Beyond the outermost it goes on, twice as
        fast. From some w on it is faster: values need not be spread as evenly. At w = q the end
        below reaches the first cell.
        """
        shares = np.append(0.0, 2.0 ** (np.arange(-_STEPS * _WIDTH_BITS, 1) / _STEPS))
        places, levels = np.array(middles, dtype=np.float64), np.array(quantiles, dtype=np.float64)
        above = _farther(places, levels, float(cells - 1), shares)
        below = -_farther(-places[::-1], 1 - levels[::-1], 0.0, shares)[::-1]
        middle = np.array(middles, dtype=np.int64)[:, None]
        first = np.minimum(np.rint(below).astype(np.int64), middle)
        last = np.maximum(np.rint(above).astype(np.int64), middle)
        first[:, -1], last[:, -1] = 0, cells - 1
        return cls(first, last, cells, _weights(shares * 2.0**_WIDTH_BITS))

    @property
    def narrower(self) -> float:
        """The weight of all that are narrower than one, over its own: the largest of these."""
        before = np.cumsum(self.weights) - self.weights
        return float((before / self.weights).max())


def _weights(widths: Floats) -> Counts:
    found: Counts = np.rint(_FINE * np.sqrt(np.maximum(widths, 1))).astype(np.int64)
    return found


def _farther(places: Floats, levels: Floats, end: float, shares: Floats) -> Floats:
    """About where the quantiles lie that are greater by so many shares: rising, up to an end."""
    slope = (places[-1] - places[-2]) / (levels[-1] - levels[-2])
    wanted = levels[:, None] + shares
    beyond = np.maximum(wanted - levels[-1], 0.0)
    along = np.interp(wanted, levels, places) + _THINNER * slope * beyond
    faster = np.minimum(shares / (1 - levels[:, None]), 1.0) ** _FASTER
    far = places[:, None] + (end - places[:, None]) * np.maximum(faster, shares**2)
    found: Floats = np.minimum(np.maximum(along, far), end)
    return found


@attrs.frozen
class SamplingMargin:
    """By how many ranks quantiles of a random sample may miss those of its population.

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
    """How the intervals around the quantiles of a column are chosen.

    Args:
        quantiles: Which ones, rising, between 0 and 1.
        slope: Of the exponential mechanism, for a rank.
        confidence: The share of all releases whose intervals hold all quantiles.
        sampling: The margin for a population; None for the quantiles of the rows.
    """

    quantiles: tuple[Fraction, ...]
    slope: Fraction
    confidence: float
    sampling: SamplingMargin | None

    def intervals(
        self, line: SortedLine, data: Data, middles: Sequence[int], entropy: Entropy
    ) -> list[tuple[float, float]]:
        """Intervals of cells around ``middles``, each as two numbers."""
        stretches = self.stretches(line.cells, middles)
        exact = self.exponents(line, data, stretches)
        floats = np.array([min(float(each), FAR_EXPONENT) for each in exact])
        chosen = choose(stretches.weights, floats, exact.__getitem__, entropy)
        ends = zip(stretches.first[:, chosen], stretches.last[:, chosen], strict=True)
        return [line.ends(int(first), int(last)) for first, last in ends]

    def stretches(self, cells: int, middles: Sequence[int]) -> Stretches:
        """Those to choose among, which the released cells tell."""
        if len(middles) == 1:
            return Stretches.around(cells, middles[0])
        return Stretches.among(cells, middles, self.quantiles)

    def exponents(self, line: SortedLine, data: Data, stretches: Stretches) -> list[Fraction]:
        """The exponent of each stretch: 0 where the least margin first reaches what is wanted."""
        wanted = self.find_margin(stretches)
        of_each = zip(self.quantiles, stretches.first, stretches.last, strict=True)
        every = zip(*(self._margins(line, data, wanted, *each) for each in of_each), strict=True)
        margins = list(map(min, every))
        before = [wanted, *margins[:-1]]
        return [
            self.slope * max(Fraction(0), inner - wanted, wanted - outer)
            for inner, outer in zip(before, margins, strict=True)
        ]

    def _margins(
        self,
        line: SortedLine,
        data: Data,
        wanted: Fraction,
        quantile: Fraction,
        first: Counts,
        last: Counts,
    ) -> list[Fraction]:
        """How many ranks each stretch leaves a quantile, less what its sampling takes."""
        found = line.outside(data, first, last)
        sampled = Fraction(0)
        if self.sampling is not None:
            sampled = self.sampling.margin(quantile, found.size)
        below, above = quantile * found.size - sampled, (1 - quantile) * found.size - sampled
        lows = [below - under for under in found.under.tolist()]
        highs = [above - over for over in found.over.tolist()]
        return [
            min(
                max(low, wanted) if start <= 0 else low,
                max(high, wanted) if end >= line.cells - 1 else high,
            )
            for low, high, start, end in zip(
                lows, highs, first.tolist(), last.tolist(), strict=True
            )
        ]

    def find_margin(self, stretches: Stretches) -> Fraction:
        """The margin, in ranks, that the chosen stretches are to have on both sides."""
        failures = (1 - self.confidence) * (1 if self.sampling is None else _FOR_NOISE)
        odds = max(stretches.narrower * (1 - failures) / failures, 1.0)
        return Fraction(ceil(Fraction(log(odds)) / self.slope) + _ROUNDING)


def sampling_of(
    confidence: float, *, size_is_public: bool, count: int = 1
) -> tuple[SamplingMargin, Fraction]:
    """The margin for sampling of so many quantiles, and how far a row moves it."""
    failures = (1 - confidence) * (1 - _FOR_NOISE) / count
    deviations = NormalDist().inv_cdf(1 - failures / 2)
    if size_is_public:
        return SamplingMargin(deviations, 0), Fraction(0)
    return SamplingMargin(
        deviations, ceil((deviations / float(_LIPSCHITZ) / 4) ** 2) + 1
    ), _LIPSCHITZ


class Chooser(ABC):
    """How the cells of all wanted quantiles of one column are chosen."""

    @classmethod
    @abstractmethod
    def cells_of_columns(
        cls, choosers: tuple[Any, ...], places: Places, data: Data, columns: int, entropy: Entropy
    ) -> list[list[int]]:
        """The cells of each column, in order.

        Args:
            choosers: Of this class: one for all columns, or one for each.
            places: Where they are looked for.
            data: Of all columns.
            columns: How many there are.
            entropy: Where the random words come from.
        """

    @abstractmethod
    def curves(self, rows: Fraction) -> list[Profile]:
        """The curves of the losses of all choices, for so many rows."""

    @abstractmethod
    def why(self) -> list[str]:
        """Why they are chosen so: lines for ``explain()``."""


@attrs.frozen
class Alone(Chooser):
    """Each quantile is chosen on all rows.

    Args:
        laws: How each is chosen.
        reach: The range of the loss of each choice, for one row.
    """

    laws: tuple[RankLaw, ...]
    reach: Fraction

    @classmethod
    def cells_of_columns(
        cls, choosers: tuple[Any, ...], places: Places, data: Data, columns: int, entropy: Entropy
    ) -> list[list[int]]:
        lines = places.lines
        found = [
            type(lines[0]).choose_each(lines, data, laws, columns, entropy)
            for laws in zip(*(chooser.laws for chooser in choosers), strict=True)
        ]
        return [sorted(cells) for cells in zip(*found, strict=True)]

    def curves(self, rows: Fraction) -> list[Profile]:
        return [BoundedRangeProfile(self.reach * rows)] * len(self.laws)

    def why(self) -> list[str]:
        if len(self.laws) == 1:
            return []
        return [f"each of {len(self.laws)} quantiles is chosen on all rows, for an even part"]


@attrs.frozen
class ByParts(Chooser):
    """One quantile is chosen, then those on either side of it on their rows alone.

    Args:
        root: The choices.
        count: How many quantiles are wanted.
        pure: The pure loss for one row, if the choices were made for one.
        rho: The zCDP loss for one row: which choices a row takes part in depends on those before.
    """

    root: Branch
    prices: Prices
    count: int
    pure: Fraction | None
    rho: Fraction

    @classmethod
    def cells_of_columns(
        cls, choosers: tuple[Any, ...], places: Places, data: Data, columns: int, entropy: Entropy
    ) -> list[list[int]]:
        return [
            choosers[column % len(choosers)]._cells(places.line(column), data[column], entropy)
            for column in range(columns)
        ]

    def _cells(self, line: SortedLine, data: Data, entropy: Entropy) -> list[int]:
        """The cells of one column."""
        rows = line.place_rows(data, entropy)
        return cells_by_parts(self.root, self.prices, rows, self.count, entropy)

    def curves(self, rows: Fraction) -> list[Profile]:
        rho = self.rho * rows * rows
        if self.pure is None:
            return [ConcentratedProfile(rho)]
        return [PureConcentratedProfile(self.pure * rows, rho)]

    def why(self) -> list[str]:
        lines = [
            f"{self.count} quantiles are found by recursion: one, then those on either side of it",
            f"  a row takes part in at most {self.root.depth} choices, in place of {self.count}",
        ]
        if any(part.counted for part in self.root.parts()):
            lines.append("  noisy counts of the rows below a cut correct the quantiles beside it")
        return lines


@attrs.frozen(eq=False)
class QuantileRelease:
    """The release of all quantiles, given back as numpy shapes them.

    Args:
        places: Where they are looked for.
        choosers: One chooser for all columns, or one for each.
        columns: How many there are.
        order: For each quantile that was asked for, which of the distinct ones it is.
        several: Whether a list of quantiles was given.
        laws: Those of the intervals, as ``choosers`` has; none where numbers are released.
    """

    places: Places
    choosers: tuple[Chooser, ...]
    columns: int
    order: tuple[int, ...]
    several: bool
    laws: tuple[IntervalLaw, ...]

    def __call__(self, value: Data, entropy: Entropy) -> object:
        kind = type(self.choosers[0])
        cells = kind.cells_of_columns(self.choosers, self.places, value, self.columns, entropy)
        if not self.laws:
            return self._numbers(self.places.values(cells).T)
        found = [self._estimates(value, j, each, entropy) for j, each in enumerate(cells)]
        if self.columns == 1:
            return found[0].take(self.order) if self.several else found[0][0]
        rows = tuple(tuple(column[i] for column in found) for i in self.order)
        return rows if self.several else rows[0]

    def _numbers(self, found: Floats) -> Floats | float:
        """From a row for each distinct quantile and a column for each column."""
        shaped: Floats = found[list(self.order)] if self.several else found[0]
        if self.columns > 1:
            return shaped
        return shaped[:, 0] if self.several else float(shaped[0])

    def _estimates(self, value: Data, column: int, cells: list[int], entropy: Entropy) -> Estimates:
        """Those of one column. The intervals hold jointly, so each by itself."""
        line, law = self.places.line(column), self.laws[column % len(self.laws)]
        ends = np.array(law.intervals(line, value[column], cells, entropy))
        deviations = NormalDist().inv_cdf((1 + law.confidence) / 2)
        return Estimates(
            [line.value(cell) for cell in cells],
            (ends[:, 1] / 2 - ends[:, 0] / 2) / deviations,
            ends,
            ends,
            law.confidence,
            tuple(map(format_number, law.quantiles)),
            sampling=law.sampling is not None,
            shared_noise=True,
        )
