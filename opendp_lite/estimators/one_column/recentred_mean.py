"""The mean with a first look at where it lies."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.core import Measurement, Mechanism, mechanism
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.bounded_column import Column
from opendp_lite.estimators.inference.budget import loss_of, share_of
from opendp_lite.estimators.inference.joint_noise import NormalPair
from opendp_lite.estimators.inference.noisy_totals import Reading
from opendp_lite.estimators.inference.parameters import Floats, private_size
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RIDGE, Quotient
from opendp_lite.estimators.inference.scenario import Truth
from opendp_lite.estimators.inference.uncertainty_options import Plan, Report
from opendp_lite.exact import Number
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measures.profile import GaussianProfile
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces import Space
from opendp_lite.transformations.center import center
from opendp_lite.transformations.count import count
from opendp_lite.transformations.sum import sum

_FIRST: Final = Fraction(1, 10)
_FIRST_SHARE: Final = Fraction(13, 20)
"""In ignorance of the mean: what is best where its square is a third of that of the bounds."""
_UNKNOWN: Final = 1 / 3
_FINEST: Final = 128
_Noises = tuple[Measurement[Any, Any], Measurement[Any, Any]]


@mechanism
def recentred_mean(
    space: Space[Rows],
    lower: Number,
    upper: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    first: Number = _FIRST,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[Space[Rows], Any]:
    """The mean of one column, for which a first look says how to spend the rest of the budget.

    Takes: bounds; one of ``rho`` and ``epsilon`` with ``delta``; ``first``, the share of the loss
        for the first look. ``confidence`` and ``sampling`` as for ``mean``. The number of rows is
        private.
    Gives: a number in the bounds; an ``Estimate`` where there is a confidence. Rows with NaN are
        left out; less than one row counts as one.
    Costs: the loss that was given, in its measure; for epsilon and delta by the exact curve of
        the Gaussians together.
    Because: with half the width h and the mean at a distance D of the middle, no additive Gaussian
        noise has an error below (h + D) / (n sqrt(2 rho)). A sum of (x - middle) with the share
        h / (h + D) of the loss and a count with the rest attain it. A tenth of the loss finds D
        well enough, and counts as well: all releases are combined by inverse variances. A sum
        centred anew at the mean found, with a companion sum at no cost, is the same experiment:
        its Fisher information of (sum, rows) is that of these shares, entry by entry.

    >>> import opendp_lite as dp
    >>> dp.recentred_mean(0, 10, rho=0.5).map(1)
    0.5
    >>> round(dp.recentred_mean(0, 10, rho=0.5)([3.0] * 10_000), 1)
    3.0
    """
    column = Column.of(space, lower, upper, "recentred_mean")
    private_size(space, "recentred_mean")
    loss = loss_of("recentred_mean", rho, epsilon, delta)
    if loss.measure != ZeroConcentratedDivergence():
        raise ParameterError(
            "recentred_mean needs Gaussian noise: give rho=, or epsilon= with delta=; "
            "core_mean(epsilon=) is for a pure loss"
        )
    report = Report.of("recentred_mean", confidence, sampling)
    looked = share_of(first, "recentred_mean: first")
    plan = _Recentred(column, report.for_mean(loss).budget, looked, float(space.unit))
    formula = (
        f"{float(looked):.3g} of the loss is for a first look, which says how to divide the rest "
        "between sum and count"
    )
    return report.measured(space, plan, loss, formula)


@attrs.frozen
class _Recentred(Plan):
    """Two rounds of a sum and a count, on one pass over the data."""

    column: Column
    rho: Fraction
    first: Fraction
    unit: float

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        return _two_rounds(self)

    def look(self) -> _Round:
        """The first round."""
        return self._round(self.rho * self.first, _FIRST_SHARE)

    def rest(self, total: float, rows: float) -> _Round:
        """The second round, in the light of a release of the first."""
        share = self._whole_share(self._share(total, rows))
        return self._round(self.rho * (1 - self.first), Fraction(int(share), _FINEST))

    def _round(self, rho: Fraction, share: Fraction) -> _Round:
        return _Round(
            rho * share, rho * (1 - share), self.unit * float(self.column.half), self.unit
        )

    def _share(self, total: Any, rows: Any) -> Floats:
        """The share of the sum in the second round, with the first look's doubts.

        In units of half the width: a first guess d of the mean with the variance s^2 makes the
        expected square of the distance about d^2 + s^2 where s is small, and what it is in
        ignorance where the look says little.
        """
        look, half = self.look(), float(self.column.half)
        counted = np.maximum(rows, 1.0)
        found = np.clip(total / counted / half, -1.0, 1.0)
        doubt = (
            (look.total_deviation / half) ** 2 + (found * look.rows_deviation) ** 2
        ) / counted**2
        trust = _UNKNOWN / (_UNKNOWN + doubt)
        square = trust * np.minimum(found**2 + trust * doubt, 1.0) + (1 - trust) * _UNKNOWN
        first = float(self.first)
        best = (1 / (1 + np.sqrt(square)) - first * float(_FIRST_SHARE)) / (1 - first)
        share: Floats = best
        return share

    def _whole_share(self, share: Floats) -> Floats:
        """In whole parts of which neither sum nor count is without one."""
        found: Floats = np.clip(np.rint(share * _FINEST), 1, _FINEST - 1)
        return found

    def combined(self, first: Any, second: Any, rounds: tuple[_Round, _Round]) -> Reading:
        """Both rounds, by inverse variances."""
        deviations, values = [], []
        for which in range(2):
            early, late = (each.deviations[which] for each in rounds)
            trust = early**-2 / (early**-2 + late**-2)
            values.append(trust * first[which] + (1 - trust) * second[which])
            deviations.append((early**-2 + late**-2) ** -0.5)
        about = float(self.column.middle)
        quotient = Quotient(*self.column.floats, about, NormalPair(*deviations), ridge=RIDGE)
        return Reading(quotient, *values)

    def forecast(self, truth: Truth, runs: int, generator: np.random.Generator) -> Reading:
        moved = truth.rows * (truth.mean - float(self.column.middle)), truth.rows
        look = self.look()
        first = [moved[i] + generator.standard_normal(runs) * look.deviations[i] for i in range(2)]
        share = self._whole_share(self._share(*first)) / _FINEST
        spent = float(self.rho * (1 - self.first))
        rest = attrs.evolve(look, of_total=spent * share, of_rows=spent * (1 - share))
        second = [moved[i] + generator.standard_normal(runs) * rest.deviations[i] for i in range(2)]
        return self.combined(first, second, (look, rest))


@mechanism
def _two_rounds(
    space: Space[Rows], plan: _Recentred
) -> Measurement[Space[Rows], ZeroConcentratedDivergence]:
    """Both rounds on the same exact sum and count, which are made once.

    Each round is a Gaussian release of each, at a loss that is fixed beforehand for the round and
    divided between the two by what was released: fully adaptive composition.
    """
    total, counted = (center(plan.column.middle) >> sum()).bind(space), count().bind(space)
    rho, unit = plan.rho, space.unit

    def noises(costs: _Round) -> _Noises:
        of_total = gaussian(rho=costs.of_total).bind(total.output_space)
        return of_total, gaussian(rho=costs.of_rows).bind(counted.output_space)

    def released(values: Any, noises: _Noises, entropy: Entropy) -> tuple[float, float]:
        found = noises[0].function(values[0], entropy)
        return float(found[0]), float(noises[1].function(values[1], entropy))

    look = plan.look()
    of_look = noises(look)

    def function(values: Any, entropy: Entropy) -> Reading:
        first = released(values, of_look, entropy)
        rest = plan.rest(*first)
        return plan.combined(first, released(values, noises(rest), entropy), (look, rest))

    return Measurement(
        space,
        ZeroConcentratedDivergence(),
        function,
        lambda distance: rho * (distance / unit) ** 2,
        profile=lambda distance: GaussianProfile(2 * rho * (distance / unit) ** 2),
        query=lambda rows: (total.function(rows), counted.function(rows)),
    )


@attrs.frozen(eq=False)
class _Round:
    """What a sum and a count cost, and what their noise comes to."""

    of_total: Any
    of_rows: Any
    reach: float
    unit: float

    @property
    def total_deviation(self) -> Any:
        """Of the noisy sum."""
        return self.reach * _deviation(self.of_total)

    @property
    def rows_deviation(self) -> Any:
        """Of the noisy count."""
        return self.unit * _deviation(self.of_rows)

    @property
    def deviations(self) -> tuple[Any, Any]:
        """Of both."""
        return self.total_deviation, self.rows_deviation


def _deviation(rho: Any) -> Any:
    """Of a Gaussian that costs rho for a sensitivity of 1; rho is a number or an array."""
    return 1 / np.sqrt(2 * np.asarray(rho, dtype=np.float64))
