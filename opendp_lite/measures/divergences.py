"""Measures of privacy loss, the laws that they obey, and steps from one to another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final, Generic, Self, TypeAlias, TypeVar, cast

import attrs

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.base.frozen import fields_of
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import Named, Storable, call_when_read, step
from opendp_lite.measures import curve as curves
from opendp_lite.measures import profile as profiles
from opendp_lite.measures.curve import Pair, curved_number, curved_pair, without_curve
from opendp_lite.measures.profile import PointProfile, Profile, zcdp_of_pure
from opendp_lite.numbers import exact
from opendp_lite.numbers.exact import Number
from opendp_lite.spelling.description import Description, Proof, describe, opendp_twin

Loss = TypeVar("Loss")


class Measure(Storable, ABC, Generic[Loss]):
    """A measure of privacy loss with its laws.

    ``dp.assert_lawful`` checks the laws. ``variant`` is what public registries call the measure,
    and ``parameters`` names the numbers of a loss there.

    Example:
        >>> import opendp_lite as dp
        >>> measure = dp.ZeroConcentratedDivergence()
        >>> isinstance(measure, dp.measures.Measure)
        True
        >>> measure.variant, measure.words(measure.loss(0.5))
        ('Zero-concentrated DP', 'rho = 0.5 zCDP')
    """

    variant: ClassVar[str] = "Custom"
    parameters: ClassVar[tuple[str, ...]] = ()
    power: ClassVar[int] = 1
    """Losses grow with this power of the size of a group."""

    @property
    def detail(self) -> str:
        """What tells it from others of its class, as a ledger writes it."""
        return ""

    @classmethod
    def of_detail(cls, detail: str) -> Self:
        """The measure of its class that a ledger wrote so."""
        if detail:
            raise ParameterError(f"{cls.__name__} has no parameters, got {detail!r}")
        return cls()

    @abstractmethod
    def loss(self, value: object) -> Loss:
        """A loss as typed, exactly."""

    @abstractmethod
    def show(self, loss: Loss) -> object:
        """A loss as a person reads it, rounded up."""

    def typed(self, loss: Loss) -> Loss:
        """A loss as a person may type it again: exact, and never more than the loss."""
        return loss

    def by_name(self, loss: Loss) -> dict[str, Fraction]:
        """A loss by the names under which steps take its numbers: epsilon and delta, say."""
        numbers = self.typed(loss)
        parts = numbers if isinstance(numbers, tuple) else (numbers,)
        return dict(zip(self.parameters, cast(tuple[Fraction, ...], parts), strict=False))

    def admit(self, profile: Profile) -> Loss | None:
        """The loss here of a mechanism with this curve; None where none is known.

        By it a budget pays for a mechanism whose loss is in another measure.
        """
        return None

    def stated(self, budget: Loss) -> tuple[AnyMeasure, Any]:
        """The measure and the loss by which a person types such a budget."""
        return self, budget

    def enlarge(self, budget: Loss, stated: Any) -> Loss:
        """A budget in place of another one, from its loss as a person types it."""
        return cast(Loss, stated)

    def reach(self, loss: Loss, budget: Loss) -> Any:
        """What was lost so far under a budget, as people read it."""
        return loss

    def shortage(self, loss: Loss, spent: Loss, budget: Loss) -> tuple[str, str]:
        """What a refusal of a loss says in front and behind, where so much was spent before."""
        return "", ""

    def cost(self, price: Loss, spent: Loss, budget: Loss) -> Any:
        """What a release adds to ``reach``, where so much was spent before."""
        return price

    @abstractmethod
    def zero(self) -> Loss:
        """The loss of releasing nothing."""

    def require_promise(self, loss: Loss) -> None:
        """Refuses a loss that every release has: a budget of it would bound nothing."""

    @abstractmethod
    def compose(self, losses: Sequence[Loss]) -> Loss:
        """The loss of all of them together."""

    def together(self, losses: Sequence[Loss]) -> Loss:
        """As ``compose``, for releases that are all fixed before any of them is made.

        The loss knows the curve of all of them, where one is known that is better than its number.
        A filter, such as ``dp.adaptive``, takes ``compose``.
        """
        return self.compose(losses)

    @abstractmethod
    def left(self, budget: Loss, spent: Loss) -> Loss:
        """What may still be spent: composed with ``spent`` it is the budget."""

    @abstractmethod
    def split(self, loss: Loss, shares: Sequence[Fraction]) -> tuple[Loss, ...]:
        """Losses in these proportions that compose to at most the whole."""

    def cover(self, whole: Loss, loss: Loss, share: Fraction) -> Loss | None:
        """The least loss of at least ``whole``, of which this share pays for ``loss``.

        A share is that of ``split``, and shares compose to at most the whole. None for a measure of
        which that is not known.
        """
        return None

    def spread(self, one: Loss, whole: Loss, size: int) -> Loss:
        """The loss of ``size`` units at once, by the curve of one where it is known for groups.

        It is that of independent releases of which one unit changes one, wherever the units are.

        Args:
            one: The loss for one unit.
            whole: One that is known where all units change one release: the loss is given at its
                delta.
            size: How many units there are.
        """
        return self.group(one, size)

    @abstractmethod
    def group(self, loss: Loss, size: int) -> Loss:
        """The loss for ``size`` units at once."""

    @abstractmethod
    def worst(self, losses: Sequence[Loss]) -> Loss:
        """A loss that is at least each of these: of a release that has one of them."""

    @abstractmethod
    def within(self, loss: Loss, budget: Loss) -> bool:
        """Whether the loss is at most the budget."""

    @abstractmethod
    def profile(self, loss: Loss) -> Profile:
        """The (epsilon, delta) curve that this loss implies."""

    @abstractmethod
    def words(self, loss: Loss) -> str:
        """The loss in words."""

    def words_left(self, loss: Loss) -> str:
        """What is left of a budget, in words."""
        return self.words(loss)

    def __repr__(self) -> str:
        return f"{path_of(type(self))}()"


AnyMeasure: TypeAlias = Measure[Any]
"""A measure whose kind of loss is not known here."""


def proportions(shares: Sequence[object]) -> tuple[Fraction, ...]:
    """Positive weights, scaled to a sum of exactly 1."""
    weights = [exact.exact(share, "a share") for share in shares]
    if not weights or any(weight <= 0 for weight in weights):
        raise ParameterError("shares must be one or more numbers above 0")
    total = sum(weights)
    return tuple(weight / total for weight in weights)


def group_size(size: object) -> int:
    """A whole number of units."""
    return exact.whole(size, "the size of a group")


_ZERO: Final = Fraction(0)


def budget(value: object, name: str) -> Fraction:
    """A loss of one number, at least 0."""
    result = exact.exact(value, name)
    if result < 0:
        raise ParameterError(f"{name} must be at least 0, got {value}")
    return result


class AdditiveMeasure(Measure[Fraction]):
    """A measure whose losses are one number and add. ``curve`` makes the curve of a loss."""

    curve: ClassVar[
        type[profiles.PureProfile | profiles.ConcentratedProfile | profiles.GaussianProfile]
    ]

    def loss(self, value: object) -> Fraction:
        return budget(value, self.parameters[0])

    def profile(self, loss: Fraction) -> Profile:
        return curves.curve_of(loss) or self.curve(loss)

    def zero(self) -> Fraction:
        return _ZERO

    def show(self, loss: Fraction) -> float:
        return exact.round_up(without_curve(loss))

    def compose(self, losses: Sequence[Fraction]) -> Fraction:
        return sum(losses, Fraction(0))

    def left(self, budget: Fraction, spent: Fraction) -> Fraction:
        return max(budget - spent, Fraction(0))

    def together(self, losses: Sequence[Fraction]) -> Fraction:
        summed = self.compose(losses)
        known = curves.composed_profile(
            map(self.profile, losses), self.profile(without_curve(summed))
        )
        return curved_number(summed, known)

    def split(self, loss: Fraction, shares: Sequence[Fraction]) -> tuple[Fraction, ...]:
        return tuple(loss * share for share in proportions(shares))

    def group(self, loss: Fraction, size: int) -> Fraction:
        return loss * Fraction(group_size(size)) ** self.power

    def spread(self, one: Fraction, whole: Fraction, size: int) -> Fraction:
        number, curve = without_curve(self.group(one, size)), self.profile(one).group(size)
        known = None if curve is None else self.admit(curve)
        return number if known is None else curved_number(min(number, without_curve(known)), curve)

    def cover(self, whole: Fraction, loss: Fraction, share: Fraction) -> Fraction:
        return max(without_curve(whole), without_curve(loss) / share)

    def worst(self, losses: Sequence[Fraction]) -> Fraction:
        return max(map(without_curve, losses))

    def within(self, loss: Fraction, budget: Fraction) -> bool:
        return without_curve(loss) <= without_curve(budget)


@attrs.frozen(repr=False)
class MaxDivergence(AdditiveMeasure):
    """Pure differential privacy: the loss is epsilon.

    Proof:
        Epsilons add under composition and over groups (Dwork, McSherry, Nissim, Smith 2006).

    Example:
        >>> MaxDivergence().group(Fraction(1, 2), 3)
        Fraction(3, 2)
    """

    variant = "Pure DP"
    parameters = ("epsilon",)
    curve = profiles.PureProfile

    def admit(self, profile: Profile) -> Fraction | None:
        return profile.pure

    def words(self, loss: Fraction) -> str:
        return f"epsilon = {exact.digits_up(without_curve(loss))} (pure differential privacy)"


@attrs.frozen(repr=False)
class ZeroConcentratedDivergence(AdditiveMeasure):
    """Zero-concentrated differential privacy: the loss is rho.

    The Renyi divergence of every order a is at most a rho.

    Proof:
        Rhos add under composition, and grow with the square of a group's size (Bun and Steinke
        2016, lemma 1.7 and proposition 1.9).

    Example:
        >>> ZeroConcentratedDivergence().group(Fraction(1, 2), 2)
        Fraction(2, 1)
    """

    variant = "Zero-concentrated DP"
    parameters = ("rho",)
    curve = profiles.ConcentratedProfile
    power = 2

    def compose(self, losses: Sequence[Fraction]) -> Fraction:
        return curved_number(super().compose(losses), curves.gaussian_curve(losses, sum))

    def worst(self, losses: Sequence[Fraction]) -> Fraction:
        return curved_number(super().worst(losses), curves.gaussian_curve(losses, max))

    def admit(self, profile: Profile) -> Fraction | None:
        return profile.rho

    def words(self, loss: Fraction) -> str:
        return f"rho = {exact.digits_up(without_curve(loss))} zCDP"


# A pure loss beyond this has no mu that floats can find.
_MOST = 700


@attrs.frozen(repr=False)
class GaussianDivergence(AdditiveMeasure):
    """Gaussian differential privacy: the loss is mu, and is kept exactly as mu squared.

    To tell two neighbours apart is at least as hard as to tell one Gaussian from another mu
    standard deviations away.

    Proof:
        The squares of mu add, and mu grows with the size of a group (Dong, Roth, Su 2022,
        corollary 2 and theorem 3). They also add where each query is chosen by the answers before,
        so a program may stop at a sum (Smith and Thakurta 2022).

    Example:
        >>> measure = GaussianDivergence()
        >>> measure.show(measure.compose([measure.loss(3), measure.loss(4)]))
        5.0
    """

    variant = "Custom"
    parameters = ("mu squared",)
    curve = profiles.GaussianProfile
    power = 2

    def loss(self, value: object) -> Fraction:
        return budget(value, "mu") ** 2

    def show(self, loss: Fraction) -> float:
        return exact.round_up(exact.sqrt_up(without_curve(loss)))

    def typed(self, loss: Fraction) -> Fraction:
        return exact.sqrt_down(loss)

    def by_name(self, loss: Fraction) -> dict[str, Fraction]:
        return {"mu": self.typed(loss)}

    def admit(self, profile: Profile) -> Fraction | None:
        ratio, pure = profile.gaussian_ratio, profile.pure
        if ratio is not None or pure is None:
            return ratio
        return squared_mu_of_pure(pure) if pure <= _MOST else None

    def words(self, loss: Fraction) -> str:
        mu = exact.digits_up(exact.sqrt_up(without_curve(loss)))
        return f"mu = {mu} (Gaussian differential privacy)"


@lru_cache(maxsize=2**10)
def squared_mu_of_pure(epsilon: Fraction) -> Fraction:
    """The mu squared that every mechanism of this pure loss has.

    The trade-off function of randomised response is the lowest of them (Dong, Roth, Su 2022,
    equation 5). It is made of chords from (0, 1) to (p, p) to (1, 0), p = 1 / (1 + e^epsilon). A
    convex function through both ends that lies at or below p at p lies below the chords. That of
    the Gaussian is p there where P(Z > mu / 2) = p.
    """
    if epsilon == 0:
        return Fraction(0)
    shrunk = exact.exp_down(-epsilon)
    return (2 * exact.normal_quantile_up(2 * shrunk / (1 + shrunk))) ** 2


# Beyond e^5000 the factor of a delta is not worked out: a delta of 1 always holds.
_CERTAIN = 5000
_APPROXIMATE_ZERO: Final = (Fraction(0), Fraction(0))


@attrs.frozen(repr=False)
class ApproximateDivergence(Measure[Pair]):
    """(epsilon, delta)-differential privacy: the loss is the pair.

    Proof:
        Epsilons and deltas add under composition (Dwork and Roth 2014, theorem 3.16). A group of k
        has (k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))) (Vadhan 2017, lemma 2.2).

    Example:
        >>> ApproximateDivergence().compose([(Fraction(1), Fraction(1, 10))] * 2)
        (Fraction(2, 1), Fraction(1, 5))
    """

    variant = "Approximate DP"
    parameters = ("epsilon", "delta")

    def loss(self, value: object) -> Pair:
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise ParameterError(
                f"a loss here is a pair (epsilon, delta), got {exact.list_values(value)}"
            )
        epsilon, delta = budget(value[0], "epsilon"), budget(value[1], "delta")
        if delta > 1:
            raise ParameterError(f"delta must be at most 1, got {value[1]}")
        return epsilon, delta

    def show(self, loss: Pair) -> tuple[float, float]:
        return exact.round_up(loss[0]), exact.round_up(loss[1])

    def zero(self) -> Pair:
        return _APPROXIMATE_ZERO

    def require_promise(self, loss: Pair) -> None:
        if loss[1] >= 1:
            raise ParameterError(
                "the delta of a budget is at least 0 and below 1, got "
                f"{exact.format_number(loss[1])}. At delta = 1 every release fits, and nothing is "
                "private"
            )

    def compose(self, losses: Sequence[Pair]) -> Pair:
        epsilon = sum((epsilon for epsilon, _ in losses), Fraction(0))
        delta = min(Fraction(1), sum((delta for _, delta in losses), Fraction(0)))
        return curved_pair((epsilon, delta), curves.gaussian_curve(losses, sum))

    def together(self, losses: Sequence[Pair]) -> Pair:
        summed = without_curve(self.compose(losses))
        return curved_pair(
            summed, curves.composed_profile(map(self.profile, losses), PointProfile(*summed))
        )

    def left(self, budget: Pair, spent: Pair) -> Pair:
        zero = Fraction(0)
        return max(budget[0] - spent[0], zero), max(budget[1] - spent[1], zero)

    def split(self, loss: Pair, shares: Sequence[Fraction]) -> tuple[Pair, ...]:
        return tuple((loss[0] * share, loss[1] * share) for share in proportions(shares))

    def cover(self, whole: Pair, loss: Pair, share: Fraction) -> Pair:
        epsilon, delta = whole
        if loss[0] <= epsilon * share and loss[1] <= delta * share:
            return epsilon, delta
        # The delta that was typed is the same for less, and that of the curve at less falls.
        least = self.profile(loss).delta(epsilon * share)
        if least <= max(loss[1], delta * share):
            return epsilon, max(delta, least / share)
        return max(epsilon, loss[0] / share), max(delta, loss[1] / share)

    def spread(self, one: Pair, whole: Pair, size: int) -> Pair:
        curve, (epsilon, delta) = self.profile(one).group(size), whole
        if curve is None or curve.least_delta > delta:
            return self.group(one, size)
        met = curve.delta(epsilon) <= delta
        return curved_pair((epsilon if met else curve.epsilon(delta), delta), curve)

    def group(self, loss: Pair, size: int) -> Pair:
        count, (epsilon, delta) = group_size(size), loss
        if delta == 0 or count <= 1:
            return epsilon * count, delta * count
        if epsilon == 0:
            return epsilon, min(Fraction(1), delta * count)
        if epsilon * count > _CERTAIN:
            return epsilon * count, Fraction(1)
        # No term is above the last. Where e^epsilon is hardly above 1, this bound is all there is.
        factor = count * exact.exp_up(epsilon * (count - 1))
        least = exact.exp_down(epsilon)
        if least > 1:
            factor = min(factor, (exact.exp_up(epsilon * count) - 1) / (least - 1))
        return epsilon * count, min(Fraction(1), delta * factor)

    def worst(self, losses: Sequence[Pair]) -> Pair:
        epsilon, delta = max(loss[0] for loss in losses), max(loss[1] for loss in losses)
        curve = curves.gaussian_curve(losses, max)
        # Sums of deltas may lie far above the curve of all: the pair is then a point of the curve.
        least = delta if curve is None else min(delta, curve.delta(epsilon))
        return curved_pair((epsilon, least), curve)

    def within(self, loss: Pair, budget: Pair) -> bool:
        return loss[0] <= budget[0] and loss[1] <= budget[1]

    def profile(self, loss: Pair) -> Profile:
        return curves.curve_of(loss) or PointProfile(*loss)

    def admit(self, profile: Profile) -> Pair | None:
        return None if profile.pure is None else (profile.pure, Fraction(0))

    def words(self, loss: Pair) -> str:
        at = f" at delta = {exact.digits_up(loss[1])}" if loss[1] else ""
        return f"epsilon = {exact.digits_up(loss[0])}{at}"


From = TypeVar("From", bound=AnyMeasure, contravariant=True)
To = TypeVar("To", bound=AnyMeasure, covariant=True)


def at_delta(library: Any, measurement: Any, delta: Number) -> Any:
    """OpenDP's measurement with its loss as (epsilon, delta): a pure one holds at a delta of 0."""
    if measurement.output_measure == library.max_divergence():
        return library.c.make_approximate(measurement)
    return library.c.make_fix_delta(library.c.make_zCDP_to_approxDP(measurement), float(delta))


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
    low = exact.short_below(2 * rho / exact.sqrt_up(2 * rho))
    high = exact.short_below(2 * low + rho)
    for _ in range(_HALVINGS):
        middle = exact.short_below((low + high) / 2)
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
@opendp_twin(lambda here: here.library.c.make_pureDP_to_zCDP(here.made))
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
@opendp_twin(lambda here, delta: at_delta(here.library, here.made, delta))
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
    return ToApproximate(exact.open_probability(delta, "delta"))
