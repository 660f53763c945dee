"""The variance and the standard deviation of one column, from noisy sums, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import fsum, hypot, inf, sqrt
from typing import Final, overload

import attrs
import numpy as np

from opendp_lite.bodies.points import Points
from opendp_lite.combinators.adaptive_programs import make_adaptive
from opendp_lite.combinators.composing import compose
from opendp_lite.estimators.parts import AnyAsk, Floats, Measured, RowSpace, value_search
from opendp_lite.estimators.parts.budget import Budget, budget_of, costs_budget
from opendp_lite.estimators.parts.noisy_totals import FEW, fitting_ends
from opendp_lite.estimators.parts.request import BoundedColumn, Request, bounds_come_first
from opendp_lite.estimators.parts.value_search import Around, Unseen, search_shares
from opendp_lite.measures.budgets import PrivacyBudget, Spent
from opendp_lite.numbers.exact import Number, rational_of_float
from opendp_lite.pipeline.steps import Mechanism, mechanism
from opendp_lite.releases.estimate import Estimate
from opendp_lite.spaces.space import Example, example, records, sized_rows
from opendp_lite.transformations import center, clamp, count, square, sum
from opendp_lite.transformations.row_maps import require_one_column

_GRID: Final = 101
_MEANS: Final = 9
# How often noise alone shows so many rows, where a release says nothing of the mean.
_ROWS_DOUBTED: Final = 0.001
# How often Gaussian noise is more than one deviation above its mean.
_ONE_DEVIATION: Final = 0.16
# The standard deviation of the square of a noise over its mean: sqrt(2) for Gaussian noise, and
# sqrt(5) for Laplace noise.
_SQUARED: Final = 2.0


@attrs.frozen(eq=False)
class NoisyMoments:
    """One release of sums of t and of t^2 - anchor over the rows, and of their number.

    Here t is (value - middle) / reach, between -1 and 1.

    Args:
        total: The noisy sum of t.
        squares: The noisy sum of t^2 - anchor.
        rows: The noisy or the public number.
        anchor: What was subtracted from every t^2.
        reach: A unit of t.
        widest: The width in which the values lie, in units of t.
        budget: Of the kind of noise of all three.
        scales: Its scales, in this order; 0 for a public number of rows.
        spread: The standard deviation of (t - mean)^2, where the rows are taken for a sample.
        unseen: What is known of values that may lie beyond the reach, where no spread was found.
        possible: The largest variance of all values, in the square of their unit.
        beyond: What is known of values beyond the limits to which they were clipped.
        middle: From where these limits are seen, less what was subtracted of the values.
    """

    total: float
    squares: float
    rows: float
    anchor: float
    reach: float
    widest: float
    budget: Budget
    scales: tuple[float, float, float]
    spread: float = 0.0
    unseen: Unseen | None = None
    possible: float = 0.0
    beyond: tuple[value_search.Beyond, ...] = ()
    middle: float = 0.0

    @property
    def variance(self) -> float:
        """The estimate; what the noise adds to the square of the mean is subtracted."""
        return self._show(self._variance)

    @property
    def standard_error(self) -> float:
        """To the first order; at most half of what a variance can be.

        Where no spread was found, it is what one deviation of noise allows for.
        """
        of_total, of_squares, of_rows = map(self.budget.deviation_at, self.scales)
        mean = self._mean
        off = self._variance - self.anchor - mean**2
        noise = hypot(of_squares, 2 * mean * of_total, off * of_rows) / self._people
        both = hypot(noise, self.spread / sqrt(self._people))
        shown = self._show(min(both, self._largest / 2))
        if self.unseen is None:
            return shown
        return max(shown, self._with(self.unseen, _ONE_DEVIATION))

    @property
    def centre(self) -> float:
        """The estimated mean, in the unit of the values, from what was subtracted of them."""
        return self._mean * self.reach

    def with_spread(self, squares: float) -> NoisyMoments:
        """For a sample, with the mean square of (value - mean)^2 - variance, noisily."""
        most = self._largest * self.reach**2
        few = 1 + FEW / self._people
        spread = min(sqrt(max(squares, 0.0) * few), most) / self.reach**2
        return attrs.evolve(self, spread=spread)

    def interval(self, confidence: float) -> tuple[float, float]:
        """All variances that fit the release; the estimate is among them.

        Proof:
            With the true mean m of t and the true variance v, the release has the pivot
            squares - rows (v - anchor) - 2 m total + rows m^2. It is a known combination of the
            noises, whatever the number of rows (Fieller 1954). At the estimated mean it is less by
            rows times the square of the mean's error. The expectation of that is added, and its
            deviation is added to that of the noise. Where noise hides the rows, and so the mean,
            all variances are taken that fit with any mean. For a sample the deviation also has the
            sum of (t - m)^2 - v, which is as large for a variance v as the estimated spread.
            Where no spread was found, rows may lie unseen up to the bounds. The variance is at
            most the sum of all squared distances from the median over the number of rows. The
            interval then goes from 0 to what noisy numbers of rows in rings and of rows allow for
            that, each with half of the probability of an error.
        """
        shown = self._variance
        points = np.unique(np.append(np.linspace(0, self._largest, _GRID), shown))
        low, high = map(self._show, fitting_ends(self._levels, points, points == shown, confidence))
        if self.unseen is None:
            return low, high
        return 0.0, max(high, self._with(self.unseen, (1 - confidence) / 2))

    def wide_interval(self, confidence: float) -> tuple[float, float]:
        """All variances of values that were not clipped, which fit the release and thin tails.

        Proof:
            Clipping brings any two values closer or leaves their distance, and a variance is half
            of the mean squared distance of two: so clipped values never have the larger one, and
            the lower end of an interval for theirs holds. The variance of all values is at most
            their mean squared distance from the mean of the clipped ones. That is the variance of
            the clipped ones and what clipping takes off (``Beyond.most``). Half of the probability
            of an error is that of the interval for the clipped values, the rest that of both sides.
        """
        low, high = self.interval((1 + confidence) / 2)
        if self.unseen is not None:
            return self.interval(confidence)
        mean, share = self.centre - self.middle, (1 - confidence) / 4
        moved = fsum(each.most(mean, share) for each in self.beyond) / self._people
        return low, min(high + moved, self.possible)

    def _with(self, unseen: Unseen, share: float) -> float:
        """What the variance of all values exceeds with at most twice this probability."""
        fewest = self.rows - self.budget.exceeded(self.scales[2], share)
        return min(unseen.most(share) / max(fewest, 1.0), self.possible)

    @property
    def _people(self) -> float:
        return max(self.rows, 1.0)

    @property
    def _mean(self) -> float:
        return float(np.clip(self.total / self._people, -1, 1))

    @property
    def _variance(self) -> float:
        noise = self.budget.deviation_at(self.scales[0]) / self._people
        square = max(self._mean**2 - noise**2, 0.0)
        found = self.anchor + self.squares / self._people - square
        return float(np.clip(found, 0, self._largest))

    @property
    def _largest(self) -> float:
        """The variance of values at both ends of the width."""
        return (self.widest / 2) ** 2

    def _show(self, variance: float) -> float:
        """In squares of the unit of the values, and no larger than it can be."""
        largest = min((self.widest * self.reach / 2) ** 2, self.possible or inf)
        return min(float(variance) * self.reach**2, largest)

    def _levels(self, variances: Floats) -> Floats:
        """The confidence at which each variance just fits the release."""
        hidden = self.rows <= self.budget.exceeded(self.scales[2], _ROWS_DOUBTED)
        means = np.linspace(-1.0, 1.0, _MEANS).tolist() if hidden else [self._mean]
        with_each = [self._levels_with(variances, each, 0.0 if hidden else 1.0) for each in means]
        found: Floats = np.min(with_each, axis=0)
        return found

    def _levels_with(self, variances: Floats, mean: float, estimated: float) -> Floats:
        """The confidence at which each variance just fits with a mean."""
        of_total, of_squares, of_rows = self.scales
        off = variances - self.anchor - mean**2
        both = self.budget.deviation_at(hypot(of_total, mean * of_rows))
        doubt = estimated * both**2 / self._people
        gap = self.squares - self.rows * off - 2 * mean * self.total + doubt
        errors = self.budget.errors([of_squares, 2 * mean * of_total, 0.0], [0.0, 0.0, of_rows])
        noise = errors.deviation(off)
        width = np.hypot(np.hypot(noise, _SQUARED * doubt), self.spread * sqrt(self._people))
        return 2 * errors.below(off, np.abs(gap) * (noise / width)) - 1


_FOR_FOURTH_POWERS: Final = Fraction(1, 20)
_OFF, _OFF_SHARE = 0.02, 0.05
"""About how far the mean that the rings tell lies from the true one, in half widths."""
_ROWS_OFF: Final = Fraction(3, 100)
# Of what is left after a search that found no spread: for another.
_AGAIN: Final = Fraction(1, 2)
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
        require_one_column(space, step, ", or use covariance() for all of them")
        whole = budget_of(step, *budget).with_choices()
        request = Request.within(whole, step, confidence, sampling)
        request = attrs.evolve(request, squares=_FOR_FOURTH_POWERS)
        if request.sampling:
            powers = "fourth powers, which sampling=False does without,"
            column.require(_LARGEST_TO_SQUARE_TWICE, step, powers)
        (column.rows(space) >> whole.median(bounds=column.typed)).bind(space)
        return cls(column, request, value_search.rings_for(float(2 * column.half)))

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
            of_rows = attrs.evolve(found, spread=0.0)
            interval, wide, of_noise = (
                (shown(low, 0.0)[0], shown(high, 0.0)[0])
                for low, high in (
                    found.interval(confidence),
                    found.wide_interval(confidence),
                    of_rows.interval(confidence),
                )
            )
            return Estimate(
                *shown(found.variance, found.standard_error),
                interval,
                confidence,
                max(found.rows, 0.0),
                sampling,
                clipped=True,
                wide_interval=wide,
                noise_interval=of_noise if sampling else None,
                several=sampling and ask.space.unit > 1,
                hint=ask.space.kept,
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
        search = value_search.Search(ask, budget.part(middle), budget.part(rings))
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

    def _sums(
        self, ask: AnyAsk, inside: Around, limits: value_search.Limits, left: Budget
    ) -> NoisyMoments:
        """The last release, but for a sample."""
        space = ask.space
        reach, size = Fraction(limits.reach), space.domain.size
        anchor = Fraction(limits.share)
        total, squares = inside >> sum(), inside >> square() >> center(anchor * reach**2) >> sum()
        of_total = Fraction(left.reach(total, space)) / reach
        of_squares = Fraction(left.reach(squares, space)) / reach**2
        off = Fraction(_OFF + _OFF_SHARE * sqrt(limits.share))
        off_rows = _ROWS_OFF if size is None else Fraction(0)
        for_squares = left.best_share(of_squares, 2 * off * of_total + off_rows)
        share = left.best_share(2 * off * of_total, off_rows) if size is None else 1
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


_CHANGES: Final = (
    "Values beyond the bounds are clipped to them, and beside these to limits that a part of the "
    "budget finds. Missing values are left out; where the number of rows is public they count as "
    "the middle of the bounds."
)


def _examples() -> list[Example]:
    return [
        example(records(), 0, 100, rho=0.1, confidence=None),
        example(records(), 0, 100, epsilon=1, delta=1e-6, confidence=0.9, sampling=False),
        example(sized_rows(), -1, 1, epsilon=0.1, confidence=0.95, sampling=False),
    ]


@overload
def variance(
    lower: Number,
    upper: Number,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number = 0.95,
    sampling: bool = True,
) -> Mechanism[RowSpace, Spent, Estimate]: ...
@overload
def variance(
    lower: Number,
    upper: Number,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: None,
) -> Mechanism[RowSpace, Spent, float]: ...
@bounds_come_first("epsilon=1")
@mechanism(
    does="The variance of one column, for values of any shape.",
    changes=f"{_CHANGES} It is the variance of the clipped values.",
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
    confidence: Number | None = 0.95,
    sampling: bool = True,
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
        confidence: As for ``mean``: with None a number alone.
        sampling: Whether the interval is for the variance of the population, of which the rows
            are a random sample: this takes a twentieth of the budget. If not, for these rows.

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
        >>> estimate = dp.variance(0, 1000, epsilon=1)(waits)
        >>> 8 < float(estimate) < 10
        True
        >>> low, high = estimate.interval
        >>> 0 < high - low < 2
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
    confidence: Number = 0.95,
    sampling: bool = True,
) -> Mechanism[RowSpace, Spent, Estimate]: ...
@overload
def standard_deviation(
    lower: Number,
    upper: Number,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: None,
) -> Mechanism[RowSpace, Spent, float]: ...
@bounds_come_first("epsilon=1")
@mechanism(
    does="The standard deviation of one column, for values of any shape.",
    changes=_CHANGES,
    proof=costs_budget("A function of the release of `variance`."),
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
    confidence: Number | None = 0.95,
    sampling: bool = True,
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
        confidence: As for ``mean``: with None a number alone.
        sampling: As for ``variance``: whether the interval is for the population.

    Returns:
        The root of what ``variance`` releases, between 0 and half the width of the bounds. With a
        confidence, an ``Estimate``: its interval ends at the roots of the ends. Missing values are
        left out; where the number of rows is public they count as the middle of the bounds.

    Raises:
        ParameterError: If a bound or the budget is missing or impossible.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> waits = np.random.default_rng(0).exponential(3, 10_000)
        >>> round(float(dp.standard_deviation(0, 1000, epsilon=1)(waits)))
        3
    """
    step = "standard_deviation"
    plan = SpreadPlan.of(space, (lower, upper), step, confidence, sampling, rho, epsilon, delta)
    return plan.build(space, _as_deviation)
