"""The budget of an estimator: rho, epsilon, or epsilon with delta."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, cast

import attrs

from opendp_lite.core import Measurement
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.noise_family import (
    GaussianFamily,
    LaplaceFamily,
    NoiseFamily,
)
from opendp_lite.exact import Number, nearest, open_probability, positive, rational_of_float
from opendp_lite.measurements.noise import exactly_one
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.curve import Pair, curved_pair, gaussian_pair, without_curve
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.profile import ConcentratedProfile, gaussian_ratio
from opendp_lite.recipes import Mechanism

_LARGEST_AMOUNT: Final = rational_of_float(1e30)
_PRECISE: Final = 1e-12
_LEAST_RHO: Final = 1e-60


@attrs.frozen
class Budget:
    """A loss that may be divided: ``part(share)`` costs that share, and parts add up.

    Args:
        amount: The loss, in the measure of the family.
        family: The noise that it buys.
    """

    amount: Fraction
    family: NoiseFamily

    def part(self, share: Fraction) -> Budget:
        """A share of the budget."""
        return Budget(self.amount * share, self.family)

    def noise(self) -> Mechanism[Any, Any]:
        """Noise that costs all of it."""
        return self.family.noise(self.amount)

    def scale(self, sensitivity: float) -> float:
        """The scale of that noise: sigma of a Gaussian, b of a Laplace."""
        return self.family.scale(sensitivity, self.amount)

    def deviation(self, sensitivity: float) -> float:
        """The standard deviation of that noise."""
        return self.family.deviation(self.scale(sensitivity))

    @property
    def measure(self) -> Measure[Any]:
        """The measure in which parts add up to ``amount``."""
        return self.family.measure

    @property
    def reporting_delta(self) -> Fraction:
        """The delta at which the loss is reported as an epsilon."""
        return self.family.reporting_delta

    def with_claimed_loss(self, measurement: Measurement[Any, Any]) -> Measurement[Any, Any]:
        """A measurement made of such noises, with its loss in the measure that was asked for."""
        return measurement

    def with_choices(self) -> Budget:
        """The same budget for a program that also makes choices, which have no Gaussian curve."""
        return self

    @property
    def keyword(self) -> str:
        """The argument by which steps take an amount."""
        return "epsilon" if self.measure == MaxDivergence() else "rho"


@attrs.frozen
class ApproximateBudget(Budget):
    """Epsilon at delta: Gaussian noises whose exact curve together meets it.

    ``amount`` is the rho of these Gaussians, half of their ratio.

    Proof:
        Gaussian mechanisms compose by adding the squares of distance over sigma, also where each is
        chosen by the answers before: Dong, Roth, Su 2022, theorem 4 and corollary 2.
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def reporting_delta(self) -> Fraction:
        return self.delta

    def with_claimed_loss(self, measurement: Measurement[Any, Any]) -> Measurement[Any, Any]:
        def privacy_map(distance: Any) -> Pair:
            curve = measurement.output_measure.profile(measurement.privacy_map(distance))
            return gaussian_pair(cast(Fraction, curve.gaussian_ratio), self.epsilon, self.delta)

        return attrs.evolve(
            measurement,
            output_measure=ApproximateDivergence(),
            privacy_map=privacy_map,
        )

    def with_choices(self) -> Budget:
        rho = concentrated_loss(self.epsilon, self.delta)
        return ConvertedBudget(rho, GaussianFamily(), self.epsilon, self.delta)


@attrs.frozen
class ConvertedBudget(Budget):
    """Epsilon at delta, met by a zCDP loss: for noise and choices together.

    ``amount`` is that loss.

    Proof:
        Canonne, Kamath, Steinke 2020, proposition 12.
    """

    epsilon: Fraction
    delta: Fraction

    @property
    def reporting_delta(self) -> Fraction:
        return self.delta

    def with_claimed_loss(self, measurement: Measurement[Any, Any]) -> Measurement[Any, Any]:
        def privacy_map(distance: Any) -> Pair:
            rho = without_curve(measurement.privacy_map(distance))
            curve = ConcentratedProfile(rho)
            if rho == 0:
                return curved_pair((Fraction(0), Fraction(0)), curve)
            met = self.epsilon if rho == self.amount else curve.epsilon(self.delta)
            return curved_pair((met, self.delta), curve)

        return attrs.evolve(
            measurement,
            output_measure=ApproximateDivergence(),
            privacy_map=privacy_map,
        )


@lru_cache(maxsize=256)
def concentrated_loss(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, to 12 digits, whose zCDP curve certainly meets (epsilon, delta)."""
    low, high = 0.0, float(gaussian_ratio(epsilon, delta)) / 2
    while high - low > _PRECISE * high:
        middle = (low + high) / 2
        if ConcentratedProfile(Fraction(middle)).delta(epsilon) <= delta:
            low = middle
        else:
            high = middle
        if high < _LEAST_RHO:
            raise ParameterError(
                f"epsilon = {nearest(epsilon):g}, delta = {nearest(delta):g} would need infinite "
                "noise; give a larger delta, or rho"
            )
    return Fraction(low)


def pure(epsilon: Fraction) -> Budget:
    """Epsilon under ``MaxDivergence``, with Laplace noise."""
    return Budget(epsilon, LaplaceFamily())


def concentrated(rho: Fraction) -> Budget:
    """Rho under ``ZeroConcentratedDivergence``, with Gaussian noise."""
    return Budget(rho, GaussianFamily())


def budget_of(
    step: str,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> Budget:
    """The budget that was typed, refused where it is none or two."""
    if rho is not None and delta is not None:
        raise ParameterError(
            f"{step}: delta goes with epsilon, got it with rho. Leave delta out, or give epsilon "
            "in place of rho"
        )
    if rho is epsilon is delta is None:
        raise ParameterError(
            f"{step} needs a privacy budget: add epsilon=1, or rho=0.03, which protects about as "
            "well. A smaller budget is more private and noisier"
        )
    given = exactly_one(step, rho=rho, epsilon=delta if epsilon is None else epsilon)
    if given == "rho":
        return concentrated(_amount(rho, f"{step}: rho"))
    if epsilon is None:
        raise ParameterError(
            f"{step}: delta goes with epsilon, which is missing; add epsilon=1, say"
        )
    level = _amount(epsilon, f"{step}: epsilon")
    if delta is None:
        return pure(level)
    spill = open_probability(delta, f"{step}: delta")
    return ApproximateBudget(gaussian_ratio(level, spill) / 2, GaussianFamily(), level, spill)


def _amount(given: object, name: str) -> Fraction:
    """Above 0, and such that floats hold the square of any noise, whatever the bounds."""
    found = positive(given, name)
    if not 1 / _LARGEST_AMOUNT <= found <= _LARGEST_AMOUNT:
        raise ParameterError(f"{name} must lie between 1e-30 and 1e30, got {nearest(found):g}")
    return found
