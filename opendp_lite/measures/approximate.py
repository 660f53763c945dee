"""Approximate differential privacy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import attrs

from opendp_lite.errors import ParameterError
from opendp_lite.exact import digits_up, exp_down, exp_up, format_number, listed, round_up
from opendp_lite.measures.composed import composed_profile
from opendp_lite.measures.curve import (
    Pair,
    composed_curve,
    curve_of,
    curved_pair,
    largest_curve,
    without_curve,
)
from opendp_lite.measures.max_divergence import budget
from opendp_lite.measures.measure import Measure, group_size, proportions
from opendp_lite.measures.profile import PointProfile, Profile

_CERTAIN = 5000


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
            raise ParameterError(f"a loss here is a pair (epsilon, delta), got {listed(value)}")
        epsilon, delta = budget(value[0], "epsilon"), budget(value[1], "delta")
        if delta > 1:
            raise ParameterError(f"delta must be at most 1, got {value[1]}")
        return epsilon, delta

    def show(self, loss: Pair) -> tuple[float, float]:
        return round_up(loss[0]), round_up(loss[1])

    def zero(self) -> Pair:
        return Fraction(0), Fraction(0)

    def require_promise(self, loss: Pair) -> None:
        if loss[1] >= 1:
            raise ParameterError(
                f"the delta of a budget is at least 0 and below 1, got {format_number(loss[1])}. "
                "At delta = 1 every release fits, and nothing is private"
            )

    def compose(self, losses: Sequence[Pair]) -> Pair:
        epsilon = sum((epsilon for epsilon, _ in losses), Fraction(0))
        delta = min(Fraction(1), sum((delta for _, delta in losses), Fraction(0)))
        return curved_pair((epsilon, delta), composed_curve(losses))

    def together(self, losses: Sequence[Pair]) -> Pair:
        summed = without_curve(self.compose(losses))
        return curved_pair(
            summed, composed_profile(map(self.profile, losses), PointProfile(*summed))
        )

    def left(self, budget: Pair, spent: Pair) -> Pair:
        zero = Fraction(0)
        return max(budget[0] - spent[0], zero), max(budget[1] - spent[1], zero)

    def split(self, loss: Pair, shares: Sequence[Fraction]) -> tuple[Pair, ...]:
        return tuple((loss[0] * share, loss[1] * share) for share in proportions(shares))

    def group(self, loss: Pair, size: int) -> Pair:
        count, (epsilon, delta) = group_size(size), loss
        if delta == 0 or count <= 1:
            return epsilon * count, delta * count
        if epsilon == 0:
            return epsilon, min(Fraction(1), delta * count)
        if epsilon * count > _CERTAIN:
            return epsilon * count, Fraction(1)
        factor = count * exp_up(epsilon * (count - 1))
        least = exp_down(epsilon)
        if least > 1:
            factor = min(factor, (exp_up(epsilon * count) - 1) / (least - 1))
        return epsilon * count, min(Fraction(1), delta * factor)

    def worst(self, losses: Sequence[Pair]) -> Pair:
        pair = max(loss[0] for loss in losses), max(loss[1] for loss in losses)
        return curved_pair(pair, largest_curve(losses))

    def within(self, loss: Pair, budget: Pair) -> bool:
        return loss[0] <= budget[0] and loss[1] <= budget[1]

    def profile(self, loss: Pair) -> Profile:
        return curve_of(loss) or PointProfile(*loss)

    def admit(self, profile: Profile) -> Pair | None:
        return None if profile.pure is None else (profile.pure, Fraction(0))

    def words(self, loss: Pair) -> str:
        return f"epsilon = {digits_up(loss[0])} at delta = {digits_up(loss[1])}"
