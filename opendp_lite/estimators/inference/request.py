"""What was asked of a mean: a budget, and how its error is reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.bodies.box import Box
from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimate import Estimate
from opendp_lite.estimators.inference.bounded_column import BoundedColumn
from opendp_lite.estimators.inference.budget import Budget, budget_of
from opendp_lite.estimators.inference.estimator_plan import EstimatorPlan
from opendp_lite.estimators.inference.noisy_totals import NoisyTotals, TotalsWithSpread
from opendp_lite.estimators.inference.parameters import Floats
from opendp_lite.exact import Number, confidence_of, described
from opendp_lite.recipes import Mechanism, Stage
from opendp_lite.spaces import Space, row_metric
from opendp_lite.transformations.center import center
from opendp_lite.transformations.square import square
from opendp_lite.transformations.sum import sum

_FOR_SQUARES: Final = Fraction(1, 20)


@attrs.frozen
class Request:
    """The keywords that all means share, read once.

    Args:
        step: The estimator's name, for refusals.
        whole: All of the budget.
        confidence: The share of releases whose interval holds the mean; None for a plain number.
        sampling: Whether the rows are a random sample of those whose mean is wanted.
    """

    step: str
    whole: Budget
    confidence: float | None
    sampling: bool

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
        """Refuses two budgets or none, and sampling without a confidence."""
        return cls.within(budget_of(step, rho, epsilon, delta), step, confidence, sampling)

    @classmethod
    def within(cls, whole: Budget, step: str, confidence: Number | None, sampling: bool) -> Request:
        """As ``of``, for a budget that was read before."""
        if sampling not in (True, False):
            raise ParameterError(f"{step}: sampling is True or False, got {described(sampling)}")
        if confidence is None:
            if sampling:
                raise ParameterError(
                    f"{step}: sampling=True widens an interval; add confidence=0.95"
                )
            return cls(step, whole, None, False)
        share = float(confidence_of(confidence, f"{step}: confidence"))
        return cls(step, whole, share, sampling)

    @property
    def budget(self) -> Budget:
        """The part for the mean itself."""
        return self.whole.part(1 - _FOR_SQUARES) if self.sampling else self.whole

    @property
    def for_squares(self) -> Budget:
        """The part for the spread of the values."""
        return self.whole.part(_FOR_SQUARES)

    def measured(
        self, space: Space[Rows], plan: EstimatorPlan, explanation: str
    ) -> Measurement[Space[Rows], Any]:
        """The whole estimator of one column, on a space of rows."""
        mechanism = plan.mechanism()
        if self.sampling:
            squares = SumOfSquares.of(space, plan.column, self.for_squares)
            mechanism = compose(mechanism, squares.mechanism()) >> squares.combine
        rows = plan.column.rows(space).bind(space)
        made = self.whole.with_claimed_loss(rows >> (mechanism >> self.as_estimate))
        return made.explained(explanation, simulate=plan.simulate, trace=rows.trace)

    def of_columns(
        self,
        space: Space[Rows],
        rows: Stage[Space[Rows], Space[Rows]],
        noisy: Mechanism[Space[Rows], Any],
        vector: Callable[[Any], Floats],
        totals: Callable[[Any], Sequence[NoisyTotals]],
    ) -> Measurement[Space[Rows], Any]:
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

            def estimates(release: Any) -> tuple[Any, ...]:
                return tuple(map(self.as_estimate, totals(release)))

            return (noisy >> estimates).bind(space)
        squares, part = rows >> square() >> sum(), self.for_squares
        off = part.deviation(part.family.sensitivity(squares.bind(space).output_space.unit))

        def sampled_estimates(both: Any) -> tuple[Any, ...]:
            release, found = both
            sampled = map(partial(_with_squares, off), totals(release), np.atleast_1d(found))
            return tuple(map(self.as_estimate, sampled))

        return (compose(noisy, squares >> part.noise()) >> sampled_estimates).bind(space)

    def as_estimate(self, found: Any) -> float | Estimate:
        """The release that a person sees."""
        ratio, total, rows = found.ratio, found.total, found.rows
        mean = float(found.mean)
        if self.confidence is None:
            return mean
        spread = found.spread if self.sampling else 0.0
        error = float(ratio.standard_error(total, rows, spread))
        interval = ratio.interval(total, rows, self.confidence, spread)
        return Estimate(
            mean,
            error,
            interval,
            self.confidence,
            max(float(rows), 0),
            self.sampling,
            bounds=(float(ratio.lower), float(ratio.upper)),
        )


def _with_squares(off: float, totals: NoisyTotals, squares: Any) -> TotalsWithSpread:
    """Adds the spread that a noisy sum of the squares shows, one deviation of the noise up."""
    people = max(float(totals.rows), totals.ratio.least)
    variance = (float(squares) + off) / people - float(totals.mean) ** 2
    return TotalsWithSpread.of(totals, variance, people)


@attrs.frozen
class SumOfSquares:
    """The variance of the values, from a noisy sum of (x - middle)^2.

    ``reach`` is how far one unit of privacy moves that sum.
    """

    column: BoundedColumn
    budget: Budget
    reach: float

    @classmethod
    def of(cls, space: Space[Rows], column: BoundedColumn, budget: Budget) -> SumOfSquares:
        """With the reach that the rows' metric makes of a square between 0 and half^2."""
        halfway = column.half**2 / 2
        moved: Any = row_metric(space).per_row(Box(-halfway, halfway))
        return cls(column, budget, float(space.unit * moved.linf))

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        """The noisy sum, around the square halfway."""
        squares = center(self.column.middle) >> square() >> center(self.column.half**2 / 2)
        return squares >> sum() >> self.budget.noise()

    def combine(self, both: Any) -> TotalsWithSpread:
        """Adds the spread to the totals, one deviation of the noise up."""
        totals, squares = both
        half, middle = float(self.column.half), float(self.column.middle)
        people = max(float(totals.rows), totals.ratio.least)
        off = float(totals.mean) - middle
        noise = self.budget.deviation(self.reach)
        found = (float(squares[0]) + noise) / people + half**2 / 2 - off**2
        return TotalsWithSpread.of(totals, found, people)
