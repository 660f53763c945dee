"""What was asked of a mean of one column: its bounds, its budget, its interval."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, wraps
from inspect import unwrap
from typing import Any, Final, TypeVar

import attrs
import numpy as np

from opendp_lite import combinators, transformations
from opendp_lite.base.errors import Argument, ParameterError, name_like
from opendp_lite.base.public_names import path_of
from opendp_lite.estimators.parts import Floats, Measured, Noisy, RowSpace
from opendp_lite.estimators.parts.budget import Budget, budget_of
from opendp_lite.estimators.parts.noisy_totals import NoisyTotals, RatioOfNoisySums
from opendp_lite.explain.trace import with_result
from opendp_lite.measures.budgets import PrivacyBudget
from opendp_lite.numbers import exact
from opendp_lite.numbers.exact import Number, nearest
from opendp_lite.pipeline.core import P
from opendp_lite.pipeline.steps import Stage
from opendp_lite.releases.estimate import Estimate, say_treated
from opendp_lite.spaces.space import row_metric
from opendp_lite.transformations import center, clamp, sum
from opendp_lite.transformations.row_maps import require_one_column

R = TypeVar("R")
Released = TypeVar("Released")
ByColumn = tuple[float | Estimate, ...]
_LARGEST_BOUND: Final = exact.rational_of_float(1e100)
_BOUNDS: Final = 2
# Of the noise of their number, in deviations: so many rows may be none in 1 of 600 releases.
_SHOWS_ROWS: Final = 4


@attrs.frozen
class BoundedColumn:
    """The bounds that a person gave, as typed and exactly."""

    typed: tuple[Number, Number]
    lower: Fraction
    upper: Fraction

    @cached_property
    def middle(self) -> Fraction:
        """Halfway between the bounds."""
        return (self.lower + self.upper) / 2

    @cached_property
    def half(self) -> Fraction:
        """Half the width."""
        return (self.upper - self.lower) / 2

    @cached_property
    def floats(self) -> tuple[float, float]:
        """The bounds as floats."""
        return nearest(self.lower), nearest(self.upper)

    @classmethod
    def between(cls, lower: Number, upper: Number, step: str) -> BoundedColumn:
        """The bounds, refused where they hold nothing."""
        bounds = exact.exact(lower, f"{step}: lower"), exact.exact(upper, f"{step}: upper")
        if bounds[0] >= bounds[1]:
            advice = "they are equal" if bounds[0] == bounds[1] else f"swap them: {upper}, {lower}"
            raise ParameterError(
                f"{step}: lower must be below upper, got {lower}, {upper}; {advice}"
            )
        found = cls((lower, upper), *bounds)
        found.require(_LARGEST_BOUND, step, "squares")
        return found

    @classmethod
    def of(cls, space: RowSpace, lower: Number, upper: Number, step: str) -> BoundedColumn:
        """As ``between``, for a space of one column."""
        found = cls.between(lower, upper, step)
        require_one_column(space, step, ", or use multivariate_mean()")
        return found

    def require(self, largest: Fraction, step: str, powers: str) -> None:
        """Refuses bounds beyond this number, or less than one part of it apart."""
        if max(abs(self.lower), abs(self.upper)) > largest or 2 * self.half < 1 / largest:
            raise ParameterError(
                Argument("bounds", step=step),
                f" beyond {float(largest):g}, or less than {float(1 / largest):g} "
                f"apart, have {powers} that floats cannot hold; write the column in another unit",
            )

    def rows(self, space: RowSpace) -> Stage[RowSpace, RowSpace]:
        """The rows in bounds; where their number is public, the middle for a missing value.

        Sums of other powers of the rows then agree on it. Where the number is private, each sum and
        count leaves out the same rows by itself.
        """
        inside = clamp(*self.typed)
        if not row_metric(space).fixed_size:
            return inside
        return transformations.impute(self.middle) >> inside

    def reach(self, about: Fraction) -> Fraction:
        """How far a value can be from a number."""
        return max(self.upper - about, about - self.lower)

    def public(self, value: Number | None, name: str) -> Fraction | None:
        """A guess inside the bounds."""
        if value is None:
            return None
        found = exact.exact(value, name)
        if not self.lower <= found <= self.upper:
            raise ParameterError(f"{name} must lie in the bounds {self.typed}, got {value}")
        return found


def bounds_of_each(
    given: Mapping[Any, Any], columns: Sequence[object], step: str, name: str = "bounds"
) -> list[Any]:
    """Bounds that were typed by column, in the order of the columns.

    Nothing that was typed but names is shown: it may be data, given by mistake.
    """
    lacking = [each for each in columns if each not in given]
    others = [each for each in given if each not in columns]
    if not lacking and not others:
        return [given[each] for each in columns]
    said = [f"lacks {_list(lacking)}"] if lacking else []
    if others:
        near = name_like(str(others[0]), map(str, lacking))
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        said.append(f"has {_list(others)}, no column that is asked for{meant}")
    few = len(columns) <= exact.MOST_SHOWN
    typed = ", ".join(f"{each!r}: (0, 100)" for each in columns) if few else "..."
    raise ParameterError(f"{step}: {name}= {' and '.join(said)}; type {name}={{{typed}}}, say")


def _list(names: Sequence[object]) -> str:
    """Names of columns; many may be data, given by mistake."""
    few = len(names) <= exact.MOST_SHOWN
    return ", ".join(map(repr, names)) if few else f"{len(names)} columns"


def bounds_come_first(rest: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Says what to type where an estimator is given data, a name or a pair in place of bounds.

    Args:
        rest: The arguments after the bounds, for the example in the message.
    """

    def checking(recipe: Callable[P, R]) -> Callable[P, R]:
        @wraps(recipe)
        def check(*args: P.args, **kwargs: P.kwargs) -> R:
            _check_bounds(unwrap(recipe), rest, args, kwargs)
            return recipe(*args, **kwargs)

        # Among them the constructor itself, by which ``calls`` pickles a recipe.
        vars(check).update(vars(recipe))
        return check

    return checking


def _check_bounds(
    estimator: Callable[..., object],
    rest: str,
    args: tuple[object, ...],
    given: Mapping[str, object],
) -> None:
    pair = given.get("bounds")
    numbers_typed = [*args, *(pair if isinstance(pair, tuple) else ())]
    ends = [each for each in numbers_typed if isinstance(each, int | float)][:_BOUNDS]
    typed = ", ".join(map(repr, ends if len(ends) == _BOUNDS else (0, 100)))
    more = dict(each.split("=") for each in rest.split(", "))
    more |= {name: repr(given[name]) for name in more if isinstance(given.get(name), int | float)}
    shown = ", ".join(f"{name}={value}" for name, value in more.items())
    name, example = estimator.__name__, f"{path_of(estimator)}({typed}, {shown})"
    first = args[0] if args else given.get("lower", 0)
    if isinstance(first, str):
        columns = [each for each in (*args, given.get("weights")) if isinstance(each, str)]
        raise ParameterError(
            f"{name} takes bounds on the values, not a column's name: write "
            f"dp.select({', '.join(map(repr, columns))}) >> {example}"
        )
    if isinstance(first, PrivacyBudget):
        raise ParameterError(
            f"{name} takes bounds on the values before the budget: write "
            f"{path_of(estimator)}(0, 100, dp.epsilon(1))"
        )
    lists = [each for each in args if isinstance(each, list | tuple)]
    if name == "mean" and len(lists) == len(args) > 1:
        raise ParameterError(
            "mean is of one column: for several write dp.multivariate_mean([(0, 100), (0, 24)], "
            f"{shown}), with the bounds of each"
        )
    if isinstance(first, bool) or not isinstance(first, numbers.Number | Decimal):
        raise ParameterError(
            f"{name} takes its bounds as two numbers, and the data in a second call: write "
            f"{example}(data)"
        )
    if len(args) == 1 and "upper" not in given:
        raise ParameterError(f"{name} takes two bounds, lower and upper: write {example}")
    if len(args) > _BOUNDS and not isinstance(args[-1], PrivacyBudget):
        raise ParameterError(f"{name} takes its arguments after the bounds by name: {example}")


@attrs.frozen
class Scenario:
    """So many rows of this mean and this variance, all inside the bounds."""

    rows: int
    mean: float
    variance: float = 0.0


@attrs.frozen
class EstimatorPlan:
    """A mechanism that releases ``NoisyTotals``, and the same arithmetic with floats for noise.

    Args:
        column: The bounds.
        mechanism: The mechanism, on rows that are in bounds.
        simulate: Gives so many releases of made-up data: not private, for planning.
    """

    column: BoundedColumn
    mechanism: Noisy[NoisyTotals]
    simulate: Callable[[Scenario, int, np.random.Generator], NoisyTotals]

    @classmethod
    def of_one_round(
        cls,
        column: BoundedColumn,
        released: Noisy[Released],
        ratio: RatioOfNoisySums,
        read: Callable[[Released], tuple[float, float]],
        size: int | None = None,
    ) -> EstimatorPlan:
        """A plan whose noise is the same whatever the data: ``ratio`` says all of it.

        Args:
            column: The bounds.
            released: What is released of rows that are in bounds.
            ratio: How the total and the rows err, and how they become a mean.
            read: The total and the rows of a release.
            size: The number of rows where it is public.
        """

        def totals(release: Released) -> NoisyTotals:
            return NoisyTotals(ratio, *read(release))

        def simulate(scenario: Scenario, runs: int, generator: np.random.Generator) -> NoisyTotals:
            rows = scenario.rows if size is None else size
            total, off = ratio.errors.draw(runs, generator)
            return NoisyTotals(ratio, rows * (scenario.mean - ratio.about) + total, rows + off)

        return cls(column, released >> totals, simulate)


def sum_and_rows(release: tuple[Floats, float]) -> tuple[float, float]:
    """From a noisy sum, of one column, and a noisy number of rows."""
    total, rows = release
    return float(total[0]), float(rows)


@attrs.frozen
class Request:
    """The keywords that all means share, read once.

    Args:
        step: The estimator's name, for refusals.
        whole: All of the budget.
        confidence: The share of releases whose interval holds the mean; None for a plain number.
        sampling: Whether the interval is for the population that the rows are a sample of.
        squares: The share of the budget that this takes.
        several: Whether a unit may have several rows, which an interval for the population takes
            for independent draws.
        treated: As that of an ``Estimate``, and so is ``weighted``.
        kept: As that of a ``Space``.
    """

    step: str
    whole: Budget
    confidence: float | None
    sampling: bool
    squares: Fraction = attrs.field(
        default=attrs.Factory(lambda self: self.whole.for_squares, takes_self=True)
    )
    several: bool = False
    treated: str = ""
    kept: str = ""
    weighted: bool = False

    @classmethod
    def of(
        cls,
        step: str,
        confidence: Number | None,
        sampling: bool,
        rho: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
    ) -> Request:
        """Refuses two budgets or none."""
        return cls.within(budget_of(step, rho, epsilon, delta), step, confidence, sampling)

    @classmethod
    def within(cls, whole: Budget, step: str, confidence: Number | None, sampling: bool) -> Request:
        """As ``of``, for a budget that was read before."""
        if confidence is None:
            return cls(step, whole, None, False)
        share = float(exact.confidence_of(confidence, f"{step}: confidence"))
        return cls(step, whole, share, sampling)

    def on(self, space: RowSpace) -> Request:
        """The same, once it is known which rows of a person count, and whether several may."""
        return attrs.evolve(self, several=space.unit > 1, kept=space.kept)

    @property
    def budget(self) -> Budget:
        """The part for the mean itself."""
        return self.whole.part(1 - self.squares) if self.sampling else self.whole

    @property
    def for_squares(self) -> Budget:
        """The part for the spread of the values."""
        return self.whole.part(self.squares)

    def build(
        self, space: RowSpace, plan: EstimatorPlan, explanation: object
    ) -> Measured[float | Estimate]:
        """The whole estimator of one column, on a space of rows."""
        mechanism = plan.mechanism
        if self.sampling:
            mechanism = self._with_squares(space, plan.column, mechanism)
        rows = plan.column.rows(space).bind(space)
        ends = plan.column.middle, plan.column.lower, plan.column.upper
        middle, lower, upper = map(exact.format_number, ends)
        treated = say_treated((lower, upper), "" if space.domain.size is None else middle)
        told = attrs.evolve(self.on(space), treated=treated)
        made = self.whole.with_claimed_loss(rows >> (mechanism >> told.as_estimate))
        words = f"mean = {middle} + sum / rows, kept from {lower} to {upper}"
        trace = with_result(made.trace, words)
        # The noise of the mean itself may be of no law that is listed; that of the squares alone
        # would be taken for it.
        facts = attrs.evolve(made.facts, laws=()) if self.sampling else made.facts
        made = attrs.evolve(made, facts=facts)
        return made.with_explanation(explanation, simulate=plan.simulate, trace=trace)

    def _with_squares(
        self, space: RowSpace, column: BoundedColumn, noisy: Noisy[NoisyTotals]
    ) -> Noisy[NoisyTotals]:
        """Adds the variance of the values to the totals, from a noisy sum of (x - middle)^2."""
        part, halfway = self.for_squares, column.half**2 / 2
        squares = center(column.middle) >> transformations.square() >> center(halfway) >> sum()
        off = part.deviation(part.reach(column.rows(space) >> squares, space))

        def combine(both: tuple[NoisyTotals, Floats]) -> NoisyTotals:
            totals, released = both
            away = float(totals.mean) - float(column.middle)
            found = float(released[0]) / totals.people + float(column.half) ** 2 / 2 - away**2
            return totals.with_variance(found, off / totals.people)

        return combinators.compose(noisy, squares >> part.noise()) >> combine

    def of_columns(
        self,
        space: RowSpace,
        rows: Stage[RowSpace, RowSpace],
        noisy: Noisy[Released],
        vector: Callable[[Released], Floats],
        totals: Callable[[Released], Sequence[NoisyTotals]],
    ) -> Measured[Floats | ByColumn]:
        """The whole estimator of many columns, on a space of rows.

        Args:
            space: The space.
            rows: The rows as the sum has them.
            noisy: What is released.
            vector: How a release is read as one array.
            totals: How a release is read as noisy totals, for a confidence.
        """
        if self.confidence is None:
            return (noisy >> vector).bind(space)
        if not self.sampling:

            def estimates(release: Released) -> ByColumn:
                return tuple(map(self.as_estimate, totals(release)))

            return (noisy >> estimates).bind(space)
        squares, part = rows >> transformations.square() >> sum(), self.for_squares
        off = part.deviation(part.reach(squares, space))

        def with_sample(found: NoisyTotals, square: float) -> float | Estimate:
            variance = square / found.people - float(found.mean) ** 2
            return self.as_estimate(found.with_variance(variance, off / found.people))

        def sampled_estimates(both: tuple[Released, Floats]) -> ByColumn:
            return tuple(map(with_sample, totals(both[0]), np.atleast_1d(both[1]).tolist()))

        both = combinators.compose(noisy, squares >> part.noise())
        return (both >> sampled_estimates).bind(space)

    def as_estimate(self, found: NoisyTotals) -> float | Estimate:
        """The release that a person sees."""
        mean, ratio, spread = float(found.mean), found.ratio, found.spread
        if self.confidence is None:
            return mean
        total, rows = float(found.total), float(found.rows)
        of_rows = ratio.interval(total, rows, self.confidence) if self.sampling else None
        return Estimate(
            mean,
            float(ratio.standard_error(total, rows, spread)),
            ratio.interval(total, rows, self.confidence, spread),
            self.confidence,
            # With weights the least number that they leave: none counts more than ``least``.
            max(rows, 0) / ratio.least,
            self.sampling,
            bounds=(float(ratio.lower), float(ratio.upper)),
            too_few=rows < _SHOWS_ROWS * ratio.errors.rows_deviation,
            noise_interval=of_rows,
            several=self.several and self.sampling,
            treated=self.treated,
            hint=self.kept,
            weighted=self.weighted,
        )
