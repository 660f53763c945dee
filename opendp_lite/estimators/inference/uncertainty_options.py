"""What a mean of one column releases: a number, or on request how far off it may be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.bodies.box import Box
from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement, Mechanism, Stage
from opendp_lite.domains import Rows
from opendp_lite.errors import ParameterError
from opendp_lite.estimators.inference.bounded_column import Column
from opendp_lite.estimators.inference.budget import Loss
from opendp_lite.estimators.inference.estimate import Estimate
from opendp_lite.estimators.inference.noisy_totals import Reading
from opendp_lite.estimators.inference.parameters import Floats
from opendp_lite.estimators.inference.scenario import Truth
from opendp_lite.exact import Number, exact, nearest, open_probability, said
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


def confidence_of(given: object, name: str) -> Fraction:
    """A share of all releases, refused where it is a percentage."""
    found = exact(given, name)
    if 1 < found < 100:
        raise ParameterError(
            f"{name} must be between 0 and 1, got {given}; {given} % is {nearest(found / 100):g}"
        )
    return open_probability(given, name)


@attrs.frozen
class Report:
    """What was asked for beside the mean: a confidence, and whether rows are a sample."""

    confidence: float | None
    sampling: bool

    @classmethod
    def of(cls, step: str, confidence: Number | None, sampling: bool) -> Report:
        """Refused where sampling is asked for without a confidence, or is no yes or no."""
        if sampling not in (True, False):
            raise ParameterError(f"{step}: sampling is True or False, got {said(sampling)}")
        if confidence is None:
            if sampling:
                raise ParameterError(
                    f"{step}: sampling=True widens an interval; say confidence=0.95"
                )
            return cls(None, False)
        return cls(float(confidence_of(confidence, f"{step}: confidence")), sampling)

    def for_mean(self, loss: Loss) -> Loss:
        """What is left of a loss for the mean itself."""
        return loss.part(1 - _FOR_SQUARES) if self.sampling else loss

    def for_squares(self, loss: Loss) -> Loss:
        """What is for the spread of the values."""
        return loss.part(_FOR_SQUARES)

    def of_columns(
        self,
        space: Space[Rows],
        rows: Stage[Space[Rows], Space[Rows]],
        noisy: Mechanism[Space[Rows], Any],
        vector: Callable[[Any], Floats],
        readings: Callable[[Any], Sequence[Reading]],
        loss: Loss,
    ) -> Measurement[Space[Rows], Any]:
        """A release read as one array, or with a confidence as an ``Estimate`` for each column.

        Takes: ``rows``, as the sum has them; ``noisy``, what is released; how that is read.
        """
        if self.confidence is None:
            return (noisy >> vector).bind(space)
        if not self.sampling:

            def estimates(release: Any) -> tuple[Any, ...]:
                return tuple(map(self.told, readings(release)))

            return (noisy >> estimates).bind(space)
        squares, part = rows >> square() >> sum(), self.for_squares(loss)
        off = part.deviation(part.reach(squares.bind(space).output_space.unit))

        def sampled_estimates(both: Any) -> tuple[Any, ...]:
            release, totals = both
            sampled = map(partial(_sampled, off), readings(release), np.atleast_1d(totals))
            return tuple(map(self.told, sampled))

        return (compose(noisy, squares >> part.noise()) >> sampled_estimates).bind(space)

    def measured(
        self, space: Space[Rows], plan: Plan, loss: Loss, formula: str
    ) -> Measurement[Space[Rows], Any]:
        """The whole estimator on a space of rows."""
        mechanism = plan.mechanism()
        if self.sampling:
            squares = _Squares.of(space, plan.column, self.for_squares(loss))
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
class Sampled(Reading):
    """A reading with the standard deviation of the values."""

    spread: float

    @classmethod
    def of(cls, reading: Reading, variance: float, people: float, weight: float = 1) -> Sampled:
        """With a noisy variance of the values of so many people, brought into what it may be.

        Takes: ``weight``, the largest of a row, where the variance is of weighted values.
        """
        quotient = reading.quotient
        mean = float(reading.mean)
        most = weight * (quotient.upper - mean) * (mean - quotient.lower)
        found = min(max(variance, 0.0), max(most, 0.0))
        few = 1 + _FEW / max(people, 1.0)
        return cls(quotient, reading.total, reading.rows, (found * few) ** 0.5)


def _sampled(off: float, reading: Reading, squares: Any) -> Sampled:
    """With a noisy sum of the squares, one deviation up, as rows may have it."""
    people = max(float(reading.rows), reading.quotient.least)
    return Sampled.of(reading, (float(squares) + off) / people - float(reading.mean) ** 2, people)


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

    def combine(self, both: Any) -> Sampled:
        """Adds to a reading the spread: one deviation above the estimate, as rows may have it."""
        reading, total = both
        half, middle = float(self.column.half), float(self.column.middle)
        people = max(float(reading.rows), reading.quotient.least)
        off = float(reading.mean) - middle
        noise = self.loss.deviation(self.reach)
        found = (float(total[0]) + noise) / people + half**2 / 2 - off**2
        return Sampled.of(reading, found, people)


_FEW: Final = 2.5
"""The square of Student's 95 % point over the normal's is about 1 + 2.5 / n."""
