"""The number of rows: public, or counted in private."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt
from typing import Any, Final

import attrs

from opendp_lite.combinators.adaptive import Ask
from opendp_lite.combinators.compose import compose
from opendp_lite.core import Stage
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.parameters import Floats
from opendp_lite.estimators.many_columns._columns import each_column, ratio
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.spaces import Space
from opendp_lite.transformations.count import count
from opendp_lite.transformations.norm import norm

_FIRST: Final = Fraction(1, 200)
_WITH_SUM: Final = Fraction(1, 101)
"""Of a last release, for the count: the best for a constant column of a tenth of the radius."""
_MOST_SHORTENED: Final = 0.25
_NATS: Final = 17
"""How much more likely than one beyond all rows a length is that the share of rows exceeds. Lengths
beyond all rows are most of the lattice: e^7 cells of it."""
_BITS: Final = 6
"""Cells to a doubling of the radius."""
_TRADE: Final = 16
_DEARER: Final = 10.0
_RESOLUTION: Final = 0.2
Rowwise = Stage[Space[Rows], Space[Rows]]


@attrs.frozen
class RowCount:
    """The number of rows that a program under zCDP may use.

    Args:
        ask: The program's.
        rows: The number, at least 1.
        counted: The noisy number; None where the number is public.
        weight: The rho that was spent on it. A count that costs rho has a variance of 1 / (2 rho).
        budget: All of the program's rho.
    """

    ask: Ask[ZeroConcentratedDivergence]
    rows: float
    counted: float | None
    weight: Fraction
    budget: Fraction

    @classmethod
    def of(cls, ask: Ask[ZeroConcentratedDivergence], rho: Fraction) -> RowCount:
        """The public number, or a first count that costs 1/200 of rho."""
        size = ask.space.domain.size
        if size is not None:
            return cls(ask, float(size), None, Fraction(0), rho)
        weight = _FIRST * rho
        counted = float(ask(count() >> gaussian(rho=weight)))
        return cls(ask, max(counted, 1.0), counted, weight, rho)

    @property
    def rank(self) -> float:
        """How far one row moves the rank of a median."""
        return 1.0 if self.counted is None else 0.5

    def radius(self, rows: Rowwise, ends: tuple[float, float], rho: Fraction) -> float:
        """A length between the ends that few rows exceed.

        The less noise the budget leaves in a mean, the fewer rows are shortened. It spends rho, or
        up to ten times as much where so few rows are found only by that. Where none are found it is
        the larger end, and nothing is spent.
        """
        most = 0.07 if self.counted is None else 0.03
        noise = sqrt(self.ask.space.domain.columns / float(self.budget)) / self.rows
        wanted = min(most, _TRADE * noise)
        needed = (_NATS / (wanted * self.rows)) ** 2 / 2 / float(rho)
        cost = rho * Fraction(min(max(needed, 1.0), _DEARER)).limit_denominator(1000)
        reach = sqrt(2 * float(cost)) * self.rows
        if reach * _MOST_SHORTENED < log(log(ends[1] / ends[0]) / _RESOLUTION) + 2:
            return ends[1]
        share = min(max(wanted, _NATS / reach), _MOST_SHORTENED)
        length = private_quantile(1 - share, bounds=ends, scale="log", rho=cost, bits=_BITS)
        return float(self.ask(rows >> norm() >> length))

    def total(self, rows: Stage[Space[Rows], Any], rho: Fraction) -> tuple[Floats, RowCount]:
        """A release of a sum, and the number of rows as it is known after it."""
        if self.counted is None:
            return each_column(self.ask(rows >> gaussian(rho=rho))), self
        weight = _WITH_SUM * rho
        both = compose(rows >> gaussian(rho=rho - weight), count() >> gaussian(rho=weight))
        found, again = self.ask(both)
        together = self.weight + weight
        share = float(weight / together)
        counted = share * float(again) + (1 - share) * self.counted
        known = RowCount(self.ask, max(counted, 1.0), counted, together, self.budget)
        return each_column(found), known

    def mean(self, total: Floats) -> Floats:
        """The total over the number of rows."""
        if self.counted is None:
            return total / self.rows
        return ratio(total, self.counted, 1 / (2 * float(self.weight)))
