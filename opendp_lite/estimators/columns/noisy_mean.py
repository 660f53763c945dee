"""What estimators of several columns share: parameters, and how a total becomes a mean."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log, sqrt
from typing import Final, cast

import attrs
import numpy as np
from numpy.typing import ArrayLike

from opendp_lite.base.errors import ParameterError
from opendp_lite.bodies.body import Bounds, Values, broadcast, parse_bounds
from opendp_lite.combinators.adaptive_programs import Ask
from opendp_lite.combinators.composing import compose
from opendp_lite.estimators.parts.budget import Measured, Noisy, RowSpace
from opendp_lite.estimators.parts.noisy_totals import (
    Floats,
    JointNoise,
    NoisyTotals,
    RatioOfNoisySums,
    moderate,
)
from opendp_lite.estimators.parts.request import ByColumn, Request
from opendp_lite.measurements.noise import Aggregate, gaussian
from opendp_lite.measurements.quantile.private_quantile import private_quantile
from opendp_lite.measures.divergences import ZeroConcentratedDivergence
from opendp_lite.numbers.exact import Number, exact, nearest
from opendp_lite.numbers.fraction_array import LONG, FractionArray
from opendp_lite.pipeline.steps import Mechanism, Stage
from opendp_lite.transformations.bounding import clip_to_norm
from opendp_lite.transformations.entries import norm
from opendp_lite.transformations.row_maps import fitting
from opendp_lite.transformations.sums import count, sum

SumAndRows = Floats | tuple[Floats, float]
"""The number of rows is there where it is private."""

OUTSIDE_BALL: Final = (
    "Longer rows are shortened to the radius. A row with a missing value is left out; where the "
    "number of rows is public, a missing value counts as 0."
)
"""What an estimator for rows in an l2 ball changes."""


def coordinate_bound(given: Number) -> float:
    """The bound on the size of every entry."""
    return float(moderate(given, "bound"))


def for_columns(given: Bounds, name: str, space: RowSpace, step: str) -> Values:
    """A number for each column, from one for all or one for each."""
    found = fitting(parse_bounds(given, name), space, step)
    return broadcast(found, space.domain.columns)


def error_power(given: Number) -> float:
    """The p of an l_p error."""
    found = exact(given, "p")
    if found < 1:
        raise ParameterError(f"p must be at least 1, got {given}")
    return nearest(found)


def each_column(release: ArrayLike) -> Floats:
    """A release with an entry for each column, also where there is one column."""
    return np.atleast_1d(np.asarray(release, dtype=np.float64))


def ratio(total: Floats, rows: float, variance: float) -> Floats:
    """The total over a noisy number of rows of this variance.

    Proof:
        total rows / (rows^2 + variance) has the least error near few rows, where the plain ratio
        has no variance at all. It goes to 0 there.
    """
    counted = max(rows, 0.0)
    return total * (counted / (counted * counted + variance))


def within(estimate: ArrayLike, bound: float) -> Floats:
    """An estimate brought into the cube in which the mean lies; NaN becomes 0."""
    return np.nan_to_num(np.asarray(estimate, dtype=np.float64)).clip(-bound, bound)


def dyadic(numbers: Floats) -> Values:
    """The floats as the fractions that they are, over powers of two, which add up fast."""
    if len(numbers) < LONG:
        return tuple(map(Fraction, numbers.tolist()))
    return FractionArray.of_floats(numbers)


def gaussian_share(columns: int) -> float:
    """The share of rho for the sum, of the least regret over all means, with a private count."""
    root = sqrt(columns)
    return (2 * root + 1) / (2 * root + 2)


def noisy_mean(
    space: RowSpace,
    rows: Stage[RowSpace, RowSpace],
    rho: Fraction,
    back: Callable[[Floats], Floats],
) -> Mechanism[RowSpace, ZeroConcentratedDivergence]:
    """The mean of bounded rows from a Gaussian release of their sum, and their number if private.

    Args:
        space: The space.
        rows: What is summed.
        rho: The budget.
        back: From a mean of these rows to what is released.
    """
    total, size = rows >> sum(), space.domain.size
    if size is not None:

        def mean(release: Floats) -> Floats:
            return back(each_column(release) / size)

        return total >> gaussian(rho=rho) >> mean
    share = gaussian_share(space.domain.columns)
    of_sum = rho * Fraction(share).limit_denominator(10**6)
    variance = (1 / sqrt(2 * float(rho - of_sum))) ** 2

    def mean_of_both(release: tuple[Floats, float]) -> Floats:
        found, counted = release
        return back(ratio(each_column(found), float(counted), variance))

    both = compose(total >> gaussian(rho=of_sum), count() >> gaussian(rho=rho - of_sum))
    return both >> mean_of_both


def of_ball(
    space: RowSpace,
    request: Request,
    radius: Fraction,
    noisy: Noisy[SumAndRows],
    errors: JointNoise,
) -> Measured[Floats | ByColumn]:
    """The mean of rows in an l2 ball from a noisy sum, and a noisy number where that is private.

    Args:
        space: The space.
        request: What was asked for.
        radius: Of the ball.
        noisy: What is released of all rows.
        errors: How each entry of it errs.
    """
    size, length = space.domain.size, float(radius)
    shown = RatioOfNoisySums(-length, length, 0.0, errors, ridge=1.0)

    def read(release: SumAndRows) -> tuple[Floats, float]:
        total, rows = cast(tuple[Floats, float], release if size is None else (release, size))
        return each_column(total), float(rows)

    def vector(release: SumAndRows) -> Floats:
        total, rows = read(release)
        mean = ratio(total, rows, float(errors.rows_deviation) ** 2)
        # It lies in the ball.
        return mean * (length / max(float(np.linalg.norm(mean)), length))

    def totals(release: SumAndRows) -> list[NoisyTotals]:
        total, rows = read(release)
        return [NoisyTotals(shown, float(entry), rows) for entry in total]

    return request.of_columns(space, clip_to_norm(radius), noisy, vector, totals)


_FIRST: Final = Fraction(1, 200)
# Of a last release, for the count: the best for a constant column of a tenth of the radius.
_WITH_SUM: Final = Fraction(1, 101)
_MOST_SHORTENED: Final = 0.25
# How much more likely than one beyond all rows a length is that the share of rows exceeds. Lengths
# beyond all rows are most of the lattice: e^7 cells of it.
_NATS: Final = 17
# Cells to a doubling of the radius.
_BITS: Final = 6
_TRADE: Final = 16
_DEARER: Final = 10.0
_RESOLUTION: Final = 0.2
Rowwise = Stage[RowSpace, RowSpace]


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

    def total(self, rows: Stage[RowSpace, Aggregate], rho: Fraction) -> tuple[Floats, RowCount]:
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
