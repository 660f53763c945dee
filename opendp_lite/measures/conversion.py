"""Steps from one measure of privacy loss to another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Generic, TypeVar

import attrs

from opendp_lite.documents import step
from opendp_lite.errors import SpaceError
from opendp_lite.exact import Number, open_probability, short_below, sqrt_up
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.curve import curved_number, curved_pair
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.measure import Measure
from opendp_lite.measures.profile import Profile, zcdp_of_pure
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence

From = TypeVar("From", bound=Measure[Any], contravariant=True)
To = TypeVar("To", bound=Measure[Any], covariant=True)

_HALVINGS: Final = 50


class Conversion(ABC, Generic[From, To]):
    """A step after a mechanism that states its loss in another measure.

    The release stays as it is: ``laplace(epsilon=1) >> to_zcdp()``.
    """

    @abstractmethod
    def target(self, source: Measure[Any]) -> To:
        """The measure after the step; refuses a source that it does not convert."""

    @abstractmethod
    def convert(self, loss: Any, profile: Profile) -> Any:
        """The loss in the target measure."""

    @abstractmethod
    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        """The public name and its arguments."""

    @abstractmethod
    def formula(self) -> str:
        """Where the new loss comes from, in a few words."""


def pure_for_zcdp(rho: Fraction) -> Fraction:
    """About the largest pure loss that costs at most ``rho``, and certainly one that does."""
    low = short_below(2 * rho / sqrt_up(2 * rho))
    high = short_below(2 * low + rho)
    for _ in range(_HALVINGS):
        middle = short_below((low + high) / 2)
        low, high = (middle, high) if zcdp_of_pure(middle) <= rho else (low, middle)
    return low


@attrs.frozen(repr=False)
class ToZCDP(Conversion[MaxDivergence, ZeroConcentratedDivergence]):
    """See ``to_zcdp``."""

    def target(self, source: Measure[Any]) -> ZeroConcentratedDivergence:
        if source != MaxDivergence():
            raise SpaceError(
                f"to_zcdp() converts a loss under MaxDivergence, this is {source!r}; "
                "put it after laplace()"
            )
        return ZeroConcentratedDivergence()

    def convert(self, loss: Fraction, profile: Profile) -> Fraction:
        return curved_number(profile.rho or zcdp_of_pure(loss), profile)

    def formula(self) -> str:
        return "rho = epsilon tanh(epsilon / 2)"

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        return "to_zcdp", {}

    def __repr__(self) -> str:
        return "dp.to_zcdp()"


@attrs.frozen(repr=False)
class ToApproximate(Conversion[MaxDivergence | ZeroConcentratedDivergence, ApproximateDivergence]):
    """See ``to_approximate``."""

    delta: Fraction

    def target(self, source: Measure[Any]) -> ApproximateDivergence:
        if source == ApproximateDivergence():
            raise SpaceError("to_approximate() is not needed: the loss is (epsilon, delta) already")
        return ApproximateDivergence()

    def convert(self, loss: Any, profile: Profile) -> tuple[Fraction, Fraction]:
        return curved_pair((profile.epsilon(self.delta), self.delta), profile)

    def formula(self) -> str:
        return "epsilon from the privacy profile at delta"

    def spelled(self) -> tuple[str, Mapping[str, Any]]:
        return "to_approximate", {"delta": self.delta}

    def __repr__(self) -> str:
        return f"dp.to_approximate(delta={float(self.delta)!r})"


@step
def to_zcdp() -> ToZCDP:
    """States a pure loss epsilon as zero-concentrated: rho = epsilon tanh(epsilon / 2).

    It goes after a mechanism under ``MaxDivergence``.

    Returns:
        The same release, with its loss under ``ZeroConcentratedDivergence``.

    Privacy:
        rho = epsilon tanh(epsilon / 2), at most epsilon^2 / 2, for every pure mechanism.

    Proof:
        An epsilon-DP pair is a post-processing of randomised response with odds e^epsilon
        (Kairouz, Oh, Viswanath 2015). Its Renyi divergence of order a is
        (g(a - 1/2) - g(1/2)) / (a - 1) with g(u) = ln cosh(epsilon u). As a function of u^2, g is
        concave (tanh(x)/x falls), so g(u) - g(1/2) <= g'(1/2) (u^2 - 1/4), that is
        divergence <= a epsilon tanh(epsilon / 2). There is equality for a -> 1, so no better bound
        holds for all pure mechanisms.

    Example:
        >>> import opendp_lite as dp
        >>> round((dp.scalar() >> dp.laplace(epsilon=1) >> dp.to_zcdp()).map(1), 6)
        0.462117
    """
    return ToZCDP()


@step
def to_approximate(delta: Number) -> ToApproximate:
    """States a loss as (epsilon, delta), at a delta that you choose.

    It goes after a mechanism under ``MaxDivergence`` or ``ZeroConcentratedDivergence``.

    Args:
        delta: Between 0 and 1.

    Returns:
        The same release, with its loss under ``ApproximateDivergence``.

    Raises:
        ParameterError: If ``delta`` is not between 0 and 1.

    Privacy:
        The epsilon of the privacy profile at delta: exact for Gaussian noise, the optimised zCDP
        bound otherwise.

    Proof:
        Balle and Wang 2018, theorem 8, for Gaussian noise; Canonne, Kamath, Steinke 2020,
        proposition 12, for zCDP.

    Example:
        >>> import opendp_lite as dp
        >>> epsilon, delta = (dp.scalar() >> dp.gaussian(scale=1) >> dp.to_approximate(1e-6)).map(1)
        >>> round(epsilon, 4), delta
        (4.8866, 1e-06)
    """
    return ToApproximate(open_probability(delta, "delta"))
