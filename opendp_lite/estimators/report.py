"""What a mean of one column releases: a number, or on request how far off it may be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.bodies.box import Box
from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement, Mechanism
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.column import Column
from opendp_lite.estimators.estimate import Estimate
from opendp_lite.estimators.loss import Loss
from opendp_lite.estimators.reading import Reading
from opendp_lite.estimators.truth import Truth
from opendp_lite.exact import Number, open_probability
from opendp_lite.spaces import Space, row_metric
from opendp_lite.transformations.center import center
from opendp_lite.transformations.square import square
from opendp_lite.transformations.sum import sum

_FOR_SQUARES: Final = Fraction(1, 20)


class Plan(ABC):
    """How an estimator reads a column: as a mechanism, and as a forecast of what that releases."""

    column: Column

    @abstractmethod
    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        """A mechanism on the rows in bounds, that releases a ``Reading``."""

    @abstractmethod
    def forecast(self, truth: Truth, runs: int, generator: np.random.Generator) -> Reading:
        """So many releases of such data, with floats for noise: not private, for planning."""


@attrs.frozen
class Report:
    """What was asked for beside the mean: a confidence, and whether rows are a sample."""

    confidence: float | None
    sampling: bool

    @classmethod
    def of(cls, step: str, confidence: Number | None, sampling: bool) -> Report:
        """Refused where sampling is asked for without a confidence."""
        if confidence is None:
            if sampling:
                raise ParameterError(
                    f"{step}: sampling=True widens an interval; say confidence=0.95"
                )
            return cls(None, False)
        return cls(float(open_probability(confidence, f"{step}: confidence")), sampling)

    def for_mean(self, loss: Loss) -> Loss:
        """What is left of a loss for the mean itself."""
        return loss.part(1 - _FOR_SQUARES) if self.sampling else loss

    def measured(
        self, space: Space[Rows], plan: Plan, loss: Loss, formula: str
    ) -> Measurement[Space[Rows], Any]:
        """The whole estimator on a space of rows."""
        mechanism = plan.mechanism()
        if self.sampling:
            squares = _Squares.of(space, plan.column, loss.part(_FOR_SQUARES))
            mechanism = compose(mechanism, squares.mechanism()) >> squares.combine
        rows = plan.column.rows(space).bind(space)
        inside = tuple(arrow.inside() for arrow in rows.arrows)
        claimed: Measurement[Any, Any] = loss.claimed(rows >> (mechanism >> self.told))
        return attrs.evolve(claimed, formula=formula, forecast=plan.forecast, arrows=inside)

    def told(self, reading: Any) -> float | Estimate:
        """What is released of a reading."""
        quotient, total, rows = reading.quotient, reading.total, reading.rows
        spread = reading.spread if self.sampling else 0.0
        mean = float(reading.mean)
        if self.confidence is None:
            return mean
        error = float(quotient.standard_error(total, rows, spread))
        interval = quotient.interval(total, rows, self.confidence, spread)
        return Estimate(mean, error, interval, self.confidence, max(float(rows), 0), self.sampling)


@attrs.frozen(eq=False)
class _Sampled(Reading):
    """A reading with the standard deviation of the values."""

    spread: float


@attrs.frozen
class _Squares:
    """The variance of the values, from a noisy sum of (x - middle)^2.

    ``reach`` is how far one unit of privacy moves that sum.
    """

    column: Column
    loss: Loss
    reach: float

    @classmethod
    def of(cls, space: Space[Rows], column: Column, loss: Loss) -> _Squares:
        """With the reach that the rows' metric makes of a square between 0 and half^2."""
        halfway = column.half**2 / 2
        moved: Any = row_metric(space).per_row(Box(-halfway, halfway))
        return cls(column, loss, float(space.unit * moved.linf))

    def mechanism(self) -> Mechanism[Space[Rows], Any]:
        halfway = self.column.half**2 / 2
        return (
            center(self.column.middle) >> square() >> center(halfway) >> sum() >> self.loss.noise()
        )

    def combine(self, both: Any) -> _Sampled:
        """Adds to a reading the spread: one deviation above the estimate, as rows may have it."""
        reading, total = both
        quotient: Any = reading.quotient
        half, middle = float(self.column.half), float(self.column.middle)
        rows = max(float(reading.rows), quotient.least)
        off = float(reading.mean) - middle
        noise = self.loss.deviation(self.reach)
        found = (float(total[0]) + noise) / rows + half**2 / 2 - off**2
        variance = min(max(found, 0.0), max(half**2 - off**2, 0.0))
        few = 1 + _FEW / rows
        return _Sampled(reading.quotient, reading.total, reading.rows, (variance * few) ** 0.5)


_FEW: Final = 2.5
"""The square of Student's 95 % point over the normal's is about 1 + 2.5 / n."""
