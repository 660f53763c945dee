"""The mean of each of several columns, by noise that fits them: PLAN, and what improves on it."""

from __future__ import annotations

from fractions import Fraction
from math import exp, hypot, inf, log, sqrt
from statistics import NormalDist
from typing import Final

import attrs
import numpy as np

from opendp_lite.combinators.adaptive_programs import Ask, make_adaptive
from opendp_lite.estimators.columns import noisy_mean, radius
from opendp_lite.estimators.columns.noisy_mean import (
    ColumnBounds,
    Rowwise,
    ask_quantiles,
    count_share,
    dyadic,
)
from opendp_lite.estimators.columns.radius import Shift, share_for, unseen_rows
from opendp_lite.estimators.parts import Floats, Numbers, RowSpace
from opendp_lite.estimators.parts.budget import ConcentratedBudget, costs_budget
from opendp_lite.estimators.parts.noisy_totals import JointNormal, moderate
from opendp_lite.estimators.parts.request import ByColumn, Request
from opendp_lite.measurements.noise import Aggregate, gaussian
from opendp_lite.measures import ZeroConcentratedDivergence
from opendp_lite.numbers.exact import Number
from opendp_lite.pipeline.core import Measurement
from opendp_lite.pipeline.steps import Stage, mechanism
from opendp_lite.spaces.space import example, records
from opendp_lite.transformations import absolute, count, norm, square, sum
from opendp_lite.transformations.bounding import center, clamp, clip_to_norm, scale

_NARROWEST: Final = 2.0**-40
_BITS: Final = 10
Zcdp = ZeroConcentratedDivergence

# Entries within this share of the bound are on an even grid, others on a logarithmic one.
_NEAR: Final = 2.0**-30
_SURE, _LIKELY = 4, 2
_FINE_BITS, _COARSE_BITS = 12, 6
"""Cells to a doubling: fine enough for a first median, few enough to find rows that are equal."""
_DOUBLINGS: Final = 62
_TAIL_SHARE, _MOST_TAIL_SHARE = 0.01, 0.08
_WIDEST_TAIL, _TAIL, _NARROWEST_TAIL = 0.25, 0.2, 0.01
# A median distance of this share of the bound is that of rows which are equal.
_EQUAL: Final = 2.0**-36
_CLOSE: Final = 1.5
# Of rho at most, for the rows that are shortened, and for the squares of a population.
_BEYOND, _SQUARES = 0.05, 0.1
_MOST_FOR_ONE: Final = 0.3
# Below this share of how far bounds reach a spread is that of most rows which are equal: medians of
# such columns lie within 2^-20 of it.
_SEEMS_CONSTANT: Final = 2.0**-16
# For a rough mean rows are shortened to twice their usual length: 3 or 4 times did as well on seven
# tables. It takes a fiftieth of rho, unless its noise would make rows a twentieth longer.
_USUAL, _ROUGHLY, _VAGUE = 2, Fraction(2, 100), 0.3
_FINE: Final = 2**24
_RESOLUTION: Final = 0.2
# Below it scales of columns are lost too often: measured on tables of 20 to 6366 rows.
_ENOUGH: Final = 90
# With fewer than a fifth of these a first sum is too noisy for a middle: measured likewise.
_TOO_FEW, _MANY, _FIRST_SUM, _NEAREST = 5, 8, 0.15, 2.0**-8 * exp(_CLOSE)
# Of how far the corners of bounds are, and the share of rho that tells whether rows are longer. Of
# shares from .06 to .14 and lengths from .55 to .75 the best for eleven laws of 20 to 200 rows.
_NEAR_MIDDLE, LOOK_NEAR = 0.7, Fraction(8, 100)
# So many columns of a spread that is so much smaller than the largest: scales may be lost.
_SOME, _LOST = 0.2, 1e-3
# With fewer columns shrinking gains little.
_SHRINK_FROM: Final = 32
# Lengths are rounded up, by at most 2^-34 or 2^-41 times the number of columns.
_ROUNDED_UP: Final = 1 + 1e-6
_TINY: Final = 1e-300


@mechanism(
    does="The mean of each column, with noise that fits the columns' spread: PLAN, improved.",
    changes=(
        "Rows that reach far are shortened, so the mean of a column with a long tail comes out a "
        "little low. A row with a missing value is left out; where the number of rows is public, "
        "a missing value counts as the released median of its column."
    ),
    proof=costs_budget(
        "An `adaptive` program: quantiles, a rough mean, counts of rows by length, a sum of "
        "directions, then Gaussian noise on rows clipped to a released radius.",
        sources=["Aumueller, Lebeda, Nelson, Pagh 2024, algorithm 1"],
    ),
    examples=lambda: [example(records(columns=["age", "visits"]), 100, rho=0.1, p=1)],
)
def plan_plus_mean(
    space: RowSpace,
    bound: Number,
    *,
    rho: Number,
    p: Number = 2,
    confidence: Number | None = None,
    sampling: bool = True,
) -> Measurement[RowSpace, ZeroConcentratedDivergence]:
    """The mean of each column, with noise that fits the columns' spread: PLAN, improved.

    Args:
        bound: M. The entries lie in [-M, M]; others count as its ends. A bound far too large costs
            little.
        rho: The budget. About 85 hundredths go to the sum. The rest finds a median, a mean
            and a spread of each column, a radius for the rows, and where it is private their
            number.
        p: At least 1. The l_p error is to be small.
        confidence: As for ``multivariate_mean``.
        sampling: As for ``multivariate_mean``.

    Returns:
        A number in [-M, M] for each column. Where the number of rows is private, rows with a
        missing value are left out. Where it is public, a missing value counts as the released
        median of its column. Rows that reach far are shortened, so the mean of a column with a
        long tail comes out a little low. With public bounds close to the data ``elliptical_mean``
        errs less.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal([1, 20], [0.1, 5], (20_000, 2))
        >>> (dp.records(columns=2) >> dp.estimators.plan_plus_mean(100, rho=0.03))(rows).round(0)
        array([ 1., 20.])
    """
    most = moderate(bound, "bound")
    bounds = ColumnBounds.of(most, space, "plan_plus_mean")
    return fit_noise(space, bounds, rho, p, confidence, sampling)


def fit_noise(
    space: RowSpace,
    bounds: ColumnBounds,
    rho: Number,
    p: Number,
    confidence: Number | None,
    sampling: bool,
) -> Measurement[RowSpace, ZeroConcentratedDivergence]:
    """The program of ``plan_plus_mean``; where the bounds are a person's own, it may use these."""
    power, whole = noisy_mean.error_power(p), moderate(rho, "rho")
    budget = ConcentratedBudget(whole)
    request = Request.within(budget, "plan_plus_mean", confidence, sampling).on(space)

    def program(ask: Ask[Zcdp]) -> Floats | ByColumn:
        people = noisy_mean.RowCount.of(ask, whole)
        return bounds.restore(_PlanPlus(ask, bounds, power, whole, people, request).mean())

    spent = "about 15 % of rho finds where the columns lie and how far rows reach"
    return make_adaptive(space, program, Zcdp(), whole, f"{spent}, the rest is for their sum")


@attrs.frozen
class _PlanPlus:
    """One run: public numbers, and releases so far."""

    ask: Ask[Zcdp]
    bounds: ColumnBounds
    power: float
    rho: Fraction
    people: noisy_mean.RowCount
    request: Request

    @property
    def columns(self) -> int:
        """How many there are."""
        return len(self.bounds.lower)

    def mean(self) -> Floats | ByColumn:
        """The estimate."""
        rows, space = self.people.rows, self.ask.space
        if self.bounds.own and rows < rows_enough(space, self.rho):
            if self.request.confidence is not None:
                return self._sum_in_bounds()
            pays = rows > rows_for_looks(space, self.rho)
            return self._shorten_in_bounds() if pays else self._sum_near_middle()
        nats = log(_DOUBLINGS) + _FINE_BITS * log(2)
        if self._need(nats / 2 + _LIKELY) > _MOST_FOR_ONE:
            return self._shorten_around(np.zeros(self.columns))
        rho = self._share(nats, least=0.02)
        middle = self._medians(rho)
        nats = log(-log(_NARROWEST / 2) / _RESOLUTION)
        if self._need(nats + _LIKELY) > _MOST_FOR_ONE:
            return self._shorten_around(middle)
        cost = self._share(nats + _SURE, least=0.02)
        spread = self._away(middle, 0.5, cost, _BITS) / noisy_mean.MEDIAN_OF_NORMAL
        return self._fit(middle, *self._tails(middle, nats, spread))

    def _need(self, nats: float) -> float:
        """The share of the budget at which the median of a column is found among e^nats."""
        moved = self.people.rank * nats / self.people.rows
        return 2 * self.columns * moved**2 / float(self.rho)

    def _share(self, nats: float, least: float) -> Fraction:
        """The budget at which the medians of all columns are surely found."""
        wanted = self._need(nats + log(self.columns) + _SURE)
        return self._part(min(max(wanted, least), _MOST_FOR_ONE))

    def _part(self, share: float) -> Fraction:
        return self.rho * Fraction(int(share * _FINE), _FINE)

    def _medians(self, rho: Fraction) -> Floats:
        most = self.bounds.largest
        lattice = {"scale": "asinh", "unit": most * _NEAR, "bits": _FINE_BITS}
        ends = -most, most
        return ask_quantiles(self.ask, self.bounds.rows, 0.5, bounds=ends, rho=rho, **lattice)

    def _tails(self, middle: Floats, nats: float, spread: Floats) -> tuple[Floats, float, Floats]:
        """The spread by a quantile far out too: all rows but this share lie so near the middle.

        A median of ``|x - middle|`` misses two cases: a column in which most rows are equal, and a
        long tail. In the first its scale is lost, so more is spent if that finds a quantile.
        """
        nats += log(self.columns) + 2 * _SURE
        per_root = nats * sqrt(self.columns / 2 / float(self.rho)) / self.people.rows
        share = _TAIL_SHARE
        if spread.min() < self.bounds.largest * _EQUAL:
            wanted = share * max(per_root / sqrt(share) / _TAIL, 1.0) ** 2
            share = min(wanted, _MOST_TAIL_SHARE)
        beyond = per_root / sqrt(share)
        if beyond > _WIDEST_TAIL:
            return spread, 0.5, spread * noisy_mean.MEDIAN_OF_NORMAL
        beyond = max(beyond, _NARROWEST_TAIL)
        near = self._away(middle, 1 - beyond, self._part(share), _COARSE_BITS)
        return np.maximum(spread, near / NormalDist().inv_cdf(1 - beyond / 2)), beyond, near

    def _away(self, middle: Floats, share: float, rho: Fraction, bits: int) -> Floats:
        """How far that share of each column lies from the middle at most."""
        most = self.bounds.largest
        away = self.bounds.rows >> center(dyadic(middle)) >> absolute()
        asked = {"bounds": (most * _NARROWEST, 2 * most), "scale": "log", "bits": bits}
        return ask_quantiles(self.ask, away, share, rho=rho, **asked)

    def _recentre(
        self, middle: Floats, spread: Floats, beyond: float, near: Floats
    ) -> tuple[Floats, Floats]:
        """A rough mean of the rows, and spreads that it shows to be larger.

        Around medians the rows of skewed columns reach further, and where their number is private
        a mean errs by as much as it is off from there. Of a 0/1 column the quantiles may see
        nothing, or a number between.

        Proof:
            A column of which all rows but a share b lie within q of the middle, and whose mean lies
            q + a from there, has a mean square of at least a^2 / b (Cauchy and Schwarz).
        """
        widths = self._widths(spread)
        usual = float(np.linalg.norm(spread / widths))
        query = self._rows_around(middle, widths) >> clip_to_norm(_USUAL * usual) >> sum()
        off = self._off(query, _ROUGHLY * self.rho) / self.people.rows
        if off * sqrt(self.columns) > _VAGUE * usual:
            return middle, spread
        total, _ = self.people.look(query, _ROUGHLY)
        moved = total / self.people.rows
        surely = widths * (np.abs(moved) - 2 * off) - near
        return (
            middle + widths * shrink(moved, widths, off),
            np.maximum(spread, surely / sqrt(beyond)),
        )

    def _rows_around(self, middle: Floats, widths: Floats) -> Rowwise:
        return self.bounds.rows >> center(dyadic(middle)) >> scale(dyadic(1 / widths))

    def _longest(self, middle: Floats, widths: Floats) -> float:
        """No row in bounds is longer."""
        return float(np.linalg.norm(self._reaches(middle) / widths)) * _ROUNDED_UP

    def _reaches(self, middle: Floats) -> Floats:
        """How far values in bounds may lie from the middle."""
        return np.abs(middle - self.bounds.middle) + self.bounds.halves

    def _shorten_around(self, middle: Floats) -> Floats | ByColumn:
        """Where no scales are found: a length that few rows exceed, with one noise for all."""
        widths = np.ones(self.columns)
        longest = self._longest(middle, widths)
        ends = (min(self.bounds.largest * _NARROWEST, longest / 2), longest)
        rows = self._rows_around(middle, widths)
        length = self.people.radius(rows, ends, self._part(0.05))
        return self._shorten(middle, widths, length, widths * length)

    def _sum_in_bounds(self, spread: Numbers = 0.0) -> Floats | ByColumn:
        """Nothing is shortened: the noise is that of the person's bounds."""
        middle, widths = self.bounds.middle, self._fair_widths(self.bounds.halves)
        share = count_share(self.columns)
        rows = self._rows_around(middle, widths)
        return self._release(middle, widths, rows, spread=spread, share=share)

    def _sum_near_middle(self) -> Floats | ByColumn:
        """With too few rows for any other look: one tells whether the longest are shortened.

        The sum of what shortening takes off is at least as long as what it moves the sum by, and a
        row changes it by no more than the corners of the bounds are longer. Where rows lie in
        corners, the error is 4 % larger for the look.
        """
        middle, widths = self.bounds.middle, self._fair_widths(self.bounds.halves)
        rows, longest = self._rows_around(middle, widths), self._longest(middle, widths)
        length = Fraction(_NEAR_MIDDLE * longest)
        taken_off = rows >> norm() >> clamp(length, Fraction(longest)) >> center(length)
        cut, off_cut = self.people.look(taken_off >> sum(), LOOK_NEAR)
        part = ConcentratedBudget(self.ask.left)
        off = part.deviation(part.reach(rows >> sum(), self.ask.space))
        spared = off * sqrt((1 - _NEAR_MIDDLE**2) * self.columns)
        # Where bounds are loose the look sees nothing, so half a deviation is enough for doubt.
        if float(cut[0]) + off_cut / 2 < spared:
            rows = rows >> clip_to_norm(length)
        return self._release(middle, widths, rows, share=count_share(self.columns))

    def _fair_widths(self, spread: Floats) -> Floats:
        """What to divide columns by so that their errors by noise are least together."""
        return spread ** (2 / (self.power + 2))

    def _widths(self, spread: Floats) -> Floats:
        """The same where a spread may be lost: none is much less than a fifth of the usual.

        Else the rows that differ in such a column would be the longest by far.
        """
        power = self._fair_widths(spread) ** 2
        found: Floats = np.sqrt(power + 0.05 * power.mean())
        return found

    def _shorten_in_bounds(self) -> Floats | ByColumn:
        """With too few rows for scales: a first sum finds the middle, and counts a length.

        Most rows lie nearer to their mean than the corners of the bounds do, so the sum around it
        has less noise, if half the width of its bounds is the unit of each column.
        """
        halves, middle = self.bounds.halves, self.bounds.middle
        widths = self._fair_widths(halves)
        first, share = self._part(_FIRST_SUM), count_share(self.columns)
        total, people = self.people.total(self._rows_around(middle, widths) >> sum(), first, share)
        found = self.bounds.clip(middle + widths * people.mean(total))
        return attrs.evolve(self, people=people)._shorten_best(found, halves * _NEAREST, widths)

    def _fit(
        self, middle: Floats, spread: Floats, beyond: float, near: Floats
    ) -> Floats | ByColumn:
        """The last release: the sum of centred, scaled and shortened rows."""
        if self.bounds.own:
            if spread.max() < self.bounds.largest * _EQUAL:
                return self._sum_in_bounds(spread)
            # Of a column that seems constant fewer than ``beyond`` rows differ: half as many, say.
            reach = self._reaches(middle)
            lost = spread < reach * _SEEMS_CONSTANT
            spread = np.where(lost, reach * sqrt(beyond / 2), spread)
        many_lost = np.quantile(spread, _SOME) < spread.max() * _LOST
        middle, spread = self._recentre(middle, spread, beyond, near)
        tried = [self._widths(spread)]
        if many_lost:
            # The rough mean finds a part of them, and what bounds say may be nearer.
            tried.append(self._fair_widths(self.bounds.halves))
        return self._shorten_best(middle, spread, *tried)

    def _shorten_best(self, middle: Floats, spread: Floats, *tried: Floats) -> Floats | ByColumn:
        """With those widths whose looks promise the smallest error, or the sum in bounds if less.

        Not all rows are thought to be much nearer to the middle than ``spread`` is from 0.
        """
        found, least = [], spread * exp(-_CLOSE)
        for widths in tried:
            rows, longest = self._rows_around(middle, widths), self._longest(middle, widths)
            ends = min(float(np.linalg.norm(least / widths)), longest / 2), longest
            found.append((radius.Shortener(self.people, rows, widths, ends).find(), widths))
        cut, widths = min(found, key=lambda each: each[0].promised)
        if self.bounds.own:
            space, away = self.ask.space, middle - self.bounds.middle
            in_bounds = bounds_error(space, self.bounds, self.ask.left, self.power, away)
            if in_bounds / self.people.rows < cut.promised:
                return self._sum_in_bounds(spread)
        each = widths * cut.length * cut.longer
        if each.max() < self.bounds.largest * radius.ALL_EQUAL or cut.unseen > self.people.rows / 2:
            # All rows that show are equal, or most may not show. Any may lie as far as the bounds.
            each = self._reaches(middle)
        return self._shorten(middle, widths, cut.length, each, cut.unseen, spread)

    def _shorten(
        self,
        middle: Floats,
        widths: Floats,
        length: float,
        each: Floats,
        unseen: int = 0,
        spread: Numbers = 0.0,
    ) -> Floats | ByColumn:
        """The last release of rows that are shortened to a length.

        Where an interval is asked for, rows that are longer are taken to be so by ``each`` on
        average. A look tells how many these are in which direction.
        """
        rows, shift = self._rows_around(middle, widths), None
        shortened = rows >> clip_to_norm(length)
        if self.request.confidence is not None:
            query, most = radius.sum_directions(rows, length), each / self.people.rows
            people = spread if self.request.sampling else 0.0
            error = self._error(shortened, widths, people)
            off = most * self._off(query, self.rho)
            total, noise = self.people.look(
                query, share_for(off, radius.WIDER * error, _BEYOND, power=2)
            )
            shift = Shift(most * total, most * noise, unseen)
        return self._release(middle, widths, shortened, shift, spread=spread, shrinks=unseen > 0)

    def _off(self, query: Stage[RowSpace, Aggregate], rho: Fraction) -> float:
        """The deviation of the noise on a sum that costs rho."""
        part = ConcentratedBudget(rho)
        return part.deviation(part.reach(query, self.ask.space))

    def _error(self, rows: Rowwise, widths: Floats, spread: Numbers) -> Floats:
        """About how far each mean is off, of a sample of columns of this spread."""
        many = self.people.rows
        noise = widths * self._off(rows >> sum(), self.ask.left) / many
        found: Floats = np.hypot(noise, spread / sqrt(many))
        return found

    def _release(
        self,
        middle: Floats,
        widths: Floats,
        rows: Rowwise,
        shift: Shift | None = None,
        *,
        spread: Numbers = 0.0,
        share: Fraction = noisy_mean.COUNT_SHARE,
        shrinks: bool = False,
    ) -> Floats | ByColumn:
        """The sum of rows in this frame, and for a population the sum of their squares."""
        last, squares = self.ask.left, rows >> square() >> sum()
        if self.request.sampling:
            many = self.people.rows
            allowed = radius.CLOSELY * many * self._error(rows, widths, spread) ** 2
            of_all = widths**2 * self._off(squares, self.rho) / many
            last -= self.rho * share_for(of_all, allowed, _SQUARES, power=2)
        total, people = self.people.total(rows >> sum(), last, share)
        off_total = self._off(rows >> sum(), last - (people.weight - self.people.weight))
        off_rows = self._off(count(), people.weight) if people.weight else 0.0
        if self.request.confidence is None:
            mean = people.mean(total)
            if shrinks and self.columns >= _SHRINK_FROM:
                mean = shrink(mean, widths, off_total / people.rows)
            return self.bounds.clip(middle + widths * mean)
        counted = people.rows if people.counted is None else people.counted
        variances = None
        if self.request.sampling:
            off = self._off(squares, self.ask.left) / people.rows
            means = (
                noisy_mean.each_column(self.ask(squares >> gaussian(rho=self.ask.left)))
                / people.rows
            )
            variances = means - people.mean(total) ** 2, off
        return radius.show_columns(
            self.request,
            (*self.bounds.floats, middle, widths, total),
            counted,
            lambda width: JointNormal(width * off_total, off_rows),
            variances,
            shift,
        )


def rows_enough(space: RowSpace, rho: Fraction) -> float:
    """So many rows that a budget is sure to find the scales of all columns."""
    moved = 1.0 if space.domain.size is not None else 0.5
    return _ENOUGH * moved * float(space.unit) * sqrt(space.domain.columns / float(rho))


def rows_for_looks(space: RowSpace, rho: Fraction) -> float:
    """With so many rows a first sum is near to the mean, and half of the rows show in one count.

    With few columns the noise of their bounds is less than what rows that do not show may move.
    """
    if space.domain.columns < _MANY:
        return inf
    return max(rows_enough(space, rho) / _TOO_FEW, 2 * unseen_rows(space, rho))


def bounds_error(
    space: RowSpace, bounds: ColumnBounds, rho: Fraction, power: float, away: Floats
) -> float:
    """The l2 error by noise of the sum of rows in bounds, where this rho is for it.

    ``away`` is how far the means lie from the middles: a private number of rows errs by as much.
    """
    widths = bounds.halves ** (2 / (power + 2))
    length = float(np.linalg.norm(widths) * np.linalg.norm(bounds.halves / widths))
    unit = float(space.unit) / sqrt(2 * float(rho))
    if space.domain.size is not None:
        return 2 * unit * length
    share = float(count_share(space.domain.columns))
    off = float(np.linalg.norm(away))
    return unit * hypot(length / sqrt(1 - share), off / sqrt(share))


def shrink(mean: Floats, widths: Floats, off: float) -> Floats:
    """Means in units of the widths, brought towards 0 as far as noise of this deviation asks for.

    Columns of about one width are brought as far, others by a factor of their own.

    Proof:
        The positive part of James and Stein 1961, for weighted squares as in Bock 1975: in place of
        the number of columns, the sum of squared widths over the largest.
    """
    octaves = np.floor(np.log2(widths.max() / widths) + 0.5)
    found = mean.copy()
    for octave in np.unique(octaves):
        alike = octaves == octave
        squares = widths[alike] ** 2
        many = max(float(squares.sum() / squares.max()) - 2, 0.0)
        square = max(float(mean[alike] @ mean[alike]), _TINY)
        found[alike] *= max(1 - many * off**2 / square, 0.0)
    return found
