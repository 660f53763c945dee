"""Intervals whose two ends are quantiles themselves, a few ranks below and above the wanted one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, exp, log, log2, pi, sqrt
from statistics import NormalDist
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.engines.data.fold import Floats
from opendp_lite.measurements.quantile.columns import Data, SortedLine
from opendp_lite.measurements.quantile.places import Places
from opendp_lite.numbers.exact import format_number
from opendp_lite.numbers.grid import Grid
from opendp_lite.pipeline.core import Measurement
from opendp_lite.releases.estimate import Estimate
from opendp_lite.releases.estimates import Estimates
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.rank_choice import RankLaw

# An end nearer than this part to the outermost rows of its side lies far out on a thin tail: the
# middle of both ends would be biased.
_ROOM: Final = Fraction(1, 4)
# Ranks are given to this part of one, rounded up.
_FINE: Final = 64
_BISECTIONS: Final = 60
# Cells in place of a rank, where the interval is one rank wide.
_CELLS_OF_ENDS: Final = 2**12
_LEAST_BITS: Final = 8
_FAR: Final = 20.0
# Of the width of the bounds.
_AT_A_BOUND: Final = 1e-3


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
        return Fraction(ceil(_reach(1 / float(slope), spread, self.miss) * _FINE), _FINE)

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
            self._present([each[j] for each in found], rows, self.places.line(j).span)
            for j in range(self.columns)
        ]
        if self.columns == 1:
            return columns[0] if self.several else columns[0][0]
        by_quantile = tuple(zip(*columns, strict=True))
        return by_quantile if self.several else by_quantile[0]

    def _of_quantile(
        self, value: Data, laws: tuple[TwoEnds, ...], rows: float, entropy: Entropy
    ) -> list[tuple[float, float, float]]:
        """The low end, the value and the high end of each column."""
        plans = [law.choices(rows) for law in laws]
        if len(plans) == 1:
            lines = tuple(line.coarsen(laws[0].bits(rows)) for line in self.places.lines)
            drawn = [
                None
                if law is None
                else type(lines[0]).choose_each(lines, value, (law,), self.columns, entropy)
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
        self,
        found: Sequence[tuple[float, float, float]],
        rows: float,
        bounds: tuple[float, float] | None,
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
            if bounds is not None:
                # Clipping moves no quantile that lies within: only one at a bound is doubtful.
                width = bounds[1] - bounds[0]
                off = min(number - bounds[0], bounds[1] - number)
                far = off > width * _AT_A_BOUND and both[1] - both[0] < width / 2
                bounds = None if far else bounds
            shown = number, float(errors[0]), both, self.confidence, max(rows, 0.0)
            if not sampling:
                return (Estimate(*shown, bounds=bounds),)
            # As values lie about evenly, that of the rows is as much narrower as its ranks are.
            share = self.laws[0][0].noise_share(rows)
            noise = number - share * (number - both[0]), number + share * (both[1] - number)
            one = Estimate(
                *shown, sampling=True, bounds=bounds, noise_interval=noise, several=self.repeated
            )
            return (one,)
        names = tuple(format_number(laws[0].quantile) for laws in self.laws)
        ends = np.stack([low, high], axis=1)
        all_of_them = value, errors, ends, ends, self.confidence, names
        several = self.repeated and sampling
        every = Estimates(*all_of_them, sampling=sampling, shared_noise=True, several=several)
        return every.take(self.order)


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
