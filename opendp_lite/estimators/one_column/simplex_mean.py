"""The mean from both sums of a simplex, with the number of rows at no cost."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import attrs
import numpy as np

from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.bounded_column import Column
from opendp_lite.estimators.inference.budget import Loss, loss_of
from opendp_lite.estimators.inference.noisy_totals import Reading
from opendp_lite.estimators.inference.parameters import private_size
from opendp_lite.estimators.inference.ratio_of_noisy_sums import Quotient
from opendp_lite.estimators.inference.scenario import Truth
from opendp_lite.estimators.inference.uncertainty_options import Plan, Report
from opendp_lite.exact import Number, exact
from opendp_lite.spaces import Space
from opendp_lite.transformations.count import count
from opendp_lite.transformations.simplex_augment import simplex_augment
from opendp_lite.transformations.sum import sum


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
) -> Measurement[Space[Rows], Any]:
    """The mean of one column from noisy sums of (x - lower) and (upper - x).

    Takes: bounds; one of ``rho``, ``epsilon``, ``epsilon`` with ``delta``; ``extra_count``, the
        share of the loss for a count besides, which the count from the sums is averaged with by
        inverse variances. ``confidence`` and ``sampling`` as for ``mean``. The number of rows is
        private.
    Gives: a number in the bounds; an ``Estimate`` where there is a confidence. Rows with NaN are
        left out; less than one row counts as one.
    Costs: the loss that was given, in its measure.
    Because: Free Lunch (Fitzsimons, Honaker, Shoemate, Singhal), section 4; the transformed noise
        of Kulesza, Suresh, Wang 2024. A row is (x - lower, upper - x), of a constant total, so
        one noise is paid for two sums. With Gaussian noise it errs as ``centered_mean`` with even
        shares; an extra count never helps the mean, since that gives the sum too little already.

    >>> import opendp_lite as dp
    >>> dp.simplex_mean(0, 10, epsilon=0.5).map(1)
    0.5
    >>> round(dp.simplex_mean(0, 10, epsilon=0.5)([3.0] * 10_000), 1)
    3.0
    """
    column = Column.of(space, lower, upper, "simplex_mean")
    private_size(space, "simplex_mean")
    loss = loss_of("simplex_mean", rho, epsilon, delta)
    report = Report.of("simplex_mean", confidence, sampling)
    extra = exact(extra_count, "simplex_mean: extra_count")
    if not 0 <= extra < 1:
        raise ParameterError(
            "simplex_mean: extra_count is a share of the loss, from 0 to below 1, got "
            f"{extra_count}"
        )
    plan = _Simplex(column, report.for_mean(loss), extra, float(space.unit))
    return report.measured(space, plan, loss, "a row's two entries share one noise")


@attrs.frozen
class _Simplex(Plan):
    """The two sums, and a count besides where ``extra`` of the loss is for one."""

    column: Column
    loss: Loss
    extra: Fraction
    unit: float

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        sums = simplex_augment() >> sum() >> self.loss.part(1 - self.extra).noise()
        if self.extra == 0:
            return sums >> self._from_sums
        return compose(sums, count() >> self.loss.part(self.extra).noise()) >> self._with_count

    def _from_sums(self, sums: Any) -> Reading:
        first, second = map(float, sums)
        return Reading(self._quotient(), (first - second) / 2, (first + second) / self._width)

    def _with_count(self, release: Any) -> Reading:
        found = self._from_sums(release[0])
        trust = self._trust()
        return attrs.evolve(found, rows=(1 - trust) * found.rows + trust * float(release[1]))

    @property
    def _width(self) -> float:
        return 2 * float(self.column.half)

    def _scales(self) -> tuple[float, float]:
        """Of the sums, and of the extra count, infinite where there is none."""
        of_sums = self.loss.part(1 - self.extra).scale(self.unit * self._width)
        extra = self.loss.part(self.extra).scale(self.unit) if self.extra else float("inf")
        return of_sums, extra

    def _trust(self) -> float:
        """The weight of the extra count."""
        of_sums, extra = self._scales()
        free = sqrt(2) * of_sums / self._width
        return free**2 / (free**2 + extra**2)

    def _quotient(self) -> Quotient:
        of_sums, extra = self._scales()
        trust = self._trust()
        each = (1 - trust) * of_sums / self._width
        third = trust * extra if self.extra else 0.0
        total, rows = [of_sums / 2, -of_sums / 2, 0.0], [each, each, third]
        errors = self.loss.errors(np.array(total), np.array(rows))
        return Quotient(*self.column.floats, float(self.column.middle), errors)

    def forecast(self, truth: Truth, runs: int, generator: np.random.Generator) -> Reading:
        quotient = self._quotient()
        total, rows = quotient.errors.draw(runs, generator)
        moved = truth.rows * (truth.mean - quotient.about)
        return Reading(quotient, moved + total, truth.rows + rows)
