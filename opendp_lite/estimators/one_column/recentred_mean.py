"""The mean with a pilot round that finds roughly where it lies."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.engines.deferred import Released, Together
from opendp_lite.errors import ParameterError
from opendp_lite.estimate import Estimate
from opendp_lite.estimators.inference.bounded_column import BoundedColumn, bounds_come_first
from opendp_lite.estimators.inference.estimator_plan import EstimatorPlan
from opendp_lite.estimators.inference.joint_noise import JointNormal
from opendp_lite.estimators.inference.noisy_totals import NoisyTotals
from opendp_lite.estimators.inference.parameters import Floats, require_private_size, share_of
from opendp_lite.estimators.inference.ratio_of_noisy_sums import RIDGE, RatioOfNoisySums
from opendp_lite.estimators.inference.request import Request
from opendp_lite.estimators.inference.scenario import Scenario
from opendp_lite.exact import Number
from opendp_lite.examples import example
from opendp_lite.measurements.gaussian import gaussian
from opendp_lite.measures.curve import gaussian_rho
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.spaces import Space, records
from opendp_lite.transformations.center import center
from opendp_lite.transformations.count import count
from opendp_lite.transformations.sum import sum

_FIRST: Final = Fraction(1, 10)
_FIRST_SHARE: Final = Fraction(13, 20)
"""Best where the mean is unknown: where its square is a third of that of the bounds."""
_UNKNOWN: Final = 1 / 3
_FINEST: Final = 128
_Noises = tuple[Measurement[Any, Any], Measurement[Any, Any]]


@bounds_come_first("rho=0.03")
@example(records(), 0, 10, rho=0.1, first=0.05)
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
) -> Measurement[Space[Rows], Any, float | Estimate]:
    """The mean of one column, for which a pilot round says how to spend the rest of the budget.

    Args:
        lower: The lower bound of the values. Values below it are clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy.
        epsilon: With ``delta``, the budget of approximate privacy.
        delta: With ``epsilon``.
        first: The share of the budget for the pilot round.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        A number in the bounds, or with a confidence an ``Estimate``. Missing values are left out;
        less than one row counts as one.

    Raises:
        ParameterError: If the budget is pure, which Gaussian noise cannot meet.
        SpaceError: If the number of rows is public.

    Privacy:
        The budget that was given, in its measure. For epsilon and delta it is met by the exact
        curve of the Gaussian noises together.

    Proof:
        With half the width h and the mean at a distance D from the middle, no additive Gaussian
        noise has an error below (h + D) / (n sqrt(2 rho)). A sum of (x - middle) with the share
        h / (h + D) of the budget, and a count with the rest, attain it. A tenth of the budget finds
        D well enough, and is not lost: all releases are combined by inverse variances. A sum
        centred anew at the mean that was found, with a companion sum at no cost, is the same
        experiment: its Fisher information of (sum, rows) is that of these shares.

    Example:
        >>> import opendp_lite as dp
        >>> dp.estimators.recentred_mean(0, 10, rho=0.03).map(1)
        0.03
        >>> round(dp.estimators.recentred_mean(0, 10, rho=0.03)([3.0] * 10_000), 1)
        3.0
    """
    column = BoundedColumn.of(space, lower, upper, "recentred_mean")
    request = Request.of("recentred_mean", confidence, sampling, rho, epsilon, delta)
    plan = recentred_plan(space, column, request, first)
    explanation = (
        f"{float(plan.first):.3g} of the budget is for a pilot round, which says how to divide "
        "the rest between sum and count"
    )
    return request.measured(space, plan, explanation)


def recentred_plan(
    space: Space[Rows], column: BoundedColumn, request: Request, first: Number = _FIRST
) -> _Recentred:
    """The plan on a space with a private number of rows."""
    require_private_size(space, "recentred_mean")
    if request.whole.measure != ZeroConcentratedDivergence():
        raise ParameterError(
            "recentred_mean needs Gaussian noise: give rho=, or epsilon= with delta=. For a pure "
            "budget use joint_mean(epsilon=)"
        )
    pilot = share_of(first, "recentred_mean: first")
    return _Recentred(column, request.budget.amount, pilot, float(space.unit))


@attrs.frozen
class _Recentred(EstimatorPlan):
    """Two rounds of a sum and a count, on one pass over the data."""

    column: BoundedColumn
    rho: Fraction
    first: Fraction
    unit: float

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        return _two_rounds(self)

    def pilot(self) -> _Round:
        """The first round."""
        return self._round(self.rho * self.first, _FIRST_SHARE)

    def main_round(self, parts: int) -> _Round:
        """The second round, with so many of ``_FINEST`` parts of its loss for the sum."""
        return self._round(self.rho * (1 - self.first), Fraction(parts, _FINEST))

    def _round(self, rho: Fraction, share: Fraction) -> _Round:
        return _Round(
            rho * share, rho * (1 - share), self.unit * float(self.column.half), self.unit
        )

    def parts(self, total: Any, rows: Any, pilot: _Round) -> Floats:
        """The parts of the sum in the main round, in the light of a release of the pilot.

        At least one is for the sum and one for the count.
        """
        found = np.rint(self._share(total, rows, pilot) * _FINEST)
        return np.minimum(np.maximum(found, 1), _FINEST - 1)

    def _share(self, total: Any, rows: Any, pilot: _Round) -> Floats:
        """The share of the sum in the main round, which allows for the pilot's error.

        In units of half the width: a pilot d of the mean with the variance s^2 makes the expected
        square of the distance about d^2 + s^2 where s is small. Where the pilot says little, it is
        that of a mean of which nothing is known.
        """
        half = float(self.column.half)
        counted = np.maximum(rows, 1.0)
        found = np.minimum((total / counted / half) ** 2, 1.0)
        doubt = ((pilot.total_deviation / half) ** 2 + found * pilot.rows_deviation**2) / counted**2
        trust = _UNKNOWN / (_UNKNOWN + doubt)
        square = trust * np.minimum(found + trust * doubt, 1.0) + (1 - trust) * _UNKNOWN
        first = float(self.first)
        best = (1 / (1 + np.sqrt(square)) - first * float(_FIRST_SHARE)) / (1 - first)
        share: Floats = best
        return share

    def combining(self, pilot: _Round, main: _Round) -> Callable[[Any, Any], NoisyTotals]:
        """What combines both rounds, by inverse variances."""
        pairs = list(zip(pilot.deviations, main.deviations, strict=True))
        precisions = [early**-2 + late**-2 for early, late in pairs]
        trusts = [early**-2 / both for (early, _), both in zip(pairs, precisions, strict=True)]
        errors = JointNormal(*(both**-0.5 for both in precisions))
        about = float(self.column.middle)
        ratio = RatioOfNoisySums(*self.column.floats, about, errors, ridge=RIDGE)

        def combined(first: Any, second: Any) -> NoisyTotals:
            each = zip(trusts, first, second, strict=True)
            return NoisyTotals(ratio, *(trust * a + (1 - trust) * b for trust, a, b in each))

        return combined

    def simulate(
        self, scenario: Scenario, runs: int, generator: np.random.Generator
    ) -> NoisyTotals:
        moved = scenario.rows * (scenario.mean - float(self.column.middle)), scenario.rows

        def released(costs: _Round) -> list[Floats]:
            noise = (generator.standard_normal(runs) * each for each in costs.deviations)
            return [total + off for total, off in zip(moved, noise, strict=True)]

        pilot = self.pilot()
        first = released(pilot)
        share = self.parts(first[0], first[1], pilot) / _FINEST
        spent = float(self.rho * (1 - self.first))
        main = attrs.evolve(pilot, of_total=spent * share, of_rows=spent * (1 - share))
        return self.combining(pilot, main)(first, released(main))


@mechanism
def _two_rounds(
    space: Space[Rows], plan: _Recentred
) -> Measurement[Space[Rows], ZeroConcentratedDivergence]:
    """Both rounds on the same exact sum and count, which are made once.

    Each round is a Gaussian release of both, at a loss that is fixed beforehand. The pilot's
    release decides how the main round divides its loss: fully adaptive composition.
    """
    total, counted = (center(plan.column.middle) >> sum()).bind(space), count().bind(space)
    rho, unit = plan.rho, space.unit

    def noises(costs: _Round) -> _Noises:
        of_total = gaussian(rho=costs.of_total).bind(total.output_space)
        return of_total, gaussian(rho=costs.of_rows).bind(counted.output_space)

    def released(values: Any, noises: _Noises, entropy: Entropy) -> tuple[float, float]:
        found = noises[0].function(values[0], entropy)
        return float(found[0]), float(noises[1].function(values[1], entropy))

    pilot = plan.pilot()
    of_pilot = noises(pilot)

    @lru_cache(maxsize=_FINEST)
    def main_round(parts: int) -> tuple[_Noises, Callable[[Any, Any], NoisyTotals]]:
        found = plan.main_round(parts)
        return noises(found), plan.combining(pilot, found)

    def release(values: Any, entropy: Entropy) -> NoisyTotals:
        first = released(values, of_pilot, entropy)
        of_main, combined = main_round(int(plan.parts(*first, pilot)))
        return combined(first, released(values, of_main, entropy))

    return Measurement(
        space,
        ZeroConcentratedDivergence(),
        Released(Together((total.function, counted.function)), release),
        lambda distance: gaussian_rho(2 * rho * (distance / unit) ** 2),
    )


@attrs.frozen(eq=False)
class _Round:
    """The rho of a sum and of a count, and the deviations of their noise."""

    of_total: Any
    of_rows: Any
    reach: float
    unit: float
    total_deviation: Any = attrs.field(
        default=attrs.Factory(lambda it: it.reach * _deviation(it.of_total), takes_self=True),
        init=False,
    )
    rows_deviation: Any = attrs.field(
        default=attrs.Factory(lambda it: it.unit * _deviation(it.of_rows), takes_self=True),
        init=False,
    )

    @property
    def deviations(self) -> tuple[Any, Any]:
        """Of both."""
        return self.total_deviation, self.rows_deviation


def _deviation(rho: Any) -> Any:
    """Of a Gaussian that costs rho for a sensitivity of 1; rho is a number or an array."""
    return (2 * rho) ** -0.5
