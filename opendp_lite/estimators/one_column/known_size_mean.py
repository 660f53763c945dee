"""The mean of a public number of rows."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.estimate import Estimate
from opendp_lite.estimators.inference.bounded_column import BoundedColumn, bounds_come_first
from opendp_lite.estimators.inference.budget import Budget
from opendp_lite.estimators.inference.estimator_plan import OneRoundPlan
from opendp_lite.estimators.inference.noisy_totals import NoisyTotals
from opendp_lite.estimators.inference.parameters import require_public_size
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RatioOfNoisySums
from opendp_lite.estimators.inference.request import Request
from opendp_lite.estimators.inference.scenario import Scenario
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.center import center
from opendp_lite.transformations.sum import sum


@bounds_come_first("epsilon=1")
@example(records(size=20, metric=ChangeOneDistance()), 0, 10, rho=0.1)
@mechanism
def known_size_mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any, float | Estimate]:
    """The mean of one column whose number of rows is public: a noisy sum over that number.

    Args:
        lower: The lower bound of the values. Values below it are clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``. Missing values count as the
        middle of the bounds, since leaving them out would change a public number.

    Raises:
        SpaceError: If the number of rows is private. To protect it, leave ``size`` out.

    Privacy:
        The budget that was given, where one row is replaced (``ChangeOneDistance``).

    Proof:
        A replaced row moves the sum by the width of the bounds, so with n rows the error is
        width / (n sqrt(2 rho)). The simplex of Free Lunch, section 4.2, gains nothing here: a
        replaced row moves both of its sums, sqrt(2) times as far together, and averaging them
        wins that back.

    Example:
        >>> import opendp_lite as dp
        >>> people = dp.records(size=10_000, metric=dp.ChangeOneDistance())
        >>> round((people >> dp.estimators.known_size_mean(0, 10, epsilon=1))([3.0] * 10_000), 1)
        3.0
    """
    column = BoundedColumn.of(space, lower, upper, "known_size_mean")
    request = Request.of("known_size_mean", confidence, sampling, rho, epsilon, delta)
    plan = known_size_plan(space, column, request)
    return request.measured(space, plan, "all of the budget is for the sum")


def known_size_plan(space: Space[Rows], column: BoundedColumn, request: Request) -> _KnownSize:
    """The plan on a space with a public number of rows."""
    size = require_public_size(space, "known_size_mean", "use mean()")
    return _KnownSize(column, request.budget, max(size, 1), float(space.unit))


@attrs.frozen
class _KnownSize(OneRoundPlan):
    """The sum of (x - middle) over the public number."""

    column: BoundedColumn
    budget: Budget
    size: int
    unit: float

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        return center(self.column.middle) >> sum() >> self.budget.noise() >> self._read

    def _read(self, release: Any) -> NoisyTotals:
        return NoisyTotals(self.ratio(), float(release[0]), self.size)

    def ratio(self) -> RatioOfNoisySums:
        scale = self.budget.scale(self.unit * 2 * float(self.column.half))
        errors = self.budget.family.errors(np.array([scale]), np.array([0.0]))
        return RatioOfNoisySums(*self.column.floats, float(self.column.middle), errors)

    def rows(self, scenario: Scenario) -> float:
        return self.size
