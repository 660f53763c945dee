"""Pure differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import attrs

from opendp_lite.errors import ParameterError
from opendp_lite.exact import digits_up, exact, round_up
from opendp_lite.measures.curve import without_curve
from opendp_lite.measures.measure import Measure, group_size, proportions
from opendp_lite.measures.profile import Profile, PureProfile


def budget(value: object, name: str) -> Fraction:
    """A loss of one number, at least 0."""
    result = exact(value, name)
    if result < 0:
        raise ParameterError(f"{name} must be at least 0, got {value}")
    return result


class AdditiveMeasure(Measure[Fraction]):
    """A measure whose losses are one number and add."""

    def zero(self) -> Fraction:
        return Fraction(0)

    def show(self, loss: Fraction) -> float:
        return round_up(without_curve(loss))

    def compose(self, losses: Sequence[Fraction]) -> Fraction:
        return sum(losses, Fraction(0))

    def left(self, budget: Fraction, spent: Fraction) -> Fraction:
        return max(budget - spent, Fraction(0))

    def split(self, loss: Fraction, shares: Sequence[Fraction]) -> tuple[Fraction, ...]:
        return tuple(loss * share for share in proportions(shares))

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

    def loss(self, value: object) -> Fraction:
        return budget(value, "epsilon")

    def group(self, loss: Fraction, size: int) -> Fraction:
        return loss * group_size(size)

    def profile(self, loss: Fraction) -> Profile:
        return PureProfile(loss)

    def admit(self, profile: Profile) -> Fraction | None:
        return profile.pure

    def words(self, loss: Fraction) -> str:
        return f"epsilon = {digits_up(loss)} (pure differential privacy)"
