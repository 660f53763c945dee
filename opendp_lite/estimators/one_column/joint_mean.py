"""The mean with the joint noise of a sum and a count."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.bounded_column import Column
from opendp_lite.estimators.inference.budget import Loss, loss_of
from opendp_lite.estimators.inference.joint_noise import CorePair
from opendp_lite.estimators.inference.noisy_totals import Reading
from opendp_lite.estimators.inference.parameters import private_size
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RIDGE, Quotient
from opendp_lite.estimators.inference.scenario import Truth
from opendp_lite.estimators.inference.uncertainty_options import Plan, Report
from opendp_lite.exact import Number, exact
from opendp_lite.measurements.core import core
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.spaces import Space
from opendp_lite.transformations.center import center


@mechanism
def core_mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    epsilon: Number,
    stretch: Number = 1,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], MaxDivergence]:
    """The mean of one column for a pure loss, from one joint noise on the sum and the count.

    Takes: bounds; ``epsilon``; ``stretch`` as for ``core``: 1 is at most 5 % worse than
        ``simplex_mean`` for any mean and 9 % better for one in the middle of the bounds; 2.39 has
        the least regret over all means; ``confidence`` and ``sampling`` as for ``mean``. The
        number of rows is private.
    Gives: a number in the bounds; an ``Estimate`` where there is a confidence. Rows with NaN are
        left out; less than one row counts as one.
    Costs: epsilon under ``MaxDivergence``.
    Because: with half the width h, the mean at a distance D of the middle and n rows, the square of
        the error times n^2 is (h / epsilon)^2 (8 + 2 e) / (2 + e) + (D / epsilon)^2
        (24 + 18 e + 6 e^2 + e^3) / (6 + 3 e) for a stretch of e; 0 is the law of
        ``simplex_mean``, and no additive noise of a small epsilon does better by more than 2 %.

    >>> import opendp_lite as dp
    >>> dp.core_mean(0, 10, epsilon=0.5).map(1)
    0.5
    >>> round(dp.core_mean(0, 10, epsilon=0.5)([3.0] * 10_000), 1)
    3.0
    """
    column = Column.of(space, lower, upper, "core_mean")
    private_size(space, "core_mean")
    loss = loss_of("core_mean", None, epsilon, None)
    report = Report.of("core_mean", confidence, sampling)
    stretched = exact(stretch, "core_mean: stretch")
    if stretched < 0:
        raise ParameterError(f"core_mean: stretch is at least 0, got {stretch}")
    plan = _Core(column, report.for_mean(loss), stretched, float(space.unit))
    return report.measured(space, plan, loss, "one joint noise for the sum and the count")


@attrs.frozen
class _Core(Plan):
    """The sum of (x - middle) and the count, with ``core`` noise."""

    column: Column
    loss: Loss
    stretch: Fraction
    unit: float

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        noise = core(epsilon=self.loss.budget, stretch=self.stretch)
        return center(self.column.middle) >> noise >> self._read

    def _read(self, release: Any) -> Reading:
        total, rows = release
        return Reading(self._quotient(), float(total[0]), float(rows))

    def _quotient(self) -> Quotient:
        each = float(self.loss.budget) / self.unit
        errors = CorePair(float(self.column.half) / each, each, float(self.stretch))
        return Quotient(*self.column.floats, float(self.column.middle), errors, ridge=RIDGE)

    def forecast(self, truth: Truth, runs: int, generator: np.random.Generator) -> Reading:
        quotient = self._quotient()
        total, rows = quotient.errors.draw(runs, generator)
        moved = truth.rows * (truth.mean - quotient.about)
        return Reading(quotient, moved + total, truth.rows + rows)
