"""The plan of a mean from a sum and a count with noises of their own."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement, Mechanism
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
from opendp_lite.transformations.sum import sum


@attrs.frozen
class SumAndCount(Plan):
    """A share of the loss for the sum of (x - about), the rest for the number of rows."""

    column: Column
    loss: Loss
    about: Fraction
    share: Fraction
    unit: float

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        total = sum() if self.about == 0 else center(self.about) >> sum()
        of_sum, of_count = self.loss.part(self.share), self.loss.part(1 - self.share)
        return compose(total >> of_sum.noise(), count() >> of_count.noise()) >> self._read

    def _read(self, release: Any) -> Reading:
        total, rows = release
        return Reading(self._quotient(), float(total[0]), float(rows))

    def _quotient(self) -> Quotient:
        reach = self.unit * float(reach_of(self.column, self.about))
        of_sum = self.loss.part(self.share).scale(reach)
        of_count = self.loss.part(1 - self.share).scale(self.unit)
        errors = self.loss.errors(np.array([of_sum, 0.0]), np.array([0.0, of_count]))
        return Quotient(*self.column.floats, float(self.about), errors)

    def forecast(self, truth: Truth, runs: int, generator: np.random.Generator) -> Reading:
        quotient = self._quotient()
        total, rows = quotient.errors.draw(runs, generator)
        moved = truth.rows * (truth.mean - quotient.about)
        return Reading(quotient, moved + total, truth.rows + rows)


def reach_of(column: Column, about: Fraction) -> Fraction:
    """How far a value can be from what is subtracted."""
    return max(column.upper - about, about - column.lower)


def sum_over_count(
    space: Space[Rows],
    step: str,
    column: Column,
    about: Fraction,
    losses: tuple[Number | None, Number | None, Number | None],
    share: Number | None,
    guess: Number | None,
    report: Report,
) -> Measurement[Space[Rows], Any]:
    """The estimator with this plan; losses are rho, epsilon and delta as they were given."""
    private_size(space, step)
    loss = loss_of(step, *losses)
    of_sum = _share_of_sum(step, column, loss, about, share, guess)
    plan = SumAndCount(column, report.for_mean(loss), about, of_sum, float(space.unit))
    return report.measured(space, plan, loss, f"{float(of_sum):.3g} of the loss is for the sum")


def _share_of_sum(
    step: str,
    column: Column,
    loss: Loss,
    about: Fraction,
    share: Number | None,
    guess: Number | None,
) -> Fraction:
    """The share as given, or the best for a guess of the mean, or as published."""
    if share is not None and guess is not None:
        raise ParameterError(f"{step}: a guess decides the share; give one of them")
    if share is not None:
        return share_of(share, f"{step}: share")
    near = column.public(guess, f"{step}: guess")
    if near is None:
        return loss.even_share(reach_of(column, about), 2 * column.half)
    return loss.best_share(reach_of(column, about), abs(near - about))
