"""The mean of the rows brought to a noisy number."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.bounded_column import Column
from opendp_lite.estimators.inference.budget import Loss, loss_of, share_of
from opendp_lite.estimators.inference.noisy_totals import Reading
from opendp_lite.estimators.inference.parameters import private_size
from opendp_lite.estimators.inference.ratio_of_noisy_sums import Quotient
from opendp_lite.estimators.inference.scenario import Truth
from opendp_lite.estimators.inference.uncertainty_options import Plan, Report
from opendp_lite.exact import Number
from opendp_lite.spaces import Space
from opendp_lite.transformations.center import center
from opendp_lite.transformations.count import count
from opendp_lite.transformations.resize import resize
from opendp_lite.transformations.sum import sum

_MOST_FILLED: Final = 1e6


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
) -> Measurement[Space[Rows], Any]:
    """The mean of rows sampled down, or filled up, to a noisy number: to compare, use ``mean``.

    Takes: bounds; one of ``rho``, ``epsilon``, ``epsilon`` with ``delta``; ``share`` of the loss
        for the sum, the rest is for the number; ``fill``, the value that fills up, by default
        values spread evenly over the bounds. ``confidence`` and ``sampling`` as for ``mean``; the
        interval is wider than need be. The number of rows is private.
    Gives: a number in the bounds; an ``Estimate`` where there is a confidence. Rows with NaN are
        left out; less than one row counts as one. All rows are held in memory.
    Costs: the loss that was given, in its measure.
    Because: Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), appendix C.2, with the
        sensitivity of the sized sum corrected to the width of the bounds. A row more or less
        replaces at most one of the resized rows.

    >>> import opendp_lite as dp
    >>> dp.resized_mean(0, 10, rho=0.5).map(1)
    0.5
    >>> round(dp.resized_mean(0, 10, rho=0.5)([3.0] * 10_000), 1)
    3.0
    """
    column = Column.of(space, lower, upper, "resized_mean")
    private_size(space, "resized_mean")
    loss = loss_of("resized_mean", rho, epsilon, delta)
    report = Report.of("resized_mean", confidence, sampling)
    filling = column.public(fill, "resized_mean: fill")
    of_sum = share_of(share, "resized_mean: share")
    plan = _Resized(column, report.for_mean(loss), of_sum, filling, float(space.unit))
    filled = plan.loss.part(1 - of_sum).scale(plan.unit)
    if filled > _MOST_FILLED:
        raise ParameterError(
            f"resized_mean fills up to a number of rows with a noise of about {filled:.2g}, more "
            f"than {_MOST_FILLED:g}; give it more of the loss, or use mean(), which fills up none"
        )
    return report.measured(space, plan, loss, f"{float(of_sum):.3g} of the loss is for the sum")


@attrs.frozen
class _Resized(Plan):
    """A count first, then the sum of that many rows."""

    column: Column
    loss: Loss
    share: Fraction
    fill: Fraction | None
    unit: float

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        return _program(self)

    def run(self, ask: Ask[Any]) -> Reading:
        """One release."""
        counted = float(ask(count() >> self.loss.part(1 - self.share).noise()))
        size = max(round(counted), 1)
        rows = resize(size, self.fill) >> center(self.column.middle) >> sum()
        total = ask(rows >> self.loss.part(self.share).noise())
        return Reading(self._quotient(), float(total[0]), float(size))

    def _quotient(self) -> Quotient:
        of_sum = self.loss.part(self.share).scale(self.unit * 2 * float(self.column.half))
        of_rows = self.loss.part(1 - self.share).scale(self.unit)
        left_out = float(self.column.half) * sqrt(of_rows)
        total, rows = [of_sum, 0.0, left_out], [0.0, of_rows, 0.0]
        errors = self.loss.errors(np.array(total), np.array(rows))
        return Quotient(*self.column.floats, float(self.column.middle), errors)

    def forecast(self, truth: Truth, runs: int, generator: np.random.Generator) -> Reading:
        """With a normal for the sum of the rows that are sampled."""
        quotient = self._quotient()
        of_sum, of_rows = self.loss.part(self.share), self.loss.part(1 - self.share)
        width = self.unit * 2 * float(self.column.half)
        noise = self.loss.errors(
            np.array([of_sum.scale(width), 0.0]), np.array([0.0, of_rows.scale(self.unit)])
        )
        total, off = noise.draw(runs, generator)
        size = np.maximum(np.rint(truth.rows + off), 1.0)
        kept = np.minimum(size, truth.rows)
        left = kept * (truth.rows - kept) / max(truth.rows - 1, 1)
        sampled = np.sqrt(truth.variance * left) * generator.standard_normal(runs)
        filled = 0.0 if self.fill is None else float(self.fill) - quotient.about
        moved = kept * (truth.mean - quotient.about) + (size - kept) * filled
        return Reading(quotient, moved + sampled + total, size)


@mechanism
def _program(space: Space[Rows], plan: _Resized) -> Measurement[Space[Rows], Any]:
    loss = plan.loss
    made = programmed(space, plan.run, loss.measure, loss.budget, "a count, then the sum")
    return attrs.evolve(made, profile=loss.profile(space.unit))
