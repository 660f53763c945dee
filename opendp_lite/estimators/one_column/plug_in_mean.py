"""The mean as a noisy sum over a noisy count, around 0 or around the middle of the bounds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimate import Estimate
from opendp_lite.estimators.inference.bounded_column import BoundedColumn, bounds_come_first
from opendp_lite.estimators.inference.budget import Budget
from opendp_lite.estimators.inference.estimator_plan import OneRoundPlan
from opendp_lite.estimators.inference.noisy_totals import NoisyTotals
from opendp_lite.estimators.inference.parameters import require_private_size, share_of
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RatioOfNoisySums
from opendp_lite.estimators.inference.request import Request
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.center import center
from opendp_lite.transformations.count import count
from opendp_lite.transformations.sum import sum


@bounds_come_first("epsilon=1")
@example(records(), 0, 10, rho=0.1, guess=4)
@mechanism
def plug_in_mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    share: Number | None = None,
    guess: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any, float | Estimate]:
    """The mean of one column as a noisy sum over a noisy count: for comparison with ``mean``.

    Args:
        lower: The lower bound of the values. Values below it are clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        share: The share of the budget for the sum. By default the published one, at which the
            sum's variance is that of the count times the square of the width.
        guess: In place of ``share``: a public guess of the mean, for which the share is best.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``. Missing values are left out;
        less than one row counts as one.

    Raises:
        ParameterError: If both a share and a guess are given.
        SpaceError: If the number of rows is public.

    Privacy:
        The budget that was given, in its measure.

    Proof:
        Composition of a sum and a count: Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal),
        section 3. With Gaussian noise, n rows, the share a and H the larger of abs(lower) and
        abs(upper), the square of the error times n^2 is
        H^2 / (2 rho a) + mean^2 / (2 rho (1 - a)).
        Bounds far from 0 make both large.

    Example:
        >>> import opendp_lite as dp
        >>> dp.estimators.plug_in_mean(0, 10, rho=0.03).map(1)
        0.03
        >>> round(dp.estimators.plug_in_mean(0, 10, epsilon=1)([3.0] * 10_000), 1)
        3.0
    """
    column = BoundedColumn.of(space, lower, upper, "plug_in_mean")
    request = Request.of("plug_in_mean", confidence, sampling, rho, epsilon, delta)
    return _sum_over_count(space, column, Fraction(0), request, share, guess)


@bounds_come_first("epsilon=1")
@example(records(), 0, 10, epsilon=0.1, share=0.75)
@mechanism
def centered_mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    share: Number | None = None,
    guess: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any, float | Estimate]:
    """The middle of the bounds plus a noisy sum of the differences from it over a noisy count.

    Args:
        lower: The lower bound of the values. Values below it are clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        share: The share of the budget for the sum. By default the published one, at which the
            sum's variance is that of the count times the square of the width.
        guess: In place of ``share``: a public guess of the mean, for which the share is best.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``. Missing values are left out;
        less than one row counts as one.

    Raises:
        ParameterError: If both a share and a guess are given.
        SpaceError: If the number of rows is public.

    Privacy:
        The budget that was given, in its measure.

    Proof:
        Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), appendix C.1. With Gaussian noise, n
        rows, the share a, half the width h and the mean at a distance D from the middle, the
        square of the error times n^2 is h^2 / (2 rho a) + D^2 / (2 rho (1 - a)).
        At a = 1/2 that is the law of ``simplex_mean``. At a = 3/4 it has the least regret over all
        D, 4/3. The best a is h / (h + D), which ``recentred_mean`` looks for.

    Example:
        >>> import opendp_lite as dp
        >>> dp.estimators.centered_mean(0, 10, rho=0.03).map(1)
        0.03
        >>> round(dp.estimators.centered_mean(0, 10, epsilon=1)([3.0] * 10_000), 1)
        3.0
    """
    column = BoundedColumn.of(space, lower, upper, "centered_mean")
    request = Request.of("centered_mean", confidence, sampling, rho, epsilon, delta)
    return _sum_over_count(space, column, column.middle, request, share, guess)


def _sum_over_count(
    space: Space[Rows],
    column: BoundedColumn,
    about: Fraction,
    request: Request,
    share: Number | None,
    guess: Number | None,
) -> Measurement[Space[Rows], Any]:
    """The estimator that subtracts ``about`` from each value before the sum."""
    require_private_size(space, request.step)
    of_sum = _share_of_sum(request, column, about, share, guess)
    plan = _SumOverCount(column, request.budget, about, of_sum, float(space.unit))
    return request.measured(space, plan, f"{float(of_sum):.3g} of the budget is for the sum")


def _share_of_sum(
    request: Request,
    column: BoundedColumn,
    about: Fraction,
    share: Number | None,
    guess: Number | None,
) -> Fraction:
    """The share as given, or the best for a guess of the mean, or as published."""
    step, family = request.step, request.whole.family
    if share is not None and guess is not None:
        raise ParameterError(f"{step}: a guess decides the share; give one of them")
    if share is not None:
        return share_of(share, f"{step}: share")
    near = column.public(guess, f"{step}: guess")
    if near is None:
        return family.even_share(_reach(column, about), 2 * column.half)
    return family.best_share(_reach(column, about), abs(near - about))


def _reach(column: BoundedColumn, about: Fraction) -> Fraction:
    """How far a value can be from what is subtracted."""
    return max(column.upper - about, about - column.lower)


@attrs.frozen
class _SumOverCount(OneRoundPlan):
    """A share of the budget for the sum of (x - about), the rest for the number of rows."""

    column: BoundedColumn
    budget: Budget
    about: Fraction
    share: Fraction
    unit: float

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        total = sum() if self.about == 0 else center(self.about) >> sum()
        of_sum, of_count = self.budget.part(self.share), self.budget.part(1 - self.share)
        return compose(total >> of_sum.noise(), count() >> of_count.noise()) >> self._read

    def _read(self, release: Any) -> NoisyTotals:
        total, rows = release
        return NoisyTotals(self.ratio(), float(total[0]), float(rows))

    def ratio(self) -> RatioOfNoisySums:
        reach = self.unit * float(_reach(self.column, self.about))
        of_sum = self.budget.part(self.share).scale(reach)
        of_count = self.budget.part(1 - self.share).scale(self.unit)
        errors = self.budget.family.errors(np.array([of_sum, 0.0]), np.array([0.0, of_count]))
        return RatioOfNoisySums(*self.column.floats, float(self.about), errors)
