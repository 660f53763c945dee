"""PLAN with its budget where it counts: the mean of many columns."""

from __future__ import annotations

from fractions import Fraction
from math import asinh, exp, log, sqrt
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.combinators.adaptive import Ask, adaptive
from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement, Stage, mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.private_variance import deviations
from opendp_lite.estimators.settings import (
    Floats,
    coordinate_bound,
    dyadic,
    each_column,
    error_power,
    moderate,
    ratio,
    within,
)
from opendp_lite.exact import Number
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.spaces import Space
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.count import count
from opendp_lite.transformations.norm import norm
from opendp_lite.transformations.scale import scale
from opendp_lite.transformations.sum import sum

_NEAR: Final = 2.0**-30
"""Entries within this share of the bound are told apart evenly, beyond by their magnitude."""
_NARROWEST: Final = 2.0**-40
_SURE, _LIKELY = 7, 2
_MOST: Final = 0.3
_REACH: Final = 6
_FINE: Final = 2**24
_COUNT_SHARE = Fraction(1, 200)
_ROWS_SHARE = Fraction(1, 101)
"""Of the last release, for the rows: a constant column of a tenth of the radius."""
Zcdp = ZeroConcentratedDivergence
Rowwise = Stage[Space[Rows], Space[Rows]]


@mechanism
def plan_plus_mean(
    space: Space[Rows], bound: Number, *, rho: Number, p: Number = 2
) -> Measurement[Space[Rows], ZeroConcentratedDivergence]:
    """The mean of each column, with noise that fits the columns' spread: PLAN, improved.

    Takes: rows of any number d of columns; ``bound`` M, the entries lie in [-M, M]: a bound far
        too large costs little; ``rho``, the whole loss; ``p``, at least 1, of the l_p error to be
        small. The number of rows may be public (``ChangeOneDistance``) or private.
    Gives: d numbers in [-M, M]. Larger entries only cost accuracy; a row with NaN counts as the
        centre.
    Costs: rho. About nine tenths go to the sum; the rest finds, of each column, a median and a
        spread, and a radius for the rows; where rows are added or removed, also their number.
    Because: the noise of algorithm 1 of Aumueller, Lebeda, Nelson, Pagh 2024, with sensitivities as
        they are, all rows in every step, spreads and radius sought by their magnitude, and shares
        of the budget from what a median of so many rows needs. Where that is more than there is,
        the rows are clipped around 0 and not scaled.

    >>> import opendp_lite as dp, numpy as np
    >>> rows = np.random.default_rng(0).normal([1, 20], [0.1, 5], (4000, 2))
    >>> (dp.records(columns=2) >> dp.plan_plus_mean(100, rho=1))(rows).round(1)
    array([ 1., 20.])
    """
    most, power, whole = coordinate_bound(bound), error_power(p), moderate(rho, "rho")

    def program(ask: Ask[Zcdp]) -> Floats:
        return _PlanPlus.of(ask, most, power, whole).mean()

    return adaptive(program, Zcdp(), whole).bind(space)


@attrs.frozen
class _PlanPlus:
    """One run: what is asked, and what is public or was released before."""

    ask: Ask[Zcdp]
    bound: float
    power: float
    rho: Fraction
    columns: int
    rows: float
    rank: float
    counted: float | None

    @classmethod
    def of(cls, ask: Ask[Zcdp], bound: float, power: float, rho: Fraction) -> _PlanPlus:
        """With the number of rows, or a first private count of them."""
        domain = ask.space.domain
        if domain.size is not None:
            return cls(ask, bound, power, rho, domain.columns, domain.size, 1.0, None)
        counted = float(ask(count() >> gaussian(rho=_COUNT_SHARE * rho)))
        return cls(ask, bound, power, rho, domain.columns, max(counted, 1.0), 0.5, counted)

    def mean(self) -> Floats:
        """The estimate."""
        nats = log(20 * asinh(1 / _NEAR))
        if self._needed(nats + _LIKELY) > _MOST:
            return self._released(np.zeros(self.columns), None)
        rho = self._share(nats)
        middle = self._medians(rho)
        nats = log(-log(_NARROWEST / 2) / 0.2)
        if self._needed(nats + _LIKELY) > _MOST:
            return self._released(middle, None)
        cost = self._share(nats, least=0.02)
        spread = deviations(self.ask, "magnitude", middle, self.bound, cost, group=1)
        return self._released(self._recentred(middle, spread, rho), spread)

    def _needed(self, nats: float) -> float:
        """The share of the budget at which medians of all columns are found among e^nats."""
        return 2 * self.columns * (self.rank * nats / self.rows) ** 2 / float(self.rho)

    def _share(self, nats: float, least: float = 0.03) -> Fraction:
        """The budget for a median of every column that is surely found."""
        wanted = self._needed(nats + log(self.columns) + _SURE)
        return self._part(min(max(wanted, least), _MOST))

    def _part(self, share: float) -> Fraction:
        return self.rho * Fraction(int(share * _FINE), _FINE)

    def _medians(self, rho: Fraction) -> Floats:
        ends = (-self.bound, self.bound)
        unit = self.bound * _NEAR
        median = private_quantile(0.5, bounds=ends, scale="asinh", unit=unit, rho=rho)
        return each_column(self.ask(median))

    def _recentred(self, middle: Floats, spread: Floats, before: Fraction) -> Floats:
        """The medians once more, more exactly where the spread is large; both combined."""
        rho = self._part(0.02)
        weights = np.ceil(spread / spread.max() * _FINE)
        share = weights / weights.sum()
        median = private_quantile(0.5, bounds=(-_REACH, _REACH), rho=rho, shares=weights)
        moved = (
            each_column(self.ask(center(dyadic(middle)) >> scale(dyadic(1 / spread)) >> median))
            * spread
        )
        slope = np.sqrt(2 * float(rho) * share) / self.rank
        trust = share / (share + float(before / rho) / self.columns)
        return middle + np.where(slope * self.rows > 20, trust * moved, 0.0)

    def _released(self, middle: Floats, spread: Floats | None) -> Floats:
        """The last release: the sum of centred, scaled and clipped rows."""
        if spread is None:
            widths = np.ones(self.columns)
            ends = (self.bound * _NARROWEST, 2 * self.bound * sqrt(self.columns))
            rho = self._part(0.05)
        else:
            power = spread ** (4 / (self.power + 2))
            widths = np.sqrt(power + 0.05 * power.mean())
            expected = sqrt(float(np.sum((spread / widths) ** 2)))
            ends = (expected * exp(-1.5), expected * exp(1))
            rho = self._part(0.01)
        rows = center(dyadic(middle)) >> scale(dyadic(1 / widths))
        radius = self._radius(rows, ends, rho)
        mean = self._mean_of(rows >> clip_to_norm(radius) >> sum())
        return within(middle + widths * mean, self.bound)

    def _radius(self, rows: Rowwise, ends: tuple[float, float], rho: Fraction) -> float:
        """A length that few rows exceed, as few as the budget can find."""
        slope = sqrt(2 * float(rho))
        fewest = 0.07 if self.counted is None else 0.03
        share = min(max(fewest, 13 / (slope * self.rows)), 0.25)
        length = private_quantile(1 - share, bounds=ends, scale="log", rho=rho)
        return float(self.ask(rows >> norm() >> length))

    def _mean_of(self, total: Stage[Space[Rows], Any]) -> Floats:
        left = self.ask.left
        if self.counted is None:
            return each_column(self.ask(total >> gaussian(rho=left))) / self.rows
        rho = _ROWS_SHARE * left
        both = compose(total >> gaussian(rho=left - rho), count() >> gaussian(rho=rho))
        found, counted = self.ask(both)
        first, second = float(_COUNT_SHARE * self.rho), float(rho)
        rows = (first * self.counted + second * counted) / (first + second)
        return ratio(each_column(found), rows, 0.5 / (first + second))
