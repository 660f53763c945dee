"""Releases of quantiles, and intervals around them, as wide as the rows around them ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, exp, log, log2, pi, sqrt
from statistics import NormalDist
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.base.frozen import copy_with
from opendp_lite.engines.data.fold import Floats
from opendp_lite.measurements.quantile.columns import Counts, Data, SortedLine, choose_each
from opendp_lite.measurements.quantile.places import Places
from opendp_lite.measurements.quantile.tree import Branch, Prices, cells_by_parts
from opendp_lite.measures import profile
from opendp_lite.numbers.exact import format_number
from opendp_lite.numbers.grid import Grid
from opendp_lite.pipeline.core import Measurement
from opendp_lite.releases import Estimate, Estimates
from opendp_lite.releases.estimate import bounds_at, say_treated
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

        def of_quantile(quantile: Fraction, first: Counts, last: Counts) -> Iterator[Fraction]:
            """How many ranks each stretch leaves it, less what its sampling takes."""
            under, over, size = line.outside(data, first, last)
            sampled = Fraction(0)
            if self.sampling is not None:
                sampled = self.sampling.margin(quantile, size)
            below, above = quantile * size - sampled, (1 - quantile) * size - sampled
            stretch = zip(*(each.tolist() for each in (under, over, first, last)), strict=True)
            for fewer, more, start, end in stretch:
                low, high = below - fewer, above - more
                yield min(
                    max(low, wanted) if start <= 0 else low,
                    max(high, wanted) if end >= line.cells - 1 else high,
                )

        every = map(of_quantile, self.quantiles, stretches.first, stretches.last)
        margins = list(map(min, zip(*every, strict=True)))
        before = [wanted, *margins[:-1]]
        return [
            self.slope * max(Fraction(0), inner - wanted, wanted - outer)
            for inner, outer in zip(before, margins, strict=True)
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
    def curves(self, rows: Fraction) -> list[profile.Profile]:
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
        found = [
            choose_each(places.lines, data, laws, columns, entropy)
            for laws in zip(*(chooser.laws for chooser in choosers), strict=True)
        ]
        return [sorted(cells) for cells in zip(*found, strict=True)]

    def curves(self, rows: Fraction) -> list[profile.Profile]:
        return [profile.BoundedRangeProfile(self.reach * rows)] * len(self.laws)

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

    def curves(self, rows: Fraction) -> list[profile.Profile]:
        rho = self.rho * rows * rows
        if self.pure is None:
            return [profile.ConcentratedProfile(rho)]
        return [profile.PureConcentratedProfile(self.pure * rows, rho)]

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
        return _shape([each.take(self.order) for each in found], self.several)

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
            _names(law.quantiles),
            sampling=law.sampling is not None,
            shared_noise=True,
            treated=_say_span(line),
            title=_TITLE,
        )


# An end nearer than this part to the outermost rows of its side lies far out on a thin tail: the
# middle of both ends would be biased.
_ROOM: Final = Fraction(1, 4)
# Ranks are given to this part of one, rounded up.
_REACH_STEPS: Final = 64
_BISECTIONS: Final = 60
# Cells in place of a rank, where the interval is one rank wide.
_CELLS_OF_ENDS: Final = 2**12
_LEAST_BITS: Final = 8
_FAR: Final = 20.0
_BEYOND: Final = "few rows lie beyond it, so it may hold less often in wide bounds: sure=True holds"
_BUNCHED: Final = (
    "if many rows share a value it may hold less often: sure=True holds, or candidates= of whole "
    "numbers"
)
# Cells around the target count too. Where nothing is said, intervals of exponential values held in
# 93 % of 300 samples and more, in bounds that are 10, 2000 and 2e5 deviations wide.
_AROUND: Final = 5.0
# Of t. Where nothing is said, intervals of 30 columns of whole numbers held in 91 % of 200 samples
# and more (docs/quantiles.md). With all of t it was 79 %.
_DEEP: Final = 2 / 3


@attrs.frozen
class TwoEnds:
    """How one quantile of a column is found with its interval.

    Either two quantiles are released, t ranks below and above the wanted one, and the value is the
    middle of them. Or, where the rows on a side are few beside t, the wanted one too; where they
    are fewer than t, the bound is that end and nothing is spent on it.

    Proof:
        An end weighs exp(-s |rank - target|). Where the values are about even its rank misses the
        target by a two-sided exponential law of the scale 1 / s. So t, the quantile of that law
        at 1 - ``miss``, is exceeded so often. A random sample adds a normal law of the variance
        q (1 - q) n (Woodruff 1952). Ties of many rows, or gaps, are not even: a choice among
        widths (``IntervalLaw``) holds for all data and is two to three times as wide.

    Args:
        quantile: Which one.
        slopes: Of each of two choices, and of each of three.
        miss: How often an end may lie on the wrong side.
        sampling: Whether it is the quantile of the population, of which the rows are a sample.
    """

    quantile: Fraction
    slopes: tuple[Fraction, Fraction]
    miss: float
    sampling: bool

    def choices(self, rows: float) -> tuple[RankLaw | None, RankLaw | None, RankLaw | None]:
        """The low end, the value and the high end, for about so many rows.

        None stands for an end that is a bound, and for a value that is the middle of both ends.
        """
        sides = float(self.quantile) * rows, float(1 - self.quantile) * rows
        two, three = self.slopes
        reach = self.reach(two, rows)
        if reach < _ROOM * Fraction(max(min(sides), 0.0)):
            return self._at(two, -reach), None, self._at(two, reach)
        reach = self.reach(three, rows)
        open_ends = [reach >= side for side in sides]
        slope = two if any(open_ends) else three
        reach = self.reach(slope, rows)
        low, high = (
            None if is_open else self._at(slope, side * reach)
            for is_open, side in zip(open_ends, (-1, 1), strict=True)
        )
        return low, self._at(slope, Fraction(0)), high

    def reach(self, slope: Fraction, rows: float) -> Fraction:
        """By how many ranks an end is off the quantile."""
        q = float(self.quantile)
        spread = sqrt(q * (1 - q) * max(rows, 0.0)) if self.sampling else 0.0
        return Fraction(
            ceil(_reach(1 / float(slope), spread, self.miss) * _REACH_STEPS), _REACH_STEPS
        )

    def bits(self, rows: float) -> int:
        """How fine the cells are to be, for about so many rows: 2^bits over all of the bounds.

        All rows of one value are in one cell. Among 2^48 cells it loses against the empty gap
        beside it unless the target lies log(2^48) / s ranks inside: 105 for a quartile at epsilon
        = 1, and 39 among the 2^18 cells for 1000 rows. Fewer find more such rows, and lose the
        value where bounds are wide: an interval of r ranks is about 5 r / n deviations wide, so
        these add a tenth of it if the bounds are 2000 deviations apart.
        """
        shares = max(rows, 1.0) / float(self.reach(self.slopes[0], rows))
        return max(_LEAST_BITS, ceil(log2(_CELLS_OF_ENDS * shares)))

    def noise_share(self, rows: float) -> float:
        """The part of the reach that an interval for the rows alone would have."""
        slope = self.slopes[0]
        alone = attrs.evolve(self, sampling=False).reach(slope, rows)
        return float(alone / self.reach(slope, rows))

    def may_miss(self, rows: float, cells: int) -> bool:
        """Whether an end may lie beyond all rows, if the bounds are far wider than the values.

        Beyond the last row each cell weighs exp(-s left) of one at the target, and there may be
        all cells but a few.
        """
        low, value, high = self.choices(rows)
        slope = self.slopes[0 if low is None or value is None or high is None else 1]
        side = float(min(self.quantile, 1 - self.quantile)) * rows
        left = side - float(self.reach(slope, rows))
        weights = log(min(cells, 2 ** self.bits(rows)))
        return float(slope) * left < weights - _AROUND

    def may_fall_between(self, rows: float) -> bool:
        """Whether an end may lie in the gap beside a value that many rows share, and miss it.

        An end leaves such rows for the empty cells beside them if it is to lie no deeper among them
        than log(cells) / s ranks: see ``bits``. The quantile may be at their very edge, t away.
        """
        slope = self.slopes[0]
        return log(2 ** self.bits(rows)) > _DEEP * float(slope * self.reach(slope, rows))

    def _at(self, slope: Fraction, offset: Fraction) -> RankLaw:
        return RankLaw(self.quantile, slope, offset)


@lru_cache(maxsize=256)
def _reach(scale: float, spread: float, miss: float) -> float:
    """What a Laplace and a normal number together exceed with the probability ``miss``."""
    low, high = 0.0, 2 * (scale * log(1 / miss) + spread * NormalDist().inv_cdf(1 - miss / 4))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _exceeds(middle, scale, spread) > miss else (low, middle)
    return high


def _exceeds(level: float, scale: float, spread: float) -> float:
    """How likely the sum of a Laplace and a normal number is above a level."""
    if spread == 0:
        return exp(-level / scale) / 2
    at, ratio = level / spread, spread / scale
    near, far = (
        exp(ratio * ratio / 2 + sign * level / scale + _log_tail(ratio + sign * at))
        for sign in (-1, 1)
    )
    return exp(_log_tail(at)) + (near - far) / 2


def _log_tail(level: float) -> float:
    """log P(Z > level), by its series where floats have no tails."""
    if level < _FAR:
        return log(erfc(level / sqrt(2)) / 2)
    return -level * level / 2 - log(level * sqrt(2 * pi)) - 1 / (level * level)


@attrs.frozen(eq=False)
class EndsRelease:
    """The release of one or two quantiles of each column with intervals from two ends.

    Args:
        places: Where they are looked for.
        laws: For each distinct quantile its law: one for all columns, or one for each.
        columns: How many there are.
        order: For each quantile that was asked for, which of the distinct ones it is.
        several: Whether a list of quantiles was given.
        confidence: Such as 0.95.
        rows: How many there are, where that is public.
        counting: The noise of their number where it is not.
        repeated: Whether a person may have several rows.
        kept: As that of a ``Space``.
    """

    places: Places
    laws: tuple[tuple[TwoEnds, ...], ...]
    columns: int
    order: tuple[int, ...]
    several: bool
    confidence: float
    rows: int | None
    counting: Measurement[Any, Any] | None
    repeated: bool
    kept: str

    def __call__(self, value: Data, entropy: Entropy) -> object:
        rows: float
        if self.counting is None:
            assert self.rows is not None
            rows = self.rows
        else:
            size = self.places.line(0).size(value[0])
            rows = float(self.counting.function(Grid(np.array([size]), 0), entropy))
        found = [self._of_quantile(value, laws, rows, entropy) for laws in self.laws]
        columns = [
            self._present([each[j] for each in found], rows, self.places.line(j))
            for j in range(self.columns)
        ]
        return _shape(columns, self.several)

    def _of_quantile(
        self, value: Data, laws: tuple[TwoEnds, ...], rows: float, entropy: Entropy
    ) -> list[tuple[float, float, float]]:
        """The low end, the value and the high end of each column."""
        plans = [law.choices(rows) for law in laws]
        if len(plans) == 1:
            lines = tuple(line.coarsen(laws[0].bits(rows)) for line in self.places.lines)
            drawn = [
                None if law is None else choose_each(lines, value, (law,), self.columns, entropy)
                for law in plans[0]
            ]
            each = [
                [None if cells is None else cells[j] for cells in drawn]
                for j in range(self.columns)
            ]
        else:
            lines = tuple(self.places.line(j).coarsen(law.bits(rows)) for j, law in enumerate(laws))
            each = [
                [None if law is None else line.choose(value[j], law, entropy) for law in plan]
                for j, (line, plan) in enumerate(zip(lines, plans, strict=True))
            ]
        return [_numbers(lines[j % len(lines)], cells) for j, cells in enumerate(each)]

    def _present(
        self, found: Sequence[tuple[float, float, float]], rows: float, line: SortedLine
    ) -> Estimates | tuple[Estimate, ...]:
        """One column's: in the order that was asked for."""
        deviations = NormalDist().inv_cdf((1 + self.confidence) / 2)
        sampling = self.laws[0][0].sampling
        # Sorted each by itself, so that several quantiles come in order.
        low, value, high = (np.sort(np.array(each)) for each in zip(*found, strict=True))
        errors: Floats = (high / 2 - low / 2) / deviations
        if not self.several:
            both = float(low[0]), float(high[0])
            number = float(value[0])
            bounds = bounds_at(number, both, line.span)
            shown = number, float(errors[0]), both, self.confidence, max(rows, 0.0)
            few, treated = both == line.ends(0, line.cells - 1), _say_span(line)
            if not sampling:
                unsampled = Estimate(*shown, bounds=bounds, too_few=few, hint=self.kept)
                return (copy_with(unsampled, treated=treated),)
            # As values lie about evenly, that of the rows is as much narrower as its ranks are.
            share = self.laws[0][0].noise_share(rows)
            noise = number - share * (number - both[0]), number + share * (both[1] - number)
            one = Estimate(
                *shown,
                sampling=True,
                bounds=bounds,
                too_few=few,
                noise_interval=noise,
                several=self.repeated,
            )
            return (copy_with(one, hint=self._doubts(rows, line), treated=treated),)
        names = _names([laws[0].quantile for laws in self.laws])
        ends = np.stack([low, high], axis=1)
        all_of_them = value, errors, ends, ends, self.confidence, names
        several = self.repeated and sampling
        every = Estimates(
            *all_of_them,
            sampling,
            shared_noise=True,
            several=several,
            rows=max(rows, 0.0),
            bounds=line.span,
            treated=_say_span(line),
            hint=self._doubts(rows, line) if sampling else self.kept,
            title=_TITLE,
        )
        return every.take(self.order)

    def _doubts(self, rows: float, line: SortedLine) -> str:
        """Which rows count, and when an interval for the population may hold less often."""
        laws, said = [each[0] for each in self.laws], [self.kept]
        if any(law.may_miss(rows, line.cells) for law in laws):
            said.append(_BEYOND)
        # Among candidates that hold all values there is no gap.
        elif line.span is not None and any(law.may_fall_between(rows) for law in laws):
            said.append(_BUNCHED)
        return "; ".join(filter(None, said))


_TITLE: Final = "quantile"


def _say_span(line: SortedLine) -> str:
    """What values beyond the bounds count as; nothing of candidates, which may be anything."""
    return "" if line.span is None else say_treated([f"{end:.12g}" for end in line.span], None)


def _names(quantiles: Sequence[Fraction]) -> tuple[str, ...]:
    """Quantiles in few digits: 0.1 + 0.2, of ``numpy.arange`` say, is called 0.3."""
    short = [Fraction(f"{float(each):.12g}") for each in quantiles]
    named = short if len({*short}) == len(short) else quantiles
    return tuple(map(format_number, named))


def _shape(columns: Sequence[Estimates | tuple[Estimate, ...]], several: bool) -> object:
    """The estimates of each column as numpy shapes quantiles: those of one quantile together."""
    found = columns[0] if len(columns) == 1 else tuple(zip(*columns, strict=True))
    return found if several else found[0]


def _numbers(line: SortedLine, cells: Sequence[int | None]) -> tuple[float, float, float]:
    """In order: noise may exchange them. What was not drawn is a bound, or the middle.

    The ends are those of their cells, and a value in an outermost cell is the bound: so the rows
    that lie on a bound are in the interval.
    """
    last = line.cells - 1
    drawn = sorted(cell for cell in cells if cell is not None)
    if cells[1] is None:
        # To even, so that candidates are neither favoured below nor above.
        drawn.insert(1, round(Fraction(drawn[0] + drawn[1], 2)))
    if cells[0] is None:
        drawn.insert(0, 0)
    if cells[2] is None:
        drawn.append(last)
    first, middle, final = drawn
    lowest, highest = line.ends(0, last)
    low, high = line.ends(first, final)
    value = lowest if middle == 0 else highest if middle == last else line.value(middle)
    return low, value, high
