"""The budget of a program whose releases are not all Gaussian."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import attrs

from opendp_lite.core import Measurement
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.budget import ApproximateBudget, Budget, budget_of
from opendp_lite.estimators.inference.noise_family import GaussianFamily
from opendp_lite.exact import Number, round_up
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.curve import Pair, curved_pair
from opendp_lite.measures.profile import ConcentratedProfile

_SMALLEST: Final = 2.0**-1000
_PRECISION: Final = 1e-12


@attrs.frozen
class ConvertedBudget(Budget):
    """Epsilon at delta, for any releases that have a zCDP loss.

    ``amount`` is the rho that meets it.

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
            loss = Fraction(measurement.privacy_map(distance))
            curve = ConcentratedProfile(loss)
            if loss == 0:
                return curved_pair((loss, loss), curve)
            met = self.epsilon if loss == self.amount else curve.epsilon(self.delta)
            return curved_pair((met, self.delta), curve)

        return attrs.evolve(
            measurement, output_measure=ApproximateDivergence(), privacy_map=privacy_map
        )


def program_budget(
    step: str,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
) -> Budget:
    """The budget that was typed, as ``budget_of``, for a program that also chooses."""
    found = budget_of(step, rho, epsilon, delta)
    if not isinstance(found, ApproximateBudget):
        return found
    amount = concentrated_rho(found.epsilon, found.delta)
    return ConvertedBudget(amount, GaussianFamily(), found.epsilon, found.delta)


@lru_cache(maxsize=256)
def concentrated_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, to 12 digits, whose curve certainly meets (epsilon, delta)."""

    def meets(rho: float) -> bool:
        return ConcentratedProfile(Fraction(rho)).delta(epsilon) <= delta

    low, high = 0.0, 1.0
    while meets(high):
        low, high = high, high * 2
    while high > _SMALLEST and high - low > _PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    if low == 0:
        raise ParameterError(
            f"epsilon = {round_up(epsilon)}, delta = {round_up(delta)} would need infinite noise"
        )
    return Fraction(low)
