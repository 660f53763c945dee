"""How the variance and the standard deviation of one column are estimated."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from typing import Any, Final

import attrs

from opendp_lite.bodies.points import Points
from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.errors import SpaceError
from opendp_lite.estimators.inference.bounded_column import BoundedColumn
from opendp_lite.estimators.inference.budget import Budget, budget_of
from opendp_lite.estimators.inference.noisy_moments import NoisyMoments
from opendp_lite.estimators.inference.request import Request
from opendp_lite.estimators.inference.value_search import (
    Around,
    Limits,
    Search,
    median,
    rings_for,
    search_shares,
)
from opendp_lite.exact import Number, rational_of_float
from opendp_lite.spaces import Space
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.count import count
from opendp_lite.transformations.square import square
from opendp_lite.transformations.sum import sum

_OFF, _OFF_SHARE = 0.02, 0.05
"""About how far the mean that the rings tell lies from the true one, in half widths."""
_ROWS_OFF: Final = Fraction(3, 100)
_AGAIN: Final = Fraction(1, 2)
"""Of what is left after a search that found no spread: for another."""
_FINE: Final = 2**24
_LARGEST_TO_SQUARE_TWICE: Final = rational_of_float(1e50)


@attrs.frozen
class SpreadPlan:
    """What was asked of a variance: where the values lie, a budget, an interval."""

    column: BoundedColumn
    request: Request
    rings: Points = attrs.field(eq=False)

    @classmethod
    def of(
        cls,
        space: Space[Rows],
        bounds: tuple[Number, Number],
        step: str,
        confidence: Number | None,
        sampling: bool,
        budget: tuple[Number | None, Number | None, Number | None],
    ) -> SpreadPlan:
        """Refuses bounds, budgets and confidences that make no sense."""
        column = BoundedColumn.between(*bounds, step)
        if space.domain.columns != 1:
            raise SpaceError(
                f"{step} is of one column, the rows have {space.domain.columns}. Put select() "
                "before it, or use covariance() for all of them"
            )
        whole = budget_of(step, *budget).with_choices()
        request = Request.within(whole, step, confidence, sampling)
        if request.sampling:
            powers = "fourth powers, which sampling=True takes,"
            column.require(_LARGEST_TO_SQUARE_TWICE, step, powers)
        (column.rows(space) >> median(column, whole)).bind(space)
        return cls(column, request, rings_for(float(2 * column.half)))

    def measured(
        self, space: Space[Rows], shown: Callable[[NoisyMoments], Any], name: str
    ) -> Measurement[Space[Rows], Any]:
        """The whole estimator.

        Args:
            space: The space of the rows.
            shown: From the moments to the release.
            name: What is estimated, for the explanation.
        """

        def program(ask: Ask[Any]) -> Any:
            return shown(self._moments(ask))

        whole = self.request.whole
        middle, rings = search_shares(whole)
        why = (
            f"{float(middle):.0%} of the budget is for a median, {float(rings):.0%} for the number "
            "of rows in rings around it\n"
            "  the rest is for sums of the values and of their squares, clipped to the rings that "
            "hold rows\n"
            "  if only one ring surely holds rows, half of that is for a second search\n"
            "  so the error follows the values and not the bounds; the interval for the "
            f"{name} is for the clipped values\n"
            "  a wide one shows what this clipping may move where tails are thin"
        )
        if self.request.sampling:
            why += "\n  a twentieth of the budget tells how far a sample's variance may be off"
        made = programmed(space, program, whole.measure, whole.amount, "")
        return whole.with_claimed_loss(made).explained(why)

    def _moments(self, ask: Ask[Any]) -> NoisyMoments:
        """One run: where the values lie, then sums of what is clipped there."""
        budget = self.request.budget
        middle, rings = search_shares(budget)
        rows = self.column.rows(ask.space)
        search = Search(ask, budget.part(middle), budget.part(rings))
        centre, limits = search.column(rows, self.column, self.rings)
        left = 1 - middle - rings
        if limits.unseen is not None:
            search = attrs.evolve(search, rings=budget.part(left * _AGAIN))
            limits = search.beside(centre, rows, self.column, self.rings)
            left *= 1 - _AGAIN
        clipped = rows >> center(Fraction(centre)) >> clamp(*limits.exact)
        inside = clipped >> center(Fraction(limits.mean))
        found = self._sums(ask, inside, limits, budget.part(left))
        return self._with_spread(ask, inside, found) if self.request.sampling else found

    def _sums(self, ask: Ask[Any], inside: Around, limits: Limits, left: Budget) -> NoisyMoments:
        """The last release, but for a sample."""
        space = ask.space
        reach, size = Fraction(limits.reach), space.domain.size
        anchor = Fraction(limits.share)
        total, squares = inside >> sum(), inside >> square() >> center(anchor * reach**2) >> sum()
        family = left.family

        def moved(summed: Any, unit: Fraction) -> Fraction:
            return Fraction(family.sensitivity(summed.bind(space).output_space.unit)) / unit

        of_total, of_squares = moved(total, reach), moved(squares, reach**2)
        off = Fraction(_OFF + _OFF_SHARE * sqrt(limits.share))
        off_rows = _ROWS_OFF if size is None else Fraction(0)
        for_squares = _fine(family.best_share(of_squares, 2 * off * of_total + off_rows))
        share = _fine(family.best_share(2 * off * of_total, off_rows)) if size is None else 1
        parts = [left.part(for_squares), left.part((1 - for_squares) * share)]
        scales = [
            part.scale(float(each))
            for part, each in zip(parts, (of_squares, of_total), strict=True)
        ]
        queries = [squares >> parts[0].noise(), total >> parts[1].noise()]
        if size is None:
            counting = left.part((1 - for_squares) * (1 - share))
            unit = family.sensitivity(count().bind(space).output_space.unit)
            scales.append(counting.scale(unit))
            queries.append(count() >> counting.noise())
        found = ask(compose(*queries))
        return NoisyMoments(
            total=float(found[1][0]) / float(reach),
            squares=float(found[0][0]) / float(reach) ** 2,
            rows=float(found[2]) if size is None else float(size),
            anchor=float(anchor),
            reach=limits.reach,
            widest=(limits.upper - limits.lower) / limits.reach,
            family=family,
            scales=(scales[1], scales[0], scales[2] if size is None else 0.0),
            unseen=limits.unseen,
            possible=float(self.column.half) ** 2,
            beyond=limits.beyond,
            middle=-limits.mean,
        )

    def _with_spread(self, ask: Ask[Any], inside: Around, found: NoisyMoments) -> NoisyMoments:
        """Adds how far the squared distances from the mean spread, one deviation of noise up."""
        budget, space = self.request.for_squares, ask.space
        mean, variance = found.centre, found.variance
        distances = inside >> center(Fraction(mean)) >> square()
        squares = distances >> center(Fraction(variance)) >> square()
        most = Fraction(squares.bind(space).output_space.domain.body.radius(2))
        total = squares >> center(most / 2) >> sum()
        unit = budget.family.sensitivity(total.bind(space).output_space.unit)
        noisy = float(ask(total >> budget.noise())[0]) + budget.deviation(unit)
        return found.sampled(noisy / max(found.rows, 1.0) + float(most / 2))


def _fine(share: Fraction) -> Fraction:
    return Fraction(int(share * _FINE), _FINE)
