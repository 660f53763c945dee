"""The mean of a public number of rows."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.domains import Rows
from opendp_lite.estimators.inference.bounded_column import Column
from opendp_lite.estimators.inference.budget import Loss, loss_of
from opendp_lite.estimators.inference.noisy_totals import Reading
from opendp_lite.estimators.inference.parameters import public_size
from opendp_lite.estimators.inference.ratio_of_noisy_sums import Quotient
from opendp_lite.estimators.inference.scenario import Truth
from opendp_lite.estimators.inference.uncertainty_options import Plan, Report
from opendp_lite.exact import Number
from opendp_lite.spaces import Space
from opendp_lite.transformations.center import center
from opendp_lite.transformations.sum import sum


@mechanism
def sized_mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any]:
    """The mean of one column whose number of rows is public: a noisy sum over that number.

    Takes: bounds; one of ``rho``, ``epsilon``, ``epsilon`` with ``delta``; ``confidence`` and
        ``sampling`` as for ``mean``. Neighbours replace one row (``ChangeOneDistance``).
    Gives: a number in the bounds; an ``Estimate`` where there is a confidence. Rows with NaN count
        as the middle of the bounds, since leaving them out would change a public number.
    Costs: the loss that was given, in its measure.
    Because: a replaced row moves the sum by the width of the bounds, so with n rows the error is
        width / (n sqrt(2 rho)). The simplex of Free Lunch, section 4.2, gains nothing here: a
        replaced row moves both its sums, sqrt(2) times as far together, which is what averaging
        them wins. Nor is the public number free: to protect it, leave ``size`` out.

    >>> import opendp_lite as dp
    >>> people = dp.records(size=10_000, metric=dp.ChangeOneDistance())
    >>> round((people >> dp.sized_mean(0, 10, epsilon=0.5))([3.0] * 10_000), 1)
    3.0
    """
    column = Column.of(space, lower, upper, "sized_mean")
    size = public_size(space, "sized_mean", "use mean()")
    loss = loss_of("sized_mean", rho, epsilon, delta)
    report = Report.of("sized_mean", confidence, sampling)
    plan = _Sized(column, report.for_mean(loss), max(size, 1), float(space.unit))
    return report.measured(space, plan, loss, "all of the loss is for the sum")


@attrs.frozen
class _Sized(Plan):
    """The sum of (x - middle) over the public number."""

    column: Column
    loss: Loss
    size: int
    unit: float

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        return center(self.column.middle) >> sum() >> self.loss.noise() >> self._read

    def _read(self, release: Any) -> Reading:
        return Reading(self._quotient(), float(release[0]), self.size)

    def _quotient(self) -> Quotient:
        scale = self.loss.scale(self.unit * 2 * float(self.column.half))
        errors = self.loss.errors(np.array([scale]), np.array([0.0]))
        return Quotient(*self.column.floats, float(self.column.middle), errors)

    def forecast(self, truth: Truth, runs: int, generator: np.random.Generator) -> Reading:
        quotient = self._quotient()
        total, _ = quotient.errors.draw(runs, generator)
        moved = self.size * (truth.mean - quotient.about)
        return Reading(quotient, moved + total, np.full(runs, float(self.size)))
