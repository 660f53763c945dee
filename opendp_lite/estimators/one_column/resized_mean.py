"""The mean of the rows brought to a noisy number."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimate import Estimate
from opendp_lite.estimators.inference.bounded_column import BoundedColumn, bounds_come_first
from opendp_lite.estimators.inference.budget import Budget
from opendp_lite.estimators.inference.estimator_plan import EstimatorPlan
from opendp_lite.estimators.inference.noisy_totals import NoisyTotals
from opendp_lite.estimators.inference.parameters import require_private_size, share_of
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RatioOfNoisySums
from opendp_lite.estimators.inference.request import Request
from opendp_lite.estimators.inference.scenario import Scenario
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.center import center
from opendp_lite.transformations.count import count
from opendp_lite.transformations.resize import resize
from opendp_lite.transformations.sum import sum

_MOST_FILLED: Final = 1e6


@bounds_come_first("epsilon=1")
@example(records(), 0, 10, rho=0.1, fill=5)
@mechanism
def resized_mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    share: Number = Fraction(1, 2),
    fill: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any, float | Estimate]:
    """The mean of rows sampled down, or filled up, to a noisy number: for comparison with ``mean``.

    Args:
        lower: The lower bound of the values. Values below it are clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        share: The share of the budget for the sum. The rest is for the number of rows.
        fill: The value that fills up. By default values are spread evenly over the bounds.
        confidence: As for ``mean``. The interval is wider than it need be.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``. Missing values are left out;
        less than one row counts as one. All rows are held in memory.

    Raises:
        ParameterError: If the noise of the number of rows is too large to fill up.
        SpaceError: If the number of rows is public.

    Privacy:
        The budget that was given, in its measure.

    Proof:
        A row more or less replaces at most one of the resized rows: Free Lunch (Fitzsimons,
        Honaker, Shoemate, Singhal), appendix C.2, with the sensitivity of the sized sum corrected
        to the width of the bounds.

    Example:
        >>> import opendp_lite as dp
        >>> dp.estimators.resized_mean(0, 10, rho=0.03).map(1)
        0.03
        >>> round(dp.estimators.resized_mean(0, 10, epsilon=1)([3.0] * 10_000), 1)
        3.0
    """
    column = BoundedColumn.of(space, lower, upper, "resized_mean")
    require_private_size(space, "resized_mean")
    request = Request.of("resized_mean", confidence, sampling, rho, epsilon, delta)
    filling = column.public(fill, "resized_mean: fill")
    of_sum = share_of(share, "resized_mean: share")
    plan = _Resized(column, request.budget, of_sum, filling, float(space.unit))
    filled = plan.budget.part(1 - of_sum).scale(plan.unit)
    if filled > _MOST_FILLED:
        raise ParameterError(
            f"resized_mean fills up to a number of rows with a noise of about {filled:.2g}, more "
            f"than {_MOST_FILLED:g}. Give it a larger budget, or use mean(), which fills up none"
        )
    return request.measured(space, plan, f"{float(of_sum):.3g} of the budget is for the sum")


@attrs.frozen
class _Resized(EstimatorPlan):
    """A count first, then the sum of that many rows."""

    column: BoundedColumn
    budget: Budget
    share: Fraction
    fill: Fraction | None
    unit: float

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        return _program(self)

    def run(self, ask: Ask[Any]) -> NoisyTotals:
        """One release."""
        counted = float(ask(count() >> self.budget.part(1 - self.share).noise()))
        size = max(round(counted), 1)
        rows = resize(size, self.fill) >> center(self.column.middle) >> sum()
        total = ask(rows >> self.budget.part(self.share).noise())
        return NoisyTotals(self._ratio(), float(total[0]), float(size))

    def _ratio(self) -> RatioOfNoisySums:
        of_sum = self.budget.part(self.share).scale(self.unit * 2 * float(self.column.half))
        of_rows = self.budget.part(1 - self.share).scale(self.unit)
        left_out = float(self.column.half) * sqrt(of_rows)
        total, rows = [of_sum, 0.0, left_out], [0.0, of_rows, 0.0]
        errors = self.budget.family.errors(np.array(total), np.array(rows))
        return RatioOfNoisySums(*self.column.floats, float(self.column.middle), errors)

    def simulate(
        self, scenario: Scenario, runs: int, generator: np.random.Generator
    ) -> NoisyTotals:
        """With a normal for the sum of the rows that are sampled."""
        ratio = self._ratio()
        of_sum, of_rows = self.budget.part(self.share), self.budget.part(1 - self.share)
        width = self.unit * 2 * float(self.column.half)
        noise = self.budget.family.errors(
            np.array([of_sum.scale(width), 0.0]), np.array([0.0, of_rows.scale(self.unit)])
        )
        total, off = noise.draw(runs, generator)
        size = np.maximum(np.rint(scenario.rows + off), 1.0)
        kept = np.minimum(size, scenario.rows)
        left = kept * (scenario.rows - kept) / max(scenario.rows - 1, 1)
        sampled = np.sqrt(scenario.variance * left) * generator.standard_normal(runs)
        filled = 0.0 if self.fill is None else float(self.fill) - ratio.about
        moved = kept * (scenario.mean - ratio.about) + (size - kept) * filled
        return NoisyTotals(ratio, moved + sampled + total, size)


@mechanism
def _program(space: Space[Rows], plan: _Resized) -> Measurement[Space[Rows], Any]:
    budget = plan.budget
    made = programmed(space, plan.run, budget.measure, budget.amount, "a count, then the sum")
    return attrs.evolve(
        made, privacy_map=lambda distance: budget.family.together(made.privacy_map(distance))
    )
