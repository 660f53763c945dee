"""Steps from one measure of privacy loss to another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final, Generic, TypeVar

import attrs

from opendp_lite.base.errors import SpaceError
from opendp_lite.base.frozen import fields_of
from opendp_lite.base.spelling import Named, call_when_read, step
from opendp_lite.measures.curve import curved_number, curved_pair
from opendp_lite.measures.divergences import (
    ApproximateDivergence,
    MaxDivergence,
    ZeroConcentratedDivergence,
)
from opendp_lite.measures.measure import AnyMeasure
from opendp_lite.measures.profile import Profile, zcdp_of_pure
from opendp_lite.numbers.exact import Number, open_probability, short_below, sqrt_up
from opendp_lite.spelling.description import Description, Proof, describe

From = TypeVar("From", bound=AnyMeasure, contravariant=True)
To = TypeVar("To", bound=AnyMeasure, covariant=True)

# About the digits of a float.
_HALVINGS: Final = 50


class Conversion(ABC, Generic[From, To]):
    """A step after a mechanism that states its loss in another measure.

    The release stays as it is: ``laplace(epsilon=1) >> to_zcdp()``.
    """

    @abstractmethod
    def target(self, source: AnyMeasure) -> To:
        """The measure after the step; refuses a source that it does not convert."""

    @abstractmethod
    def convert(self, loss: Any, profile: Profile) -> object:
        """The loss in the target measure."""

    def spell(self) -> tuple[str, Mapping[str, object]]:
        """The public name and its arguments: by default the fields."""
        return self.definition.__name__, fields_of(self)

    def __reduce__(self) -> tuple[object, ...]:
        _, arguments = self.spell()
        return call_when_read(Named.of(self.definition), **arguments)

    @property
    @abstractmethod
    def definition(self) -> Callable[..., object]:
        """The public function that defines it."""

    @abstractmethod
    def formula(self) -> str:
        """Where the new loss comes from, in a few words."""


def pure_for_zcdp(rho: Fraction) -> Fraction:
    """About the largest pure loss that costs at most ``rho``, and certainly one that does."""
    # 2 rho over its root from above is at most the root: epsilon^2 / 2 <= rho holds of it. A
    # middle takes its place only where it is certified.
    low = short_below(2 * rho / sqrt_up(2 * rho))
    high = short_below(2 * low + rho)
    for _ in range(_HALVINGS):
        middle = short_below((low + high) / 2)
        low, high = (middle, high) if zcdp_of_pure(middle) <= rho else (low, middle)
    return low


@attrs.frozen(repr=False)
class ToZCDP(Conversion[MaxDivergence, ZeroConcentratedDivergence]):
    """See ``to_zcdp``."""

    def target(self, source: AnyMeasure) -> ZeroConcentratedDivergence:
        if source != MaxDivergence():
            raise SpaceError(
                f"to_zcdp() converts a loss under MaxDivergence, this is {source!r}; "
                "put it after laplace()"
            )
        return ZeroConcentratedDivergence()

    def convert(self, loss: Fraction, profile: Profile) -> Fraction:
        known = profile.rho
        return curved_number(zcdp_of_pure(loss) if known is None else known, profile)

    @property
    def definition(self) -> Callable[..., object]:
        return to_zcdp

    def formula(self) -> str:
        return "rho of the mechanism; epsilon tanh(epsilon / 2) where no better one is known"

    def __repr__(self) -> str:
        return "dp.to_zcdp()"


@attrs.frozen(repr=False)
class ToApproximate(Conversion[MaxDivergence | ZeroConcentratedDivergence, ApproximateDivergence]):
    """See ``to_approximate``."""

    delta: Fraction

    def target(self, source: AnyMeasure) -> ApproximateDivergence:
        if source == ApproximateDivergence():
            raise SpaceError("to_approximate() is not needed: the loss is (epsilon, delta) already")
        return ApproximateDivergence()

    def convert(self, loss: object, profile: Profile) -> tuple[Fraction, Fraction]:
        return curved_pair((profile.epsilon(self.delta), self.delta), profile)

    @property
    def definition(self) -> Callable[..., object]:
        return to_approximate

    def formula(self) -> str:
        return "epsilon from the privacy profile at delta"

    def __repr__(self) -> str:
        return f"dp.to_approximate(delta={float(self.delta)!r})"


@step
@describe(
    Description(
        "States a pure loss as zero-concentrated.",
        proof=Proof(
            "Laplace noise, bounded range and recursion state their own (`LaplaceProfile`, "
            "`DiscreteLaplaceProfile`, `BoundedRangeProfile`). Otherwise randomised response is "
            "the worst pure mechanism. Its Renyi divergence of order a is at most a epsilon "
            "tanh(epsilon / 2).",
            adding="rho of the mechanism, or epsilon tanh(epsilon / 2)",
            replacing="rho of the mechanism, or epsilon tanh(epsilon / 2)",
            sources=["Kairouz, Oh, Viswanath 2015"],
        ),
    )
)
def to_zcdp() -> ToZCDP:
    """States a pure loss as zero-concentrated.

    It goes after a mechanism under ``MaxDivergence``.

    Returns:
        The same release, with its loss under ``ZeroConcentratedDivergence``.

    Example:
        >>> import opendp_lite as dp
        >>> total = dp.scalar() >> dp.laplace(epsilon=1) >> dp.to_zcdp()
        >>> round(total.map(1), 6)
        0.367879
        >>> round((dp.count() >> dp.laplace(epsilon=1) >> dp.to_zcdp()).map(1), 6)
        0.462117
    """
    return ToZCDP()


@step
@describe(
    Description(
        "States a loss as (epsilon, delta), at a delta that you choose.",
        proof=Proof(
            "The exact curve for Gaussian noise. Otherwise the optimised zCDP bound, or randomised "
            "response for a pure loss.",
            adding="epsilon at delta",
            replacing="epsilon at delta",
            sources=[
                "Balle and Wang 2018, theorem 8, for Gaussian noise",
                "Canonne, Kamath, Steinke 2020, proposition 12, for zCDP",
            ],
        ),
    )
)
def to_approximate(delta: Number) -> ToApproximate:
    """States a loss as (epsilon, delta), at a delta that you choose.

    It goes after a mechanism under ``MaxDivergence`` or ``ZeroConcentratedDivergence``.

    Args:
        delta: Between 0 and 1.

    Returns:
        The same release, with its loss under ``ApproximateDivergence``.

    Raises:
        ParameterError: If ``delta`` is not between 0 and 1.

    Example:
        >>> import opendp_lite as dp
        >>> epsilon, delta = (dp.scalar() >> dp.gaussian(scale=1) >> dp.to_approximate(1e-6)).map(1)
        >>> round(epsilon, 4), delta
        (4.8866, 1e-06)
    """
    return ToApproximate(open_probability(delta, "delta"))
