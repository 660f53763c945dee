"""The loss of a release of a secret sample."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import singledispatch
from typing import Any, Final

import attrs

from opendp_lite.errors import ParameterError
from opendp_lite.exact import exp_up, log_up, nearest
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.curve import Pair, curved_number, curved_pair
from opendp_lite.measures.loss_distribution import (
    LossDistribution,
    LossGrid,
    float_up,
    two_points,
)
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.profile import Profile, zcdp_of_pure

_MOST_UNITS: Final = 1000
_GRID: Final = 2**256
"""Probabilities of meeting one of many units are rounded up to a multiple of its inverse."""


@singledispatch
def amplified(
    measure: Measure[Any], losses: Callable[[int], Any], rate: Fraction, units: int
) -> Any:
    """The loss of a release of a sample that holds each unit with a probability, independently.

    Let P and Q be the laws of the release for neighbours. Outside of an event of probability h, the
    two samples are equal. So P = (1 - h) R + h P' and Q = (1 - h) R + h Q'. The hockey-stick
    divergence of P and Q at 1 + h (a - 1) is then at most h times the largest one at ``a`` among
    releases of samples that differ: advanced joint convexity (Balle, Barthe, Gaboardi 2018, theorem
    2). It bounds both directions.

    Args:
        measure: The measure of the loss.
        losses: The loss of the release of all rows, by the number of units that come or go.
        rate: The probability to be in the sample, above 0.
        units: How many units come or go, at least 1.

    Raises:
        ParameterError: If no such law is known for the measure.
    """
    raise ParameterError(
        f"sample: the loss of a secret sample is known for a loss under dp.MaxDivergence() and "
        f"dp.ApproximateDivergence(), this is {measure!r}. Put >> dp.to_approximate(1e-6) after "
        "the mechanism, inside of dp.sample"
    )


@amplified.register
def _pure(
    measure: MaxDivergence, losses: Callable[[int], Fraction], rate: Fraction, units: int
) -> Fraction:
    hit, loss = _hit(rate, units), losses(units)
    whole = amplified_epsilon(Fraction(loss), hit)
    by_group = measure.group(amplified_epsilon(Fraction(losses(1)), rate), units)
    if by_group < whole:
        return by_group
    return loss if hit == 1 else curved_number(whole, AmplifiedProfile(measure.profile(loss), hit))


@amplified.register
def _approximate(
    measure: ApproximateDivergence, losses: Callable[[int], Pair], rate: Fraction, units: int
) -> Pair:
    whole = _amplified_pair(measure, losses(units), _hit(rate, units))
    if units == 1:
        return whole
    by_group = measure.group(_amplified_pair(measure, losses(1), rate), units)
    implied = measure.profile(whole).delta(by_group[0]) <= by_group[1]
    return whole if implied else by_group


def _amplified_pair(measure: ApproximateDivergence, loss: Pair, rate: Fraction) -> Pair:
    if rate == 1:
        return loss
    pair = amplified_epsilon(loss[0], rate), loss[1] * rate
    return curved_pair(pair, AmplifiedProfile(measure.profile(loss), rate))


def _hit(rate: Fraction, units: int) -> Fraction:
    """At least the probability that one of some units is in the sample."""
    if units == 1 or rate == 1:
        return rate
    if units > _MOST_UNITS:
        return min(Fraction(1), rate * units)
    return Fraction(-(-(1 - (1 - rate) ** units) * _GRID // 1), _GRID)


def amplified_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """log(1 + rate (e^epsilon - 1)), rounded up."""
    if epsilon == 0 or rate == 1:
        return epsilon
    found = min(epsilon, epsilon + log_up(rate + (1 - rate) * exp_up(-epsilon)))
    return min(found, rate * (exp_up(epsilon) - 1)) if epsilon < 1 else found


@attrs.frozen
class AmplifiedProfile(Profile):
    """The curve of a release of a secret sample.

    delta'(log(1 + rate (e^epsilon - 1))) = rate delta(epsilon), where each row is in the sample
    with probability ``rate`` (Balle, Barthe, Gaboardi 2018, theorem 8). See ``amplified``.

    Args:
        inner: The curve of the same release of all rows.
        rate: Between 0 and 1.
    """

    inner: Profile
    rate: Fraction

    @property
    def pure(self) -> Fraction | None:
        return None if self.inner.pure is None else amplified_epsilon(self.inner.pure, self.rate)

    @property
    def rho(self) -> Fraction | None:
        return None if self.pure is None else zcdp_of_pure(self.pure)

    @property
    def least_delta(self) -> Fraction:
        return self.rate * self.inner.least_delta

    def loss_distribution(self, grid: LossGrid) -> LossDistribution | None:
        return None if self.pure is None else two_points(grid, float_up(self.pure))

    def _delta(self, epsilon: Fraction) -> Fraction:
        if self.pure is not None and epsilon >= self.pure:
            return Fraction(0)
        least = 1 - (1 - self.rate) * exp_up(-epsilon)
        if least <= 0:
            return self.rate * self.inner.delta(Fraction(0))
        before = max(epsilon - log_up(self.rate / least), Fraction(0))
        return self.rate * self.inner.delta(before)

    def epsilon(self, delta: Fraction) -> Fraction:
        if self.delta(Fraction(0)) <= delta:
            return Fraction(0)
        try:
            return amplified_epsilon(self.inner.epsilon(delta / self.rate), self.rate)
        except ParameterError:
            refusal = ParameterError(
                f"this loss of a sample has no epsilon at delta = {nearest(delta):g}; give a "
                "larger delta"
            )
        raise refusal
