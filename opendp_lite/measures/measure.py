"""What every measure of privacy loss obeys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar, cast

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import Storable
from opendp_lite.measures.profile import Profile
from opendp_lite.numbers.exact import exact, whole

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

    def shortage(self, loss: Loss, budget: Loss) -> str:
        """What a refusal adds of a loss that is not within a budget: a sentence, or nothing."""
        return ""

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
    weights = [exact(share, "a share") for share in shares]
    if not weights or any(weight <= 0 for weight in weights):
        raise ParameterError("shares must be one or more numbers above 0")
    total = sum(weights)
    return tuple(weight / total for weight in weights)


def group_size(size: object) -> int:
    """A whole number of units."""
    return whole(size, "the size of a group")
