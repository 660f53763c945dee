"""The mean from both sums of a simplex, with the number of rows at no cost."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
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
from opendp_lite.estimators.inference.parameters import require_private_size
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RatioOfNoisySums
from opendp_lite.estimators.inference.request import Request
from opendp_lite.exact import Number, exact
from opendp_lite.examples import example
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.count import count
from opendp_lite.transformations.simplex_augment import simplex_augment
from opendp_lite.transformations.sum import sum


@bounds_come_first("epsilon=1")
@example(records(), 0, 10, epsilon=0.1, extra_count=0.25)
@mechanism
def simplex_mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    extra_count: Number = 0,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any, float | Estimate]:
    """The mean of one column from noisy sums of (x - lower) and (upper - x).

    Args:
        lower: The lower bound of the values. Values below it are clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        extra_count: The share of the budget for a count besides. It is averaged with the count
            from the sums by inverse variances.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``. Missing values are left out;
        less than one row counts as one.

    Raises:
        SpaceError: If the number of rows is public.

    Privacy:
        The budget that was given, in its measure.

    Proof:
        A row is (x - lower, upper - x), of a constant total, so two sums share one noise: Free
        Lunch (Fitzsimons, Honaker, Shoemate, Singhal), section 4; the transformed noise of
        Kulesza, Suresh, Wang 2024. With Gaussian noise it errs as ``centered_mean`` with even
        shares. An extra count never helps the mean, since the sum gets too little already.

    Example:
        >>> import opendp_lite as dp
        >>> dp.estimators.simplex_mean(0, 10, epsilon=1).map(1)
        1.0
        >>> round(dp.estimators.simplex_mean(0, 10, epsilon=1)([3.0] * 10_000), 1)
        3.0
    """
    column = BoundedColumn.of(space, lower, upper, "simplex_mean")
    require_private_size(space, "simplex_mean")
    request = Request.of("simplex_mean", confidence, sampling, rho, epsilon, delta)
    extra = exact(extra_count, "simplex_mean: extra_count")
    if not 0 <= extra < 1:
        raise ParameterError(
            "simplex_mean: extra_count is a share of the budget, from 0 to below 1, got "
            f"{extra_count}"
        )
    plan = _Simplex(column, request.budget, extra, float(space.unit))
    return request.measured(space, plan, "both sums share one noise")


@attrs.frozen
class _Simplex(OneRoundPlan):
    """The two sums, and a count besides where ``extra`` of the budget is for one."""

    column: BoundedColumn
    budget: Budget
    extra: Fraction
    unit: float

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        sums = simplex_augment() >> sum() >> self.budget.part(1 - self.extra).noise()
        if self.extra == 0:
            return sums >> self._from_sums
        return compose(sums, count() >> self.budget.part(self.extra).noise()) >> self._with_count

    def _from_sums(self, sums: Any) -> NoisyTotals:
        first, second = map(float, sums)
        return NoisyTotals(self.ratio(), (first - second) / 2, (first + second) / self._width)

    def _with_count(self, release: Any) -> NoisyTotals:
        found = self._from_sums(release[0])
        trust = self._trust()
        return attrs.evolve(found, rows=(1 - trust) * found.rows + trust * float(release[1]))

    @property
    def _width(self) -> float:
        return 2 * float(self.column.half)

    def _scales(self) -> tuple[float, float]:
        """Of the sums, and of the extra count, infinite where there is none."""
        of_sums = self.budget.part(1 - self.extra).scale(self.unit * self._width)
        extra = self.budget.part(self.extra).scale(self.unit) if self.extra else float("inf")
        return of_sums, extra

    def _trust(self) -> float:
        """The weight of the extra count."""
        of_sums, extra = self._scales()
        free = sqrt(2) * of_sums / self._width
        return free**2 / (free**2 + extra**2)

    def ratio(self) -> RatioOfNoisySums:
        of_sums, extra = self._scales()
        trust = self._trust()
        each = (1 - trust) * of_sums / self._width
        third = trust * extra if self.extra else 0.0
        total, rows = [of_sums / 2, -of_sums / 2, 0.0], [each, each, third]
        errors = self.budget.family.errors(np.array(total), np.array(rows))
        return RatioOfNoisySums(*self.column.floats, float(self.column.middle), errors)
