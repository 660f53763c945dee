"""PLAN with its budget where it counts: the mean of many columns."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt
from statistics import NormalDist
from typing import Final

import attrs
import numpy as np

from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.parameters import Floats, moderate
from opendp_lite.estimators.many_columns._columns import (
    coordinate_bound,
    dyadic,
    each_column,
    error_power,
    within,
)
from opendp_lite.estimators.many_columns._row_count import RowCount
from opendp_lite.estimators.many_columns.normal_variance import deviations
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.recipes import mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.absolute import absolute
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.scale import scale
from opendp_lite.transformations.sum import sum

_NEAR: Final = 2.0**-30
"""Entries within this share of the bound are on an even grid, others on a logarithmic one."""
_NARROWEST: Final = 2.0**-40
_SURE, _LIKELY = 4, 2
_FINE_BITS, _COARSE_BITS = 12, 6
"""Cells to a doubling: fine enough for a first median, few enough to find rows that are equal."""
_DOUBLINGS: Final = 62
_TAIL_SHARE: Final = 0.01
_WIDEST_TAIL, _NARROWEST_TAIL = 0.25, 0.01
_CLOSE: Final = 1.5
_MOST_FOR_ONE: Final = 0.3
_REACH: Final = 6
_FINE: Final = 2**24
_RESOLUTION: Final = 0.2
Zcdp = ZeroConcentratedDivergence


@example(records(columns=["age", "visits"]), 100, rho=0.1, p=1)
@mechanism
def plan_plus_mean(
    space: Space[Rows], bound: Number, *, rho: Number, p: Number = 2
) -> Measurement[Space[Rows], ZeroConcentratedDivergence, Floats]:
    """The mean of each column, with noise that fits the columns' spread: PLAN, improved.

    Args:
        bound: M. The entries lie in [-M, M]. A bound far too large costs little.
        rho: The budget. About nine tenths go to the sum. The rest finds a median and a spread of
            each column, a radius for the rows, and where it is private their number.
        p: At least 1. The l_p error is to be small.

    Returns:
        A number in [-M, M] for each column. Where the number of rows is private, rows with a
        missing value are left out. Where it is public, a missing value counts as the released
        median of its column. Rows that reach far are shortened, so the mean of a column with a
        long tail comes out a little low. With public bounds close to the data ``elliptical_mean``
        errs less.

    Privacy:
        Rho under ``ZeroConcentratedDivergence``, under either row metric.

    Proof:
        The noise of algorithm 1 of Aumueller, Lebeda, Nelson, Pagh 2024, with its true
        sensitivities and all rows in every step. Spreads and radius are sought on a logarithmic
        grid. A median of so many rows needs a certain share of the budget; where that is more than
        there is, rows are clipped around 0 and not scaled.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal([1, 20], [0.1, 5], (20_000, 2))
        >>> (dp.records(columns=2) >> dp.estimators.plan_plus_mean(100, rho=0.03))(rows).round(0)
        array([ 1., 20.])
    """
    most, power, whole = coordinate_bound(bound), error_power(p), moderate(rho, "rho")

    def program(ask: Ask[Zcdp]) -> Floats:
        people, columns = RowCount.of(ask, whole), space.domain.columns
        return _PlanPlus(ask, most, power, whole, columns, people).mean()

    spent = "about a tenth of rho finds where the columns lie and how wide they are"
    return programmed(space, program, Zcdp(), whole, f"{spent}, the rest is for their sum")


@attrs.frozen
class _PlanPlus:
    """One run: public numbers, and releases so far."""

    ask: Ask[Zcdp]
    bound: float
    power: float
    rho: Fraction
    columns: int
    people: RowCount

    def mean(self) -> Floats:
        """The estimate."""
        nats = log(_DOUBLINGS) + _FINE_BITS * log(2)
        if self._needed(nats / 2 + _LIKELY) > _MOST_FOR_ONE:
            return self._released(np.zeros(self.columns), None)
        rho = self._share(nats, least=0.02)
        middle = self._medians(rho)
        nats = log(-log(_NARROWEST / 2) / _RESOLUTION)
        if self._needed(nats + _LIKELY) > _MOST_FOR_ONE:
            return self._released(middle, None)
        cost = self._share(nats + _SURE, least=0.02)
        spread = deviations(self.ask, "magnitude", middle, self.bound, cost, group=1)
        spread = np.maximum(spread, self._tails(middle, nats))
        return self._released(self._recentred(middle, spread, rho), spread)

    def _needed(self, nats: float) -> float:
        """The share of the budget at which the median of a column is found among e^nats."""
        moved = self.people.rank * nats / self.people.rows
        return 2 * self.columns * moved**2 / float(self.rho)

    def _share(self, nats: float, least: float) -> Fraction:
        """The budget at which the medians of all columns are surely found."""
        wanted = self._needed(nats + log(self.columns) + _SURE)
        return self._part(min(max(wanted, least), _MOST_FOR_ONE))

    def _part(self, share: float) -> Fraction:
        return self.rho * Fraction(int(share * _FINE), _FINE)

    def _medians(self, rho: Fraction) -> Floats:
        ends = (-self.bound, self.bound)
        unit = self.bound * _NEAR
        median = private_quantile(
            0.5, bounds=ends, scale="asinh", unit=unit, rho=rho, bits=_FINE_BITS
        )
        return each_column(self.ask(median))

    def _tails(self, middle: Floats, nats: float) -> Floats:
        """The spread by a quantile far out, where the budget finds one; else 0.

        A median of ``|x - middle|`` misses two cases: a column in which most rows are equal, and a
        long tail.
        """
        rho = self._part(_TAIL_SHARE)
        slope = sqrt(2 * float(rho) / self.columns)
        beyond = (nats + log(self.columns) + 2 * _SURE) / (slope * self.people.rows)
        if beyond > _WIDEST_TAIL:
            return np.zeros(self.columns)
        beyond = max(beyond, _NARROWEST_TAIL)
        ends = (self.bound * _NARROWEST, 2 * self.bound)
        far = private_quantile(1 - beyond, bounds=ends, scale="log", rho=rho, bits=_COARSE_BITS)
        found = each_column(self.ask(center(dyadic(middle)) >> absolute() >> far))
        return found / NormalDist().inv_cdf(1 - beyond / 2)

    def _recentred(self, middle: Floats, spread: Floats, before: Fraction) -> Floats:
        """The medians once more, more exactly where the spread is large; both combined."""
        rho = self._part(0.02)
        weights = np.ceil(spread / spread.max() * _FINE)
        share = weights / weights.sum()
        median = private_quantile(0.5, bounds=(-_REACH, _REACH), rho=rho, shares=weights)
        rows = center(dyadic(middle)) >> scale(dyadic(1 / spread))
        moved = each_column(self.ask(rows >> median)) * spread
        slope = np.sqrt(2 * float(rho) * share) / self.people.rank
        trust = share / (share + float(before / rho) / self.columns)
        return middle + np.where(slope * self.people.rows > 20, trust * moved, 0.0)

    def _released(self, middle: Floats, spread: Floats | None) -> Floats:
        """The last release: the sum of centred, scaled and clipped rows."""
        if spread is None:
            widths = np.ones(self.columns)
            shortest = self.bound * _NARROWEST
            rho = self._part(0.05)
        else:
            power = spread ** (4 / (self.power + 2))
            widths = np.sqrt(power + 0.05 * power.mean())
            shortest = float(np.linalg.norm(spread / widths)) * exp(-_CLOSE)
            rho = self._part(0.01)
        longest = 2 * self.bound * float(np.linalg.norm(1 / widths))
        ends = (min(shortest, longest / 2), longest)
        rows = center(dyadic(middle)) >> scale(dyadic(1 / widths))
        radius = self.people.radius(rows, ends, rho)
        total, people = self.people.total(rows >> clip_to_norm(radius) >> sum(), self.ask.left)
        return within(middle + widths * people.mean(total), self.bound)
