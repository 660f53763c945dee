"""How the variance and the standard deviation of one column are estimated."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from typing import Final, overload

import attrs

from opendp_lite.base.errors import SpaceError
from opendp_lite.bodies.points import Points
from opendp_lite.combinators.adaptive_programs import make_adaptive
from opendp_lite.combinators.composing import compose
from opendp_lite.estimators.parts.budget import (
    AnyAsk,
    Budget,
    Measured,
    RowSpace,
    budget_of,
    costs_budget,
)
from opendp_lite.estimators.parts.noisy_moments import NoisyMoments
from opendp_lite.estimators.parts.request import BoundedColumn, Request, bounds_come_first
from opendp_lite.estimators.parts.value_search import (
    Around,
    Limits,
    Search,
    rings_for,
    search_shares,
)
from opendp_lite.measures.budgets import PrivacyBudget, Spent
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import Number, rational_of_float
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.releases.estimates import Estimate
from opendp_lite.spaces.examples import Example, example
from opendp_lite.spaces.space import records
from opendp_lite.transformations.bounding import center, clamp
from opendp_lite.transformations.entries import square
from opendp_lite.transformations.sums import count, sum

_OFF, _OFF_SHARE = 0.02, 0.05
"""About how far the mean that the rings tell lies from the true one, in half widths."""
_ROWS_OFF: Final = Fraction(3, 100)
# Of what is left after a search that found no spread: for another.
_AGAIN: Final = Fraction(1, 2)
_FINE: Final = 2**24
_LARGEST_TO_SQUARE_TWICE: Final = rational_of_float(1e50)
Shown = tuple[float, float]


@attrs.frozen
class SpreadPlan:
    """What was asked of a variance: where the values lie, a budget, an interval."""

    column: BoundedColumn
    request: Request
    rings: Points = attrs.field(eq=False)

    @classmethod
    def of(
        cls,
        space: RowSpace,
        bounds: tuple[Number, Number],
        step: str,
        confidence: Number | None,
        sampling: bool,
        *budget: Number | None,
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
        (column.rows(space) >> whole.median(bounds=column.typed)).bind(space)
        return cls(column, request, rings_for(float(2 * column.half)))

    def build(
        self, space: RowSpace, shown: Callable[[float, float], Shown]
    ) -> Measured[float | Estimate]:
        """The whole estimator.

        Args:
            space: The space of the rows.
            shown: From a variance and its error to what is released, and its error.
        """
        confidence, sampling = self.request.confidence, self.request.sampling

        def program(ask: AnyAsk) -> float | Estimate:
            found = self._moments(ask)
            if confidence is None:
                return shown(found.variance, 0.0)[0]
            interval, wide = (
                (shown(low, 0.0)[0], shown(high, 0.0)[0])
                for low, high in (found.interval(confidence), found.wide_interval(confidence))
            )
            return Estimate(
                *shown(found.variance, found.standard_error),
                interval,
                confidence,
                max(found.rows, 0.0),
                sampling,
                clipped=True,
                wide_interval=wide,
            )

        whole = self.request.whole
        middle, rings = search_shares(whole)
        why = (
            f"{float(middle):.0%} of the budget is for a median, {float(rings):.0%} for the number "
            "of rows in rings around it\n"
            "  the rest is for sums of the values and of their squares, clipped to the rings that "
            "hold rows\n"
            "  if only one ring surely holds rows, half of that is for a second search\n"
            "  so the error follows the values and not the bounds; the interval for the "
            f"{self.request.step.replace('_', ' ')} is for the clipped values\n"
            "  a wide one shows what this clipping may move where tails are thin"
        )
        if self.request.sampling:
            why += "\n  a twentieth of the budget tells how far a sample's variance may be off"
        made = make_adaptive(space, program, whole.measure, whole.amount, why)
        return whole.with_claimed_loss(made)

    def _moments(self, ask: AnyAsk) -> NoisyMoments:
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

    def _sums(self, ask: AnyAsk, inside: Around, limits: Limits, left: Budget) -> NoisyMoments:
        """The last release, but for a sample."""
        space = ask.space
        reach, size = Fraction(limits.reach), space.domain.size
        anchor = Fraction(limits.share)
        total, squares = inside >> sum(), inside >> square() >> center(anchor * reach**2) >> sum()
        of_total = Fraction(left.reach(total, space)) / reach
        of_squares = Fraction(left.reach(squares, space)) / reach**2
        off = Fraction(_OFF + _OFF_SHARE * sqrt(limits.share))
        off_rows = _ROWS_OFF if size is None else Fraction(0)
        for_squares = _fine(left.best_share(of_squares, 2 * off * of_total + off_rows))
        share = _fine(left.best_share(2 * off * of_total, off_rows)) if size is None else 1
        parts = [left.part(for_squares), left.part((1 - for_squares) * share)]
        scales = [
            part.scale(float(each))
            for part, each in zip(parts, (of_squares, of_total), strict=True)
        ]
        queries = [squares >> parts[0].noise(), total >> parts[1].noise()]
        if size is None:
            counting = left.part((1 - for_squares) * (1 - share))
            scales.append(counting.scale(counting.reach(count(), space)))
            queries.append(count() >> counting.noise())
        found = ask(compose(*queries))
        return NoisyMoments(
            total=float(found[1][0]) / float(reach),
            squares=float(found[0][0]) / float(reach) ** 2,
            rows=float(found[2]) if size is None else float(size),
            anchor=float(anchor),
            reach=limits.reach,
            widest=(limits.upper - limits.lower) / limits.reach,
            budget=left,
            scales=(scales[1], scales[0], scales[2] if size is None else 0.0),
            unseen=limits.unseen,
            possible=float(self.column.half) ** 2,
            beyond=limits.beyond,
            middle=-limits.mean,
        )

    def _with_spread(self, ask: AnyAsk, inside: Around, found: NoisyMoments) -> NoisyMoments:
        """Adds how far the squared distances from the mean spread, one deviation of noise up."""
        budget, space = self.request.for_squares, ask.space
        mean, variance = found.centre, found.variance
        distances = inside >> center(Fraction(mean)) >> square()
        squares = distances >> center(Fraction(variance)) >> square()
        most = Fraction(squares.bind(space).output_space.domain.body.radius(2))
        total = squares >> center(most / 2) >> sum()
        off = budget.deviation(budget.reach(total, space))
        noisy = float(ask(total >> budget.noise())[0]) + off
        return found.with_spread(noisy / max(found.rows, 1.0) + float(most / 2))


def _as_deviation(variance: float, error: float) -> Shown:
    """The root, with its error to the first order; near 0 what the error does to the root of 0."""
    root = sqrt(variance)
    return root, min(error / (2 * root), sqrt(error)) if root else sqrt(error)


def _examples() -> list[Example]:
    return [
        example(records(), 0, 100, rho=0.1),
        example(records(), 0, 100, epsilon=1, delta=1e-6, confidence=0.9),
        example(records(size=20, metric=ChangeOneDistance()), -1, 1, epsilon=0.1, confidence=0.95),
    ]


def _fine(share: Fraction) -> Fraction:
    return Fraction(int(share * _FINE), _FINE)


@overload
def variance(
    lower: Number,
    upper: Number,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: None = None,
) -> Mechanism[RowSpace, Spent, float]: ...
@overload
def variance(
    lower: Number,
    upper: Number,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number,
    sampling: bool = False,
) -> Mechanism[RowSpace, Spent, Estimate]: ...
@bounds_come_first("epsilon=1")
@mechanism(
    does="The variance of one column, for values of any shape.",
    changes=(
        "Values beyond the bounds are clipped to them, and beside these to limits that a part of "
        "the budget finds. Missing values are left out; where the number of rows is public they "
        "count as the middle of the bounds. It is the variance of the clipped values."
    ),
    proof=costs_budget(
        "An `adaptive` program. A row is in one ring, so numbers of rows in rings move by 1 "
        "in l1 and l2, or by 2 and sqrt(2) where it is replaced. The sums are of clipped "
        "values and their squares, and with `sampling` of squared distances from the released "
        "variance. Epsilon with delta is met by the zCDP loss of all.",
        sources=["Canonne, Kamath, Steinke 2020, proposition 12"],
    ),
    examples=_examples,
)
def variance(
    space: RowSpace,
    lower: Number,
    upper: Number,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measured[float | Estimate]:
    """The variance of one column, for values of any shape.

    Bounds that are far too wide cost little: the error follows the values.

    Args:
        lower: The lower bound of the values, chosen without looking at the data. Values below it
            are clipped to it.
        upper: The upper bound, likewise.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``: the probability that its bound may fail, 1e-6 say.
        confidence: 0.95, say, asks for an interval too.
        sampling: Whether the interval is for the variance of the population, of which the rows
            are a random sample. It then costs a twentieth of the budget.

    Returns:
        The mean squared distance from the mean: divided by n, as ``numpy.var`` with ``ddof=0``. It
        lies between 0 and a quarter of the squared width of the bounds. With a confidence, an
        ``Estimate``. It is the variance of the clipped values. Beside the bounds, values are
        clipped to limits that a part of the budget finds. The interval does not show what that
        moves: with ``sampling`` it is for the population clipped at the same limits. Its
        ``wide_interval`` shows it, if each ring beyond a limit holds at most two fifths of the rows
        of the ring before it, which is sqrt(2) times nearer. Where no spread is found both
        go from 0 to what may lie unseen within the bounds.
        Missing values are left out; where the number of rows is public they count as the middle of
        the bounds.

    Raises:
        ParameterError: If a bound or the budget is missing or impossible.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> waits = np.random.default_rng(0).exponential(3, 100_000)
        >>> round(dp.variance(0, 1000, epsilon=1)(waits))
        9
        >>> estimate = dp.variance(0, 1000, epsilon=1, confidence=0.95)(waits)
        >>> low, high = estimate.interval
        >>> 0 < high - low < 0.5
        True
    """
    plan = SpreadPlan.of(
        space, (lower, upper), "variance", confidence, sampling, rho, epsilon, delta
    )
    return plan.build(space, lambda found, error: (found, error))


@overload
def standard_deviation(
    lower: Number,
    upper: Number,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: None = None,
) -> Mechanism[RowSpace, Spent, float]: ...
@overload
def standard_deviation(
    lower: Number,
    upper: Number,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number,
    sampling: bool = False,
) -> Mechanism[RowSpace, Spent, Estimate]: ...
@bounds_come_first("epsilon=1")
@mechanism(
    does="The standard deviation of one column, for values of any shape.",
    changes=(
        "Values beyond the bounds are clipped to them, and beside these to limits that a part of "
        "the budget finds. Missing values are left out; where the number of rows is public they "
        "count as the middle of the bounds."
    ),
    proof=costs_budget(
        "A function of the release of `variance`.",
    ),
    examples=_examples,
)
def standard_deviation(
    space: RowSpace,
    lower: Number,
    upper: Number,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measured[float | Estimate]:
    """The standard deviation of one column, for values of any shape.

    Bounds that are far too wide cost little: the error follows the values.

    Args:
        lower: The lower bound of the values, chosen without looking at the data. Values below it
            are clipped to it.
        upper: The upper bound, likewise.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``: the probability that its bound may fail, 1e-6 say.
        confidence: 0.95, say, asks for an interval too.
        sampling: As for ``variance``: whether the interval is for the population. It then costs a
            twentieth of the budget.

    Returns:
        The root of what ``variance`` releases, between 0 and half the width of the bounds. With a
        confidence, an ``Estimate``: its interval ends at the roots of the ends. Missing values are
        left out; where the number of rows is public they count as the middle of the bounds.

    Raises:
        ParameterError: If a bound or the budget is missing or impossible.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> waits = np.random.default_rng(0).exponential(3, 10_000)
        >>> round(dp.standard_deviation(0, 1000, epsilon=1)(waits))
        3
    """
    step = "standard_deviation"
    plan = SpreadPlan.of(space, (lower, upper), step, confidence, sampling, rho, epsilon, delta)
    return plan.build(space, _as_deviation)
