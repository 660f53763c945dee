"""The mean with the joint noise of a sum and a count."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs

from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimate import Estimate
from opendp_lite.estimators.inference.bounded_column import BoundedColumn, bounds_come_first
from opendp_lite.estimators.inference.budget import Budget
from opendp_lite.estimators.inference.estimator_plan import OneRoundPlan
from opendp_lite.estimators.inference.joint_noise import JointSumAndCount
from opendp_lite.estimators.inference.noisy_totals import NoisyTotals
from opendp_lite.estimators.inference.parameters import require_private_size
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RIDGE, RatioOfNoisySums
from opendp_lite.estimators.inference.request import Request
from opendp_lite.exact import Number, exact
from opendp_lite.examples import example
from opendp_lite.measurements.sum_and_count import sum_and_count
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.center import center


@bounds_come_first("epsilon=1")
@example(records(), 0, 10, epsilon=0.1, stretch=2.39)
@mechanism
def joint_mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    epsilon: Number,
    stretch: Number = 1,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], MaxDivergence, float | Estimate]:
    """The mean of one column under pure privacy, from one joint noise on the sum and the count.

    Args:
        lower: The lower bound of the values. Values below it are clipped to it.
        upper: The upper bound, likewise.
        epsilon: The budget.
        stretch: As for ``sum_and_count``. 1 is at most 5 % worse than ``simplex_mean`` for any
            mean, and
            9 % better for one in the middle of the bounds. 2.39 has the least regret over all
            means.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``. Missing values are left out;
        less than one row counts as one.

    Raises:
        SpaceError: If the number of rows is public.

    Privacy:
        Epsilon under ``MaxDivergence``.

    Proof:
        That of ``sum_and_count``. With half the width h, the mean at a distance D from the middle,
        n rows and a stretch of e, the square of the error times n^2 is
        (h / epsilon)^2 (8 + 2 e) / (2 + e) +
        (D / epsilon)^2 (24 + 18 e + 6 e^2 + e^3) / (6 + 3 e).
        A stretch of 0 gives the law of ``simplex_mean``. No additive noise of a small epsilon errs
        less by more than 2 %.

    Example:
        >>> import opendp_lite as dp
        >>> dp.estimators.joint_mean(0, 10, epsilon=1).map(1)
        1.0
        >>> round(dp.estimators.joint_mean(0, 10, epsilon=1)([3.0] * 10_000), 1)
        3.0
    """
    column = BoundedColumn.of(space, lower, upper, "joint_mean")
    request = Request.of("joint_mean", confidence, sampling, epsilon=epsilon)
    plan = joint_plan(space, column, request, stretch)
    return request.measured(space, plan, "the sum and the count share one joint noise")


def joint_plan(
    space: Space[Rows], column: BoundedColumn, request: Request, stretch: Number = 1
) -> _Joint:
    """The plan on a space with a private number of rows."""
    require_private_size(space, "joint_mean")
    stretched = exact(stretch, "joint_mean: stretch")
    if stretched < 0:
        raise ParameterError(f"joint_mean: stretch is at least 0, got {stretch}")
    return _Joint(column, request.budget, stretched, float(space.unit))


@attrs.frozen
class _Joint(OneRoundPlan):
    """The sum of (x - middle) and the count, with ``sum_and_count`` noise."""

    column: BoundedColumn
    budget: Budget
    stretch: Fraction
    unit: float

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        noise = sum_and_count(epsilon=self.budget.amount, stretch=self.stretch)
        return center(self.column.middle) >> noise >> self._read

    def _read(self, release: Any) -> NoisyTotals:
        total, rows = release
        return NoisyTotals(self.ratio(), float(total[0]), float(rows))

    def ratio(self) -> RatioOfNoisySums:
        each = float(self.budget.amount) / self.unit
        errors = JointSumAndCount(float(self.column.half) / each, each, float(self.stretch))
        about = float(self.column.middle)
        return RatioOfNoisySums(*self.column.floats, about, errors, ridge=RIDGE)
