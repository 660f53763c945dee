"""How the variance and the standard deviation of one column are estimated."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.bodies.points import PointOf, Points
from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement, Transformation
from opendp_lite.domains import Rows
from opendp_lite.errors import SpaceError
from opendp_lite.estimators.inference.bounded_column import BoundedColumn
from opendp_lite.estimators.inference.budget import Budget
from opendp_lite.estimators.inference.noisy_moments import NoisyMoments
from opendp_lite.estimators.inference.parameters import Floats, confidence_of
from opendp_lite.estimators.inference.program_budget import program_budget
from opendp_lite.exact import Number
from opendp_lite.measurements.private_quantile import private_quantile
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.recipes import Mechanism, Stage, stage
from opendp_lite.spaces import Space
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.count import count
from opendp_lite.transformations.row_map import row_map_trusted
from opendp_lite.transformations.square import square
from opendp_lite.transformations.sum import sum

_PER_DOUBLING: Final = 2
_DOUBLINGS: Final = 30
_FALSE: Final = 0.002
"""How often an empty ring near the values passes for one that holds rows."""
_FARTHEST: Final = 2.0**-6
_WINDOWS: Final = (1, 2, 4)
"""How many neighbouring rings are looked at together: few rows may be spread over several."""
_FARTHER: Final = 2**0.25
"""How much farther values are let than the last ring that surely holds rows. More errs less for
lognormal values, and less for values without a tail."""
_FOR_MIDDLE, _FOR_RINGS = Fraction(1, 20), Fraction(3, 20)
_PURE_FOR_MIDDLE, _PURE_FOR_RINGS = Fraction(1, 10), Fraction(1, 5)
_OFF, _OFF_SHARE = 0.02, 0.05
"""About how far the mean that the rings tell lies from the true one, in half widths."""
_ROWS_OFF: Final = Fraction(3, 100)
_FINE: Final = 2**24
Around = Stage[Space[Rows], Space[Rows]]


@attrs.frozen
class SpreadPlan:
    """What was asked of a variance: where the values lie, a budget, a confidence."""

    column: BoundedColumn
    budget: Budget
    confidence: float | None
    rings: Points = attrs.field(eq=False)

    @classmethod
    def of(
        cls,
        space: Space[Rows],
        bounds: tuple[Number, Number],
        step: str,
        confidence: Number | None,
        budget: tuple[Number | None, Number | None, Number | None],
    ) -> SpreadPlan:
        """Refuses bounds, budgets and confidences that make no sense."""
        column = BoundedColumn.between(*bounds, step)
        if space.domain.columns != 1:
            raise SpaceError(
                f"{step} is of one column, the rows have {space.domain.columns}. Put select() "
                "before it"
            )
        share = (
            None if confidence is None else float(confidence_of(confidence, f"{step}: confidence"))
        )
        rings = _rings(float(2 * column.half))
        plan = cls(column, program_budget(step, *budget), share, rings)
        (column.rows(space) >> plan.median()).bind(space)
        return plan

    @property
    def _pure(self) -> bool:
        return self.budget.measure == MaxDivergence()

    @property
    def _shares(self) -> tuple[Fraction, Fraction]:
        """For the median, and for the rings."""
        if self._pure:
            return _PURE_FOR_MIDDLE, _PURE_FOR_RINGS
        return _FOR_MIDDLE, _FOR_RINGS

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
            return shown(_Search(self, ask).moments())

        middle, rings = self._shares
        why = (
            f"{float(middle):.0%} of the budget is for a median, {float(rings):.0%} for the number "
            "of rows in rings around it\n"
            "  the rest is for sums of the values and of their squares, clipped to the rings that "
            "hold rows\n"
            f"  so the error follows the values and not the bounds; no interval for the {name} "
            "shows what this clipping moves"
        )
        budget = self.budget
        made = programmed(space, program, budget.measure, budget.amount, "")
        return budget.with_claimed_loss(made).explained(why)

    def median(self) -> Mechanism[Space[Rows], Any]:
        """The median, by all of its part of the budget."""
        amount = self.budget.part(self._shares[0]).amount
        if self._pure:
            return private_quantile(0.5, bounds=self.column.typed, epsilon=amount)
        return private_quantile(0.5, bounds=self.column.typed, rho=amount)


@attrs.frozen
class _Search:
    """One run: public numbers, and releases so far."""

    plan: SpreadPlan
    ask: Ask[Any]

    def moments(self) -> NoisyMoments:
        """The release."""
        column, space = self.plan.column, self.ask.space
        rows = column.rows(space)
        middle = float(self.ask(rows >> self.plan.median()))
        around = rows >> center(Fraction(middle))
        lower, upper = column.floats
        limits = self._limits(around, (min(lower - middle, 0.0), max(upper - middle, 0.0)))
        clipped = around >> clamp(Fraction(limits.lower), Fraction(limits.upper))
        inside = clipped >> center(Fraction(limits.mean))
        return self._sums(inside, limits)

    def _limits(self, around: Around, ends: tuple[float, float]) -> _Limits:
        """Where the values lie, by noisy numbers of rows in rings around the median."""
        part = self.plan.budget.part(self.plan._shares[1])
        counting = around >> _ring_of(self.plan.rings) >> sum()
        unit = counting.bind(self.ask.space).output_space.unit
        scale = part.scale(part.family.sensitivity(unit))
        counts = np.asarray(self.ask(counting >> part.noise()), dtype=np.float64)
        return _Limits.of(
            counts, _reaches(self.plan.rings), ends, lambda p: part.family.exceeded(scale, p)
        )

    def _sums(self, inside: Around, limits: _Limits) -> NoisyMoments:
        """The last release."""
        budget, space = self.plan.budget, self.ask.space
        left = budget.part(1 - self.plan._shares[0] - self.plan._shares[1])
        reach, size = Fraction(limits.reach), space.domain.size
        anchor = Fraction(limits.share)
        total, squares = inside >> sum(), inside >> square() >> center(anchor * reach**2) >> sum()
        family = budget.family

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
        found = self.ask(compose(*queries))
        return NoisyMoments(
            total=float(found[1][0]) / float(reach),
            squares=float(found[0][0]) / float(reach) ** 2,
            rows=float(found[2]) if size is None else float(size),
            anchor=float(anchor),
            reach=limits.reach,
            widest=(limits.upper - limits.lower) / limits.reach,
            family=family,
            scales=(scales[1], scales[0], scales[2] if size is None else 0.0),
        )


def _fine(share: Fraction) -> Fraction:
    return Fraction(int(share * _FINE), _FINE)


@attrs.frozen
class _Limits:
    """Where the values lie, seen from the median.

    Args:
        lower: Values below it are clipped to it.
        upper: Values above it, likewise.
        mean: About their mean.
        variance: About their variance.
    """

    lower: float
    upper: float
    mean: float
    variance: float

    @classmethod
    def of(
        cls,
        counts: Floats,
        reaches: Floats,
        ends: tuple[float, float],
        exceeded: Callable[[float], float],
    ) -> _Limits:
        """From noisy numbers of rows in rings.

        A ring holds rows if noise alone would show as many, in it or in it and a few before it,
        with a small probability. That falls with the fourth power of how much farther the ring lies
        than the last that holds rows: as many times the square of the error grows.

        Args:
            counts: The numbers, from the outermost ring on the left to that on the right.
            reaches: How far the rings reach, on one side.
            ends: The bounds of the values.
            exceeded: What noise exceeds with a probability.
        """
        inner = len(reaches) - 1
        sides = counts[inner::-1], counts[inner:]
        reached = [0, 0]
        within = np.cumsum(sides[0] + sides[1]) - counts[inner]
        here = int(np.argmax(within >= counts.sum() / 2))
        for ring in range(1, inner + 1):
            farther = max(reaches[min(here, ring)] / reaches[ring], _FARTHEST)
            least = exceeded(_FALSE * farther**4)
            for side in range(2):
                windows = (
                    sides[side][max(ring - w, reached[side]) + 1 : ring + 1] for w in _WINDOWS
                )
                if any(each.sum() > least * sqrt(len(each)) for each in windows if len(each)):
                    reached[side], here = ring, max(here, ring)
        left, right = reached
        inside = counts[inner - left : inner + right + 1]
        if inside.sum() <= max(counts.sum() / 2, exceeded(_FALSE)):
            return cls.anywhere(ends)
        far = _FARTHER * reaches[reached]
        lower, upper = max(-far[0], ends[0]), min(far[1], ends[1])
        between = np.append(0.0, (reaches[1:] + reaches[:-1]) / 2)
        places = np.concatenate([-between[left:0:-1], between[: right + 1]])
        mean = float(np.clip(inside @ places / inside.sum(), lower, upper))
        variance = float(inside @ (places - mean) ** 2 / inside.sum())
        return cls(float(lower), float(upper), mean, variance)

    @classmethod
    def anywhere(cls, ends: tuple[float, float]) -> _Limits:
        """The bounds, where too few rows show."""
        lower, upper = ends
        return cls(lower, upper, (lower + upper) / 2, ((upper - lower) / 4) ** 2)

    @property
    def reach(self) -> float:
        """How far from the mean a value may lie."""
        return max(self.upper - self.mean, self.mean - self.lower)

    @property
    def share(self) -> float:
        """The variance over the square of the reach."""
        return float(np.clip(self.variance / self.reach**2, 0.0, 0.5))


def _rings(width: float) -> Points:
    """A point for each ring around 0: in, and left and right of it, geometric ones."""
    powers = np.arange(_DOUBLINGS * _PER_DOUBLING, 0, -1) / _PER_DOUBLING
    reaches = width * 2.0**-powers
    edges = np.concatenate([-reaches[::-1], reaches])
    return Points.nearest_to(("rings", width), edges, np.eye(len(edges) + 1))


def _reaches(rings: Points) -> Floats:
    """How far the rings reach on one side, from the innermost."""
    right = rings.edges[len(rings.edges) // 2 :]
    found: Floats = np.append(right, right[-1] * 2.0 ** (1 / _PER_DOUBLING))
    return found


@stage
def _ring_of(space: Space[Rows], rings: Points) -> Transformation[Space[Rows], Space[Rows]]:
    """Rows with a 1 for the ring that a value lies in."""
    return row_map_trusted(space, PointOf(rings), rings)
